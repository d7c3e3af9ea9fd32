'use strict';

// Tests whose peers are too much for everybody to install have a folder of their own for them, with a lock file.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const read = file => JSON.parse(fs.readFileSync(file, 'utf8')).packages;

/** Whether what is installed in a folder is what its lock file says. */
function isInstalled(folder) {
  const installed = path.join(folder, 'node_modules', '.package-lock.json');
  if (!fs.existsSync(installed)) return false;
  const there = read(installed);
  return Object.entries(read(path.join(folder, 'package-lock.json'))).every(([name, { version, optional }]) =>
    !name.startsWith('node_modules/') || optional || there[name]?.version === version);
}

/**
 * Installs what a folder of tests needs, unless it is there. Where that fails the test is skipped, and says so;
 * where `CI` is set it fails.
 * @param {Mocha.Context} test
 * @param {string} name of the folder in test/
 * @returns {string} the folder's path
 */
function installed(test, name) {
  const folder = path.join(__dirname, name);
  if (isInstalled(folder)) return folder;
  test.timeout(300000);
  try {
    const { NODE_V8_COVERAGE, ...env } = process.env; // npm is not what is tested
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd: folder, env, stdio: 'pipe', shell: process.platform === 'win32', timeout: 240000
    });
  } catch (error) {
    const reason = `npm ci in test/${name} failed: ${String(error.stderr || error.message).trim().split('\n').at(-1)}`;
    if (process.env.CI) throw new Error(reason, { cause: error });
    console.error(`  skipped: ${reason}`);
    test.skip();
  }
  return folder;
}

module.exports = { installed };

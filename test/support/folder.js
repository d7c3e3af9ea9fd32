'use strict';

// Tests whose peers are too much for everybody to install have a folder of their own for them, with a lock file.
// `npm run test:all` installs them before any test runs; `node test/support/folder.js` does it by hand.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const FOLDERS = ['ecosystem', 'published', 'typescript', 'sockets'];

const read = file => JSON.parse(fs.readFileSync(file, 'utf8')).packages;

/** Whether what is installed in a folder is what its lock file says. */
function isInstalled(folder) {
  const installed = path.join(folder, 'node_modules', '.package-lock.json');
  if (!fs.existsSync(installed)) return false;
  const there = read(installed);
  return Object.entries(read(path.join(folder, 'package-lock.json'))).every(
    ([name, { version, optional }]) => !name.startsWith('node_modules/') || optional || there[name]?.version === version
  );
}

/** Installs what the folders need, unless it is there. */
function install() {
  for (const name of FOLDERS) {
    const cwd = path.join(__dirname, '..', name);
    if (isInstalled(cwd)) continue;
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], {
      cwd,
      stdio: 'inherit',
      shell: process.platform === 'win32'
    });
    if (status !== 0) console.error(`npm ci in test/${name} failed`);
  }
}

/**
 * The folder of what a test needs. A test is skipped if it is not installed, and says so; where `CI` is set it fails.
 * @param {Mocha.Context} test
 * @param {string} name of the folder in test/
 * @returns {string} the folder's path
 */
function installed(test, name) {
  const folder = path.join(__dirname, '..', name);
  if (isInstalled(folder)) return folder;
  const reason = `test/${name} is not installed: run node test/support/folder.js`;
  if (process.env.CI) throw new Error(reason);
  console.error(`  skipped: ${reason}`);
  test.skip();
}

if (require.main === module) install();

module.exports = { install, installed };

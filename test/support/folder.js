'use strict';

// Tests whose peers are too much for everybody to install have a folder of their own for them, with a lock file.
// `npm run test:all` installs them before any test runs; `node test/support/folder.js [NAME]` does it by hand, for all or one.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');

const FOLDERS = ['ecosystem', 'typescript'];

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

/** npm ci refuses a lock file that lacks packages of other platforms, which registries may not have. */
const LACKING = ['everywhere'];

/** Installs what folders need, unless it is there; all side by side. */
async function install(names = FOLDERS) {
  const one = async name => {
    const cwd = path.join(__dirname, '..', name);
    if (isInstalled(cwd)) return;
    const command = LACKING.includes(name) ? ['install', '--no-save'] : ['ci'];
    const child = spawn('npm', [...command, '--no-audit', '--no-fund', '--loglevel=error'], {
      cwd,
      stdio: 'inherit',
      shell: process.platform === 'win32'
    });
    const [status] = await once(child, 'close');
    if (status !== 0) throw new Error(`npm ${command[0]} in test/${name} failed`);
  };
  const results = await Promise.allSettled(names.map(one));
  for (const { reason } of results) if (reason !== undefined) console.error(reason.message);
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

if (require.main === module) install(process.argv.length > 2 ? process.argv.slice(2) : FOLDERS);

module.exports = { FOLDERS, install, installed };

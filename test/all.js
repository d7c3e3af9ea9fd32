'use strict';

// npm run test:all: all tests, with coverage. With --slow the quick ones have run already, under
// NODE_V8_COVERAGE=coverage/tmp: their coverage counts. Everything else is mocha's.

const { spawnSync } = require('node:child_process');
const { availableParallelism } = require('node:os');
const path = require('node:path');
const { install } = require('./support/folder');

const root = path.join(__dirname, '..');

/** The folders with the longest files first, so that none runs alone at the end. */
const LONG = 'whole|types|pg';
const FOLDERS = [`test/@(${LONG})/`, `test/!(${LONG})/`, 'test/core/*/'];

const slow = process.argv.includes('--slow');
const args = process.argv.slice(2).filter(arg => arg !== '--slow');

install().then(() => {
  const { status } = spawnSync(
    process.execPath,
    [
      require.resolve('c8/bin/c8.js'),
      '--config=test/c8.json',
      `--clean=${!slow}`,
      '--temp-directory=coverage/tmp',
      process.execPath,
      require.resolve('mocha/bin/mocha.js'),
      '--parallel',
      '--jobs',
      availableParallelism() + 1, // many tests wait for a time
      '--timeout=60000', // coverage and servers that start take longer
      ...args,
      ...FOLDERS.map(folder => `${folder}*${slow ? '.slow' : ''}.test.js`)
    ],
    { cwd: root, stdio: 'inherit' }
  );
  process.exitCode = status ?? 1;
});

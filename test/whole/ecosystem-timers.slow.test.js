'use strict';

// Clocks of test runners, which are replaced: a pool survives thirty days in one call, and all timers come to an end.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { installed } = require('../support/folder');
const { sharedServer } = require('../support');

describe('The ecosystem, replaced clocks', function () {
  this.timeout(120000);
  let folder, run;
  before(async function () {
    folder = installed(this, 'everywhere');
    const { config } = await sharedServer();
    run = (program, ...args) =>
      promisify(execFile)(process.execPath, [path.join(folder, program), ...args], {
        cwd: folder,
        env: { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', SERVER: JSON.stringify(config) },
        timeout: 60000
      });
  });

  it('of sinon run no timer again and again', async () => {
    const { stdout } = await run('timers/sinon.js');
    const lines = stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line));
    assert.equal(lines.length, 6);
    for (const [, open, , end] of lines) assert.ok(open <= 1 && end === 0, stdout);
  });

  it('of Jest run no timer again and again', async () => {
    const { stderr } = await run(
      'node_modules/jest/bin/jest.js',
      '-c',
      'jest.config.js',
      '--roots',
      'test/everywhere/timers',
      '--runInBand',
      '--cache=false'
    );
    assert.match(stderr, /Tests: +2 passed, 2 total/);
  });

  it('of Vitest run no timer again and again', async () => {
    const { stdout } = await run(
      'node_modules/vitest/vitest.mjs',
      'run',
      '--root',
      'timers',
      '--dir',
      '.',
      '--reporter',
      'default',
      'timers.test.mjs'
    );
    assert.match(stdout, /Tests {2}2 passed \(2\)/);
  });
});

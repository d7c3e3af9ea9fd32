'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { installed } = require('../support/folder');

/** Runs a program of the folder's; what it prints where it fails. */
const run = (program, args, more) =>
  promisify(execFile)(process.execPath, [program, ...args], { env: { ...process.env, ...more } }).then(
    () => '',
    error => error.stdout + error.stderr
  );

describe('A service in TypeScript, with Fastify', function () {
  this.timeout(120000);
  let modules, folder;
  before(function () {
    const ecosystem = installed(this, 'ecosystem');
    modules = path.join(ecosystem, 'node_modules');
    folder = path.join(ecosystem, 'service');
    const own = path.join(modules, 'quickgres');
    if (!fs.existsSync(own)) fs.symlinkSync(path.join(__dirname, '../..'), own, 'junction');
  });

  it('compiles, strictly, with the declarations of all libraries', async () => {
    assert.equal(await run(path.join(modules, 'typescript/bin/tsc'), ['-p', folder]), '');
  });

  it('passes its tests, which Vitest runs', async () => {
    const server = await startServer({ external: false });
    try {
      assert.equal(
        await run(path.join(modules, 'vitest/vitest.mjs'), ['run', '--root', folder], {
          SERVER: JSON.stringify(server.config)
        }),
        ''
      );
    } finally {
      await server.stop();
    }
  });
});

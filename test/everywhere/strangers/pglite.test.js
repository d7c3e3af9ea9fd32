'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { stranger } = require('../../support/stranger');
const { PGLITE } = require('./pglite');

const ROOT = path.join(__dirname, '../../..');

stranger(PGLITE);

describe('The recipe of tests on PGlite', () => {
  it('passes as it is', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pglite-'));
    try {
      fs.mkdirSync(path.join(folder, 'node_modules'));
      fs.symlinkSync(ROOT, path.join(folder, 'node_modules/quickgres'));
      fs.symlinkSync(
        path.join(__dirname, '../node_modules/@electric-sql'),
        path.join(folder, 'node_modules/@electric-sql')
      );
      fs.copyFileSync(path.join(ROOT, 'test/recipes/pglite.mjs'), path.join(folder, 'pglite.mjs'));
      const { NODE_OPTIONS, NODE_TEST_CONTEXT, ...env } = process.env;
      const { status, stdout } = spawnSync(process.execPath, ['--test', 'pglite.mjs'], {
        cwd: folder,
        encoding: 'utf8',
        env
      });
      assert.equal(status, 0, stdout);
      assert.match(stdout, /pass 2/);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });
});

'use strict';

// The suite's tests of PgBouncer, with its newest release, which is built here unless PGBOUNCER_PATH names one.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { PGBOUNCER } = require('../../support/poolers');
const { stranger } = require('../../support/stranger');

const SOURCE = 'https://github.com/pgbouncer/pgbouncer.git';
const TAG = 'pgbouncer_1_25_2';
const COMMIT = '515b6284d273bfd62d1b7e3931ccdce41f9bfe7b';
const FOLDER = path.join(__dirname, '../node_modules', TAG);
const PROGRAM = path.join(FOLDER, 'pgbouncer');

/** @returns {string} what it prints */
const run = (command, ...args) =>
  execFileSync(command, args, { cwd: FOLDER, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** Takes half a minute. */
function build() {
  if (fs.existsSync(PROGRAM)) return;
  fs.rmSync(FOLDER, { recursive: true, force: true });
  fs.mkdirSync(FOLDER, { recursive: true });
  run('git', 'clone', '--quiet', '--depth', '1', '--branch', TAG, SOURCE, '.');
  assert.equal(run('git', 'rev-parse', 'HEAD').trim(), COMMIT);
  run('./autogen.sh');
  run('./configure', '--without-cares');
  run('make', 'pgbouncer');
}

before(function () {
  this.timeout(300000);
  if (process.env.PGBOUNCER_PATH) return;
  try {
    build();
  } catch (error) {
    fs.rmSync(PROGRAM, { force: true });
    if (process.env.CI) throw error;
    console.error(`  skipped: PgBouncer was not built: ${error.message}`);
    this.skip();
  }
  process.env.PGBOUNCER_PATH = PROGRAM;
});

require('../../whole/pgbouncer.test.js');

for (const pooler of Object.values(PGBOUNCER)) stranger(pooler);

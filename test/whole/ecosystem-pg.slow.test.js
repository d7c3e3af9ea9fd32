'use strict';

// What people use node-postgres with, used with quickgres/pg: each scenario tells the same with both.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { installed } = require('../support/folder');
const { sharedServer } = require('../support');

const run = promisify(execFile);
const folder = path.join(__dirname, '../ecosystem', 'pg');
const scenarios = fs
  .readdirSync(folder)
  .map(name => name.replace('.js', ''))
  .filter(name => name !== 'run');

describe('The ecosystem of node-postgres', () => {
  let server;
  before(async function () {
    installed(this, 'ecosystem');
    server = await sharedServer();
  });

  /** What a scenario tells, in a database of its own. */
  async function told(implementation, scenario, env) {
    const database = `${implementation}_${scenario}`;
    await server.sql(`CREATE DATABASE "${database}"`);
    try {
      const config = JSON.stringify({ ...server.config, host: server.host, port: server.port, database });
      const { stdout } = await run(process.execPath, [path.join(folder, 'run.js'), implementation, scenario, config], {
        env: { ...process.env, NODE_OPTIONS: '', ...env },
        timeout: 60000
      });
      return stdout
        .replaceAll(database, 'DATABASE')
        .split('\n')
        .filter(line => line.startsWith('[')); // others log, too
    } finally {
      await server.sql(`DROP DATABASE "${database}" WITH (FORCE)`);
    }
  }

  for (const scenario of scenarios) {
    it(`does the same: ${scenario}`, async function () {
      this.timeout(120000);
      const env = scenario === 'values' ? { TZ: 'America/New_York' } : {};
      const theirs = await told('pg', scenario, env);
      assert.equal(theirs.at(-1), '["over"]');
      assert.deepEqual(await told('quickgres', scenario, env), theirs);
    });
  }

  for (const tracer of ['opentelemetry', 'datadog']) {
    it(`is traced the same: ${tracer}`, async function () {
      this.timeout(120000);
      const alias = fs.mkdtempSync(path.join(os.tmpdir(), 'alias-'));
      const config = JSON.stringify({ ...server.config, host: server.host, port: server.port });
      const seen = async (...args) => {
        const env = { ...process.env, NODE_OPTIONS: '', ALIAS: alias };
        const { stdout } = await run(process.execPath, [...args, `${tracer}.js`, config], {
          cwd: path.join(folder, '..', 'tracing'),
          env,
          timeout: 60000
        });
        return [...new Set(JSON.parse(stdout).map(each => JSON.stringify(each)))].sort(); // pg tells some twice, and in another order
      };
      try {
        const theirs = await seen();
        assert.ok(theirs.length >= 5);
        assert.deepEqual(await seen('--require', './alias.js'), theirs);
        const register = path.join(__dirname, '../..', 'lib', 'pg', 'register.js');
        assert.deepEqual(await seen('--import', register), theirs);
      } finally {
        fs.rmSync(alias, { recursive: true });
      }
    });
  }
});

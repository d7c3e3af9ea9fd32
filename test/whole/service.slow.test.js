'use strict';

// The whole service of the recipes, from the installed archive, behind PgBouncer.

const assert = require('node:assert/strict');
const { execFile, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { promisify } = require('node:util');
const { skipUnless, startPgBouncer, startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { archived } = require('../support/archive');
const { endAfterTest } = require('../support/hooks');
const { until } = require('../support/kit');

const run = promisify(execFile);

describe('The service of the recipes', function () {
  this.timeout(60_000);
  let folder, server, pooler, env, admin;

  before(async function () {
    skipUnless(this, 'pgbouncer');
    server = await startServer({ external: false });
    await server.sql('CREATE DATABASE tasks');
    folder = path.join(archived(), 'service');
    fs.cpSync(path.join(archived(), 'node_modules/quickgres/test/recipes/service'), folder, { recursive: true });
    admin = { ...server.config, database: 'tasks' };
    const client = new Client(admin);
    await client.connect();
    await client.simpleQuery(fs.readFileSync(path.join(folder, 'schema.sql'), 'utf8'));
    await client.end();
    pooler = await startPgBouncer({ target: { ...server, user: 'app', database: 'tasks' }, mode: 'transaction' });
    const urlOf = ({ host, port }) => `postgres://app@${host}:${port}/tasks`;
    env = {
      ...process.env,
      DATABASE_URL: urlOf(pooler),
      DIRECT_URL: urlOf({ ...server, host: '127.0.0.1' }),
      PORT: '0'
    };
  });
  after(async () => {
    await pooler?.stop();
    await server?.stop();
  });

  /** Starts the service. @returns {Promise<{child: object, ask: function}>} */
  async function started() {
    const child = spawn(process.execPath, ['server.mjs'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stderr: '', stdout: '' };
    child.stderr.on('data', data => (said.stderr += data));
    const lines = createInterface(child.stdout);
    lines.on('line', line => (said.stdout += `${line}\n`));
    endAfterTest({ end: async () => void child.kill('SIGKILL'), destroy: () => child.kill('SIGKILL') });
    await until(() => said.stdout !== '' || child.exitCode !== null, 'the service has started');
    assert.equal(child.exitCode, null, said.stderr);
    const url = said.stdout.trim();
    const ask = async (what, { tenant = 'one', ...init } = {}) => {
      const response = await fetch(new URL(what, url), { ...init, headers: { 'x-tenant': tenant, ...init.headers } });
      const body = await response.text();
      return [response.status, response.headers.get('content-type')?.includes('json') ? JSON.parse(body) : body];
    };
    return { child, ask, said, url };
  }

  it('answers its routes for each tenant, does its jobs, and tells wrong requests by their status', async () => {
    const { ask, said } = await started();
    const [status, task] = await ask('/tasks', { method: 'POST', body: '{"body":"bread"}' });
    assert.deepEqual([status, task.body], [201, 'bread']);
    await until(() => said.stdout.includes(`mail about ${task.id}`), 'the job is done');
    assert.deepEqual(await ask('/tasks.csv', { method: 'POST', body: 'body,due\nsalt,2026-01-01\nrice,\n' }), [
      200,
      '2'
    ]);
    assert.deepEqual(await ask(`/done?id=${task.id}`, { method: 'POST', tenant: 'two' }), [404, '']);
    assert.deepEqual(await ask(`/done?id=${task.id}`, { method: 'POST' }), [204, '']);
    const [, list] = await ask('/tasks');
    assert.deepEqual(
      list.map(({ body, due, done }) => [body, due, done]),
      [
        ['salt', '2026-01-01', false],
        ['bread', null, true],
        ['rice', null, false]
      ]
    );
    const [, csv] = await ask('/tasks', { headers: { accept: 'text/csv' } });
    assert.match(csv, /^id,body,due,done\r?\n.*,salt,2026-01-01,f\r?\n/);
    assert.deepEqual(await ask('/tasks', { tenant: 'two' }), [200, []]);
    const counts = [
      200,
      [
        { done: false, tasks: 2 },
        { done: true, tasks: 1 }
      ]
    ];
    assert.deepEqual(await ask('/counts'), counts);
    await ask('/tasks', { method: 'POST', body: '{"body":"soap"}' });
    await until(async () => (await ask('/counts'))[1][0].tasks === 3, 'the cache has heard of the change');

    assert.deepEqual(await ask('/done?id=none', { method: 'POST' }), [400, ''], 'a malformed uuid');
    assert.deepEqual(await ask('/tasks', { method: 'POST', body: '{"body":""}' }), [400, '']);
    assert.deepEqual(await ask('/tasks', { method: 'POST', body: 'no JSON' }), [400, '']);
    assert.deepEqual(await ask('/tasks.csv', { method: 'POST', body: 'body,due\nsalt,never\n' }), [400, '']);
    assert.deepEqual(await ask('/nothing'), [404, '']);
    assert.equal(said.stderr, '');
  });

  it('shows each change to pages, and stops while they read', async () => {
    const { child, ask, url } = await started();
    const { live } = await import('../../client-parser/live.js');
    const seen = [];
    const reading = (async () => {
      for await (const rows of live(new URL('/tasks', url), { headers: { 'x-tenant': 'three' } })) {
        seen.push(rows.map(({ body }) => body));
        if (seen.length === 2) break;
      }
    })();
    const later = new AbortController();
    await until(() => seen.length === 1, 'the first state');
    await ask('/tasks', { method: 'POST', tenant: 'three', body: '{"body":"milk"}' });
    await reading;
    assert.deepEqual(seen, [[], ['milk']]);
    const left = (async () => {
      for await (const rows of live(new URL('/tasks', url), { headers: { 'x-tenant': 'three' }, signal: later.signal }))
        seen.push(rows.connected);
    })().catch(() => {});
    await until(() => seen.length === 3, 'a page reads');
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'exit'), [0, null]);
    later.abort();
    await left;
  });

  it('has tests that leave nothing behind', async () => {
    const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap'], {
      cwd: folder,
      env: { ...env, DATABASE_URL: env.DIRECT_URL, NODE_OPTIONS: '' }
    });
    assert.match(stdout, /^# pass 2$/m);
  });

  it('has SQL that is right, by its schema', async () => {
    const command = path.join(archived(), 'node_modules/quickgres/lib/types/index.js');
    const { user, host, port, database } = server.config;
    const options = {
      cwd: folder,
      env: { ...env, PGUSER: user, PGHOST: host, PGPORT: String(port), PGDATABASE: database, DATABASE_URL: '' }
    };
    await run(process.execPath, [command, 'types', '--schema', 'schema.sql'], options);
    const { stdout } = await run(process.execPath, [command, 'types', '--schema', 'schema.sql', '--check'], options);
    const declared = fs.readFileSync(path.join(folder, 'queries.d.ts'), 'utf8');
    assert.match(declared, /tasks/, stdout);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');

const run = promisify(execFile);

/** As Jest does when a test file is over. */
const PROGRAM = `
  const pg = require('../../lib/pg');
  require('node:module')._load = name => { throw new Error('too late for ' + name); };
  (async () => {
    const config = JSON.parse(process.env.SERVER);
    const client = new pg.Client(config);
    await client.connect();
    await client.query('SELECT 1');
    const { rows } = await client.query("SELECT $1::int AS n, now(), '{1}'::int[]", [1]);
    await client.query({ text: 'SELECT pg_sleep(60)', query_timeout: 50 }).catch(error => console.log(error.message));
    await new Promise(resolve => { client.query(new pg.Query('SELECT 1')).on('end', resolve); });
    await client.end();
    const pool = new pg.Pool({ ...config, ssl: { rejectUnauthorized: false } });
    await pool.query('SELECT 1');
    await pool.end();
    console.log(rows[0].n);
  })();`;

describe('quickgres/pg', () => {
  it('loads nothing more once it is loaded, since a test runner may take require away while it connects', async function () {
    this.timeout(60000);
    const server = await startServer({ auth: 'scram-sha-256', tls: true });
    try {
      const env = { ...process.env, NODE_OPTIONS: '', SERVER: JSON.stringify({ ...server.config, host: 'localhost' }) };
      const { stdout } = await run(process.execPath, ['-e', PROGRAM], { cwd: __dirname, env });
      assert.equal(stdout, 'Query read timeout\n1\n');
    } finally {
      await server.stop();
    }
  });
});

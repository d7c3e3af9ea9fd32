'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { text } = require('node:stream/consumers');
const { pipeline } = require('node:stream/promises');
const { ConnectionError } = require('../..');
const { opened } = require('./pools');

describe('A Pool', () => {
  it('answers queries, each with its own values', async () => {
    const pool = await opened();
    const results = await Promise.all(Array.from({ length: 500 }, (_, i) => pool.query('SELECT $1::int AS i', [i])));
    assert.deepEqual(results.map(({ rows: [row] }) => row.i), Array.from({ length: 500 }, (_, i) => String(i)));
  });

  it('opens connections as they are needed, and no more than its size', async () => {
    const pool = await opened({ size: 3 });
    await pool.query('SELECT 1');
    assert.equal(pool.stats.connected, 1);
    await Promise.all(Array.from({ length: 50 }, () => pool.query('SELECT pg_sleep(0.01)')));
    assert.deepEqual(pool.stats, { size: 3, connected: 3, idle: 3, owned: 0, pending: 0, waiting: 0 });
  });

  it('does not send a query behind a slow one where another connection is free, or can be opened', async () => {
    const pool = await opened();
    const ids = () => Promise.all(Array.from({ length: 3 }, async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id));
    const slow = pool.query('SELECT pg_backend_pid() AS id, pg_sleep(1)');
    const others = await ids();
    for (let i = 0; i < 20; i++) others.push(...await ids());
    assert.equal(others.includes((await slow).rows[0].id), false);
  });

  it('refuses statements that concern a session, before anything is sent', async () => {
    const pool = await opened({}, { port: 1 });
    for (const each of ['BEGIN', ' /* x */ start transaction', 'SET a.b = 1', 'LISTEN x', '-- y\nDISCARD ALL', 'PREPARE p AS SELECT 1']) {
      await assert.rejects(pool.query(each), { name: 'UsageError', code: '0A000', message: /concerns one session/ });
      await assert.rejects(pool.batch(['SELECT 1', [each]]), { name: 'UsageError', code: '0A000' });
    }
    await assert.rejects(pool.query('COPY t FROM STDIN'), { name: 'UsageError', message: /copyFrom\(\)/ });
  });

  it('runs transactions side by side', async () => {
    const pool = await opened({ size: 3 });
    let running = 0;
    let most = 0;
    await Promise.all(Array.from({ length: 20 }, () => pool.transaction(async tx => {
      most = Math.max(most, ++running);
      await tx.query('SELECT pg_sleep(0.01)');
      running--;
    })));
    assert.equal(most, 2); // one is left for plain queries
  });

  it('gives a connection of one\'s own, and resets its session after it', async () => {
    const pool = await opened({ size: 1 });
    const pid = await pool.connection(async client => {
      await client.query('SET search_path TO nowhere');
      await client.query('BEGIN');
      return client.processId;
    });
    const { rows: [row] } = await pool.query("SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path");
    assert.deepEqual(row.toObject(), { pid: String(pid), path: '"$user", public' });
  });

  it('rejects simpleQuery where it leaves a block open, and rolls that back', async () => {
    const pool = await opened({ size: 1 });
    await assert.rejects(pool.simpleQuery('BEGIN; CREATE TABLE never (i int)'), { name: 'UsageError', code: '25001' });
    assert.equal((await pool.query("SELECT to_regclass('never') AS it")).rows[0].it, null);
    const [, { rows: [row] }] = await pool.simpleQuery('BEGIN; SELECT 1 AS n; COMMIT');
    assert.equal(row.n, '1');
  });

  it('streams: cursor, queryTo, copyTo, copyFrom', async () => {
    const pool = await opened();
    let sum = 0;
    for await (const row of pool.cursor('SELECT i FROM generate_series(1, 100) i', [], { batchSize: 7 })) sum += Number(row.i);
    assert.equal(sum, 5050);
    const target = new PassThrough();
    const [result, written] = await Promise.all([pool.queryTo(target, 'SELECT $1::text', ['it'], { as: 'values' }), text(target)]);
    assert.deepEqual([result, written], [{ cmd: 'SELECT', rowCount: 1, bytes: 2 }, 'it']);
    await pool.query('CREATE TABLE IF NOT EXISTS pooled (i int)');
    const copyTo = pool.copyTo('COPY (SELECT generate_series(1, 1000)) TO STDOUT');
    const copyFrom = pool.copyFrom('COPY pooled FROM STDIN');
    await pipeline(copyTo, copyFrom);
    assert.deepEqual([copyTo.rowCount, copyTo.format, copyFrom.rowCount, copyFrom.bytes], [1000, 0, 1000, copyTo.bytes]);
    await pool.query('DROP TABLE pooled');
  });

  it('ends when all that was asked is over, and refuses what comes later', async () => {
    const pool = await opened({ size: 2 });
    const asked = [pool.query('SELECT pg_sleep(0.05)'), ...Array.from({ length: 5 }, () => pool.transaction(tx => tx.query('SELECT 1')))];
    const ended = pool.end();
    await assert.rejects(pool.query('SELECT 1'), error => error instanceof ConnectionError && error.code === '08003' && error.sent === false);
    await Promise.all(asked);
    await ended;
    assert.equal(pool.stats.connected, 0);
  });
});

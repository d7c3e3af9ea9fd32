'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { startProxy } = require('pg-test-fixtures');
const { afterTest } = require('../support/hooks');
const { sharedServer } = require('../support');
const { opened, until } = require('./pools');

/** A pool whose open connections can be silenced; new ones work. */
async function silenced(options) {
  const proxy = await startProxy({ target: await sharedServer() });
  afterTest(() => proxy.stop());
  const pool = await opened({ size: 4, silence_timeout: 200, ...options }, { host: proxy.host, port: proxy.port });
  await Promise.all(Array.from({ length: 8 }, () => pool.query('SELECT pg_sleep(0.02)')));
  return { pool, proxy, silence() { for (const each of proxy.open) each.stall(); } };
}

const LIMIT = { statement_timeout: 100 };
const settled = promise => Promise.race([promise.then(() => 'answered', error => error.name), sleep(9000, 'hangs', { ref: false })]);

describe('Silent connections of a pool', () => {
  it('are replaced under steady load, in which none is ever idle', async () => {
    const { pool, silence } = await silenced();
    const outcomes = [];
    let over = false;
    const load = (async () => {
      const asked = [];
      while (!over) {
        asked.push(settled(pool.query('SELECT 1', [], LIMIT)).then(outcome => outcomes.push(outcome)));
        await sleep(10);
      }
      await Promise.all(asked);
    })();
    await until(() => outcomes.length > 20);
    silence();
    await until(() => outcomes.includes('TimeoutError'));
    await until(() => outcomes.slice(-50).every(outcome => outcome === 'answered'));
    over = true;
    await load;
    assert.equal(outcomes.includes('hangs'), false);
  });

  it('get no new requests: others answer them', async () => {
    const { pool, proxy } = await silenced({ silence_timeout: 0 });
    const [one] = proxy.open;
    one.stall();
    while (await settled(pool.query('SELECT 1', [], LIMIT)) === 'answered');
    for (let i = 0; i < 50; i++) await pool.query('SELECT 1', [], { statement_timeout: 5000 });
    one.resume();
    await until(() => pool.stats.idle === pool.stats.connected);
  });

  it('are not those on which a query is slow: the server cancels it, and they go on', async () => {
    const { pool } = await silenced({ size: 1, silence_timeout: 1000 });
    const id = async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id;
    const before = await id();
    for (let i = 0; i < 3; i++) await assert.rejects(pool.query('SELECT pg_sleep(60)', [], LIMIT), { code: '57014' });
    assert.equal(await id(), before);
  });

  it('let transactions, functions, cursors and batches with a limit settle, and end() end', async () => {
    const { pool, silence } = await silenced({ size: 5 });
    const signal = () => AbortSignal.timeout(100);
    const given = new AbortController();
    let arrived = 0;
    let goOn;
    const silent = new Promise(resolve => { goOn = resolve; });
    const arrive = () => {
      arrived++;
      return silent;
    };
    const begun = [
      pool.transaction(async tx => {
        await tx.query('SELECT 1');
        await arrive();
        await tx.query('SELECT 1', [], LIMIT);
      }),
      pool.connection(async client => {
        await client.query('SET search_path TO x');
        await arrive();
        await client.query('SELECT 1', [], LIMIT);
      }),
      (async () => {
        const cursor = pool.cursor('SELECT generate_series(1, 10)', [], { batchSize: 1, signal: given.signal });
        await cursor.next();
        await arrive();
        for await (const row of cursor) assert.ok(row);
      })()
    ].map(settled);
    await until(() => arrived === 3);
    silence();
    goOn();
    setTimeout(() => given.abort(), 100);
    const later = [
      pool.transaction(tx => tx.query('SELECT 1'), { signal: signal() }), pool.transaction(tx => tx.query('SELECT 1'), LIMIT),
      pool.query('SELECT 1', [], LIMIT), pool.batch(['SELECT 1'], LIMIT), pool.simpleQuery('SELECT 1', LIMIT)
    ].map(settled);
    const outcomes = await Promise.all([...begun, ...later]);
    assert.equal(outcomes.includes('hangs'), false, outcomes.join());
    assert.deepEqual(outcomes.slice(0, 3), ['TimeoutError', 'TimeoutError', 'AbortError']);
    assert.equal(await settled(pool.end()), 'answered');
  });
});

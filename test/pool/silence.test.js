'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: sleep } = require('node:timers/promises');
const { startHole, startProxy } = require('pg-test-fixtures');
const { Pipeline } = require('../../lib/core/pipeline');
const { FakeServer } = require('../support/connecting');
const { afterTest, endAfterTest, shorten } = require('../support/hooks');
const { Pool } = require('../../lib/pool');
const { sharedServer } = require('../support');
const { standstill } = require('../support/kit');
const { opened, until } = require('./pools');

/** A pool whose open connections can be silenced; new ones work. */
async function silenced(options, silence = 200) {
  const proxy = await startProxy({ target: await sharedServer() });
  afterTest(() => proxy.stop());
  const pool = await opened({ size: 4, ...options }, { host: proxy.host, port: proxy.port }, { silence });
  await Promise.all(Array.from({ length: 8 }, () => pool.query('SELECT pg_sleep(0.02)')));
  return {
    pool,
    proxy,
    silence() {
      for (const each of proxy.open) each.stall();
    }
  };
}

const LIMIT = { statement_timeout: 100 };
const settled = promise =>
  Promise.race([
    promise.then(
      () => 'answered',
      error => error.name
    ),
    sleep(9000, 'hangs', { ref: false })
  ]);

/** The config of several hosts, which are proxies, holes or fakes. */
async function hosts(...places) {
  const { config } = await sharedServer();
  return {
    ...config,
    host: places.map(() => '127.0.0.1').join(),
    port: places.map(({ port }) => port).join(),
    sslmode: 'disable'
  };
}

async function proxied(count) {
  const target = await sharedServer();
  const proxies = await Promise.all(Array.from({ length: count }, () => startProxy({ target })));
  afterTest(() => Promise.all(proxies.map(proxy => proxy.stop())));
  return proxies;
}

describe('A pool of several hosts without connect_timeout', () => {
  for (const [what, happens] of [
    ['vanishes', proxy => proxy.vanish()],
    ['is silent', proxy => proxy.stall()]
  ]) {
    it(`continues on the next host within 12 queries of half a second when the first ${what}`, async () => {
      const [first, second] = await proxied(2);
      const pool = endAfterTest(new Pool({ ...(await hosts(first, second)), target_session_attrs: 'read-write' }));
      await Promise.all(Array.from({ length: 3 }, () => pool.transaction(tx => tx.query('SELECT pg_sleep(0.02)'))));
      assert.equal(second.connections.length, 0);
      await happens(first);
      let failed = 0;
      while ((await settled(pool.query('SELECT 1', [], { statement_timeout: 500 }))) !== 'answered') failed++;
      assert.ok(failed < 12, `${failed} failed`);
      // Further connections begin with the host that answered.
      const before = first.connections.length;
      await Promise.all(Array.from({ length: 3 }, () => pool.transaction(tx => tx.query('SELECT pg_sleep(0.02)'))));
      assert.equal(first.connections.length, before);
      assert.ok(second.connections.length > 1);
    });
  }

  it('begins on the first host that answers', async () => {
    const [last] = await proxied(1);
    const hole = await startHole();
    const silent = await new FakeServer(async () => {}).listen();
    afterTest(() => Promise.all([hole.stop(), silent.stop()]));
    const pool = endAfterTest(new Pool(await hosts(hole, silent, last)));
    assert.equal((await pool.query('SELECT 1 AS one', [], { decode: true })).rows[0].one, 1);
  });
});

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
    const { pool, proxy } = await silenced({}, Infinity);
    const [one] = proxy.open;
    one.stall();
    while ((await settled(pool.query('SELECT 1', [], LIMIT))) === 'answered');
    for (let i = 0; i < 50; i++) await pool.query('SELECT 1', [], { statement_timeout: 5000 });
    one.resume();
    await until(() => pool.stats.idle === pool.stats.connected);
  });

  it('are not found one after the other: idle ones are closed with the first', async () => {
    const { pool, silence } = await silenced();
    const lost = once(pool, 'error');
    silence();
    assert.equal(await settled(pool.query('SELECT 1', [], LIMIT)), 'TimeoutError');
    await lost;
    assert.equal(pool.stats.idle, 0);
    assert.equal(await settled(pool.query('SELECT 1', [], { statement_timeout: 5000 })), 'answered');
  });

  it('are not those on which a query is slow: the server cancels it, and they go on', async () => {
    const { pool } = await silenced({ size: 1 }, 1000);
    const id = async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0].id;
    const before = await id();
    for (let i = 0; i < 3; i++) await assert.rejects(pool.query('SELECT pg_sleep(60)', [], LIMIT), { code: '57014' });
    assert.equal(await id(), before);
  });

  it('are not those whose cursor is read slowly: the cursor owns its connection until its loop is over', async () => {
    const { pool } = await silenced({ size: 1 }, 100);
    const told = [];
    for await (const { n } of pool.cursor('SELECT generate_series(1, 5) AS n', [], { batchSize: 1 })) {
      await sleep(100);
      if (n < 4) told.push(pool.stats.holders[0]); // then the last rows are there, and the transaction is over
    }
    assert.deepEqual(
      told.map(({ owned, text }) => [owned, text]),
      Array(3).fill([true, 'SELECT generate_series(…, …) AS n'])
    );
  });

  it('do not keep the error of a function that throws: it waits for ROLLBACK no longer than 3 s', async () => {
    const { pool, silence } = await silenced();
    const mine = new Error('mine');
    await assert.rejects(
      pool.transaction(async tx => {
        await tx.query('SELECT 1');
        silence();
        throw mine;
      }),
      mine
    );
  });

  it('with a cursor that was given up are not said to wait for the loop over it', async () => {
    shorten(Pipeline, 'loopLimit', 20);
    const { pool, proxy, silence } = await silenced({ size: 1 });
    const controller = new AbortController();
    const { signal } = controller;
    const cursor = pool.cursor('SELECT generate_series(1, 10)', [], { batchSize: 1, signal });
    await cursor.next();
    await standstill(() => proxy.stats.bytes.toClient); // the next row is there
    silence();
    await cursor.next();
    await new Promise(setImmediate); // the row behind it is asked for
    const warnings = [];
    const warn = warning => warnings.push(warning);
    process.on('warning', warn);
    const lost = once(pool, 'error');
    controller.abort();
    await assert.rejects(cursor.next(), { name: 'AbortError' });
    await lost; // until then, the pool's own Sync waits behind the cursor
    process.off('warning', warn);
    assert.deepEqual(warnings, []);
  });

  it('let transactions, functions, cursors and batches with a limit settle, and end() end', async () => {
    const { pool, silence } = await silenced({ size: 5 });
    const signal = () => AbortSignal.timeout(100);
    const given = new AbortController();
    let arrived = 0;
    let goOn;
    const silent = new Promise(resolve => {
      goOn = resolve;
    });
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
      pool.transaction(tx => tx.query('SELECT 1'), { signal: signal() }),
      pool.transaction(tx => tx.query('SELECT 1'), LIMIT),
      pool.query('SELECT 1', [], LIMIT),
      pool.batch(['SELECT 1'], LIMIT),
      pool.simpleQuery('SELECT 1', LIMIT)
    ].map(settled);
    const outcomes = await Promise.all([...begun, ...later]);
    assert.equal(outcomes.includes('hangs'), false, outcomes.join());
    assert.deepEqual(outcomes.slice(0, 3), ['TimeoutError', 'TimeoutError', 'AbortError']);
    assert.equal(await settled(pool.end()), 'answered');
  });
});

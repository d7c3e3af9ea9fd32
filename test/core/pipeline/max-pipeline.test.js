'use strict';

const assert = require('node:assert/strict');
const { pipeline } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const { LEASE } = require('../../../lib/core/internal');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { endAfterTest, afterTest } = require('../../support/hooks');
const { sharedServer, connected, held, proxied } = require('../../support');
const { until } = require('../../support/kit');
const { startProxy } = require('pg-test-fixtures');

/** @returns {Promise<number>} how many flights to the server the work takes */
async function flightsOf(wire, work) {
  const before = wire.stats.flights.toServer;
  await work();
  return wire.stats.flights.toServer - before;
}

const ask = (session, count) =>
  Promise.all(Array.from({ length: count }, (_, i) => session.query('SELECT $1::int AS i', [i])));

describe('max_pipeline', () => {
  it('is the most requests in a flight: 1 sends the next one after the answer', async () => {
    for (const [max_pipeline, flights] of [
      [0, 1],
      [1, 12],
      [2, 6]
    ]) {
      const { client, wire } = await proxied({ max_pipeline }, { delay: 2 });
      await client.query('SELECT $1::int AS i', [0]);
      const count = await flightsOf(wire, async () => {
        const results = await ask(client, 12);
        assert.deepEqual(
          results.map(({ rows }) => Number(rows[0].i)),
          Array.from({ length: 12 }, (_, i) => i)
        );
      });
      assert.ok(max_pipeline < 2 ? count === flights : count >= flights, `${count} flights with ${max_pipeline}`);
    }
  });

  it('of 1 sends BEGIN with the first query, and COMMIT alone', async () => {
    const { client, wire } = await proxied({ max_pipeline: 1 });
    await client.query('SELECT 1 AS n');
    assert.equal(await flightsOf(wire, () => client.transaction(tx => tx.query('SELECT 2 AS n'))), 2);
    assert.equal(await flightsOf(wire, () => client.transaction(tx => ask(tx, 4))), 5);
  });

  it('of 1 is one flight for a batch, and lets a cursor, COPY, a savepoint, a failed query and a cancelled one pass', async () => {
    const { client, wire } = await proxied({ max_pipeline: 1 });
    const batch = ['SELECT 1 AS n', 'SELECT 2 AS n', 'SELECT 3 AS n'];
    assert.equal(await flightsOf(wire, () => client.batch(batch)), 1);
    await client.query('CREATE TEMP TABLE t (i int)');
    const abort = new AbortController();
    setTimeout(() => abort.abort(), 20);
    await Promise.all([
      (async () => {
        let sum = 0;
        for await (const row of client.cursor('SELECT i FROM generate_series(1, 10) i', [], { batchSize: 3 }))
          sum += Number(row.i);
        assert.equal(sum, 55);
      })(),
      pipeline(['1\n', '2\n'], client.copyFrom('COPY t FROM STDIN')),
      client.transaction(async tx => {
        await assert.rejects(
          tx.transaction(inner => inner.query('SELECT 1 / 0')),
          { code: '22012' }
        );
        await Promise.all([tx.query('INSERT INTO t VALUES (3)'), tx.query('INSERT INTO t VALUES (4)')]);
      }),
      assert.rejects(client.query('SELECT 1 / 0'), { code: '22012' }),
      assert.rejects(client.query('SELECT pg_sleep(60)', [], { signal: abort.signal }), { name: 'AbortError' }),
      client.simpleQuery('SELECT 1; SELECT 2')
    ]);
    assert.equal((await client.query('SELECT sum(i) AS n FROM t')).rows[0].n, 10);
    client.startQuery('SELECT i FROM generate_series(1, 10) i');
    const behind = ask(client, 2);
    assert.equal((await client.getResults(4)).rows.length, 4);
    await client.sync();
    await behind;
  });

  it('sends no data of a COPY before the server takes it', async () => {
    const { client, wire } = await proxied({ max_pipeline: 1 });
    await client.query('CREATE TEMP TABLE t (i int)');
    assert.equal(await flightsOf(wire, () => pipeline(['1\n'], client.copyFrom('COPY t FROM STDIN'))), 2);
    const sink = client.copyFrom('COPY there_is_none FROM STDIN');
    await assert.rejects(pipeline(['1\n'], sink), { code: '42P01' });
    assert.equal((await client.query('SELECT count(*) AS n FROM t')).rows[0].n, 1);
  });

  it('sends nothing before the server has let the client in', async () => {
    const server = await sharedServer();
    const client = endAfterTest(new Client({ ...server.config, require_auth: 'none', max_pipeline: 1 }));
    const {
      pipeline: { earlyRequests }
    } = client[LEASE];
    let given;
    client[LEASE].pipeline.earlyRequests = function (...args) {
      return (given = earlyRequests.apply(this, args));
    };
    const [, { rows }] = await Promise.all([client.connect(), client.query('SELECT 1 AS n')]);
    assert.deepEqual([await given, rows[0].n], [null, 1]);
  });

  it('of 1 still closes statements that were evicted', async () => {
    const client = await connected({ max_pipeline: 1, statement_cache: 3 });
    await Promise.all(Array.from({ length: 20 }, (_, n) => client.query(`SELECT ${n}`)));
    for (let n = 0; n < 10; n++) await client.query(`SELECT ${n}`);
    const { rows } = await client.query('SELECT statement FROM pg_prepared_statements', [], { cache: false });
    assert.deepEqual(rows.map(row => row.statement).sort(), ['SELECT 7', 'SELECT 8', 'SELECT 9']);
  });

  it('of 1 leaves an open cursor open when a statement was evicted', async () => {
    const client = await connected({ max_pipeline: 1, statement_cache: 1 });
    await client.query('SELECT 1');
    let count = 0;
    for await (const row of client.cursor('SELECT i FROM generate_series(1, 10) i', [], { batchSize: 3 }))
      count += row.columnCount;
    assert.equal(count, 10);
  });

  it('of 1 holds for DISCARD ALL of a pool’s connection()', async () => {
    const proxy = await startProxy({ target: await sharedServer(), record: true });
    afterTest(() => proxy.stop());
    const { user, database } = await sharedServer();
    const pool = endAfterTest(
      new Pool({ host: proxy.host, port: proxy.port, user, database, max_pipeline: 1 }, { size: 1 })
    );
    await pool.query('SELECT 1');
    const [wire] = proxy.connections;
    const flights = await flightsOf(wire, async () => {
      await pool.connection(client => client.query('SET work_mem = 65536'));
      await pool.query('SELECT 1');
    });
    assert.equal(flights, 3);
  });

  it('of any number tells of a transaction whose COMMIT was sent and not answered that it may be stored', async () => {
    const watcher = await connected();
    await watcher.query('CREATE TABLE IF NOT EXISTS stored_by_commit (i int)');
    const proxy = await startProxy({ target: await sharedServer() });
    afterTest(() => proxy.stop());
    const { user, database } = await sharedServer();
    const waits = async i => {
      while ((await watcher.query('SELECT 1 FROM stored_by_commit WHERE i = $1', [i])).rowCount === 0) await turn();
    };
    let i = 0;
    try {
      for (const max_pipeline of [0, 1, 2]) {
        const config = { host: proxy.host, port: proxy.port, user, database, max_pipeline };
        for (const session of [
          endAfterTest(new Client(config)).on('error', () => {}),
          endAfterTest(new Pool(config, { size: 1 }))
        ]) {
          for (const by of [session, session.with({ 'app.tenant': 1 })]) {
            const id = i++;
            if (session instanceof Client) await session.connect();
            const done = by.transaction(async tx => {
              await tx.query('INSERT INTO stored_by_commit VALUES ($1)', [id]);
              proxy.connections.at(-1).stall('toClient');
              waits(id).then(() => proxy.connections.at(-1).reset());
            });
            await assert.rejects(done, { name: 'ConnectionError', sent: true }, `max_pipeline ${max_pipeline}`);
          }
        }
      }
    } finally {
      await watcher.query('DROP TABLE stored_by_commit');
    }
  });

  it('of 1 spreads what waits over the connections of a pool', async () => {
    const pool = endAfterTest(new Pool({ ...(await sharedServer()).config, max_pipeline: 1 }, { size: 4 }));
    const { call, release } = await held();
    const asked = Array.from({ length: 40 }, () => pool.query(`SELECT pg_backend_pid() AS pid, ${call}`));
    await until(() => pool.stats.pending === 4, 'each connection has one');
    await release();
    const results = await Promise.all(asked);
    assert.equal(new Set(results.map(({ rows: [row] }) => row.pid)).size, 4);
  });
});

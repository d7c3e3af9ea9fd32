'use strict';

const assert = require('node:assert/strict');
const { tracingChannel } = require('node:diagnostics_channel');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { sql } = require('../../lib/sql');
const { connected, proxied, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');
const { typesOf } = require('../support/kit');

/** A client with a table whose values are unique, which the commit checks. */
async function prepared(config) {
  const { client, ...more } = await proxied(config);
  await client.query('CREATE TEMP TABLE t (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
  const ints = async () => (await client.query('SELECT i FROM t ORDER BY i')).rows.map(({ i }) => i);
  return { client, ints, ...more };
}

const INSERT = 'INSERT INTO t VALUES ($1) RETURNING i';

describe('tx.commit', () => {
  it("resolves to its query's result, which is committed", async () => {
    const { client, ints } = await prepared();
    const result = await client.transaction(async tx => {
      await tx.query(INSERT, [1]);
      const { rows } = await tx.commit(INSERT, [2]);
      assert.equal(client.transactionStatus, 'I');
      return rows[0].i;
    });
    assert.deepEqual([result, await ints()], [2, [1, 2]]);
  });

  it('takes the options of a query, and a piece of SQL', async () => {
    const { client } = await prepared();
    for (const ask of [
      tx => tx.commit('SELECT 1 AS an_int', [], { decode: false, names: 'camel' }),
      tx => tx.commit(sql`SELECT ${1}::int AS an_int`, { decode: false, names: 'camel' })
    ])
      assert.equal((await client.transaction(ask)).rows[0].anInt, '1');
    const { rows } = await client.transaction(tx => tx.commit('SELECT $1::json -> 0 AS a, $2::int[] AS b', [[1], [2]]));
    assert.deepEqual(rows[0].toArray(), [1, [2]]);
  });

  it('makes a transaction of one query one flight, and one of a read and a write two', async () => {
    const { client, wire } = await prepared();
    const flightsOf = async work => {
      const before = wire.stats.flights.toServer;
      await client.transaction(work);
      return wire.stats.flights.toServer - before;
    };
    for (let round = 0; round < 2; round++) {
      const from = wire.recorded.toServer.length;
      assert.equal(await flightsOf(tx => tx.commit(INSERT, [round])), 1);
      assert.equal(typesOf(wire.recorded.toServer, from), round === 0 ? 'PDBEPDBEPDBES' : 'PDBEBEPDBES');
    }
    const readAndWrite = async tx => {
      const [{ n }] = (await tx.query('SELECT count(*)::int AS n FROM t')).rows;
      await tx.commit(INSERT, [n + 10]);
    };
    assert.equal(await flightsOf(readAndWrite), 2);
    assert.equal(await flightsOf(readAndWrite), 2);
  });

  it('rolls back if its query fails, and rejects with that, also if the function returns', async () => {
    const { client, ints } = await prepared();
    for (const work of [
      tx => tx.commit('SELECT 1 / 0'),
      tx => tx.query(INSERT, [1]).then(() => tx.commit('SELECT 1 / 0')),
      tx => tx.query(INSERT, [1]).then(() => tx.commit('SELECT 1 / 0').catch(() => 'returns')),
      tx => void tx.commit('SELECT 1 / 0').catch(() => {})
    ]) {
      await assert.rejects(client.transaction(work), { code: '22012', query: 'SELECT 1 / 0' });
      assert.deepEqual([await ints(), client.transactionStatus], [[], 'I']);
    }
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query('SELECT 1 / 0').catch(() => {});
        await tx.commit(INSERT, [1]);
      }),
      { code: '25P02' }
    );
    assert.deepEqual(await ints(), []);
  });

  it('rejects when its block or savepoint is undone, as the function does that fails with a query', async () => {
    const { client } = await proxied({}, { delay: 5 });
    for (const fail of [tx => tx.query('SELECT 1 / 0'), tx => tx.commit('SELECT 1 / 0')]) {
      await assert.rejects(client.transaction(fail), { code: '22012' });
      assert.equal(client.transactionStatus, 'I');
      await client.transaction(async tx => {
        await assert.rejects(tx.transaction(fail), { code: '22012' });
        assert.equal(client.transactionStatus, 'T');
      });
    }
  });

  it('rejects with the error of a deferred constraint', async () => {
    const { client, ints } = await prepared();
    await client.transaction(tx => tx.commit(INSERT, [1]));
    await assert.rejects(
      client.transaction(tx => tx.commit(INSERT, [1])),
      { code: '23505', query: 'COMMIT' }
    );
    assert.deepEqual([await ints(), client.transactionStatus], [[1], 'I']);
  });

  it('rejects all later calls on the transaction', async () => {
    const { client, ints } = await prepared();
    const later = [
      tx => tx.query('SELECT 1'),
      tx => tx.batch(['SELECT 1']),
      tx => tx.simpleQuery('SELECT 1'),
      tx => tx.commit('SELECT 1'),
      tx => tx.transaction(() => {}),
      tx => tx.cursor('SELECT 1').next(),
      tx => tx.describe('SELECT 1'),
      tx => tx.with({ application_name: 'x' }).query('SELECT 1')
    ];
    const isOver = { name: 'UsageError', code: '25P01', message: /^the transaction is over: commit\(\) was its last/ };
    await client.transaction(async tx => {
      const committed = tx.commit(INSERT, [1]);
      for (const call of later) await assert.rejects(async () => call(tx), isOver, String(call));
      await committed;
      for (const call of later) await assert.rejects(async () => call(tx), { code: '25P01' }, String(call));
    });
    assert.deepEqual(await ints(), [1]);
  });

  it('releases its savepoint, or rolls back to it', async () => {
    const { client, ints } = await prepared();
    await client.transaction(async tx => {
      const { rows } = await tx.transaction(inner => inner.commit(INSERT, [1]));
      assert.equal(rows[0].i, 1);
      await assert.rejects(
        tx.transaction(async inner => {
          await inner.query(INSERT, [2]);
          await inner.commit('SELECT 1 / 0');
        }),
        { code: '22012' }
      );
      await tx.transaction(async inner => {
        await inner.query(INSERT, [3]);
        await assert.rejects(tx.commit('SELECT 1'), { code: '25001' }, 'the outer one is not over');
      });
      await tx.commit(INSERT, [4]);
    });
    assert.deepEqual(await ints(), [1, 3, 4]);
  });

  it('sends nothing of a wrong call, and the transaction goes on', async () => {
    const { client, ints } = await prepared();
    await client.transaction(async tx => {
      await tx.query(INSERT, [1]);
      for (const [given, error] of [
        [['COPY t FROM STDIN'], { name: 'TypeError', message: /^commit takes a query, not COPY/ }],
        [['COPY t TO STDOUT'], { name: 'TypeError' }],
        [[5], { name: 'TypeError' }],
        [['SELECT $1', [Symbol('x')]], { name: 'TypeError' }],
        [['SELECT 1', [], { stream: process.stdout }], { name: 'TypeError', message: /no option stream/ }],
        [['SELECT 1', [], { signal: AbortSignal.abort() }], { name: 'AbortError', sent: false }],
        [['/* a */ ROLLBACK'], { name: 'UsageError', code: '0A000', message: /leave out ROLLBACK$/ }],
        [["PREPARE TRANSACTION 'x'"], { name: 'UsageError', code: '0A000' }]
      ])
        await assert.rejects(tx.commit(...given), error, String(given[0]));
      await tx.commit(INSERT, [2]);
    });
    assert.deepEqual(await ints(), [1, 2]);
    await assert.rejects(
      client.transaction(tx => tx.commit('SELECT 1; SELECT 2')),
      { code: '42601' }
    );
  });

  it('is cancelled by its own signal and by the limit of the transaction, and rolls back', async () => {
    const { client, ints } = await prepared();
    const SLEEP = 'INSERT INTO t SELECT 1 FROM pg_sleep(60)';
    for (const [limits, options, name] of [
      [() => ({ statement_timeout: 50 }), {}, 'TimeoutError'],
      [() => ({}), { statement_timeout: 50 }, 'TimeoutError'],
      [() => ({ signal: AbortSignal.timeout(50) }), {}, 'AbortError']
    ]) {
      await assert.rejects(
        client.transaction(async tx => {
          await tx.query(INSERT, [7]);
          await tx.commit(SLEEP, [], limits());
        }, options),
        { name, sent: true }
      );
      assert.deepEqual(await ints(), []);
      await client.transaction(async tx => {
        await assert.rejects(
          tx.transaction(inner => inner.commit(SLEEP, [], limits()), options),
          { name }
        );
        await tx.query(INSERT, [8]);
      });
      assert.deepEqual(await ints(), [8]);
      await client.query('DELETE FROM t');
    }
  });

  it('rolls back if its signal aborts while it waits', async () => {
    const { client, ints } = await prepared();
    const controller = new AbortController();
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query(INSERT, [1]);
        const slow = tx.query('SELECT pg_sleep(0.1)', [], { alone: true });
        const committed = tx.commit(INSERT, [2], { signal: controller.signal });
        controller.abort();
        await slow;
        await committed;
      }),
      { name: 'AbortError', sent: false }
    );
    assert.deepEqual(await ints(), []);
  });

  it('is repeated with the function by `retries`', async () => {
    const { client, ints } = await prepared();
    let calls = 0;
    const fails = 'DO $$ BEGIN RAISE serialization_failure; END $$';
    await client.transaction(tx => (++calls < 3 ? tx.commit(fails) : tx.commit(INSERT, [calls])), { retries: 5 });
    assert.deepEqual([calls, await ints()], [3, [3]]);
  });

  it('has the settings of with(), in the same flight, on a client and on a pool', async () => {
    const { client, wire } = await prepared();
    const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 1 }));
    for (const session of [client, pool]) {
      const text = "SELECT current_setting('application_name') AS name";
      const before = wire.stats.flights.toServer;
      const { rows } = await session.with({ application_name: 'me' }).transaction(tx => tx.commit(text));
      assert.equal(rows[0].name, 'me');
      if (session === client) assert.equal(wire.stats.flights.toServer - before, 1);
      await assert.rejects(
        session.with({ application_name: 'me' }).transaction(tx => tx.commit('SET x.y = 1')),
        { code: '0A000' }
      );
    }
    await assert.rejects(
      pool.transaction(tx => tx.commit('SET x.y = 1')),
      { code: '0A000' }
    );
  });

  it('lets other requests of the client go on behind it, whether it fails or not', async () => {
    const { client } = await prepared();
    for (const text of ['SELECT 1', 'SELECT 1 / 0']) {
      const over = client.transaction(tx => tx.commit(text)).catch(() => {});
      const { rows } = await client.query('SELECT 2 AS two');
      assert.equal(rows[0].two, 2);
      assert.equal(client.transactionStatus, 'I');
      await over;
    }
  });

  it('publishes BEGIN, its query and COMMIT', async () => {
    const { client } = await prepared();
    const ended = [];
    const subscribers = {
      asyncEnd: ({ text, result, error, waited, firstByte, batchSize }) => {
        assert.ok(waited >= 0 && firstByte > 0 && batchSize === undefined, text);
        ended.push([text, result?.cmd ?? error.code]);
      }
    };
    const channel = tracingChannel('quickgres:query');
    channel.subscribe(subscribers);
    try {
      await client.transaction(tx => tx.commit(INSERT, [1]));
      await assert.rejects(client.transaction(tx => tx.commit(INSERT, [1])));
    } finally {
      channel.unsubscribe(subscribers);
    }
    const sorted = ended.map(each => each.join(': ')).sort();
    assert.deepEqual(sorted, [
      'BEGIN: BEGIN',
      'BEGIN: BEGIN',
      'COMMIT: 23505',
      'COMMIT: COMMIT',
      `${INSERT}: 23505`,
      `${INSERT}: INSERT`
    ]);
  });

  it('is there in the function of a transaction alone', async () => {
    const client = await connected();
    assert.equal(client.commit, undefined);
    assert.equal(Client.prototype.commit, undefined);
    await client.transaction(tx => assert.equal(tx.with({ application_name: 'x' }).commit, undefined));
  });

  it('tells the truth of a connection that is cut behind each byte', async () => {
    const observer = await connected();
    const name = `cut_${process.pid}`;
    await observer.query(`CREATE TABLE ${name} (i int)`);
    let answer; // how many bytes the whole answer has
    for (let bytes = 0, id = 0; answer === undefined || bytes <= answer; bytes++, id++) {
      for (const direction of bytes === 0 ? ['toServer'] : ['toServer', 'toClient']) {
        const { client, wire, proxy } = await proxied({ max_pipeline: 0 });
        client.on('error', () => {});
        const { [direction]: before, toClient } = wire.stats.bytes;
        if (answer !== undefined) wire.after(direction, before + bytes, 'cut');
        const asked = ++id;
        const [outcome] = await Promise.allSettled([
          client.transaction(tx => tx.commit(`INSERT INTO ${name} VALUES ($1)`, [asked]))
        ]);
        answer ??= wire.stats.bytes.toClient - toClient;
        client.destroy();
        await proxy.stop();
        const { rowCount } = await observer.query(`SELECT FROM ${name} WHERE i = $1`, [asked]);
        if (outcome.status === 'fulfilled') assert.equal(rowCount, 1, `${direction} ${bytes}`);
        else {
          assert.equal(outcome.reason.name, 'ConnectionError');
          if (!outcome.reason.sent) assert.equal(rowCount, 0, `${direction} ${bytes}`);
        }
      }
    }
    await observer.query(`DROP TABLE ${name}`);
    assert.ok(answer > 50);
  }).timeout(60000);
});

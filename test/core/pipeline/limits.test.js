'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { finished } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const { LEASE } = require('../../../lib/core/internal');
const { Client, TimeoutError } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { gc } = require('../../support/gc');
const { connected, proxied, sharedServer } = require('../../support');
const { endAfterTest } = require('../../support/hooks');
const { hasAsyncStacks, slow, until } = require('../../support/kit');

describe('The table of limits in the guide', () => {
  const SLEEP = 'SELECT pg_sleep(60)';
  const CASES = {
    '`statement_timeout` of a request or a transaction': async () => {
      const client = await connected();
      const limits = { statement_timeout: 20 };
      const [first, second] = await Promise.allSettled([
        client.query(SLEEP, [], limits),
        client.transaction(tx => tx.query(SLEEP), limits)
      ]);
      assert.deepEqual([first.reason.name, first.reason.code], [second.reason.name, second.reason.code]);
      throw first.reason;
    },
    '`signal`': async () => (await connected()).query(SLEEP, [], { signal: AbortSignal.timeout(20) }),
    '`stall_timeout` of a stream': async () =>
      finished((await connected()).copyFrom('COPY users FROM STDIN', { stall_timeout: 20 })),
    '`acquire_timeout` of a pool whose connections are in use': async () => {
      const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 1, acquire_timeout: 500 }));
      await pool.query('SELECT 1');
      await pool.transaction(tx => tx.query('SELECT 1').then(() => pool.transaction(() => {})));
    },
    '`connect_timeout`': () => {
      const socket = () => new Promise(() => {});
      return new Client({ socket, host: 'nowhere', user: 'u', connect_timeout: 0.02 }).connect();
    },
    '`statement_timeout` in the config or in `with`': async () => {
      const [first, second] = await Promise.allSettled([
        (await connected({ statement_timeout: 20 })).query(SLEEP),
        (await connected()).with({ statement_timeout: 20 }).query(SLEEP)
      ]);
      assert.deepEqual({ ...first.reason }, { ...second.reason });
      throw first.reason;
    },
    '`lock_timeout` in the config or in `with`': async () => {
      const lock = 'SELECT pg_advisory_xact_lock(60)';
      await (
        await connected()
      ).transaction(async tx => {
        await tx.query(lock);
        await (await connected()).with({ lock_timeout: 20 }).query(lock);
      });
    },
    '`client.cancel()`': async () => {
      const client = await connected();
      const asked = client.query(SLEEP);
      asked.catch(() => {});
      const watcher = await connected();
      const runs = "SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'"; // else a cancel is ignored
      await until(async () => (await watcher.query(runs, [client.processId])).rowCount === 1, 'the query to run');
      await client.cancel();
      await asked;
    }
  };
  const guide = fs.readFileSync(path.join(__dirname, '../../../lib/core/requests/README.md'), 'utf8');
  const [, table] = /^\| limit \|.*\n.*\n((?:\|.*\n)+)/m.exec(guide);
  const rows = table
    .trim()
    .split('\n')
    .map(line => line.slice(2, -2).split(' | '));

  it('has a test of each row', () =>
    assert.deepEqual(
      rows.map(([limit]) => limit),
      Object.keys(CASES)
    ));

  for (const [limit, name, code] of rows)
    it(`is right about ${limit}`, () =>
      assert.rejects(CASES[limit], error => {
        assert.deepEqual([`\`${error.name}\``, `\`${error.code}\``], [name, code]);
        return true;
      }));

  it('is right that a cancel has the fields of a statement_timeout of the server', async () => {
    const [timeout, cancel] = await Promise.all(
      ['`statement_timeout` in the config or in `with`', '`client.cancel()`'].map(name =>
        CASES[name]().catch(error => error)
      )
    );
    const { line: _, ...fields } = timeout;
    const { line: __, ...others } = cancel;
    assert.deepEqual(fields, others);
  });
});

describe('statement_timeout', () => {
  it('cancels a query that takes longer, and no other', async () => {
    const client = await connected();
    const long = client.query('SELECT pg_sleep(60)', [], { statement_timeout: 30 });
    await assert.rejects(
      long,
      error =>
        error instanceof TimeoutError &&
        error.code === '57014' &&
        error.sent === true &&
        /30 ms/.test(error.message) &&
        (!hasAsyncStacks || /limits\.test\.js/.test(error.stack))
    );
    const behind = client.query('SELECT pg_sleep(0.06), 1 AS one', [], { statement_timeout: 30000 });
    assert.equal((await behind).rows[0].one, 1);
    await assert.rejects(client.batch([['SELECT pg_sleep(60)']], { statement_timeout: 10 }), { code: '57014' });
    await assert.rejects(client.simpleQuery('SELECT pg_sleep(60)', { statement_timeout: 10 }), { code: '57014' });
    await client.sync();
    assert.equal(client.pending, 0);
  });

  it('also holds where the query waits in the client, or for the network', async () => {
    const { client, wire } = await proxied();
    wire.stall();
    const ask = () => client.query('SELECT 1', [], { statement_timeout: 20 });
    for (const promise of [1, 2, 3].map(ask)) await assert.rejects(promise, { code: '57014', sent: true });
    await assert.rejects(ask(), { code: '57014', sent: false });
    const forever = client.query('SELECT 1');
    client.destroy();
    await assert.rejects(forever, { code: '08003', sent: false });
  });

  it('is a number of milliseconds', async () => {
    const client = await connected();
    for (const statement_timeout of [0, -1, NaN, '5', null, 2 ** 31]) {
      await assert.rejects(client.query('SELECT 1', [], { statement_timeout }), TypeError);
    }
    assert.equal(client.pending, 0);
  });
});

describe('An AbortError', () => {
  it('says whether the request had been sent, as the error of a time limit does', async () => {
    const client = await connected();
    const abort = async ask => {
      const controller = new AbortController();
      const asked = ask(controller.signal);
      await turn();
      controller.abort();
      return asked.then(
        () => assert.fail('it was not aborted'),
        ({ name, sent }) => ({ name, sent })
      );
    };
    const [long, sent, unsent] = [
      'SELECT pg_sleep(60)',
      { name: 'AbortError', sent: true },
      { name: 'AbortError', sent: false }
    ];
    const target = slow();
    for (const ask of [
      signal => client.query(long, [], { signal }),
      signal => client.batch([long], { signal }),
      signal => client.simpleQuery(long, { signal }),
      signal => client.cursor(long, [], { signal }).next(),
      signal => client.queryTo(target, long, [], { signal })
    ]) {
      assert.deepEqual(await abort(ask), sent, String(ask));
      await client.sync();
    }
    const aborted = AbortSignal.abort();
    await assert.rejects(client.query(long, [], { signal: aborted }), unsent);
    await assert.rejects(
      client.transaction(() => {}, { signal: aborted }),
      unsent
    );
    const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 1 }));
    for (const session of [client, pool]) {
      let leave;
      const held = session.transaction(
        () =>
          new Promise(resolve => {
            leave = resolve;
          })
      );
      while (leave === undefined) await turn();
      assert.deepEqual(await abort(signal => session.query(long, [], { signal })), unsent);
      assert.deepEqual(await abort(signal => session.transaction(() => {}, { signal })), unsent);
      leave();
      await held;
    }
  });
});

/** The pipeline of a client. */
const pipelineOf = client => client[LEASE].pipeline;

describe('Queries with signals and time limits', () => {
  it('tell what holds the connection when their limit passes before they were sent', async () => {
    const client = await connected();
    const cursor = client.cursor('SELECT generate_series(1, 3)', [], { batchSize: 1 });
    await cursor.next();
    const late = client.query('SELECT 1', [], { statement_timeout: 20 });
    await assert.rejects(late, {
      code: '57014',
      sent: false,
      message: /of 20 ms: it waited for the transaction of a cursor$/
    });
    await cursor.return();
    await assert.rejects(client.query('SELECT pg_sleep(10)', [], { statement_timeout: 20 }), { message: /of 20 ms$/ });
    await client.query('CREATE TEMP TABLE copied (n int)');
    const copy = client.copyFrom('COPY copied FROM STDIN');
    const behind = client.query('SELECT 1', [], { statement_timeout: 20 });
    await assert.rejects(behind, { code: '57014', sent: false, message: /of 20 ms: it waited for .* a COPY,/ });
    copy.end('1\n');
    await finished(copy);
  });

  it('go out together: a hundred of them are one flight', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT $1::int AS i', [0]);
    const before = wire.stats.flights.toServer;
    const { signal } = new AbortController();
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        client.query('SELECT $1::int AS i', [i], i % 2 === 0 ? { signal } : { statement_timeout: 60000 })
      )
    );
    assert.deepEqual(
      results.map(({ rows: [{ i }] }) => Number(i)),
      Array.from({ length: 100 }, (_, i) => i)
    );
    assert.equal(wire.stats.flights.toServer - before, 1);
  });

  it('tell a pool what it has to know: what is held, and since when nothing has come', async () => {
    const { client, wire } = await proxied();
    const pipeline = pipelineOf(client);
    assert.deepEqual([pipeline.holds > 0, pipeline.givenUpAt, pipeline.silentSince], [false, 0, 0]);
    wire.stall();
    const begun = performance.now();
    const living = client.query('SELECT 1 AS one');
    const [first, second] = [1, 2].map(() => client.query('SELECT 1', [], { statement_timeout: 20 }));
    const controller = new AbortController();
    const behind = client.query('SELECT 2 AS two', [], { signal: controller.signal });
    await assert.rejects(first);
    await assert.rejects(second);
    const { givenUpAt } = pipeline;
    assert.ok(givenUpAt > begun && givenUpAt <= performance.now());
    assert.deepEqual([pipeline.holds > 0, pipeline.silentSince], [true, 0], 'one lives behind them');
    controller.abort();
    await assert.rejects(behind);
    assert.deepEqual(
      [pipeline.holds > 0, pipeline.givenUpAt, pipeline.silentSince],
      [true, givenUpAt, 0],
      'one lives before them'
    );
    wire.resume();
    await living;
    await client.query('SELECT 1');
    assert.deepEqual([pipeline.holds > 0, pipeline.givenUpAt, pipeline.silentSince], [false, 0, 0]);
    wire.stall();
    await assert.rejects(client.query('SELECT 1', [], { statement_timeout: 20 }));
    assert.ok(pipeline.holds > 0 && pipeline.silentSince >= pipeline.givenUpAt);
    client.destroy();
  });

  it('keep nothing of their values once they were given up, sent or not', async () => {
    const { client, wire } = await proxied();
    wire.stall();
    const values = [];
    const ask = async (work, limits = { statement_timeout: 20 }) => {
      const value = Buffer.alloc(50000, 'x');
      values.push(new WeakRef(value));
      await assert.rejects(work(value, limits), { code: '57014' });
    };
    for (let i = 0; i < 2; i++) {
      await ask((value, limits) => client.query('SELECT $1::bytea', [value], limits));
      await ask((value, limits) => client.batch([['SELECT $1::bytea', [value]]], limits));
    }
    await turn();
    gc();
    assert.deepEqual(
      values.map(each => each.deref() === undefined),
      [true, true, true, true]
    );
    const kept = [];
    const {
      head,
      scopes: { root }
    } = pipelineOf(client);
    for (const first of [head, root.first]) {
      for (let each = first; each !== null; each = each.next)
        for (const { values } of each.queries ?? [each]) kept.push(values);
    }
    assert.deepEqual(kept, [null, null, null, null]);
    client.destroy();
  });
});

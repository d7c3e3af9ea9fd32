'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { pipeline: through } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const { Readable, Writable } = require('node:stream');
const { Client, AbortError } = require('../..');
const { Pipeline } = require('../../lib/core/pipeline');
const { shorten } = require('../support/hooks');
const {
  sharedServer,
  connected,
  proxied,
  answering,
  rowDescription,
  dataRow,
  commandComplete,
  ANSWER,
  message
} = require('../support');

const SERIES = 'SELECT i FROM generate_series(1, $1::int) i';

/** All values of the first column. */
async function all(cursor) {
  const values = [];
  for await (const row of cursor) values.push(Number(row[0]));
  return values;
}

const upTo = count => Array.from({ length: count }, (_, i) => i + 1);

/** The answer to the BEGIN of a cursor's own transaction. */
const BEGUN = Buffer.concat([ANSWER.described(), commandComplete('BEGIN')]);

describe('cursor', () => {
  it('gives all rows in order, whatever the batch size', async () => {
    const client = await connected();
    for (const batchSize of [1, 2, 9, 10, 11, 1000, undefined]) {
      assert.deepEqual(await all(client.cursor(SERIES, [10], { batchSize })), upTo(10));
    }
    assert.deepEqual(await all(client.cursor(SERIES, [0])), []);
    assert.deepEqual(await all(client.cursor('CREATE TEMP TABLE t ()')), []);
    assert.deepEqual(await all(client.cursor('')), []);
  });

  it('holds two batches at a time: one that is read, and the next', async () => {
    const { client, wire } = await proxied();
    const cursor = client.cursor("SELECT repeat('x', 1000) FROM generate_series(1, 100000)", [], { batchSize: 100 });
    await cursor.next();
    const after = wire.stats.bytes.toClient;
    assert.ok(after < 300000, `${after} bytes were sent`);
    await cursor.return();
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('takes n + 1 round trips for n fetches: the next one is under way while rows are read, one ahead and not more', async () => {
    const { client, wire } = await proxied();
    const executes = () =>
      wire.recorded.toServer.toString('latin1').match(/E\0\0\0[\x09-\x1f]\w*\0\0\0\0\x03/g)?.length ?? 0;
    for (const session of ['client', 'tx']) {
      const before = wire.stats.flights.toServer;
      const from = executes();
      const read = async on => {
        const cursor = on.cursor(SERIES, [10], { batchSize: 3 });
        const seen = [];
        for await (const { i } of cursor) {
          seen.push(Number(i));
          const asked = Math.min(Math.ceil(seen.length / 3) + 1, 4);
          while (executes() - from < asked) await turn();
          for (let turns = 0; turns < 5; turns++) await turn();
          assert.equal(executes() - from, asked, `after ${seen.length} rows`);
        }
        assert.deepEqual(seen, upTo(10));
      };
      await (session === 'tx' ? client.transaction(read) : read(client));
      assert.ok(
        wire.stats.flights.toServer - before <= 5 + (session === 'tx'),
        `${wire.stats.flights.toServer - before}`
      );
      await client.query('SELECT 1');
    }
  });

  it('is left in one round trip: its end goes right behind what is fetched ahead, an error of which nobody sees', async () => {
    const { client, wire } = await proxied();
    const text = 'SELECT 1 / (7 - i) AS i FROM generate_series(1, 10) i';
    for (const session of ['client', 'tx']) {
      const read = async on => {
        for await (const row of on.cursor(text, [], { batchSize: 5 })) {
          await turn(); // until more is fetched
          if (row) break;
        }
      };
      const before = wire.stats.flights.toServer;
      if (session === 'client') await read(client);
      else await assert.rejects(client.transaction(read), { code: '25P02' });
      assert.ok(wire.stats.flights.toServer - before <= 3);
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.equal(client.pending, 0);
    }
  });

  it('that is left in the tick of its first row fetches no more, so that no error behind it fails the transaction', async () => {
    const client = await connected();
    const text = 'SELECT 1 / (7 - i) AS i FROM generate_series(1, 10) i';
    const read = async on => {
      for await (const row of on.cursor(text, [], { batchSize: 5 })) if (row) break;
      return on.query('SELECT 1 AS one');
    };
    assert.equal((await client.transaction(read)).rows[0].one, 1);
    assert.equal((await read(client)).rows[0].one, 1);
  });

  it('that is left before its turn has come sends nothing', async () => {
    const { client, wire } = await proxied();
    await client.transaction(async tx => {
      await tx.query('SELECT 1');
      const cursor = client.cursor('SELECT 2', [], { batchSize: 5 });
      assert.ok(cursor);
    });
    const slow = client.transaction(tx => tx.query('SELECT pg_sleep(0.1)'));
    const abort = new AbortController();
    const cursor = client.cursor('SELECT 2', [], { signal: abort.signal });
    const next = cursor.next().catch(error => error.name);
    abort.abort();
    await slow;
    assert.equal(await next, 'AbortError');
    assert.ok(!wire.recorded.toServer.toString('latin1').includes('SELECT 2'));
  });

  it('settles on a connection that is silent, by its signal', async () => {
    for (const session of ['client', 'tx']) {
      const { client, wire } = await proxied();
      const controller = new AbortController();
      const seen = [];
      const read = async on => {
        for await (const { i } of on.cursor(SERIES, [100], { batchSize: 3, signal: controller.signal })) {
          if (seen.push(Number(i)) === 6) {
            wire.stall();
            setTimeout(() => controller.abort(), 20);
          }
        }
      };
      await assert.rejects(session === 'tx' ? client.transaction(read) : read(client), { name: 'AbortError' });
      assert.ok(seen.length >= 6 && seen.length <= 9, `${seen}`);
      client.destroy();
    }
  });

  it('asks for nothing before its first row is asked for', async () => {
    const { client, wire } = await proxied();
    const before = wire.stats.bytes.toServer;
    const cursor = client.cursor('SELEC');
    await client.sync();
    assert.equal(wire.stats.bytes.toServer - before, 5, 'only Sync');
    await assert.rejects(cursor.next(), { code: '42601' });
    await cursor.return();
  });

  it('closes its portal on break, and gives the connection to who waits', async () => {
    const client = await connected();
    let seen = 0;
    let after;
    for await (const row of client.cursor(SERIES, [1000], { batchSize: 10 })) {
      after ??= client.query('SELECT 1 AS one');
      if (++seen === 25) break;
      assert.equal(Number(row.i), seen);
    }
    assert.equal((await after).rows[0].one, 1);
    assert.equal(client.pending, 0);
  });

  it('closes its portal when the loop throws', async () => {
    const client = await connected();
    const thrown = new Error('thrown');
    await assert.rejects(
      async () => {
        for await (const row of client.cursor(SERIES, [1000], { batchSize: 10 })) if (row.i === 15) throw thrown;
      },
      error => error === thrown
    );
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('is over after return, and after an error', async () => {
    const client = await connected();
    const cursor = client.cursor(SERIES, [1000], { batchSize: 10 });
    await cursor.next();
    assert.deepEqual(await cursor.return('value'), { done: true, value: 'value' });
    assert.equal(client.pending, 0, 'the portal is closed');
    assert.deepEqual(await cursor.next(), { done: true, value: undefined });
    const failing = client.cursor('SELECT 10 / (20 - i) FROM generate_series(1, 30) i', [], { batchSize: 8 });
    await assert.rejects(all(failing), { code: '22012' });
    assert.deepEqual(await failing.next(), { done: true, value: undefined });
    const unused = client.cursor(SERIES, [10]);
    await unused.return();
    assert.deepEqual(await all(unused), []);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('answers calls that do not wait for each other in their order', async () => {
    const client = await connected();
    const cursor = client.cursor(SERIES, [25], { batchSize: 4 });
    const calls = Array.from({ length: 30 }, () => cursor.next());
    const last = cursor.return();
    const results = await Promise.all(calls);
    assert.deepEqual(
      results.filter(({ done }) => !done).map(({ value }) => Number(value.i)),
      upTo(25)
    );
    assert.deepEqual(await last, { done: true, value: undefined });
  });

  it('gives no row to a call behind return(), and all to those before', async () => {
    const client = await connected();
    const cursor = client.cursor(SERIES, [10], { batchSize: 5 });
    const asked = Array.from({ length: 3 }, () => cursor.next());
    const [left, last] = await asked[0].then(() => [cursor.return('left'), cursor.next()]);
    assert.deepEqual(
      (await Promise.all(asked)).map(({ value }) => value.i),
      upTo(3)
    );
    assert.deepEqual(
      [await left, await last],
      [
        { done: true, value: 'left' },
        { done: true, value: undefined }
      ]
    );
  });

  it('gives no row to a call before those that have waited longer', async () => {
    const client = await connected();
    const cursor = client.cursor('SELECT i FROM generate_series(1, 30) i', [], { batchSize: 30 });
    const asked = Array.from({ length: 9 }, () => cursor.next());
    const last = asked[0].then(() => cursor.next());
    const given = (await Promise.all([...asked, last])).map(({ value }) => value.i);
    assert.deepEqual(given, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    await cursor.return();
  });

  it('gives rows as other queries do: in binary, decoded, of a described statement', async () => {
    const client = await connected();
    const { value } = await client.cursor('SELECT 7::int4 AS n', [], { format: Client.BINARY }).next();
    assert.equal(value.n, 7);
    const raw = await client.cursor('SELECT 7::int4 AS n, true AS b', [], { decode: false }).next();
    assert.deepEqual(raw.value.toObject(), { n: '7', b: 't' });
    assert.deepEqual(await all(client.cursor('SELECT $1 AS n', [3], { paramTypes: [20], cache: false })), [3]);
    const row = (await client.query('SELECT 5 AS n')).rows[0];
    assert.deepEqual(await all(client.cursor(SERIES, row)), upTo(5));
  });

  it('keeps the values as they were', async () => {
    const client = await connected();
    const values = [5];
    const slow = client.query('SELECT pg_sleep(0.02)', [], { signal: new AbortController().signal });
    const rows = all(client.cursor(SERIES, values, { batchSize: 2 }));
    values[0] = 100;
    assert.deepEqual(await rows, upTo(5));
    await slow;
  });

  it('refuses bad input', async () => {
    const client = await connected();
    assert.throws(() => client.cursor(5), TypeError);
    assert.throws(() => client.cursor('SELECT 1', 'x'), TypeError);
    assert.throws(() => client.cursor('SELECT 1', [], { batchSize: 0 }), TypeError);
    assert.throws(() => client.cursor('SELECT 1', [], { batchSize: 1.5 }), TypeError);
    assert.throws(() => client.cursor('SELECT 1', [], { format: 2 }), TypeError);
    assert.throws(() => client.cursor('SELECT $1', [new Map()]), TypeError);
    assert.throws(() => client.cursor('SELECT 1', [], { signal: {} }), TypeError);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    assert.equal(client.pending, 0);
  });

  it('streams through a pipeline, and is closed when that breaks', async () => {
    const client = await connected();
    let sum = 0;
    const target = () =>
      new Writable({
        objectMode: true,
        write(row, encoding, callback) {
          sum += Number(row.i);
          callback(row.i === 777 ? new Error('broken') : null);
        }
      });
    await through(Readable.from(client.cursor(SERIES, [500], { batchSize: 7 })), target());
    assert.equal(sum, (500 * 501) / 2);
    await assert.rejects(through(Readable.from(client.cursor(SERIES, [5000], { batchSize: 7 })), target()), {
      message: 'broken'
    });
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('is cancelled by its signal: before, between and during its batches', async () => {
    const client = await connected();
    const before = AbortSignal.abort();
    await assert.rejects(client.cursor(SERIES, [10], { signal: before }).next(), AbortError);
    const between = new AbortController();
    const cursor = client.cursor(SERIES, [100], { batchSize: 10, signal: between.signal });
    await cursor.next();
    between.abort();
    for (let i = 2; i <= 10; i++) assert.equal((await cursor.next()).value.i, i, 'rows that are there');
    await assert.rejects(cursor.next(), AbortError);
    assert.deepEqual(await cursor.next(), { done: true, value: undefined });
    const during = new AbortController();
    setTimeout(() => during.abort(), 20);
    const text = 'SELECT i, pg_sleep(CASE WHEN i > 15 THEN 30 ELSE 0 END) FROM generate_series(1, 30) i';
    await assert.rejects(all(client.cursor(text, [], { batchSize: 10, signal: during.signal })), AbortError);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    assert.equal(client.pending, 0);
  });

  it('commits what it has done when it is closed', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    const text = 'INSERT INTO t SELECT generate_series(1, 10) RETURNING i';
    for await (const row of client.cursor(text, [], { batchSize: 3 })) if (row.i === '2') break;
    const abort = new AbortController();
    const cursor = client.cursor(text, [], { batchSize: 3, signal: abort.signal });
    await cursor.next();
    abort.abort();
    await cursor.return();
    assert.equal((await client.query('SELECT count(*) AS n FROM t')).rows[0].n, 20);
  });

  it('gives the connection back when the answer is malformed', async () => {
    const client = await answering(BEGUN, ANSWER.described('a'), dataRow('x'), message('s'), message('Z', 'T'));
    await client.cursor('SELECT 1', [], { batchSize: 1 }).next();
    client.destroy();
    const broken = await answering(BEGUN, ANSWER.described('a'), rowDescription('b'), ANSWER.ready);
    await assert.rejects(broken.cursor('SELECT 1').next(), { code: '08P01' });
    assert.equal(broken.state, 'closed');
  });
});

describe('A cursor in a transaction', () => {
  it('goes on beside others, and beside queries', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      const one = tx.cursor(SERIES, [10], { batchSize: 3 });
      const two = tx.cursor(SERIES, [7], { batchSize: 2 });
      const seen = [[], []];
      for (let over = 0; over < 2;) {
        over = 0;
        for (const [index, cursor] of [one, two].entries()) {
          const { done, value } = await cursor.next();
          if (done) over++;
          else seen[index].push(Number(value.i));
          assert.equal((await tx.query('SELECT 1 AS one')).rows[0].one, 1);
        }
      }
      assert.deepEqual(seen, [upTo(10), upTo(7)]);
    });
  });

  it('closes its portal on break', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      for await (const row of tx.cursor(SERIES, [10], { batchSize: 3 })) if (row.i === '4') break;
      const { rows } = await tx.query("SELECT name FROM pg_cursors WHERE name <> ''");
      assert.deepEqual(
        rows.map(row => row.name),
        []
      );
    });
  });

  it('works in a savepoint, and is over with it', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      let kept;
      await tx
        .transaction(async nested => {
          kept = nested.cursor(SERIES, [10], { batchSize: 2 });
          await kept.next();
          throw new Error('thrown');
        })
        .catch(() => {});
      await kept.next(); // a row that is there
      await assert.rejects(kept.next(), { code: '25P01' });
      assert.equal((await tx.query('SELECT 1 AS one')).rows[0].one, 1);
    });
  });

  it('reads a table of a hundred thousand rows in flat memory', async () => {
    await sharedServer();
    const client = await connected();
    let sum = 0;
    await client.transaction(async tx => {
      for await (const row of tx.cursor('SELECT i FROM generate_series(1, 100000) i')) sum += Number(row.i);
    });
    assert.equal(sum, (100000 * 100001) / 2);
  });
});

describe('A loop over a cursor that waits for a query behind it', () => {
  it('is named by a warning, once, with the query', async () => {
    shorten(Pipeline, 'loopLimit', 20);
    const client = await connected();
    const warned = once(process, 'warning');
    const cursor = client.cursor('SELECT generate_series(1, 10) AS n', [], { batchSize: 2 });
    await cursor.next();
    const behind = [client.query('SELECT 7 AS seven'), client.query('SELECT 8 AS eight')];
    const [{ name, message }] = await warned;
    assert.equal(name, 'QuickgresWarning');
    assert.match(
      message,
      /^"SELECT … AS seven" has waited a second for the cursor "SELECT generate_series\(…, …\) AS n"/
    );
    await cursor.return();
    await Promise.all(behind);
  });

  it('is named without literals', async () => {
    shorten(Pipeline, 'loopLimit', 20);
    const client = await connected();
    const warned = once(process, 'warning');
    const cursor = client.cursor("SELECT 'another', generate_series(1, 10)", [], { batchSize: 2 });
    await cursor.next();
    const behind = client.query("SELECT 'a secret'");
    const [{ message }] = await warned;
    assert.match(message, /^"SELECT '…'" has waited a second for the cursor "SELECT '…', generate_series\(…, …\)"/);
    await cursor.return();
    await behind;
  });

  it('is named with the first request that has a text: a pool sends a Sync of its own', async () => {
    shorten(Pipeline, 'loopLimit', 20);
    const client = await connected();
    const warned = once(process, 'warning');
    const cursor = client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 });
    await cursor.next();
    const behind = [client.sync(), client.query('SELECT 7 AS seven')];
    assert.match((await warned)[0].message, /^"SELECT … AS seven" has waited/);
    await cursor.return();
    await Promise.all(behind);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { Readable } = require('node:stream');
const { Client, RowReader } = require('../../..');
const { connected, proxied, hex } = require('../../support');

/** What getResults gives until the query is over: `[rows, cmd]` of each part. */
async function parts(session, max) {
  const list = [];
  while (session.inQuery) {
    const { rows, cmd } = await session.getResults(max);
    list.push([rows.map(row => row[0]).join(''), cmd]);
  }
  return list;
}

describe('startQuery and getResults', () => {
  it('give the rows some at a time', async () => {
    const client = await connected();
    const expected = {
      1: [
        ['1', 'SUSPENDED'],
        ['2', 'SUSPENDED'],
        ['3', 'SUSPENDED'],
        ['', 'SELECT']
      ],
      2: [
        ['12', 'SUSPENDED'],
        ['3', 'SELECT']
      ],
      3: [
        ['123', 'SUSPENDED'],
        ['', 'SELECT']
      ],
      4: [['123', 'SELECT']],
      0: [['123', 'SELECT']]
    };
    for (const max in expected) {
      client.startQuery('SELECT generate_series(1, $1::int)', [3]);
      assert.equal(client.inQuery, true);
      assert.deepEqual(await parts(client, Number(max)), expected[max], max);
      assert.equal(client.inQuery, false);
    }
  });

  it('are these messages on the wire, one flight a part', async () => {
    const { client, wire } = await proxied();
    const from = wire.recorded.toServer.length;
    const flights = wire.stats.flights.toServer;
    client.startQuery('SELECT generate_series(1, 5)');
    await parts(client, 2);
    await client.query('SELECT 1', [], Client.STRING, false);
    const sent = wire.recorded.toServer.subarray(from);
    const execute = "45 0000000e 'steps' 00 00000002  53 00000004";
    assert.deepEqual(
      sent.subarray(0, sent.indexOf('P\0\0\0\x10\0SELECT 1')),
      hex(`
      50 0000000d 00 'BEGIN' 00 0000  44 00000006 53 00  42 0000000e 00 00 0000 0000 0001 0000  45 00000009 00 00000000  48 00000004
      50 00000024 00 'SELECT generate_series(1, 5)' 00 0000  44 00000006 53 00
      42 00000013 'steps' 00 00 0000 0000 0001 0000  ${execute}  ${execute}  ${execute}  51 0000000b 'COMMIT' 00`)
    );
    assert.ok(wire.stats.flights.toServer - flights <= 5, 'three parts, COMMIT, and the query behind');
  });

  it('give what is left with 0', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 9)');
    assert.equal((await client.getResults(4)).rows.length, 4);
    assert.equal((await client.getResults()).rows.length, 5);
    assert.equal(client.inQuery, false);
  });

  it('keep the values as they were', async () => {
    const client = await connected();
    const values = ['kept', Buffer.from('kept')];
    client.startQuery('SELECT $1::text, $2::text', values);
    values[0] = 'changed';
    values[1].fill('x');
    assert.deepEqual((await client.getResults()).rows[0].toArray(), ['kept', 'kept']);
  });

  it('give binary, uncached and described rows as well', async () => {
    const client = await connected();
    for (let i = 0; i < 2; i++) {
      client.startQuery('SELECT generate_series(1, 3) AS n', [], Client.BINARY, i === 0);
      const first = await client.getResults(2);
      assert.deepEqual(
        first.rows.map(row => row.n),
        [1, 2]
      );
      const second = await client.getResults(2);
      assert.deepEqual(
        second.rows.map(row => row.n),
        [3]
      );
      assert.deepEqual(second.rowParser.columnNames, ['n']);
    }
  });

  it('run a command without rows, an empty query, and one with RETURNING', async () => {
    const client = await connected();
    client.startQuery('CREATE TEMP TABLE t (a int)');
    assert.deepEqual(await parts(client, 5), [['', 'CREATE TABLE']]);
    client.startQuery('');
    assert.deepEqual(await parts(client, 5), [['', 'EMPTY']]);
    client.startQuery('INSERT INTO t SELECT generate_series(1, 3) RETURNING a');
    assert.deepEqual(await parts(client, 2), [
      ['12', 'SUSPENDED'],
      ['3', 'INSERT']
    ]);
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 3);
  });

  it('answer calls that do not wait for each other in their order', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 5)');
    const results = await Promise.all([client.getResults(2), client.getResults(2), client.getResults(2)]);
    assert.deepEqual(
      results.map(({ rows }) => rows.map(row => row[0]).join('')),
      ['12', '34', '5']
    );
    await assert.rejects(client.getResults(2), { name: 'UsageError', code: '34000' });
  });

  it('keep the connection until the end; what is asked meanwhile comes after it', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE log (a text)');
    client.startQuery('SELECT generate_series(1, 4)');
    const first = client.getResults(2);
    const behind = client.query("INSERT INTO log VALUES ('behind') RETURNING a");
    let settled = false;
    behind.then(() => {
      settled = true;
    });
    await first;
    assert.equal(settled, false);
    await client.getResults(2);
    assert.equal(settled, false);
    await client.getResults(2);
    assert.equal((await behind).rows[0].a, 'behind');
  });

  it("fail with the server's error, at the first part or at a later one, and the connection goes on", async () => {
    const client = await connected();
    client.startQuery('SELEC');
    await assert.rejects(client.getResults(1), { code: '42601' });
    assert.equal(client.inQuery, false);
    client.startQuery('SELECT 1 / (3 - i) FROM generate_series(1, 5) i');
    assert.equal((await client.getResults(2)).rows.length, 2);
    await assert.rejects(client.getResults(2), { code: '22012' });
    assert.equal(client.inQuery, false);
    await assert.rejects(client.getResults(2), { code: '34000' });
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('prepare again a statement that was lost or is stale', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t AS SELECT generate_series(1, 3) AS a');
    const text = 'SELECT * FROM t';
    await client.query(text);
    for (const change of ['ALTER TABLE t ADD b int', "DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"]) {
      await client.query(change);
      client.startQuery(text);
      const behind = client.query('SELECT 1');
      const { rows } = await client.getResults(2);
      assert.deepEqual(
        rows.map(row => row.toArray()),
        [
          [1, null],
          [2, null]
        ]
      );
      assert.equal((await client.getResults(2)).rows.length, 1);
      assert.equal((await behind).rows[0][0], 1);
      await client.query(text);
    }
  });

  it('refuse wrong use', async () => {
    const client = await connected();
    await assert.rejects(client.getResults(1), { name: 'UsageError', message: /no query is open/ });
    client.startQuery('SELECT 1');
    assert.throws(() => client.startQuery('SELECT 2'), { name: 'UsageError', code: '34000' });
    await client.sync();
    assert.throws(() => client.startQuery('COPY users FROM STDIN'), { name: 'TypeError', message: /no rows to fetch/ });
    client.startQuery('SELECT 1');
    for (const max of [-1, 1.5, NaN, '5', null, 2 ** 31]) {
      await assert.rejects(client.getResults(max), { name: 'TypeError', message: /maxCount must be/ });
    }
    await assert.rejects(client.getResults(1, {}), { name: 'TypeError', message: /stream must be/ });
    assert.equal((await client.getResults()).rows[0][0], 1);
  });
});

describe('A portal that is abandoned', () => {
  it('between two fetches, lets others go on, in whatever way it is left', async () => {
    const client = await connected();
    for (const leave of [
      async cursor => cursor.return(),
      async cursor => {
        for await (const row of cursor) if (row) break;
      },
      async cursor => Readable.from(cursor).destroy(),
      async cursor => ReadableStream.from(cursor).cancel()
    ]) {
      const cursor = client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 });
      await cursor.next();
      const behind = client.query('SELECT 1 AS one');
      await leave(cursor);
      assert.equal((await behind).rows[0].one, 1, String(leave));
    }
  });

  it('behind a statement that was lost, goes on, and so do others', async () => {
    const client = await connected();
    await client.query('SELECT $1::int AS i', [1]);
    await client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
    const lost = client.query('SELECT $1::int AS i', [2]).catch(error => error.code);
    const all = [];
    const read = async () => {
      for await (const row of client.cursor('SELECT generate_series(1, 5) AS i', [], { batchSize: 2 })) all.push(row.i);
    };
    const [code] = await Promise.all([lost, read(), client.query('SELECT 1')]);
    assert.deepEqual([code, all], ['26000', [1, 2, 3, 4, 5]]);
    assert.equal((await client.query('SELECT $1::int AS i', [3])).rows[0].i, 3);
  });
});

describe('sync', () => {
  it('ends the query early', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 1000000)');
    assert.equal((await client.getResults(10)).rows.length, 10);
    await client.sync();
    assert.equal(client.inQuery, false);
    await assert.rejects(client.getResults(10), { code: '34000' });
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('ends a query of which nothing was fetched, and one that is being fetched', async () => {
    const client = await connected();
    client.startQuery('SELECT 1');
    await client.sync();
    client.startQuery('SELECT generate_series(1, 10)');
    const fetched = client.getResults(3);
    const synced = client.sync();
    assert.equal((await fetched).rows.length, 3);
    await synced;
    assert.equal(client.inQuery, false);
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('ends a query behind all parts that were asked for', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 10)');
    const sizes = [];
    const fetched = [1, 2, 3, 4].map(count => client.getResults(count).then(({ rows }) => sizes.push(rows.length)));
    await client.sync();
    await Promise.all(fetched);
    assert.deepEqual(sizes, [1, 2, 3, 4]);
    assert.equal(client.inQuery, false);
  });

  it('without an open query resolves when all before it is over', async () => {
    const client = await connected();
    let over = false;
    client.query('SELECT pg_sleep(0.05)').then(() => {
      over = true;
    });
    const stream = new RowReader();
    assert.equal(await client.sync(stream), stream);
    assert.equal(over, true);
  });

  it('is not needed before the client is ended', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 1000000)');
    await client.getResults(10);
    const waiting = client.query('SELECT 1');
    await client.end();
    assert.equal((await waiting).rows[0][0], 1);
  });
});

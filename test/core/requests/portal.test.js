'use strict';

const assert = require('node:assert/strict');
const { Client } = require('../../..');
const { Portal } = require('../../../lib/core/requests');
const { connected, proxied, faked, hex, message, dataRow, commandComplete, ANSWER } = require('../../support');

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
      1: [['1', 'SUSPENDED'], ['2', 'SUSPENDED'], ['3', 'SUSPENDED'], ['', 'SELECT']],
      2: [['12', 'SUSPENDED'], ['3', 'SELECT']],
      3: [['123', 'SUSPENDED'], ['', 'SELECT']],
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
    const execute = '45 00000009 00 00000002  48 00000004';
    await client.query('SELECT 1', [], Client.STRING, false);
    const sent = wire.recorded.toServer.subarray(from);
    assert.deepEqual(sent.subarray(0, sent.indexOf("P\0\0\0\x10\0SELECT 1")), hex(`
      50 00000026 's1' 00 'SELECT generate_series(1, 5)' 00 0000  44 00000008 53 's1' 00
      42 00000010 00 's1' 00 0000 0000 0001 0000  48 00000004  ${execute}  ${execute}  ${execute}  53 00000004`));
    assert.ok(wire.stats.flights.toServer - flights <= 5, 'three parts, Sync, and the query behind');
  });

  it('end with one Sync where the query fails', async () => {
    const requests = [];
    const client = await faked(async conversation => {
      for (const answer of ['', ANSWER.error('22012', 'no'), ANSWER.ready, '']) {
        requests.push(await conversation.request());
        conversation.say(answer);
      }
    });
    client.startQuery('SELECT 1/0');
    await assert.rejects(client.getResults(), { code: '22012' });
    client.query('SELECT 1', [], Client.STRING, false).catch(() => {});
    while (requests.length < 4) await new Promise(setImmediate);
    assert.deepEqual(requests, ['PDBH', 'EH', 'S', 'PDBES']);
  });

  describe('behind a pooler that holds Flush back', () => {
    const { flushTimeout } = Portal;
    beforeEach(() => { Portal.flushTimeout = 20; });
    afterEach(() => { Portal.flushTimeout = flushTimeout; });

    /** A server that answers only at Sync. @param {Buffer} rows the answer to Execute */
    const holding = (...rows) => faked(async conversation => {
      for (let types = ''; !types.endsWith('S');) types += await conversation.request();
      conversation.say(ANSWER.described('n'), dataRow('1'), ...rows, ANSWER.ready);
      await conversation.request();
      conversation.say(ANSWER.described('n'), dataRow('2'), commandComplete('SELECT 1'), ANSWER.ready);
    });

    it('give a result of one part, and the connection goes on', async () => {
      const client = await holding(commandComplete('SELECT 1'));
      client.startQuery('SELECT 1 AS n');
      assert.equal((await client.getResults(10)).rows[0].n, '1');
      assert.equal((await client.query('SELECT 2 AS n')).rows[0].n, '2');
    });

    it('reject with what to do where there are more rows, and the connection goes on', async () => {
      const client = await holding(message('s'));
      client.startQuery('SELECT 1 AS n');
      await assert.rejects(client.getResults(1), { code: '0A000', message: /use the cursor in a transaction/ });
      assert.equal(client.inQuery, false);
      assert.equal((await client.query('SELECT 2 AS n')).rows[0].n, '2');
    });

    it('wait for a slow query, whether it is in front or their own', async () => {
      Portal.flushTimeout = 400; // for an answer of this machine when it is busy
      const client = await connected();
      client.query('SELECT pg_sleep(0.6)').catch(() => {});
      client.startQuery('SELECT i, pg_sleep(0.3) FROM generate_series(1, 2) i');
      assert.deepEqual(await parts(client, 2), [['12', 'SUSPENDED'], ['', 'SELECT']]);
    });
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
      assert.deepEqual(first.rows.map(row => row.n), [1, 2]);
      const second = await client.getResults(2);
      assert.deepEqual(second.rows.map(row => row.n), [3]);
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
    assert.deepEqual(await parts(client, 2), [['12', 'SUSPENDED'], ['3', 'INSERT']]);
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0][0], 3);
  });

  it('answer calls that do not wait for each other in their order', async () => {
    const client = await connected();
    client.startQuery('SELECT generate_series(1, 5)');
    const results = await Promise.all([client.getResults(2), client.getResults(2), client.getResults(2)]);
    assert.deepEqual(results.map(({ rows }) => rows.map(row => row[0]).join('')), ['12', '34', '5']);
    await assert.rejects(client.getResults(2), { name: 'UsageError', code: '34000' });
  });

  it('keep the connection until the end; what is asked meanwhile comes after it', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE log (a text)');
    client.startQuery('SELECT generate_series(1, 4)');
    const first = client.getResults(2);
    const behind = client.query("INSERT INTO log VALUES ('behind') RETURNING a");
    let settled = false;
    behind.then(() => { settled = true; });
    await first;
    assert.equal(settled, false);
    await client.getResults(2);
    assert.equal(settled, false);
    await client.getResults(2);
    assert.equal((await behind).rows[0].a, 'behind');
  });

  it('fail with the server\'s error, at the first part or at a later one, and the connection goes on',
    async () => {
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
      assert.deepEqual(rows.map(row => row.toArray()), [[1, null], [2, null]]);
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
    assert.throws(() => client.startQuery('COPY users FROM STDIN'),
      { name: 'TypeError', message: /no rows to fetch/ });
    client.startQuery('SELECT 1');
    for (const max of [-1, 1.5, NaN, '5', null, 2 ** 31]) {
      await assert.rejects(client.getResults(max), { name: 'TypeError', message: /maxCount must be/ });
    }
    await assert.rejects(client.getResults(1, {}), { name: 'TypeError', message: /stream must be/ });
    assert.equal((await client.getResults()).rows[0][0], 1);
  });
});

describe('A portal that is abandoned', () => {
  it('while its rows come, is ended with Sync: others go on', async () => {
    const { client, proxy, wire } = await proxied();
    proxy.refuse(); // no CancelRequest ends it
    const abort = new AbortController();
    const next = client.cursor('SELECT i, pg_sleep(0.1) FROM generate_series(1, 3) i', [], { batchSize: 1, signal: abort.signal }).next();
    const behind = client.query('SELECT 1 AS one', [], { cache: false });
    setTimeout(() => abort.abort(), 20);
    await assert.rejects(next, { name: 'AbortError' });
    assert.equal((await behind).rows[0].one, 1);
    const sent = wire.recorded.toServer;
    assert.deepEqual(sent.subarray(sent.indexOf(hex('45 00000009 00 00000001'))).subarray(0, 20), hex('45 00000009 00 00000001 48 00000004 53 00000004'));
  });

  it('between two fetches, is ended with Sync, in whatever way it is left', async () => {
    const client = await connected();
    for (const leave of [
      async cursor => cursor.return(),
      async cursor => { for await (const row of cursor) if (row) break; },
      async cursor => cursor.readable().destroy(),
      async cursor => cursor.readableStream().cancel()
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
    const read = async () => { for await (const row of client.cursor('SELECT generate_series(1, 5) AS i', [], { batchSize: 2 })) all.push(row.i); };
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

  it('without an open query resolves when all before it is over', async () => {
    const client = await connected();
    let over = false;
    client.query('SELECT pg_sleep(0.05)').then(() => { over = true; });
    const stream = { any: 'thing' };
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

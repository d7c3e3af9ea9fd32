'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { PassThrough } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client, RowReader } = require('../../..');
const { CopyOutRequest } = require('../../../lib/core/requests');
const { ANSWER, sharedServer, connected, proxied, hex } = require('../../support');
const { encoded, give, open } = require('../../support/submitted');

/** A client with an empty temporary table `target (a int, b text)`. */
async function withTable(options) {
  const found = await (options === undefined ? connected() : proxied({}, options));
  const client = options === undefined ? found : found.client;
  await client.query('CREATE TEMP TABLE target (a int NOT NULL, b text)');
  return found;
}

const stored = async client => (await client.query('SELECT * FROM target ORDER BY a')).rows.map(row => row.toArray());

describe('A COPY', () => {
  it('gives its receiver the messages of the result, and not that of an error', () => {
    const given = [];
    const receiver = { start() {}, receive: type => given.push(String.fromCharCode(type)) };
    const request = open(new CopyOutRequest('COPY t TO STDOUT', receiver));
    encoded(request);
    give(request, hex('48 00000007 00 0000')); // CopyOutResponse
    give(request, ANSWER.error('22012', 'no'));
    assert.deepEqual(given, ['H']);
  });
});

describe('COPY FROM STDIN', () => {
  it('takes rows as text, and tells how many', async () => {
    const client = await withTable();
    const begun = await client.query('COPY target FROM STDIN');
    assert.ok(begun instanceof RowReader);
    assert.deepEqual([begun.format, begun.columnCount, begun.columnFormats], [0, 2, [0, 0]]);
    client.copyData(Buffer.from('1\tone\n2\t\\N\n'));
    client.copyData('3\tä€😀\n');
    client.copyData(new Uint8Array(Buffer.from('4\t\n')));
    const { cmd, rowCount } = await client.copyDone();
    assert.deepEqual([cmd, rowCount], ['COPY', 4]);
    assert.deepEqual(await stored(client), [
      [1, 'one'],
      [2, null],
      [3, 'ä€😀'],
      [4, '']
    ]);
  });

  it('takes what COPY TO STDOUT gave, in binary, split anywhere', async () => {
    const client = await withTable();
    const rows = "SELECT i, 'row ' || i FROM generate_series(1, 50) i";
    const copy = await client.query(`COPY (${rows}) TO STDOUT (FORMAT binary)`);
    const bytes = Buffer.concat(copy.rows);
    for (const size of [1, 7, 100_000]) {
      const begun = await client.query('COPY target FROM STDIN (FORMAT binary)');
      assert.deepEqual([begun.format, begun.columnFormats], [1, [1, 1]]);
      for (let off = 0; off < bytes.length; off += size) client.copyData(bytes.subarray(off, off + size));
      assert.equal((await client.copyDone()).rowCount, 50);
    }
    assert.equal((await stored(client)).length, 150);
  });

  it('is these messages on the wire', async () => {
    const { client, wire } = await withTable({});
    const from = wire.recorded.toServer.length;
    await client.query('COPY target FROM STDIN');
    client.copyData('1\tx\n');
    await client.copyDone();
    assert.deepEqual(
      wire.recorded.toServer.subarray(from),
      hex(`
      51 0000001b 'COPY target FROM STDIN' 00  64 00000008 '1' 09 'x' 0a  63 00000004`)
    );
  });

  it('keeps what is asked meanwhile until it is over', async () => {
    const client = await withTable();
    const order = [];
    const note = name => result => {
      order.push(name);
      return result;
    };
    const before = client.query('SELECT 1').then(note('before'));
    const copying = client.query('COPY target FROM STDIN').then(note('copying'));
    const after = client.query('SELECT count(*) FROM target').then(note('after'));
    const batch = client.batch([['SELECT 2']]).then(note('batch'));
    const again = client.query('COPY target FROM STDIN').then(note('again'));
    await copying;
    client.copyData('1\tx\n');
    const done = client.copyDone().then(note('done'));
    assert.equal((await after).rows[0][0], 1);
    await Promise.all([before, done, batch, again]);
    client.copyData('2\ty\n');
    await client.copyDone();
    assert.deepEqual(order, ['before', 'copying', 'done', 'after', 'batch', 'again']);
    assert.equal((await stored(client)).length, 2);
  });

  it('rejects at its end when the server refuses the data, which then goes nowhere', async () => {
    const client = await withTable();
    await client.query('COPY target FROM STDIN');
    client.copyData('1\tx\nnot a number\ty\n');
    const behind = client.query('SELECT 1');
    for (let i = 0; i < 100; i++) client.copyData(`${i}\tdropped\n`);
    await new Promise(setImmediate);
    client.copyData('5\tdropped\n');
    const error = await client.copyDone().catch(error => error);
    assert.equal(error.code, '22P02');
    assert.match(error.where, /^COPY target, line 2, column a/);
    assert.equal((await behind).rows[0][0], 1);
    assert.deepEqual(await stored(client), []);
  });

  it('rejects at its end also when the error came long before', async () => {
    const { client, wire } = await withTable({});
    await client.query('COPY target FROM STDIN');
    const behind = client.query('SELECT 1');
    client.copyData('not a number\ty\n');
    while (client.pending > 0) await new Promise(setImmediate);
    assert.equal((await behind).rows[0][0], 1, 'what waits goes on');
    const from = wire.recorded.toServer.length;
    assert.equal(client.copyData('2\ty\n'), true, 'more data is harmless');
    await client.query('');
    assert.ok(!wire.recorded.toServer.includes('2\ty\n', from));
    await assert.rejects(client.copyDone(), { code: '22P02' });
    await assert.rejects(client.copyDone(), { name: 'UsageError', code: '55000' });
  });

  it('rejects at its end when it is cancelled there', async () => {
    const client = await withTable();
    await client.simpleQuery(`CREATE FUNCTION pg_temp.wait() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_sleep(60); RETURN NULL; END';
      CREATE TRIGGER wait AFTER INSERT ON target FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.wait()`);
    await client.query('COPY target FROM STDIN');
    const server = await sharedServer();
    const done = assert.rejects(client.copyDone(), { code: '57014' });
    const text = `SELECT wait_event FROM pg_stat_activity WHERE pid = ${client.processId}`;
    while ((await server.sql(text))[0].wait_event !== 'PgSleep');
    await client.cancel();
    await done;
  });

  it('rejects at once when it cannot begin', async () => {
    const client = await withTable();
    await assert.rejects(client.query('COPY nowhere FROM STDIN'), { code: '42P01' });
    assert.throws(() => client.copyData('1\tx\n'), { name: 'UsageError', code: '55000', message: /no COPY is open/ });
    await assert.rejects(client.query('COPY target FROM STDIN (FORMAT nonsense)'), { code: '22023' });
    await assert.rejects(client.query('COPY target FROM STDIN', ['a']), { code: '08P01' });
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
  });

  it('stores nothing when it is failed', async () => {
    const client = await withTable();
    for (const reason of [undefined, 'no reason', Buffer.from('with\0null'), '']) {
      await client.query('COPY target FROM STDIN');
      client.copyData('1\tx\n');
      await client.copyFail(reason);
      assert.deepEqual(await stored(client), []);
    }
  });

  it('sends the reason it is failed with', async () => {
    const { client, wire } = await withTable({});
    await client.query('COPY target FROM STDIN');
    const from = wire.recorded.toServer.length;
    await client.copyFail('ä');
    assert.deepEqual(wire.recorded.toServer.subarray(from), hex('66 00000007 c3a4 00'));
  });

  it('has no result for a stream, which is refused before anything is sent', async () => {
    const { client, wire } = await withTable({});
    const from = wire.recorded.toServer.length;
    for (const stream of [new PassThrough(), { write() {} }]) {
      await assert.rejects(client.query('COPY target FROM STDIN', [], { stream }), {
        name: 'TypeError',
        message: 'COPY FROM STDIN has no result for a stream: leave it out'
      });
    }
    assert.equal(wire.recorded.toServer.length, from);
  });

  it('takes no data while none is open, and no data that is not bytes', async () => {
    const client = await withTable();
    const error = { name: 'UsageError', code: '55000' };
    assert.throws(() => client.copyData('x'), error);
    await assert.rejects(client.copyDone(), error);
    await assert.rejects(client.copyFail(), error);
    await client.query('COPY target FROM STDIN');
    for (const [data, kind] of [
      [undefined, 'undefined'],
      [null, 'null'],
      [5, 'a number'],
      [{}, 'an object'],
      [['1'], 'an array'],
      [new Float64Array(1), 'an object of class Float64Array']
    ]) {
      assert.throws(() => client.copyData(data), {
        name: 'TypeError',
        message: `copyData takes a Buffer, Uint8Array or string, not ${kind}`
      });
    }
    for (const [reader, kind] of [
      [null, 'null'],
      [{}, 'an object'],
      [{ write() {} }, 'an object']
    ]) {
      await assert.rejects(client.copyDone(reader), {
        name: 'TypeError',
        message: `copyDone takes a RowReader, not ${kind}`
      });
    }
    assert.equal((await client.copyDone()).rowCount, 0);
  });

  it('belongs to the transaction block it is begun in', async () => {
    const client = await withTable();
    await client.query('BEGIN');
    await client.query('COPY target FROM STDIN');
    client.copyData('1\tx\n');
    await client.copyDone();
    await client.query('ROLLBACK');
    await client.transaction(async tx => {
      await pipeline(['2\ty\n'], tx.copyFrom('COPY target FROM STDIN'));
    });
    assert.deepEqual(await stored(client), [[2, 'y']]);
  });

  it('tells when more data waits than is good, and when to go on', async () => {
    const client = await withTable();
    await client.query('COPY target FROM STDIN');
    const line = Buffer.from(`1\t${'x'.repeat(99_996)}\n`);
    let refused = 0;
    for (let i = 0; i < 300; i++) {
      const more = client.copyData(line);
      assert.equal(more, client.bufferedBytes < 1 << 20);
      if (more) continue;
      refused++;
      if (i < 250) await once(client, 'drain');
    }
    assert.ok(refused > 0);
    assert.equal((await client.copyDone()).rowCount, 300);
  });

  it('stores nothing when its signal aborts, before it begins or while it takes data', async () => {
    const client = await withTable();
    const reason = { name: 'AbortError', code: 'ABORT_ERR' };
    await assert.rejects(client.query('COPY target FROM STDIN', [], { signal: AbortSignal.abort() }), reason);

    const waiting = new AbortController();
    const sleeping = client.query('SELECT pg_sleep(0.05)');
    const copy = assert.rejects(client.query('COPY target FROM STDIN', [], { signal: waiting.signal }), reason);
    const behind = client.query('SELECT 1');
    waiting.abort();
    await Promise.all([copy, sleeping, behind]);

    const taking = new AbortController();
    await client.query('COPY target FROM STDIN', [], { signal: taking.signal });
    client.copyData('1\tx\n');
    taking.abort();
    assert.equal(client.copyData('2\tx\n'), true, 'more data is harmless');
    await assert.rejects(client.copyDone(), reason);

    const ending = new AbortController();
    await client.query('COPY target FROM STDIN', [], { signal: ending.signal });
    client.copyData('1\tx\n');
    await client.copyDone();
    ending.abort();
    await client.query('DELETE FROM target');
    assert.deepEqual(await stored(client), []);
  });

  it('fails when the client is ended', async () => {
    const server = await sharedServer();
    await server.sql('DROP TABLE IF EXISTS never; CREATE TABLE never (a int)');
    const client = new Client(server.config);
    await client.connect();
    await client.query('COPY never FROM STDIN');
    client.copyData('1\n');
    await client.end();
    assert.deepEqual(await server.sql('TABLE never'), []);
    await server.sql('DROP TABLE never');
  });

  it('rejects when the connection is lost', async () => {
    const { client, wire } = await withTable({});
    const copying = client.query('COPY target FROM STDIN');
    const waiting = client.query('SELECT 1').catch(error => error);
    await copying;
    client.copyData('1\tx\n');
    wire.reset();
    const { name, sent } = await waiting;
    assert.deepEqual([name, sent], ['ConnectionError', false]);
    assert.doesNotThrow(() => client.copyData('2\tx\n'));
    await assert.rejects(client.copyDone(), error => error.name === 'ConnectionError');
    const other = await withTable({});
    await other.client.query('COPY target FROM STDIN');
    const done = other.client.copyDone();
    other.wire.reset();
    await assert.rejects(done, { name: 'ConnectionError' });
  });
});

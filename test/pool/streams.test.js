'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { PassThrough, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { sharedServer } = require('../support');
const { opened, until } = require('./pools');

const NUMBERS = 'SELECT i FROM generate_series(1, 1000) i';

/** Resolves when everything of a pool is idle. */
const idle = pool => until(() => pool.stats.idle === pool.stats.connected && pool.stats.waiting === 0);

describe('A cursor of a pool', () => {
  it('takes a connection for its first row, and gives it back behind the last, at break and at an error', async () => {
    const pool = await opened({ size: 2 });
    const cursor = pool.cursor(NUMBERS, [], { batchSize: 10 });
    assert.equal(pool.stats.owned, 0);
    assert.equal((await cursor.next()).value.i, '1');
    assert.equal(pool.stats.owned, 1);
    let count = 1;
    for await (const row of cursor) assert.equal(row.i, String(++count));
    assert.equal(count, 1000);
    for await (const row of pool.cursor(NUMBERS)) if (row.i === '5') break;
    const failing = pool.cursor('SELECT 1 / 0');
    await assert.rejects(failing.next(), { code: '22012' });
    assert.deepEqual(await failing.next(), { done: true, value: undefined });
    await idle(pool);
  });

  it('throws for bad input at once, and keeps its values', async () => {
    const pool = await opened();
    assert.throws(() => pool.cursor(5), TypeError);
    assert.throws(() => pool.cursor('SELECT 1', [{}]), /values\[0\]/);
    assert.throws(() => pool.cursor('SELECT 1', [], { batchSize: 0 }), /batchSize/);
    assert.throws(() => pool.cursor('SELECT 1', [], { bachSize: 1 }), /there is no option bachSize/);
    const values = [1];
    const cursor = pool.cursor('SELECT $1::int AS n', values);
    values[0] = 2;
    assert.equal((await cursor.next()).value.n, '1');
    await cursor.return();
    await pool.cursor('SELECT 1').return();
  });

  it('ends with its signal', async () => {
    const pool = await opened();
    const cursor = pool.cursor('SELECT pg_sleep(60)', [], { signal: AbortSignal.timeout(20) });
    await assert.rejects(cursor.next(), { name: 'AbortError' });
    await idle(pool);
  });

  it('is a stream of Node and of the web', async () => {
    const pool = await opened();
    let count = 0;
    for await (const row of pool.cursor(NUMBERS).readable()) count += Number(row.i);
    for await (const row of pool.cursor(NUMBERS).readableStream()) count += Number(row.i);
    assert.equal(count, 1001000);
    const stream = pool.cursor(NUMBERS, [], { batchSize: 10 }).readable({ stall_timeout: 20 });
    stream.read();
    const [error] = await once(stream, 'error');
    assert.match(error.message, /took nothing for 20 ms \(stall_timeout\)/);
    await idle(pool);
  });
});

describe('COPY of a pool', () => {
  it('has the names of a client\'s', async () => {
    const pool = await opened();
    const copy = pool.copyTo('COPY (SELECT 1, 2) TO STDOUT');
    assert.equal((await copy.toArray()).join(''), '1\t2\n');
    const { rowCount, bytes, format, columnCount, columnFormats } = copy;
    assert.deepEqual({ rowCount, bytes, format, columnCount, columnFormats }, { rowCount: 1, bytes: 4, format: 0, columnCount: 2, columnFormats: [0, 0] });
  });

  it('waits for a reader, and gives the connection back when that goes away', async () => {
    const pool = await opened({ size: 2 });
    const copy = pool.copyTo("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 100000)) TO STDOUT");
    await once(copy, 'readable');
    copy.destroy();
    await once(copy, 'close');
    await idle(pool);
    let length = 0;
    await pipeline(pool.copyTo("COPY (SELECT repeat('x', 999) FROM generate_series(1, 3000)) TO STDOUT"), new Writable({
      write(chunk, encoding, callback) {
        length += chunk.length;
        setImmediate(callback);
      }
    }));
    assert.equal(length, 3000000);
  });

  it('takes what is written, many pieces at a time, and fails with the server', async () => {
    const pool = await opened();
    await pool.query('CREATE TABLE IF NOT EXISTS copied (i int)');
    try {
      const copy = pool.copyFrom('COPY copied FROM STDIN');
      for (let i = 0; i < 1000; i++) copy.write(`${i}\n`);
      copy.end();
      await once(copy, 'finish');
      assert.equal(copy.rowCount, 1000);
      await assert.rejects(pipeline(['x\n'], pool.copyFrom('COPY copied FROM STDIN')), { code: '22P02' });
      await assert.rejects(pipeline(['x\n'], pool.copyFrom('COPY nowhere FROM STDIN')), { code: '42P01' });
      const given = pool.copyFrom('COPY copied FROM STDIN');
      given.write('5\n');
      given.destroy();
      await once(given, 'close');
      await idle(pool);
      assert.equal((await pool.query('SELECT count(*) AS n FROM copied')).rows[0].n, '1000');
    } finally {
      await (await sharedServer()).sql('DROP TABLE copied');
    }
  });

  it('ends with its signal, also while it waits for a connection, and takes only COPY', async () => {
    const pool = await opened({ size: 1 });
    await pool.connection(async () => {
      for (const method of ['copyTo', 'copyFrom']) {
        const text = method === 'copyTo' ? 'COPY users TO STDOUT' : 'COPY users FROM STDIN';
        const copy = pool[method](text, { signal: AbortSignal.timeout(10) });
        const [error] = await once(copy, 'error');
        assert.equal(error.name, 'AbortError');
      }
      await until(() => pool.stats.waiting === 0);
    });
    assert.throws(() => pool.copyTo('SELECT 1'), { name: 'TypeError', message: 'copyTo takes COPY … TO STDOUT' });
    assert.throws(() => pool.copyFrom('COPY users TO STDOUT'), { name: 'TypeError', message: 'copyFrom takes COPY … FROM STDIN' });
    assert.throws(() => pool.copyTo('COPY users TO STDOUT', { sginal: 1 }), /there is no option sginal/);
  });
});

describe('queryTo of a pool', () => {
  it('has a connection to itself while the reader is slow', async () => {
    const pool = await opened({ size: 2 });
    const target = new PassThrough();
    const written = pool.queryTo(target, "SELECT repeat('x', 1000) FROM generate_series(1, 10000)");
    await until(() => target.writableNeedDrain);
    for (let i = 0; i < 10; i++) await pool.query('SELECT 1');
    assert.equal(pool.stats.owned, 1);
    target.resume();
    assert.equal((await written).rowCount, 10000);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { PassThrough, Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { sharedServer } = require('../support');
const { standstill } = require('../support/kit');
const { opened, until } = require('./pools');

const NUMBERS = 'SELECT i FROM generate_series(1, 1000) i';

/** Resolves when everything of a pool is idle. */
const idle = pool => until(() => pool.stats.idle === pool.stats.connected && pool.stats.waiting === 0);

describe('A cursor of a pool', () => {
  it('takes a connection for its first row, and gives it back behind the last, at break and at an error', async () => {
    const pool = await opened({ size: 2 });
    const cursor = pool.cursor(NUMBERS, [], { batchSize: 10 });
    assert.equal(pool.stats.owned, 0);
    assert.equal((await cursor.next()).value.i, 1);
    assert.equal(pool.stats.owned, 1);
    let count = 1;
    for await (const row of cursor) assert.equal(row.i, ++count);
    assert.equal(count, 1000);
    for await (const row of pool.cursor(NUMBERS)) if (row.i === '5') break;
    const failing = pool.cursor('SELECT 1 / 0');
    await assert.rejects(failing.next(), { code: '22012' });
    assert.deepEqual(await failing.next(), { done: true, value: undefined });
    await idle(pool);
  });

  it('has the server make as many rows at a time as batchSize says', async () => {
    const pool = await opened();
    const server = await sharedServer();
    await server.sql('CREATE SEQUENCE made');
    const cursor = pool.cursor("SELECT nextval('made') AS n FROM generate_series(1, 100)", [], { batchSize: 10 });
    try {
      assert.equal((await cursor.next()).value.n, 1);
      await until(async () => (await server.sql('SELECT last_value AS n FROM made'))[0].n === '20'); // the next rows are under way
    } finally {
      await cursor.return();
      await server.sql('DROP SEQUENCE made');
    }
  });

  it('throws for bad input at once, and keeps its values', async () => {
    const pool = await opened();
    assert.throws(() => pool.cursor(5), TypeError);
    assert.throws(() => pool.cursor('SELECT 1', [new Map()]), /values\[0\]/);
    assert.throws(() => pool.cursor('SELECT 1', [], { batchSize: 0 }), /batchSize/);
    assert.throws(() => pool.cursor('SELECT 1', [], { bachSize: 1 }), /there is no option bachSize/);
    const values = [1];
    const cursor = pool.cursor('SELECT $1::int AS n', values);
    values[0] = 2;
    assert.equal((await cursor.next()).value.n, 1);
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
    for await (const row of Readable.from(pool.cursor(NUMBERS))) count += Number(row.i);
    for await (const row of ReadableStream.from(pool.cursor(NUMBERS))) count += Number(row.i);
    assert.equal(count, 1001000);
    await idle(pool);
  });

  it('is cancelled by its signal while a stream reads it', async () => {
    const pool = await opened();
    const controller = new AbortController();
    const { signal } = controller;
    const stream = Readable.from(pool.cursor('SELECT pg_sleep(3600)', [], { signal }), { signal }).resume();
    const closed = once(stream, 'close').catch(error => error.name);
    while (pool.stats.pending === 0) await new Promise(setImmediate);
    controller.abort();
    assert.equal(await closed, 'AbortError');
    await idle(pool);
  });
});

describe('COPY of a pool', () => {
  it("has the names of a client's", async () => {
    const pool = await opened();
    const copy = pool.copyTo('COPY (SELECT 1, 2) TO STDOUT');
    const told = () => ['rowCount', 'bytes', 'format', 'columnCount', 'columnFormats'].map(name => copy[name]);
    assert.deepEqual(told(), [undefined, 0, undefined, undefined, undefined]);
    assert.equal((await copy.toArray()).join(''), '1\t2\n');
    assert.deepEqual(told(), [1, 4, 0, 2, [0, 0]]);
  });

  it('waits for a reader, and gives the connection back when that goes away', async () => {
    const pool = await opened({ size: 2 });
    const copy = pool.copyTo("COPY (SELECT repeat('x', 1000) FROM generate_series(1, 100000)) TO STDOUT");
    await once(copy, 'readable');
    await standstill(() => copy.readableLength);
    assert.ok(copy.readableLength < 1e6, `${copy.readableLength} bytes`);
    copy.destroy();
    await once(copy, 'close');
    await idle(pool);
    let length = 0;
    await pipeline(
      pool.copyTo("COPY (SELECT repeat('x', 999) FROM generate_series(1, 3000)) TO STDOUT"),
      new Writable({
        write(chunk, encoding, callback) {
          length += chunk.length;
          setImmediate(callback);
        }
      })
    );
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
      assert.equal((await pool.query('SELECT count(*) AS n FROM copied')).rows[0].n, 1000);
    } finally {
      await (await sharedServer()).sql('DROP TABLE copied');
    }
  });

  it('is repeated whole where it had not been sent when its connection was lost', async () => {
    const pool = await opened({ size: 1 });
    let lost;
    pool.on('connect', client => {
      lost = client;
    });
    await pool.query('SELECT 1');
    const copy = pool.copyTo('COPY (SELECT generate_series(1, 3)) TO STDOUT');
    lost.destroy(new Error('broken')); // in the tick of the call: nothing has left
    let text = '';
    for await (const chunk of copy) text += chunk;
    assert.deepEqual([text, copy.rowCount, copy.bytes], ['1\n2\n3\n', 3, 6]);
    await pool.end();
  });

  it('gives the connection back where that has just been lost', async () => {
    const pool = await opened({ size: 2 });
    let lost;
    pool.on('connect', client => {
      lost = client;
    });
    await pool.query('SELECT 1');
    const after = async turns => {
      while (turns-- > 0) await undefined;
    };
    for (let turns = 0; turns < 20; turns++) {
      const copy = pool
        .copyTo('COPY (SELECT 1) TO STDOUT')
        .on('error', () => {})
        .resume();
      after(turns).then(() => lost.destroy());
      await new Promise(resolve => {
        copy.once('close', resolve);
      });
      await idle(pool);
      await pool.query('SELECT 1');
    }
    await pool.end();
  });

  it('ends no program when it is destroyed before it has a connection, with what was written to it', async () => {
    const pool = await opened({ size: 1 });
    for (const begin of [copy => copy.write('a'), copy => copy.end()]) {
      const copy = pool.copyFrom('COPY users FROM STDIN').on('error', () => {});
      const closed = once(copy, 'close'); // an empty COPY may be over in one turn of the event loop
      begin(copy);
      await new Promise(setImmediate);
      copy.destroy();
      await closed;
      await idle(pool);
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
    assert.throws(() => pool.copyTo('SELECT 1'), {
      name: 'TypeError',
      message: 'copyTo takes COPY … TO STDOUT: write COPY (SELECT …) TO STDOUT for a query, or use queryTo'
    });
    assert.throws(() => pool.copyFrom('COPY users TO STDOUT'), {
      name: 'TypeError',
      message: 'copyFrom takes COPY … FROM STDIN'
    });
    assert.throws(() => pool.copyTo('COPY users TO STDOUT', { sginal: 1 }), /there is no option sginal/);
    assert.throws(() => pool.copyTo('COPY users TO STDOUT', { signal: 1 }), TypeError);
  });
});

describe('A stream of a pool', () => {
  it('leaves its place in the queue, and is not asked, when it is destroyed while it waits for a connection', async () => {
    const pool = await opened({ size: 1 });
    const lost = new Error('disk full');
    await pool.connection(async client => {
      const target = new PassThrough();
      const written = pool.queryTo(target, 'SELECT 1');
      const copies = [pool.copyTo('COPY users TO STDOUT'), pool.copyFrom('COPY users FROM STDIN')];
      const mine = pool.with({ work_mem: '1MB' }).copyFrom('COPY users FROM STDIN');
      await until(() => pool.stats.waiting === 4);
      target.destroy(lost);
      await assert.rejects(written, error => error === lost);
      for (const stream of [...copies, mine]) await once(stream.destroy(), 'close');
      await until(() => pool.stats.waiting === 0);
      assert.equal(client.pending, 0);
    });
    await pool.query('SELECT 1');
  });
});

describe('queryTo of a pool', () => {
  it('does not wait to be repeated for a target that is gone', async () => {
    const pool = await opened({ size: 1 });
    const target = new PassThrough();
    const written = pool.queryTo(target, 'SELECT pg_terminate_backend(pg_backend_pid())', [], { idempotent: true });
    const refused = assert.rejects(written, { name: 'AbortError' });
    await once(pool, 'error');
    target.destroy();
    await pool.transaction(() => refused);
  });

  it('holds up no other request while the reader is slow, though it has no connection to itself', async () => {
    const pool = await opened({ size: 2 });
    const target = new PassThrough();
    const written = pool.queryTo(target, "SELECT repeat('x', 1000) FROM generate_series(1, 10000)");
    await until(() => target.writableNeedDrain);
    for (let i = 0; i < 10; i++) await pool.query('SELECT 1');
    assert.equal(pool.stats.owned, 0);
    target.resume();
    assert.equal((await written).rowCount, 10000);
  });

  it('takes no connection for a response whose turn it is not', async () => {
    const pool = await opened({ size: 2, acquire_timeout: 2000 });
    const results = [];
    let first;
    const server = http
      .createServer((request, response) => {
        if (request.url === '/first') first = response;
        else results.push(pool.queryTo(response, 'SELECT 7 AS a'));
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = net.connect(server.address().port, '127.0.0.1').resume();
    socket.write(['/first', '/2', '/3'].map(path => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    await until(() => results.length === 2);
    assert.deepEqual([pool.stats.owned, pool.stats.waiting], [0, 0]);
    assert.equal((await pool.queryTo(first, 'SELECT 7 AS a')).rowCount, 1);
    for (const result of results) assert.equal((await result).rowCount, 1);
    socket.destroy();
    server.close();
  });

  it('is not asked, and waits for nothing, when the pool is destroyed or the signal aborts before its turn', async () => {
    const pool = await opened({ size: 2 });
    const controller = new AbortController();
    const results = [];
    let first;
    const server = http
      .createServer((request, response) => {
        const signal = request.url === '/3' ? controller.signal : undefined;
        if (request.url === '/first') first = response;
        else results.push(pool.queryTo(response, 'SELECT 7 AS a', [], { signal }));
      })
      .listen(0, '127.0.0.1');
    await once(server, 'listening');
    const socket = net.connect(server.address().port, '127.0.0.1').resume();
    socket.write(['/first', '/2', '/3'].map(path => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
    await until(() => results.length === 2);
    controller.abort();
    await assert.rejects(results[1], { name: 'AbortError' });
    results[0].catch(() => {});
    pool.destroy();
    first.end();
    await assert.rejects(results[0], {
      name: 'ConnectionError',
      message: 'the pool was destroyed: it takes no more requests'
    });
    assert.equal(pool.stats.connected, 0);
    socket.destroy();
    server.close();
  });

  it('ends no program when its target fails before there is a connection', async () => {
    const pool = await opened({ size: 1 });
    const target = new PassThrough();
    const written = pool.queryTo(target, 'SELECT 1');
    target.destroy(new Error('disk full'));
    await assert.rejects(written, { name: 'Error', message: 'disk full' });
  });
});

'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Readable, Transform, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client } = require('../..');
const { connected } = require('../support');

const TEXT = 'SELECT generate_series(1, $1::int) AS i';

describe('A cursor as a stream', () => {
  let client;
  beforeEach(async () => { client = await connected(); });

  /** That the connection is free. */
  const free = async () => assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);

  describe('of Node', () => {
    it('is destroyed when nobody reads it for the stall_timeout, and frees the connection', async () => {
      const stream = client.cursor(TEXT, [100000]).readable({ stall_timeout: 30 });
      const failed = once(stream, 'error');
      stream.read();
      const other = client.query('SELECT 7 AS a');
      const [error] = await failed;
      assert.deepEqual([error.name, error.message], ['TimeoutError', 'the reader took nothing for 30 ms (stall_timeout)']);
      assert.equal((await other).rows[0].a, 7);
      assert.throws(() => client.cursor(TEXT, [1]).readable({ stall_timeout: -1 }), { name: 'TypeError', message: /^stall_timeout/ });
    });

    it('is not destroyed before it is read, as it holds no connection', async () => {
      const unread = client.cursor(TEXT, [5]).readable({ stall_timeout: 10 });
      const stalled = client.cursor(TEXT, [100000]).readable({ stall_timeout: 40 });
      stalled.read();
      await once(stalled, 'error');
      assert.equal((await unread.toArray()).length, 5);
    });

    it('is not destroyed while it is read slowly, or waits for the server', async () => {
      const text = 'SELECT i, pg_sleep(CASE i WHEN 1 THEN 0.2 ELSE 0 END) FROM generate_series(1, 20) AS i';
      let rows = 0;
      for await (const row of client.cursor(text, []).readable({ stall_timeout: 40, highWaterMark: 1 })) {
        assert.equal(Number(row.i), ++rows);
        await new Promise(resolve => setTimeout(resolve, 15));
      }
      assert.equal(rows, 20);
    });

    it('gives the rows in order, to a loop, to events and to a pipeline', async () => {
      const expected = Array.from({ length: 2500 }, (_, i) => i + 1);
      const open = () => client.cursor(TEXT, [2500], { batchSize: 100 }).readable();
      const looped = [];
      for await (const row of open()) looped.push(row.i);
      assert.deepEqual(looped, expected);
      const given = [];
      await once(open().on('data', row => given.push(row.i)), 'end');
      assert.deepEqual(given, expected);
      const piped = [];
      await pipeline(open(), new Transform({
        objectMode: true,
        transform(row, encoding, callback) { callback(null, row.i); }
      }), new Writable({
        objectMode: true,
        write(value, encoding, callback) { setImmediate(callback, piped.push(value) && null); }
      }));
      assert.deepEqual(piped, expected);
      await free();
    });

    it('is what Readable.from makes of it, too', async () => {
      const rows = await Readable.from(client.cursor(TEXT, [5])).toArray();
      assert.deepEqual(rows.map(row => row.i), [1, 2, 3, 4, 5]);
    });

    it('keeps its order when a listener of data reads more by itself', async () => {
      const expected = Array.from({ length: 500 }, (_, i) => i + 1);
      for (const reads of [1, 3]) {
        const given = [];
        const stream = client.cursor(TEXT, [500], { batchSize: 7 }).readable();
        stream.on('data', row => {
          given.push(row.i);
          if (given.length % 10 === 0) for (let i = 0; i < reads; i++) stream.read();
        });
        await once(stream, 'end');
        assert.deepEqual(given, expected);
      }
      await free();
    });

    it('takes the options of a cursor', async () => {
      const [row] = await client.cursor('SELECT 5::int4 AS a', [], { format: Client.BINARY, decode: true }).readable().toArray();
      assert.equal(row.a, 5);
      assert.deepEqual(await client.cursor('SELECT 1 WHERE false').readable().toArray(), []);
    });

    it('does not fetch more than is asked for', async () => {
      const stream = client.cursor(TEXT, [1000000], { batchSize: 10 }).readable({ highWaterMark: 20 });
      await once(stream, 'readable');
      await new Promise(resolve => setTimeout(resolve, 50));
      assert.ok(stream.readableLength >= 10 && stream.readableLength <= 30, `${stream.readableLength} rows`);
      stream.destroy();
      await free();
    });

    it('closes the cursor when it is destroyed, its loop left or its signal aborted', async () => {
      client.cursor(TEXT, [100000]).readable().destroy();
      await free();
      for await (const row of client.cursor(TEXT, [100000]).readable()) if (row) break;
      await free();
      const controller = new AbortController();
      const stream = client.cursor(TEXT, [100000]).readable({ signal: controller.signal });
      await once(stream, 'data');
      controller.abort();
      await assert.rejects(once(stream, 'close'), { name: 'AbortError' });
      await free();
      const late = client.cursor(TEXT, [100000]).readable({ signal: controller.signal });
      await assert.rejects(late.toArray(), { name: 'AbortError' });
      assert.throws(() => client.cursor(TEXT, [1]).readable({ signal: 5 }), TypeError);
      await free();
      await assert.rejects(pipeline(client.cursor(TEXT, [100000]).readable(), new Writable({
        objectMode: true,
        write(row, encoding, callback) { callback(new Error('full')); }
      })), /full/);
      await free();
    });

    it('fails with the error of the query', async () => {
      const stream = client.cursor('SELECT 1 / (500 - i) AS a FROM generate_series(1, 1000) AS i', [], { batchSize: 100 }).readable();
      let count = 0;
      await assert.rejects(async () => {
        for await (const row of stream) count += row ? 1 : 0;
      }, { code: '22012' });
      assert.equal(count, 400);
      await assert.rejects(client.cursor('no SQL').readable().toArray(), { code: '42601' });
      await free();
    });
  });

  describe('of the web', () => {
    it('gives the rows in order, to a loop, to a reader and to a WritableStream', async () => {
      const open = () => client.cursor(TEXT, [250], { batchSize: 100 }).readableStream();
      const looped = [];
      for await (const row of open()) looped.push(row.i);
      assert.deepEqual(looped, Array.from({ length: 250 }, (_, i) => i + 1));
      const reader = open().getReader();
      assert.equal((await reader.read()).value.i, 1);
      await reader.cancel();
      await free();
      const piped = [];
      await open().pipeTo(new WritableStream({ write(row) { piped.push(row.i); } }));
      assert.deepEqual(piped, looped);
    });

    it('sends nothing before it is read, and closes the cursor when it is cancelled', async () => {
      const stream = client.cursor(TEXT, [100000]).readableStream();
      await free();
      for await (const row of stream) if (row) break;
      await free();
    });

    it('fails with the error of the query', async () => {
      await assert.rejects(client.cursor('SELECT 1 / 0').readableStream().getReader().read(), { code: '22012' });
      await free();
    });
  });
});

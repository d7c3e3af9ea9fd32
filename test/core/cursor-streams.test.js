'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Readable, Transform, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { connected } = require('../support');
const { failing } = require('../support/kit');

/** @returns {{signal: AbortSignal, abort: function}} */
function aborting() {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
}

const TEXT = 'SELECT generate_series(1, $1::int) AS i';

describe('A cursor as a stream', () => {
  let client;
  beforeEach(async () => {
    client = await connected();
  });

  /** That the connection is free. */
  const free = async () => assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);

  describe('of Node', () => {
    it('gives the rows in order, to a loop, to events and to a pipeline', async () => {
      const expected = Array.from({ length: 2500 }, (_, i) => i + 1);
      const open = () => Readable.from(client.cursor(TEXT, [2500], { batchSize: 100 }));
      const looped = [];
      for await (const row of open()) looped.push(row.i);
      assert.deepEqual(looped, expected);
      const given = [];
      await once(
        open().on('data', row => given.push(row.i)),
        'end'
      );
      assert.deepEqual(given, expected);
      const piped = [];
      await pipeline(
        open(),
        new Transform({
          objectMode: true,
          transform(row, encoding, callback) {
            callback(null, row.i);
          }
        }),
        new Writable({
          objectMode: true,
          write(value, encoding, callback) {
            setImmediate(callback, piped.push(value) && null);
          }
        })
      );
      assert.deepEqual(piped, expected);
      await free();
    });

    it('keeps its order when a listener of data reads more by itself', async () => {
      const expected = Array.from({ length: 500 }, (_, i) => i + 1);
      for (const reads of [1, 3]) {
        const given = [];
        const stream = Readable.from(client.cursor(TEXT, [500], { batchSize: 7 }));
        stream.on('data', row => {
          given.push(row.i);
          if (given.length % 10 === 0) for (let i = 0; i < reads; i++) stream.read();
        });
        await once(stream, 'end');
        assert.deepEqual(given, expected);
      }
      await free();
    });

    it('closes the cursor when it is destroyed, its loop left or its signal aborted', async () => {
      const rows = options => client.cursor(TEXT, [100000], options);
      Readable.from(rows()).destroy();
      await free();
      for await (const row of Readable.from(rows())) if (row) break;
      await free();
      const { signal, abort } = aborting();
      const stream = Readable.from(rows({ signal }), { signal });
      await once(stream, 'data');
      abort();
      await assert.rejects(once(stream, 'close'), { name: 'AbortError' });
      await free();
      await assert.rejects(pipeline(Readable.from(rows()), failing(new Error('full'), { objectMode: true })), /full/);
      await free();
    });

    it('cancels what it fetches by the signal of the cursor', async () => {
      const { signal, abort } = aborting();
      const stream = Readable.from(client.cursor('SELECT pg_sleep(3600)', [], { signal }), { signal }).resume();
      while (client.pending === 0) await new Promise(setImmediate);
      abort();
      await assert.rejects(once(stream, 'close'), { name: 'AbortError' });
      await free();
    });

    it('fails with the error of the query', async () => {
      const text = 'SELECT 1 / (500 - i) AS a FROM generate_series(1, 1000) AS i';
      const stream = Readable.from(client.cursor(text, [], { batchSize: 100 }));
      let count = 0;
      await assert.rejects(
        async () => {
          for await (const row of stream) count += row ? 1 : 0;
        },
        { code: '22012' }
      );
      assert.equal(count, 400);
      await assert.rejects(Readable.from(client.cursor('no SQL')).toArray(), { code: '42601' });
      await free();
    });
  });

  describe('of the web', () => {
    it('gives the rows in order, to a loop, to a reader and to a WritableStream', async () => {
      const open = () => ReadableStream.from(client.cursor(TEXT, [250], { batchSize: 100 }));
      const looped = [];
      for await (const row of open()) looped.push(row.i);
      assert.deepEqual(
        looped,
        Array.from({ length: 250 }, (_, i) => i + 1)
      );
      const reader = open().getReader();
      assert.equal((await reader.read()).value.i, 1);
      await reader.cancel();
      await free();
      const piped = [];
      await open().pipeTo(
        new WritableStream({
          write(row) {
            piped.push(row.i);
          }
        })
      );
      assert.deepEqual(piped, looped);
    });

    it('sends nothing before it is read, and closes the cursor when it is cancelled', async () => {
      const stream = ReadableStream.from(client.cursor(TEXT, [100000]));
      await free();
      for await (const row of stream) if (row) break;
      await free();
    });

    it('fails with the error of the query', async () => {
      await assert.rejects(ReadableStream.from(client.cursor('SELECT 1 / 0')).getReader().read(), { code: '22012' });
      await free();
    });
  });
});

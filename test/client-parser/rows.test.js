'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { message, rowDescription, dataRow, commandComplete } = require('./query');

const RESULT = Buffer.concat([
  rowDescription(['a', 23]),
  dataRow('1'),
  dataRow('2'),
  dataRow('3'),
  commandComplete('SELECT 3')
]);
const ERROR = message('E', 'SERROR\0VERROR\0C22012\0Mdivision by zero\0\0');
const HALF = RESULT.subarray(0, rowDescription(['a', 23]).length + 2 * dataRow('1').length + 4);

describe('client-parser, rows()', () => {
  let rows;

  before(async () => {
    ({ rows } = await import('../../client-parser/index.js'));
  });

  const bytesOf = data => Uint8Array.from(data);

  async function collect(result) {
    const values = [];
    for await (const row of result) values.push(row.a);
    return values;
  }

  /** A stream of these chunks that notes whether it was cancelled; at the end it stays open or fails. */
  function streamOf(chunks, { open = false, fail } = {}) {
    const stream = new ReadableStream(
      {
        pull(controller) {
          if (chunks.length > 0) controller.enqueue(bytesOf(chunks.shift()));
          else if (fail) controller.error(fail);
          else if (!open) controller.close();
        },
        cancel(reason) {
          stream.cancelled = reason === undefined ? true : reason;
        }
      },
      { highWaterMark: 0 }
    );
    return stream;
  }

  it('reads every kind of source', async () => {
    const sources = {
      Response: new Response(bytesOf(RESULT)),
      'promise of a Response': Promise.resolve(new Response(bytesOf(RESULT))),
      ReadableStream: streamOf([HALF, RESULT.subarray(HALF.length)]),
      Blob: new Blob([RESULT]),
      ArrayBuffer: bytesOf(RESULT).buffer,
      Uint8Array: bytesOf(RESULT),
      DataView: new DataView(bytesOf(RESULT).buffer),
      'array of chunks': [HALF, RESULT.subarray(HALF.length)],
      'async iterable': (async function* () {
        yield HALF;
        yield bytesOf(RESULT.subarray(HALF.length)).buffer;
      })(),
      'transferred buffer': structuredClone(bytesOf(RESULT).buffer)
    };
    for (const [name, source] of Object.entries(sources)) {
      assert.deepEqual(await collect(rows(source)), [1, 2, 3], name);
    }
  });

  it('posts a task after 8 ms, which the browser may draw before', async () => {
    const { now } = Date;
    let time = 0;
    let posted = 0;
    const read = () => collect(rows(new Blob([new Uint8Array(4 * 65536).fill(10)], { type: 'application/x-ndjson' })));
    globalThis.scheduler = {
      postTask(task) {
        posted++;
        return Promise.resolve().then(task);
      }
    };
    try {
      Date.now = () => (time += 9);
      await read();
      assert.ok(posted >= 4, `${posted}`);
      posted = 0;
      Date.now = () => time;
      await read();
      assert.ok(posted <= 1, `${posted}`);
    } finally {
      delete globalThis.scheduler;
      Date.now = now;
    }
  });

  it('refuses what is none', async () => {
    for (const source of ['text', 5, {}, null, undefined, ['text'], [1]]) {
      await assert.rejects(collect(rows(source)), TypeError);
    }
    await assert.rejects(collect(rows(Promise.reject(new RangeError('offline')))), RangeError);
  });

  it('knows the columns while rows come, and the command at the end', async () => {
    const result = rows(RESULT, { structs: true });
    assert.equal(result.columns, undefined);
    for await (const row of result) {
      assert.equal(result.columns[0].name, 'a');
      assert.equal(result.rowParser, row.rowParser);
    }
    assert.deepEqual([result.cmd, result.rowCount, result.bytes], ['SELECT', 3, RESULT.length]);
  });

  it('knows the columns of a result without rows', async () => {
    const result = rows(Buffer.concat([rowDescription(['a', 23]), commandComplete('SELECT 0')]));
    assert.deepEqual(await collect(result), []);
    assert.equal(result.columns[0].typeOid, 23);
  });

  it('decodes as it is told, and makes structs when told to', async () => {
    assert.deepEqual(await collect(rows(RESULT, { decode: true })), [1, 2, 3]);
    assert.deepEqual(await collect(rows(RESULT, { decode: false })), ['1', '2', '3']);
    for (const [decode, value] of [
      [undefined, 1],
      [false, '1']
    ]) {
      const { value: struct } = await rows(RESULT, { decode, structs: true }).next();
      assert.deepEqual([struct.a, struct.toArray(), Object.hasOwn(struct, 'a')], [value, [value], false]);
      assert.deepEqual((await rows(RESULT, { decode }).next()).value, { a: value });
    }
    const decode = { 23: text => `<${text}>` };
    assert.deepEqual(await collect(rows(RESULT, { decode })), ['<1>', '<2>', '<3>']);
  });

  it('gives rows before the rest has come', async () => {
    const result = rows(streamOf([HALF], { open: true }));
    assert.equal((await result.next()).value.a, 1);
    assert.equal((await result.next()).value.a, 2);
    await result.return();
  });

  it('gives rows in batches', async () => {
    const sizes = [];
    const result = rows([HALF, RESULT.subarray(HALF.length, -3), RESULT.subarray(-3)]);
    for await (const batch of result.batches()) sizes.push(batch.map(row => row.a));
    assert.deepEqual(sizes, [[1, 2], [3]]);
    const rest = rows(RESULT);
    await rest.next();
    for await (const batch of rest.batches())
      assert.deepEqual(
        batch.map(row => row.a),
        [2, 3]
      );
  });

  it('gives a loop the rows of a batch without a promise for each', async () => {
    const loop = rows(RESULT)[Symbol.asyncIterator]();
    assert.equal((await loop.next()).value.a, 1);
    assert.deepEqual(
      [2, 3],
      [loop.next(), loop.next()].map(({ value }) => value.a)
    );
    assert.equal((await loop.next()).done, true);
  });

  it('cuts a large chunk into batches, between which the page may draw', async () => {
    const bytes = Buffer.concat([
      rowDescription(['a', 25]),
      ...Array(3000).fill(dataRow('x'.repeat(100))),
      commandComplete('SELECT 3000')
    ]);
    for (const source of [bytes, [bytes], new Response(bytes)]) {
      const result = rows(source);
      const sizes = [];
      for await (const batch of result.batches()) sizes.push(batch.length);
      assert.ok(Math.max(...sizes) < 600, `${sizes}`);
      assert.deepEqual([sizes.reduce((sum, size) => sum + size), result.bytes], [3000, bytes.length]);
    }
  });

  it('gives rows in order to those who ask at the same time', async () => {
    const result = rows(streamOf([...RESULT].map(byte => [byte])));
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => result.next()));
    assert.deepEqual(
      answers.map(({ value, done }) => done || value.a),
      [1, 2, 3, true, true]
    );
  });

  it('gives COPY data', async () => {
    const bytes = [message('H', [0, 0, 0]), message('d', 'x'), message('c'), commandComplete('COPY 1')];
    for await (const data of rows(bytes)) assert.deepEqual(data, Uint8Array.of(120));
  });

  it('cancels the source on break', async () => {
    const stream = streamOf([HALF], { open: true });
    for await (const row of rows(stream)) {
      assert.equal(row.a, 1);
      break;
    }
    assert.equal(stream.cancelled, true);
    let closed = false;
    const chunks = (async function* () {
      try {
        yield HALF;
      } finally {
        await new Promise(setImmediate);
        closed = true;
      }
    })();
    for await (const batch of rows(chunks).batches()) {
      assert.equal(batch.length, 2);
      break;
    }
    assert.equal(closed, true);
  });

  it('is at its end after break', async () => {
    const result = rows(RESULT);
    for await (const row of result) if (row) break;
    assert.deepEqual(await collect(result), []);
  });

  describe('throws, after the rows that came before,', () => {
    async function failing(source, expected, count = 2, options) {
      const values = [];
      const result = rows(source, options);
      await assert.rejects(async () => {
        for await (const row of result) values.push(row.a);
      }, expected);
      assert.equal(values.length, count);
      assert.deepEqual(await result.next(), { value: undefined, done: true });
    }

    it('a PostgresError for an ErrorResponse, and cancels the source', async () => {
      const stream = streamOf([Buffer.concat([HALF.subarray(0, -4), ERROR]), RESULT], { open: true });
      await failing(stream, { name: 'PostgresError', code: '22012' });
      assert.equal(stream.cancelled.code, '22012');
    });

    it('the same with decode: true, which makes the rows before as well', async () => {
      const before = HALF.subarray(0, -4);
      const bad = dataRow('x');
      const count = dataRow('3');
      count.writeInt16BE(2, 5);
      for (const [bytes, expected] of [
        [ERROR, { name: 'PostgresError', code: '22012' }],
        [Buffer.concat([bad, ERROR]), { name: 'ProtocolError', message: 'malformed value' }],
        [message('D', [0, 1, 0, 0, 0, 2, 49]), { name: 'ProtocolError', message: 'DataRow of a wrong length' }],
        [count, { name: 'ProtocolError', message: 'DataRow of a wrong length' }],
        [message('D'), { name: 'ProtocolError', code: '08P01' }],
        [message('?'), { name: 'ProtocolError', code: '08P01' }]
      ]) {
        for (const source of [Buffer.concat([before, bytes]), [before, bytes]])
          await failing(source, expected, 2, { decode: true });
      }
    });

    it('a ProtocolError for a stream that ends too early', async () => {
      await failing(streamOf([HALF]), { name: 'ProtocolError', code: '08006' });
      await failing(RESULT.subarray(0, -14), { name: 'ProtocolError', code: '08006' }, 3);
      await failing([], { name: 'ProtocolError', code: '08006' }, 0);
      await failing(new Response(null, { status: 204 }), { name: 'ProtocolError', code: '08006' }, 0);
    });

    it('a ProtocolError for malformed bytes, and cancels the source', async () => {
      const bad = Buffer.concat([HALF.subarray(0, -4), message('D', [0])]);
      const stream = streamOf([bad, RESULT], { open: true });
      await failing(stream, { name: 'ProtocolError', code: '08P01' });
      assert.equal(stream.cancelled.code, '08P01');
      await failing(new Response('<!doctype html>'), { name: 'ProtocolError', code: '08P01' }, 0);
    });

    it('a ResponseError with the response for a status that is not ok', async () => {
      const response = new Response('limit must be a number', { status: 400, statusText: 'Bad Request' });
      await failing(
        response,
        error =>
          error.name === 'ResponseError' &&
          error.status === 400 &&
          error.message === 'status 400' &&
          error.response === response,
        0
      );
      assert.equal(await response.text(), 'limit must be a number');
    });

    it('what the source throws', async () => {
      await failing(streamOf([HALF], { fail: new TypeError('network') }), { message: 'network' });
    });
  });

  describe('of a string, a URL or a Request', () => {
    let asked, server, url;
    before(done => {
      server = http
        .createServer((request, response) => {
          asked.push([request.method, request.headers.accept, request.headers.authorization]);
          if (request.url === '/wrong') response.writeHead(404).end();
          else if (request.url === '/slow') response.writeHead(200).write(HALF);
          else response.end(RESULT);
        })
        .listen(0, '127.0.0.1', () => {
          url = `http://127.0.0.1:${server.address().port}/`;
          done();
        });
    });
    after(() => {
      server.closeAllConnections();
      server.close();
    });
    beforeEach(() => {
      asked = [];
    });

    it('fetches it, asks for protocol bytes, and keeps what else the Request says', async () => {
      const request = new Request(url, {
        method: 'POST',
        body: 'a',
        headers: { authorization: 'b', accept: 'text/html' }
      });
      const counts = [];
      for (const source of [url, new URL(url), request, Promise.resolve(url)]) {
        let count = 0;
        for await (const row of rows(source, { decode: true })) count += Object.keys(row).length > 0;
        counts.push(count);
      }
      const type = 'application/x-postgresql';
      assert.deepEqual(asked, [
        ['GET', type, undefined],
        ['GET', type, undefined],
        ['POST', type, 'b'],
        ['GET', type, undefined]
      ]);
      assert.deepEqual(counts, Array(4).fill(counts[0]));
      assert.ok(counts[0] > 0);
      assert.equal(request.headers.get('accept'), 'text/html', "the caller's Request stays as it is");
    });

    it('throws a ResponseError, the error of fetch, and the reason of the signal, which ends the download', async () => {
      await assert.rejects(rows(`${url}wrong`).next(), { name: 'ResponseError', status: 404 });
      await assert.rejects(rows('http://127.0.0.1:1/').next(), TypeError);
      const controller = new AbortController();
      const result = rows(`${url}slow`, { signal: controller.signal });
      const next = (async () => {
        for await (const row of result) assert.ok(row);
      })();
      setTimeout(() => controller.abort(new Error('enough')), 20);
      await assert.rejects(next, { message: 'enough' });
    });
  });

  describe('with a signal', () => {
    it('throws its reason and cancels a source that waits', async () => {
      const controller = new AbortController();
      const stream = streamOf([HALF], { open: true });
      const values = [];
      await assert.rejects(
        async () => {
          for await (const row of rows(stream, { signal: controller.signal })) {
            values.push(row.a);
            if (values.length === 2) setImmediate(() => controller.abort('enough'));
          }
        },
        reason => reason === 'enough'
      );
      assert.deepEqual(values, [1, 2]);
      assert.equal(stream.cancelled, 'enough');
    });

    it('throws although the source never answers', async () => {
      const controller = new AbortController();
      const never = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) };
      for (const source of [never, new Promise(() => {})]) {
        const reading = collect(rows(source, { signal: controller.signal }));
        controller.abort();
        await assert.rejects(reading, { name: 'AbortError' });
      }
    });

    it('drops rows that were not given yet', async () => {
      const controller = new AbortController();
      const result = rows(RESULT, { signal: controller.signal });
      await result.next();
      controller.abort();
      await assert.rejects(result.next(), { name: 'AbortError' });
      assert.equal((await result.next()).done, true);
    });

    it('reads nothing when it has aborted before, and cancels a response that comes later', async () => {
      const signal = AbortSignal.abort();
      await assert.rejects(collect(rows(RESULT, { signal })), { name: 'AbortError' });
      const controller = new AbortController();
      const stream = streamOf([HALF], { open: true });
      let resolve;
      const reading = collect(
        rows(
          new Promise(done => {
            resolve = done;
          }),
          { signal: controller.signal }
        )
      );
      controller.abort();
      await assert.rejects(reading, { name: 'AbortError' });
      resolve(stream);
      await new Promise(setImmediate);
      assert.equal(stream.cancelled, true);
    });

    it('leaves no listener on it at the end', async () => {
      const { getEventListeners } = require('node:events');
      const { signal } = new AbortController();
      await collect(rows(RESULT, { signal }));
      await assert.rejects(collect(rows(HALF, { signal })));
      for await (const row of rows(RESULT, { signal })) if (row) break;
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    });
  });
});

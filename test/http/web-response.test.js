'use strict';

const assert = require('node:assert/strict');
const zlib = require('node:zlib');
const { getEventListeners, once } = require('node:events');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { WebResponse } = require('../../lib/http/web-response');
const { activity, connected, proxied, sharedServer } = require('../support');
const { until } = require('../support/kit');

const ROWS = 'SELECT i AS n, md5(i::text) AS t FROM generate_series(1, $1::int) i';
const GIGABYTE = "SELECT repeat('x', 1000) FROM generate_series(1, 1000000)";
const requestOf = (headers = {}, init = {}) => new Request('http://localhost/', { headers, ...init });

describe('A WHATWG Response', () => {
  it('is made when the first byte is there, and has the headers of then', async () => {
    const target = new WebResponse();
    target.statusCode = 203;
    target.setHeader('content-type', 'a/b');
    assert.deepEqual(
      [target.hasHeader('Content-Type'), target.getHeader('content-type'), target.getHeader('vary')],
      [true, 'a/b', undefined]
    );
    target.write('a');
    target.end('b');
    const response = await target.begun;
    assert.deepEqual(
      [response.status, response.headers.get('content-type'), await response.text()],
      [203, 'a/b', 'ab']
    );
  });

  it('is made of what is whole, and of nothing', async () => {
    for (const [piece, body] of [
      [Buffer.from('whole'), 'whole'],
      [undefined, '']
    ]) {
      const target = new WebResponse();
      target.end(piece);
      const [response] = await Promise.all([target.begun, once(target, 'finish')]);
      assert.equal(response.body === null, body === '');
      assert.equal(await response.text(), body);
    }
  });
});

describe('respond to a WHATWG Request', () => {
  it('gives a Response with status, type, length and Vary', async () => {
    const client = await connected();
    for (const query of [
      ['SELECT 1 AS a', [], { as: 'csv', status: 203 }],
      [undefined, 'SELECT 1 AS a', [], { as: 'csv', status: 203 }]
    ]) {
      const response = await respond(client, requestOf(), ...query);
      assert.ok(response instanceof Response);
      assert.deepEqual(
        [response.status, Object.fromEntries(response.headers), await response.text()],
        [203, { 'content-type': 'text/csv; charset=utf-8', 'content-length': '4', vary: 'Accept-Encoding' }, 'a\n1\n']
      );
    }
    assert.equal(await (await respond(client, requestOf(), 'SELECT 5', undefined, { as: 'values' })).text(), '5');
    assert.equal(
      (await respond(client, requestOf(), 'SELECT 5')).headers.get('content-type'),
      'application/json; charset=utf-8'
    );
  });

  it('gives one that client-parser reads, while it comes', async () => {
    const { rows } = await import('../../client-parser/index.js');
    const client = await connected();
    let sum = 0;
    for await (const row of rows(respond(client, requestOf({ accept: 'application/x-postgresql' }), ROWS, [20000])))
      sum += Number(row.n);
    assert.equal(sum, 200010000);
  });

  it('negotiates, and says 406 with what there is', async () => {
    const client = await connected();
    const csv = await respond(client, requestOf({ accept: 'text/csv' }), ROWS, [1]);
    assert.equal(await csv.text(), 'n,t\n1,c4ca4238a0b923820dcc509a6f75849b\n');
    assert.equal(csv.headers.get('vary'), 'Accept, Accept-Encoding');
    const none = await respond(client, requestOf({ accept: 'text/html' }), 'no SQL');
    assert.equal(none.status, 406);
    assert.match(await none.text(), /^text\/csv; charset=utf-8$/m);
  });

  it('answers HEAD without asking, and no rows by another status', async () => {
    const client = await connected();
    const head = await respond(client, requestOf({ accept: 'text/csv' }, { method: 'HEAD' }), 'no SQL');
    assert.deepEqual(
      [head.status, head.body, head.headers.get('content-type')],
      [200, null, 'text/csv; charset=utf-8']
    );
    const none = await respond(client, requestOf({ accept: 'text/html' }, { method: 'HEAD' }), 'no SQL');
    assert.deepEqual([none.status, none.body], [406, null]);
    for (const [emptyStatus, type] of [
      [404, 'text/csv; charset=utf-8'],
      [204, null],
      [205, null]
    ]) {
      const empty = await respond(client, requestOf(), 'SELECT 1 AS a WHERE false', [], { as: 'csv', emptyStatus });
      assert.deepEqual([empty.status, empty.headers.get('content-type')], [emptyStatus, type]);
      assert.equal(await empty.text(), type ? 'a\n' : '');
    }
  });

  it('has no body with a status that allows none, however long the result, or if the query fails late', async () => {
    const client = await connected();
    for (const status of [204, 205, 304])
      for (const as of ['json', 'protocol']) {
        const long = await respond(client, requestOf(), ROWS, [5000], { as, status });
        assert.deepEqual([long.status, long.body, long.headers.get('content-type')], [status, null, null]);
        const failing = "SELECT 1 / (3000 - i), repeat('x', 100) FROM generate_series(1, 3000) i";
        await assert.rejects(respond(client, requestOf(), failing, [], { as, status }), { code: '22012' });
      }
  });

  it('compresses', async () => {
    const client = await connected();
    const plain = await (await respond(client, requestOf(), ROWS, [1000], { as: 'csv' })).text();
    for (const [encoding, decompress] of [
      ['br', zlib.brotliDecompressSync],
      ['gzip', zlib.gunzipSync],
      ['deflate', zlib.inflateSync]
    ]) {
      const response = await respond(client, requestOf({ 'accept-encoding': encoding }), ROWS, [1000], { as: 'csv' });
      assert.equal(response.headers.get('content-encoding'), encoding);
      assert.equal(String(decompress(Buffer.from(await response.arrayBuffer()))), plain);
    }
  });

  it('has ETag and 304 of a ResponseCache', async () => {
    const cache = new ResponseCache(await connected());
    const first = await respond(cache, requestOf(), ROWS, [3], { as: 'csv' });
    const etag = first.headers.get('etag');
    assert.match(first.headers.get('cache-control'), /^private, no-cache$/);
    const again = await respond(cache, requestOf({ 'if-none-match': etag }), ROWS, [3], { as: 'csv' });
    assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, null, etag]);
    assert.deepEqual([cache.hits, cache.misses, cache.size], [1, 1, 1]);
    cache.invalidate(cache.keyOf(ROWS, [3], { as: 'csv' }));
    await (await respond(cache, requestOf(), 'SELECT 1')).text();
    cache.invalidate(cache.keyOf('SELECT 1', [], { as: 'json' }));
    assert.equal(cache.size, 0);
    for (const [as, body] of [
      ['ndjson', '{"n":1}\n'],
      ['csv', 'n\n1\n'],
      ['json', '[{"n":1}]']
    ]) {
      assert.equal(await (await respond(cache, requestOf(), 'SELECT 1 AS n', [], { as })).text(), body);
    }
  });

  it('rejects where the query fails before the first row', async () => {
    const client = await connected();
    await assert.rejects(respond(client, requestOf({ 'accept-encoding': 'br' }), 'SELECT 1 / 0'), { code: '22012' });
    await assert.rejects(respond(client, requestOf(), 'SELECT $1', [new Map()]), { name: 'TypeError' });
    await assert.rejects(respond(client, requestOf(), 5), {
      name: 'TypeError',
      message: 'response must be one of node:http or node:http2'
    });
    await assert.rejects(respond(client, {}, 'SELECT 1'), {
      name: 'TypeError',
      message: 'request must be a Request, or be followed by a response of node:http'
    });
  });

  it('gives a body that fails where the query does after the first row, compressed or not', async () => {
    const [client, other] = [await connected(), await connected()];
    const text = `SELECT i, md5(i::text), CASE WHEN i = 50000 THEN pg_advisory_xact_lock(18) END, 1 / (50000 - i)
      FROM generate_series(1, 100000) AS i`;
    for (const encoding of ['identity', 'gzip']) {
      await other.query('SELECT pg_advisory_lock(18)'); // the query does not get farther than this
      const response = await respond(client, requestOf({ 'accept-encoding': encoding }), text, [], { as: 'csv' });
      assert.equal(response.status, 200);
      await other.query('SELECT pg_advisory_unlock(18)');
      await assert.rejects(response.text());
    }
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('cancels the query of a reader that leaves the body', async () => {
    const { client, wire } = await proxied();
    for (const encoding of ['identity', 'br']) {
      const response = await respond(client, requestOf({ 'accept-encoding': encoding }), GIGABYTE);
      const reader = response.body.getReader();
      await reader.read();
      await reader.cancel();
      await until(() => client.pending === 0);
      assert.ok(wire.stats.bytes.toClient < 300e6, `${wire.stats.bytes.toClient} bytes`);
      assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
    }
    assert.equal(client.pending, 0);
  });

  it('cancels the query when the signal of the request aborts before the first byte, or later', async () => {
    const client = await connected();
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = respond(client, requestOf({}, { signal }), 'SELECT pg_sleep(600)');
    await until(async () => (await activity(client)) === 'active');
    controller.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    await assert.rejects(respond(client, requestOf({}, { signal }), 'SELECT 1'), { name: 'AbortError' });
    await until(async () => (await activity(client)) === 'idle');

    const later = new AbortController();
    const response = await respond(client, requestOf({}, { signal: later.signal }), GIGABYTE);
    later.abort();
    await assert.rejects(response.text());
    await until(() => client.pending === 0);

    const request = requestOf();
    const body = await respond(client, request, ROWS, [20000]);
    assert.equal(getEventListeners(request.signal, 'abort').length, 1);
    await body.text();
    await until(() => getEventListeners(request.signal, 'abort').length === 0);
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('answers in a transaction, which waits for a long result to be read, no longer than stall_timeout', async () => {
    const client = await connected();
    const response = await client.transaction(tx => respond(tx, requestOf(), ROWS, [10], { as: 'csv' }));
    assert.equal((await response.text()).split('\n').length, 12);
    let long;
    const waiting = client.transaction(async tx => {
      long = await respond(tx, requestOf(), ROWS, [20000], { as: 'csv' });
    });
    await until(() => long);
    assert.equal((await long.text()).split('\n').length, 20002);
    await waiting;
    const stalled = client.transaction(tx =>
      respond(tx, requestOf(), GIGABYTE, [], { stall_timeout: 50, alone: true })
    );
    await assert.rejects(stalled, { name: 'UsageError', message: /because a query in it had failed/ });
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('has the server wait for a reader that takes nothing', async () => {
    const server = await sharedServer();
    const client = await connected();
    const response = await respond(client, requestOf(), GIGABYTE, [], { as: 'csv' });
    const reader = response.body.getReader();
    await reader.read();
    const waits = `SELECT wait_event FROM pg_stat_activity WHERE pid = ${client.processId}`;
    await until(async () => (await server.sql(waits))[0].wait_event === 'ClientWrite');
    await reader.cancel();
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('gives its reader memory that it may give away', async () => {
    const client = await connected();
    const plain = await (await respond(client, requestOf(), ROWS, [20000], { as: 'csv' })).text();
    const response = await respond(client, requestOf({ 'accept-encoding': 'gzip' }), ROWS, [20000], { as: 'csv' });
    const chunks = [];
    for await (const chunk of response.body) {
      chunks.push(Buffer.from(chunk));
      structuredClone(chunk.buffer, { transfer: [chunk.buffer] });
    }
    assert.ok(String(zlib.gunzipSync(Buffer.concat(chunks))) === plain);
  });

  it('fails the body where nobody reads it for stall_timeout', async () => {
    const client = await connected();
    const response = await respond(client, requestOf(), GIGABYTE, [], { stall_timeout: 50 });
    while (client.pending > 0) await new Promise(setImmediate);
    await assert.rejects(response.text(), {
      name: 'TimeoutError',
      message: 'the target took nothing for 50 ms (stall_timeout)'
    });
  });
});

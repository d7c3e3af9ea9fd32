'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const { PassThrough, Readable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { Client, ConnectionError } = require('../..');
const { connected, proxied, sharedServer } = require('../support');

/** A stream of so many bytes, in chunks of odd sizes. */
function bytes(length) {
  return Readable.from(function* () {
    for (let off = 0, size = 1; off < length; off += size, size = size * 7 % 100003) {
      yield Buffer.alloc(Math.min(size, length - off), 'abc');
    }
  }(), { objectMode: false });
}

describe('A value that comes from a stream', () => {
  let client;
  beforeEach(async () => { client = await connected(); });

  /** That the connection goes on. */
  const goesOn = async () => assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, '7');

  it('is taken as bytea or as text, between others, of any length', async () => {
    const text = 'SELECT $1::int AS a, md5($2::bytea) AS b, $3::text AS c, length($4::text) AS d, $5::text AS e';
    for (const length of [0, 1, 65535, 65536, 300000]) {
      const chunks = await bytes(length).toArray();
      const { rows: [row] } = await client.query(text, [
        5, { stream: bytes(length), length }, 'x', { stream: ['a', Buffer.from('é')], length: 3 }, null
      ]);
      assert.deepEqual(row.toObject(), {
        a: '5', b: createHash('md5').update(Buffer.concat(chunks)).digest('hex'), c: 'x', d: '2', e: null
      });
    }
  });

  it('may be in text format, and of any iterable', async () => {
    const { rows: [row] } = await client.query('SELECT $1::jsonb AS a, $2::bytea AS b', [
      { stream: ['{"a": ', '1}'], length: 8, format: 0 },
      { stream: (async function* () { yield new Uint8Array([1, 2]); })(), length: 2 }
    ], { format: Client.BINARY });
    assert.equal(row.a.toString('latin1'), '\x01{"a": 1}');
    assert.deepEqual(row.b, Buffer.from([1, 2]));
  });

  it('holds back what comes behind it, in its order', async () => {
    const stream = new PassThrough();
    const order = [];
    const results = [
      client.query('SELECT 1').then(() => order.push(1)),
      client.query('SELECT $1::text', [{ stream, length: 4 }]).then(({ rows }) => order.push(rows[0][0])),
      client.query('SELECT 3').then(() => order.push(3))
    ];
    await sleep(20);
    assert.deepEqual(order, [1]);
    stream.write('ab');
    await sleep(20);
    stream.end('cd');
    await Promise.all(results);
    assert.deepEqual(order, [1, 'abcd', 3]);
  });

  it('works before the connection is there, in transactions, and while the query waits', async () => {
    const early = new Client((await sharedServer()).config);
    const connecting = early.connect();
    const { rows } = await early.query('SELECT $1::text', [{ stream: ['abc'], length: 3 }]);
    assert.equal(rows[0][0], 'abc');
    await connecting;
    await early.end();
    const waiting = client.transaction(async tx => {
      const { rows } = await tx.query('SELECT $1::text', [{ stream: ['in'], length: 2 }]);
      await sleep(10);
      return rows[0][0];
    });
    const behind = client.query('SELECT $1::text', [{ stream: ['out'], length: 3 }]);
    assert.equal(await waiting, 'in');
    assert.equal((await behind).rows[0][0], 'out');
  });

  it('is not had in memory', async () => {
    const length = 200e6;
    const chunk = Buffer.alloc(65536);
    const stream = Readable.from(function* () {
      for (let left = length; left > 0; left -= chunk.length) yield left < chunk.length ? chunk.subarray(0, left) : chunk;
    }(), { objectMode: false });
    const before = process.memoryUsage.rss();
    let most = 0;
    const timer = setInterval(() => { most = Math.max(most, process.memoryUsage.rss() - before); }, 5);
    const { rows } = await client.query('SELECT length($1::bytea)', [{ stream, length }]);
    clearInterval(timer);
    assert.equal(rows[0][0], String(length));
    assert.ok(most < 50e6, `${most / 1e6} MB`);
  });

  for (const [what, values, message] of [
    ['fails', [{ stream: (function* () { yield 'ab'; throw new Error('dry'); })(), length: 100000 }], /^dry$/],
    ['gives too little', [{ stream: ['ab'], length: 5 }], /gave 2 of its 5 bytes/],
    ['gives too much', [{ stream: ['abc', 'def'], length: 5 }], /more than its 5 bytes/],
    ['gives no bytes', [{ stream: ['a', 5], length: 5 }], /must give bytes/]
  ]) {
    it(`that ${what} fails the query, which is not executed, and the connection goes on`, async () => {
      await client.query('CREATE TEMP TABLE taken (a bytea, b bytea)');
      const other = bytes(10);
      const result = client.query('INSERT INTO taken VALUES ($1, $2)', [...values, { stream: other, length: 10 }]);
      await assert.rejects(result, { message });
      assert.equal((await client.query('SELECT count(*) FROM taken')).rows[0][0], '0');
      assert.equal(other.destroyed, true);
    });
  }

  it('is let go of when the server has refused the query', async () => {
    const stream = new PassThrough();
    stream.write('abc');
    const result = client.query('SELECT $1::missing', [{ stream, length: 1000000 }]);
    await assert.rejects(result, { code: '42704' });
    assert.equal(stream.destroyed, true);
    await goesOn();
    const wrong = client.query('SELECT $1::int', [{ stream: ['abc'], length: 3 }]);
    await assert.rejects(wrong, { code: '08P01', severity: 'ERROR' }); // insufficient data left in message
    await goesOn();
  });

  it('is let go of when the signal aborts, before it is sent and in the middle of it', async () => {
    for (const work of [() => {}, stream => stream.write('abc')]) {
      const stream = new PassThrough();
      const controller = new AbortController();
      const result = client.query('SELECT $1::bytea', [{ stream, length: 1000000 }], { signal: controller.signal });
      work(stream);
      await sleep(20);
      controller.abort();
      await assert.rejects(result, { name: 'AbortError' });
      assert.equal(stream.destroyed, true);
      await goesOn();
    }
    const stream = new PassThrough();
    await assert.rejects(client.query('SELECT $1::bytea', [{ stream, length: 5 }], { signal: AbortSignal.abort() }),
      { name: 'AbortError' });
    assert.equal(stream.destroyed, true);
    await goesOn();
  });

  it('does not keep the connection when it hangs and cannot be destroyed', async () => {
    let left = false;
    async function * hanging() {
      yield Buffer.alloc(10);
      await new Promise(() => {});
    }
    const source = { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}), return() { left = true; } }) };
    for (const stream of [hanging(), new ReadableStream(), source]) {
      await assert.rejects(client.query('SELECT $1::bytea', [{ stream, length: 100000 }], { statement_timeout: 20 }),
        { code: '57014' });
      await goesOn();
    }
    assert.equal(left, true);
  });

  it('is let go of when the connection is lost', async () => {
    const { client: lost, wire } = await proxied();
    const stream = new PassThrough();
    const result = lost.query('SELECT $1::bytea', [{ stream, length: 1000000 }]);
    stream.write('abc');
    await sleep(20);
    wire.reset();
    await assert.rejects(result, ConnectionError);
    assert.equal(stream.destroyed, true);
    if (!stream.closed) await once(stream, 'close');
  });

  it('must say what it is, before a byte is written', async () => {
    const { client: watched, proxy } = await proxied();
    const before = proxy.stats.bytes.toServer;
    for (const value of [{ stream: 5, length: 1 }, { stream: null, length: 1 }, { stream: ['a'] },
      { stream: ['a'], length: -1 }, { stream: ['a'], length: 1.5 }, { stream: ['a'], length: 1, format: 2 }]) {
      await assert.rejects(watched.query('SELECT $1::text', [value]), TypeError);
    }
    await assert.rejects(watched.query('SELECT $1::text', [{ stream: ['a'], length: 2 ** 30 }]), RangeError);
    for (const work of [() => watched.batch([['SELECT $1::text', [{ stream: ['a'], length: 1 }]]]),
      () => watched.queryTo(new PassThrough(), 'SELECT $1::text', [{ stream: ['a'], length: 1 }])]) {
      await assert.rejects(work(), TypeError);
    }
    assert.equal(proxy.stats.bytes.toServer, before);
  });
});

describe('A large value', () => {
  const SIZE = 64e6;

  it('is in memory once more while it is sent, whether it is text or bytes', async () => {
    const client = await connected();
    for (const value of [Buffer.alloc(SIZE, 'x'), Buffer.alloc(SIZE, 'x').toString('latin1')]) {
      await client.query('SELECT 1');
      const { arrayBuffers } = process.memoryUsage();
      const result = client.query('SELECT length($1::text)', [value]);
      const more = process.memoryUsage().arrayBuffers - arrayBuffers;
      assert.ok(more < 1.1 * SIZE, `${more / 1e6} MB more`);
      assert.equal((await result).rows[0][0], String(SIZE));
    }
  });

  it('is in memory about twice at most while it is received', async () => {
    const client = await connected();
    const { arrayBuffers } = process.memoryUsage();
    let most = 0;
    const timer = setInterval(() => { most = Math.max(most, process.memoryUsage().arrayBuffers - arrayBuffers); }, 1);
    const { rows } = await client.query(`SELECT repeat('x', ${SIZE})::bytea`, [], Client.BINARY);
    clearInterval(timer);
    assert.equal(rows[0][0].length, SIZE);
    assert.ok(most < 2.5 * SIZE, `${most / 1e6} MB`);
  });

  it('goes up to the limit of the protocol, and not beyond', async () => {
    const client = await connected();
    await assert.rejects(client.query('SELECT length($1::bytea)', [Buffer.alloc(2 ** 30 - 10)]), RangeError);
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, '7');
  });
});

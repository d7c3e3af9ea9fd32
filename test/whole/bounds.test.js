'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Writable } = require('node:stream');
const { SAY } = require('../support/connecting');
const { connected, faked, proxied } = require('../support');
const { standstill, until } = require('../support/kit');

describe('What waits', () => {
  it('is to be seen: requests in `pending`, bytes in `bufferedBytes`', async () => {
    const { client, wire } = await proxied();
    assert.deepEqual([client.pending, client.bufferedBytes], [0, 0]);
    wire.stall();
    const value = 'x'.repeat(100000);
    const drained = once(client, 'drain');
    const queries = Array.from({ length: 200 }, () => client.query('SELECT length($1) AS n', [value]));
    assert.equal(client.pending, 200);
    await until(() => client.bufferedBytes > 1e6);
    wire.resume();
    for (const {
      rows: [row]
    } of await Promise.all(queries))
      assert.equal(row.n, 100000);
    await drained;
    assert.deepEqual([client.pending, client.bufferedBytes], [0, 0]);
  });

  it('stays little where what query returns is awaited', async () => {
    const client = await connected();
    const value = 'x'.repeat(50000);
    let most = 0;
    const loop = async () => {
      for (let i = 0; i < 100; i++) {
        await client.query('SELECT length($1) AS n', [value]);
        most = Math.max(most, client.bufferedBytes);
      }
    };
    await Promise.all([loop(), loop(), loop(), loop()]);
    assert.ok(most <= 4 * 60000, `${most} bytes`);
  });

  it('is not read from the server while what takes it is full, and others wait as long', async () => {
    const { client, wire } = await proxied();
    const taken = [];
    let next = () => {};
    const slow = new Writable({
      highWaterMark: 1,
      write(chunk, encoding, callback) {
        taken.push(chunk.length);
        next = callback;
      }
    });
    const rows = client.query("SELECT repeat('x', 1000) FROM generate_series(1, 50000)", [], { stream: slow });
    let answered = false;
    const behind = client.query('SELECT 1 AS one').then(() => {
      answered = true;
    });
    await until(() => taken.length !== 0);
    await standstill(() => wire.stats.bytes.toClient);
    const { bytes } = wire.stats;
    assert.ok(bytes.toClient < 20e6, `${bytes.toClient} of 50 MB came`);
    assert.deepEqual([taken.length, answered], [1, false]);
    const take = () => {
      const callback = next;
      next = () => {};
      callback();
    };
    const timer = setInterval(take, 0);
    await behind;
    await rows;
    clearInterval(timer);
    assert.ok(taken.reduce((sum, length) => sum + length, 0) > 50e6);
  });
});

describe('A server that reports parameters without end', () => {
  it('loses its connection at a thousand', async () => {
    const client = await faked(async conversation => {
      for (let i = 0; i < 1100; i++) conversation.say(SAY.parameter(`name_${i}`, 'value'));
    });
    const error = await client.closed;
    assert.deepEqual([error.name, error.code], ['ConnectionError', '08P01']);
    assert.equal(Object.keys(client.serverParameters).length, 1000);
  });
});

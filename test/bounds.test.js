'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { promisify } = require('node:util');
const { SAY } = require('./connecting');
const { sharedServer, connected, faked, proxied } = require('./support');

/** Heap and buffers of a pending query, in bytes; some 600 are usual, of which 90 are the messages. */
const MOST = 1000;

/** Runs pending.js, which measures, in a process of its own. */
async function measure(queries, where) {
  const { config } = await sharedServer();
  const args = [path.join(__dirname, 'pending.js'), queries, where, JSON.stringify(config)];
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
}

describe('Very many pending queries', function () {
  this.timeout(180000);

  for (const [where, name, count] of [['wire', 'on the wire', 1000000], ['client', 'in the client', 200000]]) {
    it(`are answered in order, and take little memory while they wait ${name}`, async () => {
      const many = await measure(count, where);
      assert.equal(many.waiting, count + 1);
      assert.ok(many.heap + many.buffers < MOST, JSON.stringify(many));
      assert.ok(many.left < 150e6, `${many.left} bytes are left`);
    });
  }
});

describe('What waits', () => {
  it('is to be seen: requests in `pending`, bytes in `bufferedBytes`', async () => {
    const { client, wire } = await proxied();
    assert.deepEqual([client.pending, client.bufferedBytes], [0, 0]);
    wire.stall();
    const value = 'x'.repeat(100000);
    const drained = once(client, 'drain');
    const queries = Array.from({ length: 200 }, () => client.query('SELECT length($1) AS n', [value]));
    assert.equal(client.pending, 200);
    await sleep(20);
    assert.ok(client.bufferedBytes > 1e6, `${client.bufferedBytes} bytes`);
    wire.resume();
    for (const { rows: [row] } of await Promise.all(queries)) assert.equal(row.n, '100000');
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
    const behind = client.query('SELECT 1 AS one').then(() => { answered = true; });
    while (taken.length === 0) await sleep(1);
    await sleep(100);
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

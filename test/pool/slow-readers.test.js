'use strict';

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { SlowReaders } = require('../../lib/pool/slow-readers');
const { afterTest } = require('../support/hooks');
const { opened, until } = require('./pools');

/** 20 MB, of which `buffer` makes most wait for the reader. */
const LONG = "SELECT repeat('x', 10000) FROM generate_series(1, 2000)";

/** A target that takes so many bytes a second, in pieces of 64 kB. */
function reader(rate) {
  const timers = new Set();
  const stream = new Writable({
    highWaterMark: 65536,
    write({ length }, encoding, callback) {
      const timer = setTimeout(
        () => {
          timers.delete(timer);
          callback();
        },
        (length / rate) * 1000
      );
      timers.add(timer);
    }
  });
  afterTest(() => timers.forEach(clearTimeout));
  return stream;
}

/**
 * Begins results for readers of this rate, and waits until so many hold a connection.
 * @returns {Promise<Promise[]>} of their ends
 */
async function read(pool, count, rate, holding = count, text = LONG) {
  const buffer = 65536;
  const readers = Array.from({ length: count }, () => reader(rate));
  const results = readers.map(stream => pool.queryTo(stream, text, [], { buffer }));
  const isHolding = ({ writableLength }) => writableLength > buffer; // before, other requests may go behind its result
  await until(() => readers.filter(isHolding).length >= holding, `${holding} connections to be held`);
  return results;
}

const ended = result => result.catch(error => error);

describe('Readers of a pool that are slow', () => {
  for (const times of [1, 2]) {
    it(`and hold ${times === 1 ? 'all' : 'twice as many as all'} connections are cut off when requests wait`, async () => {
      const size = 3;
      const pool = await opened({ size, acquire_timeout: 6000 }); // readers are measured for a sixth of it
      const results = (await read(pool, times * size, 8000, size)).map(ended);
      const works = [
        pool.query('SELECT 1 AS one'),
        pool.query('SELECT 1 AS one'),
        pool.transaction(tx => tx.query('SELECT 1 AS one'))
      ];
      for (const { rows } of await Promise.all(works)) assert.equal(rows[0].one, 1);
      const first = await Promise.race(results);
      assert.deepEqual([first.name, first.code, first.sent], ['TimeoutError', '57014', true]);
      assert.match(first.message, /less than 256 kB a second, and requests waited/);
      pool.destroy();
      await Promise.all(results);
    });
  }

  it('are cut off when an owner waits, though a connection is left to queries', async () => {
    const pool = await opened({ size: 3, acquire_timeout: 6000 });
    const results = (await read(pool, 2, 8000)).map(ended);
    await until(() => pool.query('SELECT 1').then(() => pool.stats.connected === 3));
    await pool.transaction(tx => tx.query('SELECT 1'));
    assert.equal((await Promise.race(results)).code, '57014');
    pool.destroy();
    await Promise.all(results);
  });

  it('go on while one connection is left', async () => {
    const pool = await opened({ size: 3, acquire_timeout: 600 });
    const ends = (await read(pool, 2, 8000)).map(ended);
    for (let i = 0; i < 20; i++) {
      await pool.query('SELECT 1');
      await sleep(40);
    }
    assert.equal(await Promise.race([...ends, 'none has ended']), 'none has ended');
    pool.destroy();
    await Promise.all(ends);
  });

  it('go on in a pool of any size while no request waits', async () => {
    const pool = await opened({ size: 1, acquire_timeout: 300 });
    const [result] = (await read(pool, 1, 8000)).map(ended);
    await sleep(800); // twice as long as a reader is measured
    assert.equal(await Promise.race([result, 'it has not ended']), 'it has not ended');
    pool.destroy();
    await result;
  });
});

describe('The slowest readers', () => {
  it('are as many as connections are wanted, by what each has taken since it was last fast enough', () => {
    const cut = [];
    const readers = ['fast', 'slow', 'slower'].map(name => ({
      name,
      bytes: 1e9,
      target: { unsent: 5e8, giveUp: ({ code }) => cut.push([name, code]) }
    }));
    const [fast, slow] = readers;
    const slowReaders = new SlowReaders(60000);
    const look = (count, now) => slowReaders.cutOff(readers, count, now);
    look(3, 1000);
    fast.target.unsent -= 1e6;
    slow.target.unsent -= 1e5;
    for (const count of [-1, 0]) look(count, 3000);
    look(3, 2999); // measured for 2 s at least
    assert.deepEqual(cut, []);
    look(1, 3000);
    assert.deepEqual(cut, [['slower', '57014']]);
    look(3, 3000);
    assert.deepEqual(
      cut.slice(1).map(([name]) => name),
      ['slower', 'slow']
    );
  });
});

describe('Readers of a pool that take 4 MB a second', () => {
  it('are never cut off, though requests wait for them', async function () {
    this.timeout(30000);
    const pool = await opened({ size: 2, acquire_timeout: 6000 });
    const results = await read(pool, 2, 4e6, 2, "SELECT repeat('x', 10000) FROM generate_series(1, 1000)");
    const waiting = pool.query('SELECT 1 AS one');
    for (const { rowCount } of await Promise.all(results)) assert.equal(rowCount, 1000);
    assert.equal((await waiting).rows[0].one, 1);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { ask, askMuch, connect, record, replay } = require('../support/splitting');

/*
 * The same bytes of a real session must give the same results however they are cut to pieces.
 */

/** Offsets after every `size` bytes. */
const every = (size, from, to) =>
  Array.from({ length: Math.ceil((to - from) / size) - 1 }, (_, index) => from + (index + 1) * size);

describe('A recorded session', () => {
  let small, large;

  before(async () => {
    small = await record(ask);
    large = await record(askMuch);
  });

  it('has everything in it', () => {
    const types = new Set();
    for (let off = 0; off < small.bytes.length; off += 1 + small.bytes.readUInt32BE(off + 1)) {
      types.add(String.fromCharCode(small.bytes[off]));
    }
    assert.deepEqual([...types].sort().join(''), '123ACDEHIKNRSTZcdnt');
    assert.deepEqual(
      small.results.filter(({ name }) => name).map(({ code }) => code),
      ['42601', '22012', '42703', '42703', '23505', '22012', '22012']
    );
    assert.equal(small.events.length, 4);
    assert.ok(large.bytes.length > 200_000);
  });

  it('gives the same in one piece, whole', () => replay(askMuch, large, []));

  for (const size of [1, 2, 3, 5, 7, 11, 64, 1000, 4093, 16384, 40_000]) {
    it(`gives the same in pieces of ${size} bytes`, () =>
      replay(askMuch, large, every(size, large.greeting, large.bytes.length)));
  }

  it('gives the same in pieces of random lengths', async () => {
    let seed = 4711;
    const random = () => (seed = (seed * 48271) % 0x7fffffff) / 0x7fffffff;
    for (let run = 0; run < 20; run++) {
      const cuts = [];
      const step = () => 1 + Math.floor(random() ** 4 * 20_000);
      for (let off = large.greeting; off < large.bytes.length; off += step()) cuts.push(off);
      await replay(askMuch, large, cuts);
    }
  });

  for (const size of [1, 2, 3, 5, 7, 100, 1000]) {
    it(`gives the same from the start-up on, in pieces of ${size} bytes`, () =>
      connect(small, every(size, 0, small.bytes.length)));
  }
});

'use strict';

const assert = require('node:assert/strict');
const { Entries } = require('../../lib/cache/entries');
const { gc } = require('../support/gc');

const answerOf = length => ({ body: Buffer.allocUnsafeSlow(length) });

/** Entries with an answer for each key. */
function filled(keys, { maxBytes = 1e6, length = 10, tags = () => [] } = {}) {
  const entries = new Entries(maxBytes);
  for (const key of keys) entries.keep(entries.use(key, tags(key)), answerOf(length));
  return entries;
}

/** The keys that have an answer; looking changes nothing for those. */
const kept = (entries, keys) =>
  [...keys].filter(key => {
    const entry = entries.use(key, []);
    if (entry.answer === undefined) entries.forget(entry);
    return entry.answer !== undefined;
  });

describe('Entries', () => {
  it('give the same entry for the same key', () => {
    const entries = new Entries(1e6);
    const entry = entries.use('a', ['t']);
    assert.equal(entries.use('a', ['t']), entry);
    assert.deepEqual(entry, { key: 'a', tags: ['t'], size: 0, answer: undefined, asking: undefined });
  });

  it('let the least recently used one leave first', () => {
    const entries = filled('abc', { maxBytes: 3200 });
    entries.use('a', []);
    entries.keep(entries.use('d', []), answerOf(10));
    assert.equal(entries.evictions, 1);
    assert.deepEqual(kept(entries, 'abcd'), ['a', 'c', 'd']);
  });

  it('count what they take, and nothing when they are empty', () => {
    const entries = filled('a', { length: 100, tags: () => ['tt'] });
    assert.equal(entries.bytes, 1024 + 100 + 2 + 256 + 4);
    entries.keep(entries.use('a', ['tt']), answerOf(50)); // in place of the other
    assert.equal(entries.bytes, 1024 + 50 + 2 + 256 + 4);
    assert.equal(entries.size, 1);
    entries.forgetKey('a');
    assert.deepEqual([entries.bytes, entries.size], [0, 0]);
  });

  it('do not keep what is larger than all memory, and let none go for it', () => {
    const entries = filled('a', { maxBytes: 4000 });
    assert.equal(entries.keep(entries.use('b', []), answerOf(4000)), false);
    assert.deepEqual([entries.size, entries.evictions], [1, 0]);
    assert.deepEqual(kept(entries, 'ab'), ['a']);
  });

  it('fit exactly', () => {
    const entries = filled('ab', { maxBytes: 2 * (1024 + 10 + 2) });
    assert.deepEqual([kept(entries, 'ab'), entries.evictions], [['a', 'b'], 0]);
    const one = new Entries(1024 + 10 + 2);
    assert.equal(one.keep(one.use('a', []), answerOf(10)), true);
    assert.deepEqual(kept(one, 'a'), ['a']);
  });

  it('are forgotten once, whatever tags they have', () => {
    const entries = filled('a', { tags: () => ['x', 'y'] });
    for (const tag of ['x', 'y']) entries.forgetTag(tag);
    assert.equal(entries.bytes, 0);
  });

  for (const [what, work] of [
    [
      'forgotten with their tags',
      (entries, i) => {
        entries.use('d', [`tag ${i}`]);
        entries.forgetKey('d');
      }
    ],
    ['used again', (entries, i) => entries.use('abc'[i % 3], [])],
    [
      'used again behind some that were evicted',
      (entries, i) => {
        if (i < 3) entries.keep(entries.use(`${i}`, []), answerOf(10));
        else entries.use('012'[i % 3], []);
      }
    ]
  ])
    it(`leave no memory behind that are ${what}`, () => {
      const entries = filled('abc', { maxBytes: 3200 });
      const used = () => {
        gc();
        return process.memoryUsage().heapUsed;
      };
      const before = used();
      for (let i = 0; i < 50000; i++) work(entries, i);
      const grown = used() - before;
      assert.ok(grown < 1e6, `${grown} bytes`);
      assert.equal(entries.size, 3);
    });

  it('are forgotten by key, by tag, all with a tag, and all', () => {
    const TAGS = { a: ['x', 'y'], b: ['y'], c: [] };
    for (const [forget, left] of [
      [entries => entries.forgetKey('b'), ['a', 'c']],
      [entries => entries.forgetKey('z'), ['a', 'b', 'c']],
      [entries => entries.forgetTag('x'), ['b', 'c']],
      [entries => entries.forgetTag('y'), ['c']],
      [entries => entries.forgetTag('z'), ['a', 'b', 'c']],
      [entries => entries.forgetTag(), ['c']],
      [entries => entries.clear(), []]
    ]) {
      const entries = filled('abc', { tags: key => TAGS[key] });
      forget(entries);
      assert.equal(entries.size, left.length);
      assert.deepEqual(kept(entries, 'abc'), left, String(forget));
    }
  });

  it('that are forgotten know neither their answer nor what was asked for', () => {
    for (const forget of ['clear', 'forgetTag']) {
      const entries = filled('a', { tags: () => ['t'] });
      const entry = entries.use('a', ['t']);
      entry.asking = {};
      entries[forget]();
      assert.deepEqual([entry.answer, entry.asking], [undefined, undefined]);
    }
  });

  it('can be kept again after all were forgotten', () => {
    const entries = filled('abc', { maxBytes: 3200 });
    entries.clear();
    for (const key of 'defg') entries.keep(entries.use(key, []), answerOf(10));
    assert.deepEqual(kept(entries, 'abcdefg'), ['e', 'f', 'g']);
  });
});

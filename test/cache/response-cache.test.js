'use strict';

const assert = require('node:assert/strict');
const { ResponseCache } = require('../..');
const { Answer, Recorder } = require('../../lib/cache/cached-answer');
const { commandComplete, dataRow, rowDescription } = require('../support');
const { gc } = require('../gc');

/** An answer of one column, as a query records it. */
function answerOf(value, tag = 'SELECT 1') {
  const recorder = new Recorder(Infinity, () => {});
  const description = rowDescription('a');
  recorder.start({ description: () => description }, 0);
  const row = dataRow(value);
  recorder.receiveData(row, 0, row.length, 1, false);
  const complete = commandComplete(tag);
  recorder.receive(67, complete, 0, complete.length);
  return recorder.answer(() => true);
}

/** A cache whose clock the test moves, and a source that the test answers for. */
function setUp(options) {
  const clock = { now: 1000000 };
  const cache = new ResponseCache({ now: () => clock.now, ...options });
  const asked = [];
  const ask = () => new Promise((resolve, reject) => {
    asked.push({ answer: value => resolve(answerOf(value)), resolve, reject });
  });
  const take = (key, given = {}) => cache.take(key, cache.settings(given), ask);
  /** Asks, and answers what was asked for. */
  const fill = async (key, value, given) => {
    const flight = take(key, given);
    asked.pop().answer(value);
    return flight.promise;
  };
  return { clock, cache, asked, take, fill };
}

const isFlight = found => found.promise !== undefined;

describe('ResponseCache', () => {
  it('has the defaults of Hyperdrive', () => {
    const cache = new ResponseCache();
    assert.deepEqual([cache.max_age, cache.stale_while_revalidate, cache.max_bytes], [60, 15, 1 << 26]);
    assert.deepEqual(cache.toJSON(), { hits: 0, misses: 0, stale: 0, evictions: 0, bytes: 0, size: 0 });
  });

  it('refuses options that are wrong', () => {
    for (const name of ['max_bytes', 'max_answer_bytes', 'max_age', 'stale_while_revalidate']) {
      for (const value of [-1, NaN, '1', null]) {
        assert.throws(() => new ResponseCache({ [name]: value }), TypeError);
      }
    }
    assert.throws(() => new ResponseCache({ now: 1 }), /now must be a function/);
    const cache = new ResponseCache();
    assert.throws(() => cache.settings({ tags: 'a' }), /tags must be an array of strings/);
    assert.throws(() => cache.settings({ max_age: -1 }), /max_age must be a number/);
  });

  it('gives an answer for 60 seconds, 15 more while it is asked anew, and then no more', async () => {
    const { clock, cache, asked, take, fill } = setUp();
    await fill('k', 'old');
    clock.now += 59999;
    assert.ok(!isFlight(take('k')));
    assert.equal(asked.length, 0);
    clock.now += 1;
    assert.ok(!isFlight(take('k')));
    assert.equal(asked.length, 1);
    asked.pop().reject(new Error('no'));
    await new Promise(setImmediate);
    clock.now += 14999;
    assert.ok(!isFlight(take('k')));
    asked.pop().reject(new Error('no'));
    await new Promise(setImmediate);
    clock.now += 1;
    assert.ok(isFlight(take('k')));
    const { hits, misses, stale } = cache;
    assert.deepEqual({ hits, misses, stale }, { hits: 1, misses: 2, stale: 2 });
  });

  it('counts the age from when the query was asked, not from its end', async () => {
    const { clock, asked, take } = setUp({ max_age: 10, stale_while_revalidate: 0 });
    const flight = take('k');
    clock.now += 9000;
    asked.pop().answer('slow');
    await flight.promise;
    assert.ok(!isFlight(take('k')));
    clock.now += 1000;
    assert.ok(isFlight(take('k')));
  });

  it('asks once for 1,000 who miss at the same time', async () => {
    const { asked, take } = setUp();
    const found = Array.from({ length: 1000 }, () => take('k'));
    assert.equal(asked.length, 1);
    asked[0].answer('x');
    const answers = await Promise.all(found.map(flight => flight.promise));
    assert.equal(new Set(answers).size, 1);
  });

  it('refreshes once for a herd that comes after max_age', async () => {
    const { clock, asked, take, fill } = setUp();
    await fill('k', 'old');
    clock.now += 61000;
    for (let i = 0; i < 1000; i++) assert.ok(take('k').body.includes('old'));
    assert.equal(asked.length, 1);
    asked.pop().answer('new');
    await new Promise(setImmediate);
    assert.ok(take('k').body.includes('new'));
    assert.equal(asked.length, 0);
  });

  it('tells of a refresh that fails and keeps the old answer to the end of its window', async () => {
    const { clock, cache, asked, take, fill } = setUp();
    const errors = [];
    cache.on('error', (error, about) => errors.push([error.message, about]));
    await fill('k', 'old', { tags: ['t'] });
    clock.now += 61000;
    take('k', { tags: ['t'] });
    asked.pop().reject(new Error('down'));
    await new Promise(setImmediate);
    assert.deepEqual(errors, [['down', { key: 'k', tags: ['t'] }]]);
    assert.ok(take('k', { tags: ['t'] }).body.includes('old'));
  });

  it('does not make the end of the program of a refresh that fails and that nobody listens to', async () => {
    const { clock, asked, take, fill } = setUp();
    await fill('k', 'old');
    clock.now += 61000;
    take('k');
    asked.pop().reject(new Error('down'));
    await new Promise(setImmediate);
    assert.ok(take('k').body.includes('old'));
  });

  it('lets nobody join a query that is older than max_age', async () => {
    const { clock, asked, take } = setUp({ max_age: 1 });
    const first = take('k');
    clock.now += 1000;
    const second = take('k');
    assert.notEqual(first, second);
    asked[1].answer('new');
    await second.promise;
    asked[0].answer('old');
    await first.promise;
    assert.ok(take('k').body.includes('new'), 'the later query counts, whichever ends last');
  });

  it('keeps nothing of errors', async () => {
    const { cache, asked, take } = setUp();
    const flight = take('k');
    asked.pop().reject(new Error('no'));
    await assert.rejects(flight.promise, /no/);
    assert.equal(cache.size, 0);
    assert.ok(isFlight(take('k')));
  });

  it('lets the least recently used answer go first', async () => {
    const { cache, take, fill } = setUp({ max_bytes: 4000, max_answer_bytes: 4000 });
    for (const key of ['a', 'b', 'c']) await fill(key, key);
    take('a');
    await fill('d', 'd');
    assert.equal(cache.evictions, 1);
    assert.deepEqual(['a', 'c', 'd'].map(key => isFlight(take(key))), [false, false, false]);
    assert.ok(isFlight(take('b')));
  });

  it('keeps no answer that is larger than itself, and lets none go for it', async () => {
    const { cache, fill, take } = setUp({ max_bytes: 4000 });
    await fill('a', 'a');
    await fill('b', 'x'.repeat(4000));
    assert.equal(cache.size, 1);
    assert.equal(cache.evictions, 0);
    assert.ok(!isFlight(take('a')));
  });

  it('forgets by key, by tag, and all', async () => {
    const { cache, take, fill } = setUp();
    const isThere = (key, i) => !isFlight(take(key, { tags: ['x', 'y'].slice(i) }));
    const there = () => ['a', 'b', 'c'].filter(isThere);
    for (const [i, key] of ['a', 'b', 'c'].entries()) await fill(key, key, { tags: ['x', 'y'].slice(i) });
    cache.invalidateTag('x');
    assert.deepEqual(there(), ['b', 'c']);
    cache.invalidate('c');
    assert.deepEqual(there(), ['b']);
    cache.clear();
    assert.deepEqual(there(), []);
    assert.deepEqual([cache.size, cache.bytes], [0, 0]);
  });

  it('does not keep what was asked before an invalidation, nor gives it to who asks after it', async () => {
    const ways = [cache => cache.invalidate('k'), cache => cache.invalidateTag('t'), cache => cache.clear()];
    for (const invalidate of ways) {
      const { cache, asked, take } = setUp();
      const before = take('k', { tags: ['t'] });
      invalidate(cache);
      const after = take('k', { tags: ['t'] });
      assert.equal(asked.length, 2);
      asked[1].answer('new');
      assert.ok((await after.promise).body.includes('new'));
      asked[0].answer('old');
      assert.ok((await before.promise).body.includes('old'));
      assert.ok(take('k', { tags: ['t'] }).body.includes('new'));
    }
  });

  it('refuses to listen for what it would never hear, and goes on as before', async () => {
    const { cache } = setUp();
    const client = { query() { assert.fail('nothing is to be sent'); } };
    await assert.rejects(cache.listen(null, 'changes'), { name: 'TypeError', message: 'client must be a Client' });
    await assert.rejects(cache.listen({}, 'changes'), TypeError);
    for (const channel of [5, undefined, '', 'a\0b']) await assert.rejects(cache.listen(client, channel), TypeError);
    // The server would cut it off, and notify by another name.
    await assert.rejects(cache.listen(client, 'ä'.repeat(32)), RangeError);
    assert.equal(cache.guarded, true);
  });

  it('stays below its bound under 1,000,000 keys, in truth as by its own count', async function () {
    this.timeout(120000);
    const { cache, asked, take } = setUp({ max_bytes: 1 << 24 });
    const model = answerOf('x'.repeat(20));
    let most = 0;
    for (let i = 0; i < 1000000; i++) {
      take(`key ${i} of ${i}`, { tags: [`tag ${i % 1000}`] });
      const body = Buffer.allocUnsafeSlow(model.body.length);
      model.body.copy(body);
      asked.pop().resolve(new Answer(body, { ...model, storable: () => true }));
      if (i % 1000 !== 0) continue;
      await new Promise(setImmediate);
      most = Math.max(most, cache.bytes);
    }
    await new Promise(setImmediate);
    assert.ok(most <= cache.max_bytes, `${most} bytes`);
    assert.equal(cache.size + cache.evictions, 1000000);
    const used = async () => {
      for (let i = 0; i < 3; i++) {
        gc();
        await new Promise(setImmediate); // buffers are freed by other threads
      }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const full = await used();
    cache.clear();
    assert.equal(cache.bytes, 0);
    const taken = full - await used();
    assert.ok(taken > cache.max_bytes / 4 && taken < cache.max_bytes, `${taken} bytes in truth`);
  });

  it('shows its counters and nothing of what it keeps', async () => {
    const { cache, fill } = setUp();
    await fill('secret key', 'secret value', { tags: ['secret tag'] });
    const { inspect } = require('node:util');
    assert.doesNotMatch(inspect(cache) + JSON.stringify(cache), /secret/);
    assert.match(inspect(cache), /ResponseCache \{ hits: 0, misses: 1/);
  });
});

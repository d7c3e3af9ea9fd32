'use strict';

const assert = require('node:assert/strict');
const { EventEmitter } = require('node:events');
const { PassThrough } = require('node:stream');
const { inspect } = require('node:util');
const { ResponseCache } = require('../../lib/cache');
const { LEASE } = require('../../lib/core/internal');
const { Target } = require('../../lib/core/stream');
const { commandComplete, dataRow, rowDescription } = require('../support');

/** The bytes of a result of one column and row. */
const bytesOf = value => Buffer.concat([rowDescription('a'), dataRow(value), commandComplete('SELECT 1')]);

/** A client whose answers the test gives. */
class FakeClient extends EventEmitter {
  closed = Promise.resolve();
  [LEASE] = { pipeline: { scopes: {} }, common: { decoding: { decode: false, asObjects: false } } };
  asked = [];
  setUps = [];
  failure = undefined; // of setting up

  async simpleQuery(text) {
    this.setUps.push(text);
    if (this.failure !== undefined) throw this.failure;
  }

  async query(text) {
    this.setUps.push(text);
    return 'asked directly';
  }

  queryTo(target, text, values, options) {
    return new Promise((resolve, reject) => {
      const answer = (value, cmd = 'SELECT') => {
        target.on('error', () => {}).on('close', () => reject(new Error('the target was closed')));
        target.end(bytesOf(value), () => resolve({ cmd, rowCount: 1 }));
      };
      this.asked.push({ answer, reject, text, values, options });
    });
  }
}

/** A cache whose clock the test moves, over a client that the test answers for. */
function setUp(options) {
  const clock = { now: 1000000 };
  const client = new FakeClient();
  const cache = new ResponseCache(client, { now: () => clock.now, ...options });
  const { asked } = client;
  /** The value that a query gets. */
  const get = async (text, given) => (await cache.query(text, [], given)).rows[0].a;
  /** Asks, and answers what was asked for. */
  const fill = async (text, value, given) => {
    const getting = get(text, given);
    await turn();
    asked.pop().answer(value);
    return getting;
  };
  return { clock, cache, client, asked, get, fill };
}

const turn = () => new Promise(setImmediate);

/** Whether a query would be asked; if so it fails. */
async function isAsked({ get, asked }, text, given) {
  const before = asked.length;
  const getting = get(text, given).catch(() => {});
  await turn();
  const is = asked.length > before;
  if (is) asked.pop().reject(new Error('only to know'));
  await getting;
  return is;
}

describe('ResponseCache', () => {
  it('has the defaults of Hyperdrive', () => {
    const { cache } = setUp();
    assert.deepEqual(
      [cache.max_age, cache.stale_while_revalidate, cache.max_bytes, cache.max_answer_bytes],
      [60, 15, 1 << 26, 1 << 23]
    );
    const { hits, misses, stale, evictions, bytes, size } = cache;
    assert.deepEqual(
      { hits, misses, stale, evictions, bytes, size },
      { hits: 0, misses: 0, stale: 0, evictions: 0, bytes: 0, size: 0 }
    );
  });

  it('refuses what is no client, and options that are wrong', async () => {
    for (const client of [undefined, null, {}, { queryTo() {} }, 'postgres://']) {
      assert.throws(() => new ResponseCache(client), {
        name: 'TypeError',
        message: 'a ResponseCache takes a Client or a Pool'
      });
    }
    const client = new FakeClient();
    for (const name of ['max_bytes', 'max_answer_bytes', 'max_age', 'stale_while_revalidate']) {
      for (const value of [-1, NaN, '1', null]) {
        assert.throws(() => new ResponseCache(client, { [name]: value }), {
          name: 'TypeError',
          message: new RegExp(`^${name} must be`)
        });
      }
    }
    assert.throws(() => new ResponseCache(client, { now: 1 }), /now must be a function/);
    assert.throws(() => new ResponseCache(client, { maxAge: 1 }), /there is no option maxAge here/);
    const cache = new ResponseCache(client);
    for (const [options, message] of [
      [{ tags: 'a' }, /tags must be an array of strings/],
      [{ tags: [1] }, /tags must be/],
      [{ max_age: -1 }, /max_age must be a number/],
      [{ signal: 5 }, /signal must be/],
      [{ as: 'values' }, /no option as/],
      [{ decode: 5 }, /decode must be/]
    ])
      await assert.rejects(cache.query('SELECT 1', [], options), { name: 'TypeError', message });
    await assert.rejects(cache.query(5), /text must be a string/);
    await assert.rejects(cache.query('a', 5), /values must be an array/);
    await assert.rejects(cache.query('a', [new Map()]), /values\[0\] is an object of class Map/);
    await assert.rejects(cache.queryTo({}, 'a'), /the target must be/);
    assert.equal(client.asked.length, 0);
  });

  it('gives an answer for 60 seconds, 15 more while it is asked anew, and then no more', async () => {
    const it = setUp();
    const { clock, cache, fill } = it;
    await fill('k', 'old');
    clock.now += 59999;
    assert.equal(await isAsked(it, 'k'), false);
    clock.now += 1;
    assert.equal(await it.get('k'), 'old');
    assert.equal(it.asked.length, 1);
    it.asked.pop().reject(new Error('no'));
    await turn();
    clock.now += 14999;
    assert.equal(await it.get('k'), 'old');
    it.asked.pop().reject(new Error('no'));
    await turn();
    clock.now += 1;
    assert.equal(await isAsked(it, 'k'), true);
    const { hits, misses, stale } = cache;
    assert.deepEqual({ hits, misses, stale }, { hits: 1, misses: 2, stale: 2 });
  });

  it('counts the age from when the query was asked, not from its end', async () => {
    const it = setUp({ max_age: 10, stale_while_revalidate: 0 });
    const getting = it.get('k');
    await turn();
    it.clock.now += 9000;
    it.asked.pop().answer('slow');
    await getting;
    assert.equal(await isAsked(it, 'k'), false);
    it.clock.now += 1000;
    assert.equal(await isAsked(it, 'k'), true);
  });

  it('asks once for 1,000 who miss at the same time', async () => {
    const { asked, get, cache } = setUp();
    const all = Array.from({ length: 1000 }, () => get('k'));
    await turn();
    assert.equal(asked.length, 1);
    asked[0].answer('x');
    assert.deepEqual(new Set(await Promise.all(all)), new Set(['x']));
    assert.equal(cache.misses, 1000);
  });

  it('refreshes once for a herd that comes after max_age', async () => {
    const { clock, asked, get, fill } = setUp();
    await fill('k', 'old');
    clock.now += 61000;
    const herd = await Promise.all(Array.from({ length: 1000 }, () => get('k')));
    assert.deepEqual(new Set(herd), new Set(['old']));
    assert.equal(asked.length, 1);
    asked.pop().answer('new');
    await turn();
    assert.equal(await get('k'), 'new');
    assert.equal(asked.length, 0);
  });

  it('refreshes within the statement_timeout of the request that met the old answer, for which no other one waits', async () => {
    for (const [statement_timeout, asks] of [
      [5000, 2],
      [undefined, 1]
    ]) {
      const { clock, asked, get, fill } = setUp();
      await fill('k', 'old');
      clock.now += 61000;
      assert.equal(await get('k', { statement_timeout }), 'old');
      assert.equal(asked[0].options.statement_timeout, statement_timeout);
      clock.now += 15000;
      const later = get('k');
      await turn();
      assert.equal(asked.length, asks);
      for (const each of asked) each.answer('new');
      assert.equal(await later, 'new');
    }
  });

  it('tells of a refresh that fails and keeps the old answer to the end of its window', async () => {
    const { clock, cache, asked, get, fill } = setUp();
    const errors = [];
    cache.on('error', (error, about) => errors.push([error.message, about]));
    await fill('k', 'old', { tags: ['t'] });
    clock.now += 61000;
    await get('k', { tags: ['t'] });
    asked.pop().reject(new Error('down'));
    await turn();
    assert.deepEqual(errors, [['down', { key: cache.keyOf('k', [], { tags: ['t'] }), tags: ['t'] }]]);
    assert.equal(await get('k', { tags: ['t'] }), 'old');
  });

  it('does not make the end of the program of a refresh that fails and that nobody listens to', async () => {
    const { clock, asked, get, fill } = setUp();
    await fill('k', 'old');
    clock.now += 61000;
    await get('k');
    asked.pop().reject(new Error('down'));
    await turn();
    assert.equal(await get('k'), 'old');
  });

  it('lets nobody join a query that is older than max_age', async () => {
    const { clock, asked, get } = setUp({ max_age: 1 });
    const first = get('k');
    await turn();
    clock.now += 1000;
    const second = get('k');
    await turn();
    asked[1].answer('new');
    assert.equal(await second, 'new');
    asked[0].answer('old');
    assert.equal(await first, 'old');
    assert.equal(await get('k'), 'new', 'the later query counts, whichever ends last');
  });

  it('keeps nothing of errors', async () => {
    const it = setUp();
    const failing = assert.rejects(it.get('k'), /no/);
    await turn();
    it.asked.pop().reject(new Error('no'));
    await failing;
    assert.equal(it.cache.size, 0);
    assert.equal(await isAsked(it, 'k'), true);
  });

  it('gives up a query when limits have ended all waits for it, and not before', async () => {
    const { cache, client } = setUp();
    const ask = signal => cache.query('k', [], { signal }).catch(error => error.name);
    const [first, second] = [new AbortController(), new AbortController()];
    const waits = [ask(first.signal), ask(second.signal)];
    const { signal } = client.asked[0].options;
    first.abort();
    assert.equal(await waits[0], 'AbortError');
    assert.equal(signal.aborted, false, 'the second one waits');
    second.abort();
    assert.equal(await waits[1], 'AbortError');
    assert.equal(signal.aborted, true);
    const third = new AbortController();
    const last = [ask(third.signal), ask()];
    assert.equal(client.asked.length, 2, 'a query that was given up has no more waits');
    third.abort();
    await last[0];
    assert.equal(client.asked[1].options.signal.aborted, false, 'a wait without a limit stays');
    client.asked[1].answer('1');
    assert.equal((await last[1]).rows[0].a, '1');
  });

  it('keeps an answer under its text, its values, its form, its tags and its windows', async () => {
    const { cache } = setUp();
    const keys = [
      ['a'],
      ['b'],
      ['a', ['1']],
      ['a', ['2']],
      ['a', [null]],
      ['a', [Buffer.from('1')]],
      ['a', ['1', '2']],
      ['a', ['12']],
      ['a', [[1]]],
      ['a', [[2]]],
      ['a', [], { format: 1 }],
      ['a', [], { paramTypes: [25] }],
      ['a', [], { as: 'values' }],
      ['a', [], { tags: ['t'] }],
      ['a', [], { max_age: 1 }],
      ['a', [], { stale_while_revalidate: 1 }]
    ].map(args => cache.keyOf(...args));
    assert.equal(new Set(keys).size, keys.length);
    assert.equal(cache.keyOf('a', [1]), cache.keyOf('a', ['1']), 'a number is sent as its text');
    const ways = { signal: new AbortController().signal, statement_timeout: 5, decode: true, end: false };
    assert.equal(cache.keyOf('a', [], ways), cache.keyOf('a'), 'the answer is the same');
  });

  it('forgets by key, by tag, and all', async () => {
    const it = setUp();
    const given = { a: { tags: ['x', 'y'] }, b: { tags: ['y'] }, c: {} };
    for (const [forget, left] of [
      [cache => cache.invalidate(cache.keyOf('a', [], given.a)), ['b', 'c']],
      [cache => cache.invalidateTag('x'), ['b', 'c']],
      [cache => cache.invalidateTag('y'), ['c']],
      [cache => cache.clear(), []]
    ]) {
      it.cache.clear();
      for (const key in given) await it.fill(key, key, given[key]);
      forget(it.cache);
      const kept = [];
      for (const key in given) if (!(await isAsked(it, key, given[key]))) kept.push(key);
      assert.deepEqual(kept, left);
    }
  });

  it('does not keep what was asked before an invalidation, nor gives it to who asks after it', async () => {
    const given = { tags: ['t'] };
    const ways = [
      cache => cache.invalidate(cache.keyOf('k', [], given)),
      cache => cache.invalidateTag('t'),
      cache => cache.clear(),
      (cache, client) => client.emit('parameter', 'TimeZone', 'UTC')
    ];
    for (const invalidate of ways) {
      const { cache, client, asked, get } = setUp();
      const before = get('k', given);
      await turn();
      invalidate(cache, client);
      const after = get('k', given);
      await turn();
      assert.equal(asked.length, 2);
      asked[1].answer('new');
      assert.equal(await after, 'new');
      asked[0].answer('old');
      assert.equal(await before, 'old');
      assert.equal(await get('k', given), 'new');
    }
  });

  describe('and its connection', () => {
    const READ_ONLY = 'SET default_transaction_read_only = on';

    it('make it read-only before the first query, and again when there is a new one, whose answers are others', async () => {
      const it = setUp();
      await it.fill('k', 'one');
      assert.deepEqual(it.client.setUps, [READ_ONLY]);
      await it.fill('l', 'two');
      assert.deepEqual(it.client.setUps, [READ_ONLY]);
      it.client.closed = Promise.resolve();
      assert.equal(await isAsked(it, 'k'), true);
      assert.deepEqual(it.client.setUps, [READ_ONLY, READ_ONLY]);
    });

    it('keep nothing where that fails, and try it again', async () => {
      const it = setUp();
      it.client.failure = new Error('no SET here');
      const failing = assert.rejects(it.get('k'), /no SET here/);
      await turn();
      it.asked.pop().answer('x');
      await failing;
      it.client.failure = undefined;
      assert.equal(await it.fill('k', 'y'), 'y');
      assert.equal(await it.get('k'), 'y');
    });

    it('forget all when a setting changes, but for the one that makes it read-only', async () => {
      const it = setUp();
      await it.fill('k', 'one');
      it.client.emit('parameter', 'default_transaction_read_only', 'on');
      assert.equal(await isAsked(it, 'k'), false);
      for (const [name, value] of [
        ['TimeZone', 'UTC'],
        ['default_transaction_read_only', 'off']
      ]) {
        await it.fill(name, 'one');
        it.client.emit('parameter', name, value);
        assert.equal(await isAsked(it, name), true);
      }
      assert.deepEqual(it.client.setUps, [READ_ONLY, READ_ONLY, READ_ONLY]);
    });

    it('forget all when a command was none that reads, and make it read-only again', async () => {
      const it = setUp();
      for (const cmd of ['SET', 'BEGIN', 'DISCARD ALL', 'INSERT']) {
        await it.fill('k', 'one');
        it.client.setUps = [];
        const getting = it.get(cmd);
        await turn();
        it.asked.pop().answer('x', cmd);
        await getting;
        assert.equal(it.cache.size, 0);
        assert.equal(await isAsked(it, 'k'), true);
        assert.deepEqual(it.client.setUps, [READ_ONLY]);
      }
      await it.fill('k', 'one');
      const showing = it.get('SHOW TimeZone');
      await turn();
      it.asked.pop().answer('UTC', 'SHOW');
      await showing;
      assert.equal(it.cache.size, 1, 'SHOW changes nothing, and is not kept');
    });

    it('may be those of a pool, which are made read-only as they come, or are not used', async () => {
      const pool = new FakeClient();
      pool.closed = undefined;
      const cache = new ResponseCache(pool);
      const [good, bad] = [new FakeClient(), new FakeClient()];
      pool.emit('connect', good);
      assert.deepEqual(good.setUps, [READ_ONLY]);
      bad.failure = new Error('no SET here');
      const destroyed = new Promise(resolve => {
        bad.destroy = resolve;
      });
      pool.emit('connect', bad);
      assert.equal(await destroyed, bad.failure);
      const getting = cache.query('k', [], { tags: ['t'] });
      await turn();
      pool.asked.pop().answer('x');
      await getting;
      assert.equal(cache.size, 1);
      good.emit('parameter', 'TimeZone', 'UTC');
      assert.equal(cache.size, 0);
    });
  });

  it('asks once where a query for a target fails', async () => {
    const { cache, asked } = setUp();
    const asking = cache.queryTo(new PassThrough(), 'k');
    await turn();
    asked.pop().reject(new Error('no'));
    await assert.rejects(asking, /no/);
    assert.equal(asked.length, 0);
  });

  it('asks for a target when that has its turn', async () => {
    const { cache, asked } = setUp();
    const target = new Target(new PassThrough().resume());
    let begin;
    target.untilFirst = () =>
      new Promise(resolve => {
        begin = resolve;
      });
    const asking = cache.queryTo(target, 'k');
    await turn();
    assert.equal(asked.length, 0);
    begin();
    await turn();
    asked.pop().answer('x');
    assert.equal((await asking).rowCount, 1);
  });

  it('tells a target that an answer to values is personal, and one without values is not', async () => {
    const { cache, asked } = setUp();
    for (const [values, isPersonal] of [
      [undefined, false],
      [[], false],
      [[1], true],
      [[1, 2], true]
    ]) {
      const target = new Target(new PassThrough().resume());
      const told = [];
      target.fromCache = answer => void told.push(answer.isPersonal);
      const asking = cache.queryTo(target, 'k', values);
      await turn();
      asked.pop()?.answer('x'); // no values and [] share an answer
      await asking;
      assert.deepEqual(told, [isPersonal]);
    }
  });

  describe('that listens', () => {
    const listening = async names => {
      const it = setUp();
      it.stops = [];
      for (const name of names) it.stops.push(await it.cache.listen(name));
      it.notify = (channel, payload) => it.client.emit('notification', { channel, payload, processId: 1 });
      return it;
    };

    it('does so on its own connection, and on the next', async () => {
      const it = await listening(['changes', 'a "name"']);
      assert.equal(
        it.client.setUps.at(-1),
        'SET default_transaction_read_only = on; LISTEN "changes"; LISTEN "a ""name"""'
      );
      it.client.closed = Promise.resolve();
      await isAsked(it, 'k');
      assert.equal(it.client.setUps.length, 3);
      assert.equal(it.client.setUps[2], it.client.setUps[1]);
      await it.stops[0]();
      assert.equal(it.client.setUps.at(-1), 'UNLISTEN "changes"');
      it.client.closed = Promise.resolve();
      await isAsked(it, 'l');
      assert.equal(
        it.client.setUps.at(-1),
        'SET default_transaction_read_only = on; LISTEN "a ""name"""',
        'not what it has left'
      );
    });

    it('forgets the tag that a notification names, all tags where it names none, and nothing by other channels', async () => {
      const it = await listening(['changes']);
      const given = { a: { tags: ['x'] }, b: { tags: ['y'] }, c: {} };
      for (const [channel, payload, left] of [
        ['changes', 'x', ['b', 'c']],
        ['changes', '', ['c']],
        ['changes', 'z', ['a', 'b', 'c']],
        ['others', 'x', ['a', 'b', 'c']]
      ]) {
        it.cache.clear();
        for (const key in given) await it.fill(key, key, given[key]);
        it.notify(channel, payload);
        const kept = [];
        for (const key in given) if (!(await isAsked(it, key, given[key]))) kept.push(key);
        assert.deepEqual(kept, left, `${channel} ${payload}`);
      }
    });

    it('forgets all with tags when the connection is lost', async () => {
      const it = await listening(['changes']);
      await it.fill('a', 'a', { tags: ['x'] });
      await it.fill('b', 'b');
      it.client.emit('end');
      assert.equal(await isAsked(it, 'b'), false);
      assert.equal(await isAsked(it, 'a', { tags: ['x'] }), true);
    });

    it('refuses what is no name of a channel', async () => {
      const { cache, client } = setUp();
      for (const channel of [5, undefined, 'a\0b']) await assert.rejects(cache.listen(channel), TypeError);
      // The server would cut it off, and notify by another name.
      for (const channel of ['', 'ä'.repeat(32)]) await assert.rejects(cache.listen(channel), RangeError);
      assert.deepEqual(client.setUps, []);
      await cache.listen('x'.repeat(63));
    });
  });

  it('shows nothing of what it keeps', async () => {
    const { cache, fill } = setUp();
    await fill('secret key', 'secret value', { tags: ['secret tag'] });
    assert.doesNotMatch(inspect(cache) + JSON.stringify(cache), /secret/);
  });
});

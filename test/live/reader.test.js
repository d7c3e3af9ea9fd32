'use strict';

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { Held } = require('../../lib/live/held');
const { Reader } = require('../../lib/live/reader');
const { NO_DATA } = require('../../lib/live/state');
const { afterTest, shorten } = require('../support/hooks');
const { until } = require('../support/kit');

/** As much of a Target as a reader uses; it takes a piece when `take()` is called, unless it is quick. */
function targetOf({ quick = true } = {}) {
  const target = {
    headers: {},
    written: [],
    gone: false,
    quick,
    waits: [],
    given: {
      setHeader(name, value) {
        target.headers[name] = value;
      }
    },
    watch(callback) {
      target.close = callback;
    },
    untilFirst() {},
    write(bytes) {
      target.written.push(bytes);
      return target.quick;
    },
    wait(callback) {
      target.waits.push(callback);
    },
    async end(bytes) {
      target.ended = true;
      if (bytes) target.written.push(bytes);
    },
    destroy(error) {
      target.destroyed = error;
    },
    take: () => target.waits.shift()()
  };
  return target;
}

/** A state that says what it was made of. */
const stateOf = name => ({ name, from: before => Buffer.from(`${before?.name ?? ''}>${name} `) });
const text = target => Buffer.concat(target.written).toString();
const OPTIONS = { keepalive: 1000, max_lifetime: 0 };

/** A reader whose turn has come; it leaves after the test. */
async function readerOf(target, options = OPTIONS) {
  const reader = new Reader(target, options);
  afterTest(() => target.close());
  await undefined;
  return reader;
}

describe('A reader', () => {
  it('gets each state once, made of the one that it has, while it takes everything', async () => {
    const target = targetOf();
    const reader = await readerOf(target);
    const [a, b] = [stateOf('a'), stateOf('b')];
    for (const each of [a, a, b, b]) reader.show(each);
    assert.equal(text(target), '>a a>b ');
    assert.deepEqual(target.headers, {
      'content-type': 'application/x-postgresql-live',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no'
    });
    assert.deepEqual([reader.bytes, target.waits.length], [7, 0]);
  });

  it('skips states while it is slow', async () => {
    const target = targetOf({ quick: false });
    const reader = await readerOf(target);
    for (const name of ['a', 'b', 'c', 'd']) reader.show(stateOf(name));
    assert.equal(text(target), '>a ');
    target.take();
    assert.equal(text(target), '>a a>d ');
    target.take();
    assert.equal(text(target), '>a a>d ');
    assert.equal(target.waits.length, 0);
  });

  it('is kept alive after a silence, unless it has got nothing or has not taken everything', async () => {
    const target = targetOf();
    const keepalive = { keepalive: 20, max_lifetime: 0 };
    const reader = await readerOf(target, keepalive);
    /** Waits until a reader that begins now was kept alive twice. */
    const twice = async () => {
      const beside = targetOf();
      (await readerOf(beside, keepalive)).show(stateOf('a'));
      await until(() => beside.written.length >= 3);
    };
    await twice();
    assert.equal(target.written.length, 0);
    reader.show(stateOf('a'));
    target.quick = false;
    await until(() => target.written.length >= 2);
    assert.deepEqual(target.written[1], NO_DATA);
    await twice();
    assert.equal(target.written.length, 2);
  });

  it('is silent from its last piece on', async () => {
    let silences = 0;
    const timer = { unref: () => timer, refresh: () => silences++ };
    shorten(global, 'setInterval', () => timer);
    const reader = await readerOf(targetOf());
    for (const name of ['a', 'b']) reader.show(stateOf(name));
    assert.equal(silences, 2);
  });

  it('is cut off above the limit of memory if it has not taken everything, else sent away', async () => {
    const held = new Held(1);
    const state = stateOf('a');
    const [ended, behind, newest, taken] = [false, false, false, true].map(quick => targetOf({ quick }));
    const readers = [];
    for (const target of [ended, behind, newest, taken]) {
      readers.push(await readerOf(target, { ...OPTIONS, held }));
      readers.at(-1).show(target === newest ? { ...state, bytes: Buffer.from('a') } : state);
    }
    readers[0].end(held.error);
    for (const reader of readers.slice(1)) reader.cutIfBehind();
    readers[3].end(held.error);
    assert.deepEqual(
      [ended, behind, newest, taken].map(target => [target.destroyed, target.ended]),
      [
        [held.error, undefined],
        [held.error, undefined],
        [undefined, undefined],
        [undefined, true]
      ]
    );
    assert.equal(held.bytes, 3); // the newest state's
    newest.close();
    assert.equal(held.bytes, 0);
  });

  it('ends its timers when it leaves', async () => {
    const timers = [];
    const { setInterval: repeat, setTimeout: wait } = global;
    global.setInterval = (...args) => (timers.push(repeat(...args)), timers.at(-1));
    global.setTimeout = (...args) => (timers.push(wait(...args)), timers.at(-1));
    const target = targetOf();
    const made = new Reader(target, { keepalive: 1000, max_lifetime: 1000 });
    Object.assign(global, { setInterval: repeat, setTimeout: wait });
    await undefined;
    target.close();
    await made.left;
    assert.deepEqual(
      timers.map(each => each._destroyed),
      [true, true]
    );
  });

  it('is sent away at the end of its lifetime', async () => {
    const target = targetOf();
    const reader = await readerOf(target, { keepalive: 1000, max_lifetime: 1 });
    reader.show(stateOf('a'));
    await reader.left;
    assert.deepEqual([text(target), target.ended], ['>a ', true]);
  });

  it('gets the newest state when its turn comes', async () => {
    let begin;
    const target = Object.assign(targetOf(), {
      untilFirst: () =>
        new Promise(resolve => {
          begin = resolve;
        })
    });
    const reader = await readerOf(target);
    for (const name of ['a', 'b']) reader.show(stateOf(name));
    assert.equal(text(target), '');
    begin();
    await turn();
    assert.equal(text(target), '>b ');
  });

  it('has left if its turn never comes', async () => {
    const target = Object.assign(targetOf(), { untilFirst: () => Promise.reject(new Error('closed')) });
    await (
      await readerOf(target)
    ).left;
  });

  it('leaves with the error of its result if nothing was written, else by the end of its response', async () => {
    const [first, second, third] = [targetOf(), targetOf(), targetOf()];
    const [none, some, early] = [await readerOf(first), await readerOf(second), await readerOf(third)];
    some.show(stateOf('a'));
    for (const reader of [none, some]) reader.end(new Error('no'));
    early.end();
    await assert.rejects(none.left, { message: 'no' });
    await some.left;
    await early.left;
    assert.deepEqual([first.ended, second.ended, third.ended], [undefined, true, true]);
  });

  it('leaves with an error if other code has sent the headers', async () => {
    const target = targetOf();
    target.given.setHeader = () => {
      throw new Error('sent');
    };
    const reader = await readerOf(target);
    reader.show(stateOf('a'));
    await assert.rejects(reader.left, { message: 'sent' });
  });

  it('leaves, whatever throws when it is sent away or kept alive', async () => {
    const thrower = () => {
      throw new Error('other code');
    };
    const [ended, kept] = [Object.assign(targetOf(), { end: thrower }), targetOf()];
    const [first, second] = [
      await readerOf(ended, { keepalive: 1000, max_lifetime: 5 }),
      await readerOf(kept, { keepalive: 5, max_lifetime: 0 })
    ];
    await first.left;
    second.show(stateOf('a'));
    kept.write = thrower;
    await assert.rejects(second.left, { message: 'other code' });
  });

  it('gets nothing any more when it was sent away', async () => {
    const target = targetOf();
    const reader = await readerOf(target);
    for (const name of ['a', 'b']) reader.show(stateOf(name));
    reader.end();
    reader.end();
    await reader.left;
    reader.show(stateOf('late'));
    assert.equal(text(target), '>a a>b ');
  });

  it('has left when its connection is closed', async () => {
    const target = targetOf();
    const reader = await readerOf(target);
    target.close();
    await reader.left;
    reader.show(stateOf('a'));
    assert.equal(target.written.length, 0);
  });
});

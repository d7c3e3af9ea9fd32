'use strict';

const assert = require('node:assert/strict');
const zlib = require('node:zlib');
const { Reader } = require('../../lib/live/reader');
const { NO_DATA } = require('../../lib/live/state');

/** As much of a Target as a reader uses; it takes a piece when `take()` is called, unless it is quick. */
function targetOf({ quick = true } = {}) {
  const target = {
    headers: {}, written: [], gone: false, quick, waits: [],
    given: { setHeader(name, value) { target.headers[name] = value; } },
    watch(callback) { target.close = callback; },
    write(bytes) {
      target.written.push(bytes);
      return target.quick;
    },
    wait(callback) { target.waits.push(callback); },
    async end(bytes) { if (bytes) target.written.push(bytes); },
    take: () => target.waits.shift()()
  };
  return target;
}

/** A state that says what it was made of. */
const stateOf = name => ({ name, from: before => ({ bytes: Buffer.from(`${before?.name ?? ''}>${name} `) }) });
const text = target => Buffer.concat(target.written).toString();

describe('A reader', () => {
  it('gets each state once, made of the one that it has, while it takes everything', () => {
    const target = targetOf();
    const reader = new Reader(target, false, 0);
    const [a, b] = [stateOf('a'), stateOf('b')];
    for (const each of [a, a, b, b]) reader.show(each);
    assert.equal(text(target), '>a a>b ');
    assert.deepEqual(target.headers, { 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' });
    assert.equal(reader.bytes, 7);
  });

  it('skips states while it is slow', () => {
    const target = targetOf({ quick: false });
    const reader = new Reader(target, false, 0);
    for (const name of ['a', 'b', 'c', 'd']) reader.show(stateOf(name));
    assert.equal(text(target), '>a ');
    reader.keepAlive();
    reader.keepAlive();
    target.take();
    assert.equal(text(target), '>a a>d ');
    target.take();
    assert.equal(text(target), '>a a>d ');
    assert.equal(target.waits.length, 0);
  });

  it('is kept alive if nothing was written since the last time', () => {
    const target = targetOf();
    const reader = new Reader(target, false, 0);
    reader.keepAlive();
    reader.keepAlive();
    assert.equal(target.written.length, 0);
    reader.show(stateOf('a'));
    reader.keepAlive();
    assert.equal(target.written.length, 1);
    reader.keepAlive();
    assert.equal(target.written[1], NO_DATA.bytes);
  });

  it('gets gzip with its trailer at the end', async () => {
    const target = targetOf();
    const reader = new Reader(target, true, 0);
    const piece = bytes => ({ from: () => ({ bytes, compressed: zlib.deflateRawSync(bytes, { finishFlush: zlib.constants.Z_SYNC_FLUSH }) }) });
    reader.show(piece(Buffer.from('first ')));
    reader.show(piece(Buffer.from('second')));
    reader.end();
    reader.end();
    await reader.left;
    assert.equal(zlib.gunzipSync(Buffer.concat(target.written)).toString(), 'first second');
    assert.equal(target.headers['content-encoding'], 'gzip');
    reader.show(stateOf('late'));
    reader.keepAlive();
    assert.equal(zlib.gunzipSync(Buffer.concat(target.written)).toString(), 'first second');
  });

  it('has left when its connection is closed', async () => {
    const target = targetOf();
    const reader = new Reader(target, true, 0);
    target.close();
    await reader.left;
    reader.show(stateOf('a'));
    assert.equal(target.written.length, 0);
  });
});

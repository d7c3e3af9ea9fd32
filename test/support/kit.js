'use strict';

// Tools that know neither a client nor a server.

const { once } = require('node:events');
const { Writable } = require('node:stream');

class Collector extends Writable {
  constructor({ copy = true, ...options } = {}) {
    super(options);
    this.chunks = [];
    this.copies = copy && !this.writableObjectMode;
  }

  /** How many bytes it was given. */
  get taken() {
    return this.chunks.reduce((sum, { length }) => sum + length, 0);
  }
  get bytes() {
    return Buffer.concat(this.chunks);
  }
  get text() {
    return this.bytes.toString();
  }

  keep(chunk) {
    this.chunks.push(this.copies ? Buffer.from(chunk) : chunk);
  }

  _write(chunk, encoding, callback) {
    this.keep(chunk);
    callback();
  }
}

class Slow extends Collector {
  _write(chunk, encoding, callback) {
    this.keep(chunk);
    this.callback = callback;
    if (this.fast) this.go();
    else this.emit('asked');
  }

  /** Waits until it was given something. */
  async asked() {
    if (this.callback === undefined) await once(this, 'asked');
  }

  /** Takes what it was given. */
  go() {
    const { callback } = this;
    this.callback = undefined;
    callback?.();
  }

  /** Takes everything from now on. */
  hurry() {
    this.fast = true;
    this.go();
  }
}

/**
 * A Writable that keeps what it is given.
 * @param {object} [options] of Writable; and `copy: false`, to see whether the library uses memory again that it has given away
 * @returns {Collector} `chunks`, and of them `bytes`, `text` and `taken`, the number of bytes
 */
const collector = options => new Collector(options);

/**
 * A Writable that takes nothing until it is told to: one piece by `go()`, all by `hurry()`. `asked()` waits until it was given one.
 * @param {object} [options] of Writable
 * @returns {Slow}
 */
const slow = options => new Slow(options);

/** A Writable whose first write fails with this error. */
const failing = (error, options) => new Writable({ ...options, write: (chunk, encoding, callback) => callback(error) });

/** Whether stacks name the async functions that await, as V8's do. */
const hasAsyncStacks = process.versions.bun === undefined;

/** How long `until` waits, in milliseconds. The hooks make it a little less than the limit of the test. */
const patience = { limit: 9000 };

/**
 * Waits until a condition holds, and fails with what was waited for if it does not.
 * @param {function(): *} condition may be asynchronous
 * @param {string} [what] its source, unless given
 */
async function until(condition, what = String(condition)) {
  const end = performance.now() + patience.limit;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`not within ${patience.limit} ms: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 5));
  }
}

/** Waits until a number has not grown for 100 ms. @param {function(): number} read @returns {Promise<number>} it */
async function standstill(read) {
  for (let before, same = 0; same < 20; same = read() === before ? same + 1 : 0) {
    before = read();
    await new Promise(resolve => setTimeout(resolve, 5));
  }
  return read();
}

/**
 * Random numbers that are the same for the same seed (Mulberry32).
 * @param {number} seed
 * @returns {function(): number} from 0 up to 1; with `below(limit)` (integers), `chance(probability)`, `pick(list)` and `fork()`
 */
function seeded(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = limit => Math.floor(next() * limit);
  return Object.assign(next, {
    below,
    chance: probability => next() < probability,
    pick: list => list[below(list.length)],
    fork: () => seeded(below(2 ** 32))
  });
}

/**
 * Cuts bytes into the protocol's messages.
 * @param {Buffer} bytes
 * @param {number} [from] where the first message begins
 * @yields {{type: string, body: Buffer, bytes: Buffer}} whole messages only
 */
function* frames(bytes, from = 0) {
  for (let at = from, end; at + 5 <= bytes.length; at = end) {
    end = at + 1 + bytes.readUInt32BE(at + 1);
    if (end > bytes.length) return;
    yield { type: String.fromCharCode(bytes[at]), body: bytes.subarray(at + 5, end), bytes: bytes.subarray(at, end) };
  }
}

/** @returns {string} the types of the messages in bytes */
const typesOf = (bytes, from) => Array.from(frames(bytes, from), ({ type }) => type).join('');

/**
 * Calls back with each whole message of a stream.
 * @param {import('node:stream').Readable} stream
 * @param {function({type: string, body: Buffer, bytes: Buffer})} each
 * @param {boolean} [startup] whether the first message has no type; it is that of those behind it, until `each` returns false
 */
function onFrames(stream, each, startup = false) {
  let unread = Buffer.alloc(0);
  stream.on('data', chunk => {
    unread = Buffer.concat([unread, chunk]);
    for (;;) {
      const typed = startup ? 0 : 1;
      if (unread.length < typed + 4) return;
      const end = typed + unread.readUInt32BE(typed);
      if (unread.length < end) return;
      const bytes = unread.subarray(0, end);
      unread = unread.subarray(end);
      const type = startup ? '' : String.fromCharCode(bytes[0]);
      const more = each({ type, body: bytes.subarray(typed + 4), bytes });
      if (startup && more === false) startup = false;
    }
  });
}

module.exports = {
  collector,
  failing,
  frames,
  hasAsyncStacks,
  onFrames,
  patience,
  seeded,
  slow,
  standstill,
  typesOf,
  until
};

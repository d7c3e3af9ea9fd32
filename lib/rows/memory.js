'use strict';

const { Buffer } = require('#platform');

/*
 * Memory for the bytes of small results, which arrive in memory that is used again for the next read. Memory of
 * its own would cost a result more than all the rest of a query does; so they share slabs. A slab is small, so that
 * one result that is kept for long holds little else in memory. To copy costs as much for few bytes as for many:
 * what follows a small result in its chunk, mostly small results too, is copied with it.
 */
const SLAB = 4096;

let slab = Buffer.allocUnsafeSlow(SLAB);
let used = 0;
// The chunk that is being read; of it, what lies from copiedFrom to copiedTo is in the slab, `moved` bytes further on.
let chunk = null;
let chunkLength = 0;
let copiedFrom = 0;
let copiedTo = 0;
let moved = 0;

/** Other bytes are being read, perhaps in the same memory. */
function reading(buf, length) {
  chunk = buf;
  chunkLength = length;
  copiedTo = 0;
}

/** Where the bytes that were kept last are. */
const kept = { buf: null, start: 0 };

/**
 * Copies buf[start … end) to where it may be kept.
 * @returns {{buf: Buffer, start: number}} the place, until the next call
 */
function keep(buf, start, end) {
  const length = end - start;
  if (length > SLAB / 4) {
    kept.buf = Buffer.allocUnsafeSlow(length);
    kept.start = 0;
    buf.copy(kept.buf, 0, start, end);
    return kept;
  }
  if (buf !== chunk || start < copiedFrom || end > copiedTo) {
    if (used + length > SLAB) {
      slab = Buffer.allocUnsafeSlow(SLAB);
      used = 0;
    }
    const stop = buf === chunk ? Math.min(chunkLength, start + SLAB - used) : end;
    buf.copy(slab, used, start, stop);
    copiedFrom = start;
    copiedTo = buf === chunk ? stop : 0;
    moved = used - start;
    used += stop - start;
  }
  kept.buf = slab;
  kept.start = start + moved;
  return kept;
}

/** Memory for a large result is of at most so many bytes: enough that it costs little to get. */
const LARGE = 65536;

/**
 * The runs of messages of a result that does not come in one piece. Their bytes follow one another in memory that
 * grows with the result: of what is allocated, less than half stays unused.
 */
class Runs {
  constructor() {
    /** Of each run: buffer, offset, count of messages. */
    this.list = [];
    this._bytes = 0;
    this._memory = null;
    this._used = 0;
  }

  /** Adds a run of `count` messages in buf[start … end); it is copied, unless its memory may be kept. */
  add(buf, start, end, count, owned) {
    const { list } = this;
    const length = end - start;
    this._bytes += length;
    if (this._memory === null || this._used + length > this._memory.length) {
      const size = Math.min(LARGE, this._bytes >> 1);
      if (owned || length > size >> 2) {
        if (!owned) {
          const copy = Buffer.allocUnsafeSlow(length);
          buf.copy(copy, 0, start, end);
          buf = copy;
          start = 0;
        }
        list.push(buf, start, count);
        return;
      }
      this._memory = Buffer.allocUnsafeSlow(size);
      this._used = 0;
    }
    buf.copy(this._memory, this._used, start, end);
    const last = list.length - 3;
    // What it follows is the end of the last run: both are one.
    if (this._used > 0 && list[last] === this._memory) list[last + 2] += count;
    else list.push(this._memory, this._used, count);
    this._used += length;
  }
}

module.exports = { reading, keep, Runs };

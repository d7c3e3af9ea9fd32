'use strict';

const { Buffer } = require('#platform');
const { Chunk } = require('../../client-parser/datarow.js');

/** Small results share slabs of this size. Small, so that one result that is kept for long holds little else. */
const SLAB = 4096;

/** The slabs of a large result are of at most this size: enough that they cost little to get. */
const LARGE = 65536;

/**
 * Memory of a connection for results, which arrive in memory that is used again for the next read. Memory of its own
 * would cost a small result more than all the rest of a query does.
 */
class Memory {
  #slab = null;
  #size = 0;
  #used = 0;

  /**
   * Copies messages to where they may be kept.
   * @param {Buffer} buf with whole messages in [start, end)
   * @param {number} start
   * @param {number} end
   * @param {object|null} type of the rows; null for CopyData
   * @param {Chunk|null} last of the same result
   * @param {number} before how many bytes of the result came before: with it slabs grow, so that less than half of
   *   them stays unused
   * @returns {Chunk|null} null where the messages have become a part of the last chunk
   */
  keep(buf, start, end, type, last, before) {
    const length = end - start;
    const size = before === 0 ? SLAB : Math.max(SLAB, Math.min(LARGE, before >> 1));
    if (length > size >> 2) {
      const bytes = Buffer.allocUnsafeSlow(length);
      buf.copy(bytes, 0, start, end);
      return new Chunk(bytes, 0, length, type);
    }
    // A small result does not go where a large one has left something.
    if (this.#used + length > this.#size || this.#size > size) {
      this.#slab = Buffer.allocUnsafeSlow(size);
      this.#size = size;
      this.#used = 0;
    }
    const at = this.#used;
    const slab = this.#slab;
    buf.copy(slab, at, start, end);
    this.#used = at + length;
    if (last === null || last.bytes !== slab || last.end !== at || last.type !== type) {
      return new Chunk(slab, at, at + length, type);
    }
    last.end = this.#used;
    last.text = null;
    return null;
  }
}

module.exports = { Memory };

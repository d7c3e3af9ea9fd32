'use strict';

/** So many strings are known at a time: a power of two. */
const MOST = 2048;

/** The engine copies a part of a string that has fewer characters; a longer one keeps the whole string alive. */
const COPIED = 13;

/**
 * Strings of a column for who keeps the values of many rows: equal values become one string. What is kept is what
 * costs, since the garbage collector copies it twice.
 */
class Known {
  #strings = new Array(MOST).fill('');
  #asked = 0;
  #found = 0;
  /** Whether a fourth of the last ones was known; else it is not worth asking. */
  #useful = true;

  /**
   * @param {Chunk} chunk whose text holds it
   * @param {number} start
   * @param {number} end
   * @returns {string} the ASCII value at [start, end), which keeps no other string alive
   */
  at({ bytes, text, from }, start, end) {
    const copied = end - start < COPIED;
    if (!copied && !this.#useful) return bytes.latin1Slice(start, end);
    const part = text.substring(start - from, end - from);
    if (!this.#useful) return part;
    let hash = 0;
    for (let i = start; i < end; i++) hash = hash * 31 + bytes[i] | 0;
    const slot = (hash ^ hash >>> 11) & MOST - 1;
    const known = this.#strings[slot] === part;
    if (known) this.#found++;
    else this.#strings[slot] = copied ? part : bytes.latin1Slice(start, end);
    if (++this.#asked === MOST) {
      this.#useful = this.#found >= MOST >> 2;
      this.#asked = this.#found = 0;
    }
    return this.#strings[slot];
  }
}

module.exports = { Known };

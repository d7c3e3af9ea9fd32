'use strict';

const { columnLength, int32, textAt } = require('../../client-parser/datarow.js');

/** So many strings are known at a time: a power of two. */
const MOST = 2048;

/** The engine copies a part of a string that has fewer characters; a longer one keeps the whole string alive. */
const COPIED = 13;

/**
 * Strings of a column of many rows that are kept: equal values become one string. What is kept is what costs, since the
 * garbage collector copies it twice.
 */
class Known {
  #strings = new Array(MOST).fill('');
  #asked = 0;
  #found = 0;
  /** Whether a fourth of the last ones was known; else it is not worth asking. */
  #useful = true;

  /**
   * @param {Chunk} chunk
   * @param {number} offset of the row
   * @param {number} start
   * @param {number} end
   * @returns {string} the value at [start, end), which keeps no other string alive
   */
  at(chunk, offset, start, end) {
    const { bytes } = chunk;
    const copied = end - start < COPIED;
    if (!copied && !this.#useful) return bytes.utf8Slice(start, end);
    const part = textAt(chunk, offset, start, end);
    if (!this.#useful) return part;
    let hash = 0;
    for (let i = start; i < end; i++) hash = hash * 31 + bytes[i] | 0;
    const slot = (hash ^ hash >>> 11) & MOST - 1;
    const known = this.#strings[slot] === part;
    if (known) this.#found++;
    else this.#strings[slot] = copied || !chunk.text ? part : bytes.latin1Slice(start, end);
    if (++this.#asked === MOST) {
      this.#useful = this.#found >= MOST >> 2;
      this.#asked = this.#found = 0;
    }
    return this.#strings[slot];
  }
}

/**
 * Reads rows of one type as arrayAt and objectAt do.
 * @param {object} type whose rows can be objects
 * @param {boolean} plain makes objects instead of arrays
 * @returns {function(Chunk, number): (object|Array)}
 */
function keeping(type, plain) {
  const { Shape, decoders, names, platform } = type;
  const known = decoders.map(() => new Known());
  return (chunk, offset) => {
    const { bytes } = chunk;
    const end = offset + 1 + int32(bytes, offset + 1);
    const target = plain ? new Shape() : [];
    let off = offset + 7;
    for (let i = 0; i < decoders.length; i++) {
      const length = columnLength(bytes, off, end, platform);
      const start = off + 4;
      off = length > 0 ? start + length : start;
      const value = length < 0 ? null : decoders[i] ? decoders[i](bytes, start, off) : known[i].at(chunk, offset, start, off);
      if (plain) target[names[i]] = value;
      else target.push(value);
    }
    return target;
  };
}

module.exports = { keeping };

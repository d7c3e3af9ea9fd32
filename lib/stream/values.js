'use strict';

const { backend: { DataRow }, protocolError } = require('../protocol');
const { columnLength, int32 } = require('../rows');

/** Where the data begin in CopyData. */
const COPY_HEADER = 5;

/** From this length on, moving bytes by a call into the runtime is faster than a loop. */
const LONG = 16;

/** @returns {number} the offset after the bytes that were moved */
function move(bytes, start, end, off) {
  if (end - start >= LONG) {
    bytes.copyWithin(off, start, end);
    return off + end - start;
  }
  while (start < end) bytes[off++] = bytes[start++];
  return off;
}

/** Of DataRow messages the columns' values, of CopyData messages the data, and nothing else. */
class Values {
  #begun = false; // a row has come
  #columns = 0;
  #separator;

  /** @param {Buffer} [separator] to be put between the rows */
  constructor(separator = Buffer.alloc(0)) { this.#separator = separator; }

  start(out, rowParser) {
    this.#columns = rowParser === null ? 0 : rowParser.columns.length;
    this.#begun = false;
  }

  message() {}

  /**
   * @param {StreamReceiver} out
   * @param {Buffer} buf with `count` whole messages of one type in [start, end)
   * @param {boolean} own whether it is one message in memory of its own
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(out, buf, start, end, count, own) {
    const rows = buf[start] === DataRow;
    // The messages are copied at once, behind room for the separators, and what is wanted is moved to the front.
    const room = rows ? count * this.#separator.length : 0;
    if (own && rows && this.#begun) out.append(this.#separator, 0, room);
    if (own) this.#begun = false; // what comes before it was written
    const block = own ? out.adopt(buf, start, start) : out.reserve(room + end - start);
    let off = block.used;
    let pos = own ? start : off + room;
    const stop = own ? end : pos + buf.copy(block.bytes, pos, start, end);
    while (pos < stop) {
      const next = pos + 1 + int32(block.bytes, pos + 1);
      if (rows) off = this.#row(block.bytes, pos, next, off);
      else off = move(block.bytes, pos + COPY_HEADER, next, off);
      pos = next;
    }
    block.used = off;
  }

  /** @returns {number} the offset after the separator and the values */
  #row(bytes, pos, end, off) {
    if (end - pos < 7 || bytes.readUInt16BE(pos + 5) !== this.#columns) throw protocolError('DataRow of a wrong length');
    if (this.#begun) off += this.#separator.copy(bytes, off);
    this.#begun = true;
    pos += 7;
    for (let i = 0; i < this.#columns; i++) {
      const length = columnLength(bytes, pos, end);
      pos += 4;
      if (length > 0) {
        off = move(bytes, pos, pos + length, off);
        pos += length;
      }
    }
    return off;
  }
}

module.exports = { Values };

'use strict';

const { Buffer } = require('#platform');
const { backend: { DataRow }, protocolError } = require('../protocol');
const { columnLength, int32 } = require('../rows');

/** Where the value begins in a DataRow of one column, and the data in CopyData. */
const ROW_HEADER = 11;
const COPY_HEADER = 5;

/** From this length on, copying by a call into the runtime is faster than a loop. */
const LONG = 40;

/** @returns {number} the offset after the copy */
function copy(buf, start, end, out, off) {
  if (end - start >= LONG) return off + buf.copy(out, off, start, end);
  while (start < end) out[off++] = buf[start++];
  return off;
}

/**
 * Takes the columns' values out of DataRow messages, and the data out of CopyData messages, which may come whole or
 * in parts.
 */
class Values {
  #begun = false; // a row has come
  #columns = 0;
  #header = Buffer.alloc(ROW_HEADER); // of a message that comes in parts
  #headerLength = 0;

  /** @param {Buffer} [separator] to be put between the rows */
  constructor(separator = Buffer.alloc(0)) { this.separator = separator; }

  /**
   * A result begins.
   * @param {RowParser|null} rowParser
   * @returns {boolean} whether its messages may come in parts
   */
  start(rowParser) {
    this.#columns = rowParser === null ? 0 : rowParser.columns.length;
    this.#begun = false;
    return this.#columns <= 1;
  }

  /**
   * @param {Buffer} buf with whole messages of one type in [start, end)
   * @param {number} count of them
   * @returns {Buffer} the values or the data, in memory of its own
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(buf, start, end, count) {
    const rows = buf[start] === DataRow;
    const out = Buffer.allocUnsafe(end - start + (rows ? count * this.separator.length : 0));
    let off = 0;
    for (let pos = start; pos < end;) {
      const next = pos + 1 + int32(buf, pos + 1);
      if (rows) off = this.#row(buf, pos, next, out, off);
      else off = copy(buf, pos + COPY_HEADER, next, out, off);
      pos = next;
    }
    return out.subarray(0, off);
  }

  /** @returns {number} the offset after the separator and the values */
  #row(buf, pos, end, out, off) {
    if (end - pos < 7 || buf.readUInt16BE(pos + 5) !== this.#columns) throw protocolError('DataRow of a wrong length');
    if (this.#begun) off = copy(this.separator, 0, this.separator.length, out, off);
    this.#begun = true;
    pos += 7;
    for (let i = 0; i < this.#columns; i++) {
      const length = columnLength(buf, pos, end);
      pos += 4;
      if (length > 0) {
        off = copy(buf, pos, pos + length, out, off);
        pos += length;
      }
    }
    return off;
  }

  /**
   * Goes on with a message that comes in parts.
   * @param {number} type
   * @param {Buffer} buf
   * @param {number} start
   * @param {number} end
   * @param {number} left bytes of the message that are to follow
   * @param {boolean} first whether the message begins here
   * @returns {number} where in buf the value or the data goes on
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  part(type, buf, start, end, left, first) {
    if (first) this.#headerLength = 0;
    const size = type === DataRow ? ROW_HEADER : COPY_HEADER;
    if (this.#headerLength === size) return start;
    const taken = Math.min(size - this.#headerLength, end - start);
    buf.copy(this.#header, this.#headerLength, start, start + taken);
    this.#headerLength += taken;
    if (this.#headerLength === size && type === DataRow) {
      const length = int32(this.#header, 7);
      if (this.#header.readUInt16BE(5) !== 1 || length !== end - start - taken + left) {
        throw protocolError('DataRow with a column that is not as long as itself');
      }
    }
    return start + taken;
  }

  /** @returns {Buffer} what goes before the next row */
  between() {
    const separator = this.#begun ? this.separator : this.separator.subarray(0, 0);
    this.#begun = true;
    return separator;
  }
}

module.exports = { Values };

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

/** Of DataRow messages the columns' values, of CopyData messages the data, and nothing else. */
class Values {
  #begun = false; // a row has come
  #columns = 0;
  #header = Buffer.alloc(ROW_HEADER); // of a message that comes in parts
  #headerLength = 0;
  #separator;

  /** @param {Buffer} [separator] to be put between the rows */
  constructor(separator = Buffer.alloc(0)) { this.#separator = separator; }

  /** @returns {boolean} whether messages may come in parts */
  start(out, rowParser) {
    this.#columns = rowParser === null ? 0 : rowParser.columns.length;
    this.#begun = false;
    return this.#columns <= 1;
  }

  message() {}

  /**
   * @param {StreamReceiver} out
   * @param {Buffer} buf with `count` whole messages of one type in [start, end)
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(out, buf, start, end, count) {
    const rows = buf[start] === DataRow;
    const block = out.reserve(end - start + (rows ? count * this.#separator.length : 0));
    let off = block.used;
    for (let pos = start; pos < end;) {
      const next = pos + 1 + int32(buf, pos + 1);
      if (rows) off = this.#row(buf, pos, next, block.bytes, off);
      else off = copy(buf, pos + COPY_HEADER, next, block.bytes, off);
      pos = next;
    }
    block.used = off;
  }

  /** @returns {number} the offset after the separator and the values */
  #row(buf, pos, end, memory, off) {
    if (end - pos < 7 || buf.readUInt16BE(pos + 5) !== this.#columns) throw protocolError('DataRow of a wrong length');
    if (this.#begun) off = copy(this.#separator, 0, this.#separator.length, memory, off);
    this.#begun = true;
    pos += 7;
    for (let i = 0; i < this.#columns; i++) {
      const length = columnLength(buf, pos, end);
      pos += 4;
      if (length > 0) {
        off = copy(buf, pos, pos + length, memory, off);
        pos += length;
      }
    }
    return off;
  }

  /**
   * Goes on with a message that comes in parts.
   * @param {StreamReceiver} out
   * @param {number} type
   * @param {Buffer} buf with the part in [start, end)
   * @param {number} left bytes of the message that are to follow
   * @param {boolean} first whether the message begins here
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  part(out, type, buf, start, end, left, first) {
    if (first) {
      this.#headerLength = 0;
      if (type === DataRow && this.#begun) out.append(this.#separator, 0, this.#separator.length);
      this.#begun = true;
    }
    const size = type === DataRow ? ROW_HEADER : COPY_HEADER;
    if (this.#headerLength < size) {
      const taken = buf.copy(this.#header, this.#headerLength, start, Math.min(end, start + size - this.#headerLength));
      this.#headerLength += taken;
      start += taken;
      const whole = this.#headerLength === size && type === DataRow;
      if (whole && (this.#header.readUInt16BE(5) !== 1 || int32(this.#header, 7) !== end - start + left)) {
        throw protocolError('DataRow with a column that is not as long as itself');
      }
    }
    out.append(buf, start, end);
  }
}

module.exports = { Values };

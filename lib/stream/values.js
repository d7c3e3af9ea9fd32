'use strict';

const { Buffer } = require('#platform');
const { protocolError } = require('../protocol/errors');
const { columnLength, int32 } = require('../rows/row-parser');

const DATA_ROW = 68;

/** Where the payload begins: in a DataRow of one column, in CopyData. */
const ROW_HEADER = 11;
const COPY_HEADER = 5;

/** From this length on, copying by a call into the runtime is faster than a loop; within one memory it costs less. */
const LONG = 40;
const LONG_WITHIN = 16;

/** @returns {number} the offset after the copy */
function copy(buf, start, end, out, off) {
  if (buf === out && end - start >= LONG_WITHIN) {
    out.copyWithin(off, start, end);
    return off + end - start;
  }
  if (end - start >= LONG) return off + buf.copy(out, off, start, end);
  while (start < end) out[off++] = buf[start++];
  return off;
}

/**
 * Takes the payload out of DataRow messages (the columns' values) and CopyData messages (the data), which may
 * come whole or in parts.
 */
class Payload {
  /** @param {Buffer} separator to be put between the rows */
  constructor(separator) {
    this.separator = separator;
    this._columns = 0;
    this._begun = false; // whether a row has come
    this._header = Buffer.alloc(ROW_HEADER); // of a message that comes in parts
    this._headerLength = 0;
  }

  /**
   * A result begins.
   * @param {RowParser|null} rowParser
   * @returns {boolean} whether its messages may come in parts
   */
  start(rowParser) {
    this._columns = rowParser === null ? 0 : rowParser.columns.length;
    this._begun = false;
    return this._columns <= 1;
  }

  /**
   * @param {Buffer} buf with whole messages of one type in [start, end)
   * @param {number} count of them
   * @param {boolean} inPlace whether that memory may be written to
   * @returns {{buf: Buffer, start: number, end: number}} where the payload is: in the same memory, or in its own
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(buf, start, end, count, inPlace) {
    const rows = buf[start] === DATA_ROW;
    const { length } = this.separator;
    const single = count === 1 && (!rows || (this._columns === 1 && (!this._begun || length === 0)));
    if (single) return this._single(buf, start, end, rows);
    // The separator goes where a row's type, length and count were.
    const fits = inPlace && (!rows || length <= 7);
    const out = fits ? buf : Buffer.allocUnsafe(end - start + (rows ? count * length : 0));
    const from = fits ? start : 0;
    let off = from;
    for (let pos = start; pos < end;) {
      const next = pos + 1 + int32(buf, pos + 1);
      if (rows) off = this._row(buf, pos, next, out, off);
      else off = copy(buf, pos + COPY_HEADER, next, out, off);
      pos = next;
    }
    return { buf: out, start: from, end: off };
  }

  /** One payload that lies there in one piece. */
  _single(buf, start, end, rows) {
    this._begun = true;
    if (!rows) return { buf, start: start + COPY_HEADER, end };
    const length = this._checkRow(buf, start, end);
    start += ROW_HEADER;
    return { buf, start, end: start + Math.max(length, 0) };
  }

  /** @returns {number} the length of a row's first column */
  _checkRow(buf, start, end) {
    if (end - start < 7 || buf.readUInt16BE(start + 5) !== this._columns) {
      throw protocolError('DataRow of a wrong length');
    }
    return this._columns === 0 ? 0 : columnLength(buf, start + 7, end);
  }

  /** @returns {number} the offset after the separator and the values */
  _row(buf, pos, end, out, off) {
    this._checkRow(buf, pos, end);
    if (this._begun) off = copy(this.separator, 0, this.separator.length, out, off);
    this._begun = true;
    pos += 7;
    for (let i = 0; i < this._columns; i++) {
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
   * @returns {number} where in buf the payload begins
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  part(type, buf, start, end, left, first) {
    if (first) this._headerLength = 0;
    const size = type === DATA_ROW ? ROW_HEADER : COPY_HEADER;
    if (this._headerLength === size) return start;
    const taken = Math.min(size - this._headerLength, end - start);
    buf.copy(this._header, this._headerLength, start, start + taken);
    this._headerLength += taken;
    if (this._headerLength === size && type === DATA_ROW) {
      const length = int32(this._header, 7);
      if (this._header.readUInt16BE(5) !== 1 || length !== end - start - taken + left) {
        throw protocolError('DataRow with a column that is not as long as itself');
      }
    }
    return start + taken;
  }

  /** @returns {Buffer} what goes before the payload of the next row */
  between() {
    const separator = this._begun ? this.separator : this.separator.subarray(0, 0);
    this._begun = true;
    return separator;
  }
}

module.exports = { Payload };

'use strict';

const { protocolError } = require('../protocol');
const { columnLength, int32 } = require('../rows');

const [COMMA, QUOTE, NEWLINE, RETURN, BACKSLASH, DOT] = Buffer.from(',"\n\r\\.');

/** @returns {number} the offset after a value that was written in quotes at `off` */
function writeQuoted(out, off, bytes, start, end) {
  out[off++] = QUOTE;
  for (let i = start; i < end; i++) {
    if (bytes[i] === QUOTE) out[off++] = QUOTE;
    out[off++] = bytes[i];
  }
  out[off++] = QUOTE;
  return off;
}

/**
 * Writes a value: in quotes where it is empty, since without them it is NULL, where it has to be, and where it is a \.
 * alone on its line, which ends COPY's data.
 * @returns {number} the offset after it
 */
function writeValue(out, off, bytes, start, end, alone) {
  const ends = alone && end - start === 2 && bytes[start] === BACKSLASH && bytes[start + 1] === DOT;
  if (start === end || ends) return writeQuoted(out, off, bytes, start, end);
  let at = off;
  for (let i = start; i < end; i++) {
    const byte = bytes[i];
    if (byte === COMMA || byte === QUOTE || byte === NEWLINE || byte === RETURN) {
      return writeQuoted(out, off, bytes, start, end);
    }
    out[at++] = byte;
  }
  return at;
}

/** An encoder for queryTo: rows as COPY … TO STDOUT (FORMAT csv, HEADER) gives them. RFC 4180 describes the same. */
class Csv {
  #columns = 0;

  toString() { return 'csv'; }
  toJSON() { return 'csv'; } // in the key of a ResponseCache

  start(out, rowParser) {
    if (rowParser === null) return;
    this.#columns = rowParser.columns.length;
    const names = rowParser.columns.map(({ name }) => Buffer.from(name));
    const block = out.reserve(names.reduce((length, name) => length + 2 * name.length + 3, 1));
    names.forEach((name, i) => {
      if (i > 0) block.bytes[block.used++] = COMMA;
      block.used = writeValue(block.bytes, block.used, name, 0, name.length, names.length === 1);
    });
    block.bytes[block.used++] = NEWLINE;
  }

  message() {}

  /**
   * @param {StreamReceiver} out
   * @param {Buffer} buf with whole DataRow messages in [start, end)
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(out, buf, start, end) {
    for (let pos = start; pos < end;) {
      const next = pos + 1 + int32(buf, pos + 1);
      this.#row(out, buf, pos, next);
      pos = next;
    }
  }

  #row(out, buf, pos, end) {
    const count = this.#columns;
    if (end - pos < 7 || buf.readUInt16BE(pos + 5) !== count) throw protocolError('DataRow of a wrong length');
    // A value of quotes alone becomes twice as long; the two around it and the comma have room in its length word.
    const block = out.reserve(2 * (end - pos));
    const { bytes } = block;
    let off = block.used;
    pos += 7;
    for (let i = 0; i < count; i++) {
      if (i > 0) bytes[off++] = COMMA;
      const length = columnLength(buf, pos, end);
      pos += 4;
      if (length < 0) continue;
      off = writeValue(bytes, off, buf, pos, pos + length, count === 1);
      pos += length;
    }
    bytes[off++] = NEWLINE;
    block.used = off;
  }
}

module.exports = { Csv };

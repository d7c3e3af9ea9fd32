'use strict';

const { protocolError } = require('../core/protocol');
const { columnLength, int32, oid } = require('../core/rows');

const [COMMA, QUOTE, NEWLINE, RETURN, BACKSLASH, DOT, APOSTROPHE] = Buffer.from(',"\n\r\\.\'');

/**
 * Characters with which a cell begins that spreadsheets may take for a formula.
 * https://owasp.org/www-community/attacks/CSV_Injection
 */
const FORMULA = Buffer.from('=+-@\t\r\n');
/** The full-width ones differ in their third byte. */
const [WIDE, WIDER] = Buffer.from('＝');
const FORMULA_WIDE = Buffer.from(Array.from('＝＋－＠', character => Buffer.from(character)[2]));

const isFormula = (bytes, start, end) =>
  start < end &&
  (FORMULA.includes(bytes[start]) ||
    (end - start > 2 &&
      bytes[start] === WIDE &&
      bytes[start + 1] === WIDER &&
      FORMULA_WIDE.includes(bytes[start + 2])));

/** Types whose values may begin with a minus, and are never formulas. */
const NUMBERS = new Set([oid.int2, oid.int4, oid.int8, oid.float4, oid.float8, oid.numeric]);

/** @param {boolean} [isText] whether spreadsheets have to take it for text */
function writeQuoted(out, off, bytes, start, end, isText = false) {
  out[off++] = QUOTE;
  if (isText) out[off++] = APOSTROPHE;
  for (let i = start; i < end; i++) {
    if (bytes[i] === QUOTE) out[off++] = QUOTE;
    out[off++] = bytes[i];
  }
  out[off++] = QUOTE;
  return off;
}

/**
 * Writes a value. It is quoted if it is empty, since an unquoted empty value is NULL, if CSV demands it, and if it is
 * `\.` alone on its line, which would end COPY's data.
 * @param {boolean} escaped whether a formula is to be text
 */
function writeValue(out, off, bytes, start, end, alone, escaped) {
  if (escaped && isFormula(bytes, start, end)) return writeQuoted(out, off, bytes, start, end, true);
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

/** An encoder for queryTo: rows as COPY … TO STDOUT (FORMAT csv, HEADER) gives them, and as RFC 4180 describes. */
class Csv {
  #columns = 0;
  #escapes;
  #escaped = []; // whether formulas in the column are escaped

  /** @param {boolean} [escapes] whether cells that spreadsheets take for formulas become text */
  constructor(escapes = false) {
    this.#escapes = escapes;
  }

  toString() {
    return 'csv';
  }
  toJSON() {
    return this.#escapes ? 'csv, escaped' : 'csv';
  } // for the key of a ResponseCache

  start(out, rowParser) {
    if (rowParser === null) return;
    this.#columns = rowParser.columns.length;
    this.#escaped = rowParser.columns.map(({ typeOid }) => this.#escapes && !NUMBERS.has(typeOid));
    const names = rowParser.columns.map(({ name }) => Buffer.from(name));
    const block = out.reserve(names.reduce((length, name) => length + 2 * name.length + 4, 1));
    names.forEach((name, i) => {
      if (i > 0) block.bytes[block.used++] = COMMA;
      block.used = writeValue(block.bytes, block.used, name, 0, name.length, names.length === 1, this.#escapes);
    });
    block.bytes[block.used++] = NEWLINE;
  }

  message() {}

  /**
   * Takes whole DataRow messages in buf[start, end).
   * @throws {ConnectionError} 08P01 for a malformed row
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
    // A value that consists of quotes doubles. The length word has room for the quotes around it and the comma.
    const block = out.reserve(2 * (end - pos));
    const { bytes } = block;
    let off = block.used;
    pos += 7;
    for (let i = 0; i < count; i++) {
      if (i > 0) bytes[off++] = COMMA;
      const length = columnLength(buf, pos, end);
      pos += 4;
      if (length < 0) continue;
      off = writeValue(bytes, off, buf, pos, pos + length, count === 1, this.#escaped[i]);
      pos += length;
    }
    bytes[off++] = NEWLINE;
    block.used = off;
  }
}

module.exports = { Csv };

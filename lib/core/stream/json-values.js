'use strict';

// Single values as JSON.

const { protocolError } = require('../protocol');
const rows = require('../rows');

/** @typedef {number|List|Composite} Kind how a value is written: one of Kind, or what has such inside */

/** How the arrays of a composite type are written. */
class List {
  /** @param {Kind} element */
  constructor(element) {
    this.element = element;
  }
}

/** How the values of a composite type are written: as objects. */
class Composite {
  /**
   * @param {string[]} names of the fields
   * @param {Kind[]} kinds of the fields
   * @param {function(boolean): void} seen gets whether a value has as many fields
   */
  constructor(names, kinds, seen) {
    // Of several fields with one name, the last counts, as in an object.
    this.before = names.map(name => Buffer.from(`${JSON.stringify(name)}:`));
    this.isLast = names.map((name, index) => names.lastIndexOf(name) === index);
    this.kinds = kinds;
    this.seen = seen;
  }
}

/** @returns {Kind} of arrays */
const listOf = kind => (typeof kind === 'number' ? Kind.ARRAY + kind : new List(kind));

/**
 * Longer values are written in parts of so many bytes: a multiple of 6, so that the digits of each part are whole
 * base64.
 */
const PART = 6144;

const LONGEST_TIMESTAMP = 48;

const [QUOTE, PLUS, COMMA, MINUS, ZERO, NINE, EQUALS, C, T, OPEN_BRACKET, BACKSLASH, t, u, OPEN_BRACE, CLOSE_BRACE] =
  Buffer.from('"+,-09=CT[\\tu{}');
const [LINE_FEED, CARRIAGE_RETURN, SPACE] = Buffer.from('\n\r ');
/** From a brace to the bracket. */
const TO_BRACKET = 32;

/** Words of two and four bytes. */
const [COLON_ZERO, HEX_PREFIX] = [':0', '\\x'].map(text => Buffer.from(text).readInt16BE());
const [FOUR_ZEROS, NULL] = ['0000', 'NULL'].map(text => Buffer.from(text).readInt32BE());

/** The most bytes that one byte becomes: `\u0001`. */
const MOST = 6;

/**
 * How a value is written. For BOOL to TIMESTAMP the value decides; an array has the kind of its elements plus ARRAY.
 */
const Kind = Object.freeze({
  NULL: 0,
  TRUE: 1,
  FALSE: 2,
  ZERO: 3,
  STRING: 4,
  HEX: 5,
  BASE64: 6,
  VERBATIM: 7,
  BOOL: 8,
  FLOAT: 9,
  INT8: 10,
  TIMESTAMP: 11,
  ARRAY: 16
});

const LITERALS = ['null', 'true', 'false', '0'].map(text => Buffer.from(text));

/** The letter after the backslash, for each byte that must be escaped. */
const ESCAPES = new Uint8Array(256).fill(u, 0, SPACE);
for (const [code, letter] of ['\b', '\t', '\n', '\f', '\r', '"', '\\'].entries()) {
  ESCAPES[letter.charCodeAt(0)] = 'btnfr"\\'.charCodeAt(code);
}

/** Whether one of four bytes is below 32. Bytes from 128 on are masked out. */
const hasControl = word => ((word - 0x20202020) & ~word & 0x80808080) !== 0;

const hasEscape = word => {
  const found = (word - 0x20202020) | ((word ^ 0x22222222) - 0x01010101) | ((word ^ 0x5c5c5c5c) - 0x01010101);
  return (found & ~word & 0x80808080) !== 0;
};

/** Writes from[pos … stop) as the text of a JSON string, by words: rows cost 0.83 × as much as by bytes. */
function writeString(from, pos, stop, to, off) {
  for (; pos < stop; pos++) {
    for (; pos < stop - 3; pos += 4, off += 4) {
      const word = from.getInt32(pos);
      if (hasEscape(word)) break;
      to.setInt32(off, word);
    }
    if (pos === stop) break;
    const code = from.getUint8(pos);
    const letter = ESCAPES[code];
    if (letter === 0) to.setUint8(off++, code);
    else {
      to.setInt16(off, (BACKSLASH << 8) | letter);
      off += 2;
      if (letter !== u) continue;
      to.setInt32(off, FOUR_ZEROS + ((code >> 4) << 8) + (code & 15) + ((code & 15) > 9 ? 39 : 0)); // 00 and two digits
      off += 4;
    }
  }
  return off;
}

/**
 * Writes numbers and JSON unchanged, except that line breaks, which may stand between the tokens of JSON, become
 * spaces.
 */
function writeVerbatim(from, pos, stop, to, off) {
  for (; pos < stop; pos++) {
    for (; pos < stop - 3; pos += 4, off += 4) {
      const word = from.getInt32(pos);
      if (hasControl(word)) break;
      to.setInt32(off, word);
    }
    if (pos === stop) break;
    const code = from.getUint8(pos);
    to.setUint8(off++, code === LINE_FEED || code === CARRIAGE_RETURN ? SPACE : code);
  }
  return off;
}

/**
 * @returns {number} the offset of the space in a timestamp with DateStyle ISO, `2026-03-04 05:06:07.5+00`; 0 for any
 * other text
 */
function spaceOf(from, pos, stop) {
  if (stop - pos > LONGEST_TIMESTAMP) return 0;
  for (let space = pos + 10; space < pos + 13 && space < stop - 7; space++) {
    // years of four to six digits
    if (from.getUint8(space) !== SPACE) continue;
    return from.getUint8(space - 3) === MINUS && from.getUint8(space - 6) === MINUS ? space : 0;
  }
  return 0;
}

/** Writes a timestamp as `to_json` does: `2026-03-04T05:06:07.5+00:00`. */
function writeTimestamp(from, pos, stop, to, off) {
  const space = spaceOf(from, pos, stop);
  const isBC = from.getUint8(stop - 1) === C;
  const zone = isBC ? stop - 3 : stop;
  const sign = from.getUint8(zone - 3);
  off = writeString(from, pos, space, to, off);
  to.setUint8(off, T);
  off = writeString(from, space + 1, zone, to, off + 1);
  if (sign === PLUS || sign === MINUS) {
    // hours without minutes
    to.setInt16(off, COLON_ZERO);
    to.setUint8(off + 2, ZERO);
    off += 3;
  }
  return writeString(from, zone, stop, to, off);
}

const textOf = (from, pos, stop) => Buffer.from(from.buffer, from.byteOffset + pos, stop - pos).toString('latin1');

/**
 * @returns {number} the length of the column whose length word is at `pos`; it never reaches past the end of its row
 */
function lengthAt(from, pos, end) {
  const length = pos + 4 > end ? -2 : from.getInt32(pos);
  if (length < -1 || pos + 4 + length > end) throw protocolError('DataRow with a column longer than itself');
  return length;
}

/** @returns {number} the kind of a value whose type leaves it open */
function resolve(kind, from, pos, stop) {
  if (kind < Kind.VERBATIM || kind >= Kind.ARRAY || typeof kind === 'object') return kind;
  if (kind === Kind.TIMESTAMP) return spaceOf(from, pos, stop) > 0 ? kind : Kind.STRING;
  if (pos === stop) throw protocolError('malformed value');
  if (kind === Kind.VERBATIM) return kind;
  const code = from.getUint8(pos);
  if (kind === Kind.BOOL) return code === t ? Kind.TRUE : Kind.FALSE;
  if (kind === Kind.INT8) {
    const exact = stop - pos < 16 || Number.isSafeInteger(Number(textOf(from, pos, stop)));
    return exact ? Kind.VERBATIM : Kind.STRING;
  }
  if (code !== MINUS) return code > NINE ? Kind.NULL : Kind.VERBATIM; // NaN, Infinity
  const second = stop - pos > 1 ? from.getUint8(pos + 1) : 0;
  return second > NINE ? Kind.NULL : second === ZERO && stop - pos === 2 ? Kind.ZERO : Kind.VERBATIM; // -Infinity, -0
}

function writeLiteral(kind, to, off) {
  for (const byte of LITERALS[kind]) to.setUint8(off++, byte);
  return off;
}

const writeBase64 = (from, pos, stop, to, off) =>
  off + Buffer.from(to.buffer).write(Buffer.from(textOf(from, pos, stop), 'hex').toString('base64'), off, 'latin1');

function put(out, code) {
  const block = out.reserve(1);
  block.bytes[block.used++] = code;
}

function writeValue(out, kind, from, pos, stop) {
  if (kind >= Kind.ARRAY) return writeArray(out, kind - Kind.ARRAY, from, pos, stop);
  if (kind instanceof List) return writeArray(out, kind.element, from, pos, stop);
  if (kind instanceof Composite) return writeComposite(out, kind, from, pos, stop);
  kind = resolve(kind, from, pos, stop);
  if (kind <= Kind.ZERO) return out.append(LITERALS[kind], 0, LITERALS[kind].length);
  const isBytea = kind === Kind.HEX || kind === Kind.BASE64;
  if (isBytea && (stop - pos < 2 || from.getInt16(pos) !== HEX_PREFIX)) {
    // \x, unless bytea_output is escape
    const value = rows.decoders[17][0](new Uint8Array(from.buffer, from.byteOffset), pos, stop);
    const digits = Buffer.from(`\\x${Buffer.from(value).toString('hex')}`);
    from = new DataView(digits.buffer, digits.byteOffset);
    [pos, stop] = [0, digits.length];
  }
  if (kind === Kind.BASE64) pos += 2;
  const write =
    kind === Kind.BASE64
      ? writeBase64
      : kind === Kind.VERBATIM
        ? writeVerbatim
        : kind === Kind.TIMESTAMP
          ? writeTimestamp
          : writeString;
  if (kind !== Kind.VERBATIM) put(out, QUOTE);
  for (let end; pos < stop; pos = end) {
    end = Math.min(pos + PART, stop);
    // Digits need no escapes. Room for six bytes each would exceed what the row's own bytes allow.
    const block = out.reserve((isBytea ? 2 : MOST) * (end - pos));
    block.used = write(from, pos, end, block.view, block.used);
  }
  if (kind !== Kind.VERBATIM) put(out, QUOTE);
}

/** Writes a composite value; one that has not the fields that are known as the string that it is. */
function writeComposite(out, { before, isLast, kinds, seen }, from, pos, stop) {
  const bytes = new Uint8Array(from.buffer, from.byteOffset + pos, stop - pos);
  const fields = [];
  // A type without fields has the text of one with a field that is NULL.
  if (kinds.length > 0 || bytes.length !== 2) rows.eachField(bytes, 0, bytes.length, (...field) => fields.push(field));
  seen(fields.length === kinds.length);
  if (fields.length !== kinds.length) return writeValue(out, Kind.STRING, from, pos, stop);
  put(out, OPEN_BRACE);
  let isFirst = true;
  for (const [i, [source, start, end]] of fields.entries()) {
    if (!isLast[i]) continue;
    if (!isFirst) put(out, COMMA);
    isFirst = false;
    out.append(before[i], 0, before[i].length);
    const view = new DataView(source.buffer, source.byteOffset, source.length);
    writeValue(out, start < 0 ? Kind.NULL : kinds[i], view, start, end);
  }
  put(out, CLOSE_BRACE);
}

/** Writes an array. Its text differs from JSON in brackets, bounds, NULL, and in the elements that are quoted. */
function writeArray(out, kind, from, pos, stop) {
  if (from.getUint8(pos) === OPEN_BRACKET) while (from.getUint8(pos++) !== EQUALS);
  while (pos < stop) {
    const code = from.getUint8(pos);
    if (code === OPEN_BRACE || code === CLOSE_BRACE || code === COMMA) {
      put(out, code === COMMA ? code : code - TO_BRACKET);
      pos++;
      continue;
    }
    const quoted = code === QUOTE;
    const start = quoted ? ++pos : pos;
    let escapes = 0;
    for (let code; pos < stop; pos++) {
      code = from.getUint8(pos);
      if (quoted ? code === QUOTE : code === COMMA || code === CLOSE_BRACE) break;
      if (code === BACKSLASH) (escapes++, pos++);
    }
    if (pos >= stop) throw protocolError('an array that does not end');
    if (!quoted && pos - start === 4 && from.getInt32(start) === NULL) {
      writeValue(out, Kind.NULL, from, start, pos);
    } else if (escapes === 0) writeValue(out, kind, from, start, pos);
    else {
      const plain = new DataView(new ArrayBuffer(pos - start - escapes));
      for (let off = start, i = 0; off < pos; off++) {
        if (from.getUint8(off) === BACKSLASH) off++;
        plain.setUint8(i++, from.getUint8(off));
      }
      writeValue(out, kind, plain, 0, plain.byteLength);
    }
    if (quoted) pos++;
  }
}

module.exports = {
  Composite,
  Kind,
  MOST,
  PART,
  lengthAt,
  listOf,
  put,
  resolve,
  writeLiteral,
  writeString,
  writeTimestamp,
  writeValue,
  writeVerbatim
};

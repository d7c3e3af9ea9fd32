'use strict';

// How single values are written as JSON.

const { protocolError } = require('../protocol');
const rows = require('../rows');

/** A longer value is written in parts of so many bytes: a multiple of 6, so that hexadecimal digits are base64's. */
const PART = 6144;

/** A text that is longer is no timestamp. */
const LONGEST_TIMESTAMP = 48;

/** A byte becomes at most so many: `\u0001`. */
const MOST = 6;

/** What a value is written as. Of BOOL to TIMESTAMP the value tells which of the others; with ARRAY added, an array. */
const Kind = Object.freeze({
  NULL: 0, TRUE: 1, FALSE: 2, ZERO: 3, STRING: 4, HEX: 5, BASE64: 6, VERBATIM: 7, BOOL: 8, FLOAT: 9, INT8: 10, TIMESTAMP: 11,
  ARRAY: 16
});

/** The text of NULL to ZERO. */
const LITERALS = ['null', 'true', 'false', '0'].map(text => Buffer.from(text));

/** The letter behind the backslash, for those characters that have to be escaped. */
const ESCAPES = new Uint8Array(256).fill(117, 0, 32); // u
for (const [code, letter] of ['\b', '\t', '\n', '\f', '\r', '"', '\\'].entries()) {
  ESCAPES[letter.charCodeAt(0)] = 'btnfr"\\'.charCodeAt(code);
}

/** Whether one of four bytes is less than 32. Each is looked at by itself: bytes from 128 on are none of these. */
const hasControl = word => ((word - 0x20202020) & ~word & 0x80808080) !== 0;

/** Whether one of four bytes has to be escaped. */
const hasEscape = word => {
  const found = word - 0x20202020 | (word ^ 0x22222222) - 0x01010101 | (word ^ 0x5c5c5c5c) - 0x01010101;
  return (found & ~word & 0x80808080) !== 0;
};

/**
 * Writes text as that of a JSON string.
 * @param {DataView} from
 * @param {number} pos
 * @param {number} stop
 * @param {DataView} to
 * @param {number} off
 * @returns {number} the offset after what was written
 */
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
      to.setInt16(off, 0x5c00 | letter);
      off += 2;
      if (letter !== 117) continue;
      to.setInt32(off, 0x30303030 + (code >> 4 << 8) + (code & 15) + ((code & 15) > 9 ? 39 : 0)); // 00 and two digits
      off += 4;
    }
  }
  return off;
}

/** Writes numbers and JSON as they are; line breaks, which may be between the tokens of JSON, as spaces. */
function writeVerbatim(from, pos, stop, to, off) {
  for (; pos < stop; pos++) {
    for (; pos < stop - 3; pos += 4, off += 4) {
      const word = from.getInt32(pos);
      if (hasControl(word)) break;
      to.setInt32(off, word);
    }
    if (pos === stop) break;
    const code = from.getUint8(pos);
    to.setUint8(off++, code === 10 || code === 13 ? 32 : code);
  }
  return off;
}

/** @returns {number} where a timestamp with DateStyle ISO, `2026-03-04 05:06:07.5+00`, has its space; 0 for any other text */
function spaceOf(from, pos, stop) {
  if (stop - pos > LONGEST_TIMESTAMP) return 0;
  for (let space = pos + 10; space < pos + 13 && space < stop - 7; space++) { // years of four to six digits
    if (from.getUint8(space) === 32) return from.getUint8(space - 3) === 45 && from.getUint8(space - 6) === 45 ? space : 0;
  }
  return 0;
}

/** Writes a timestamp, whose space is behind its day, as `to_json` does: `2026-03-04T05:06:07.5+00:00`. */
function writeTimestamp(from, pos, stop, to, off) {
  const space = spaceOf(from, pos, stop);
  const isBC = from.getUint8(stop - 1) === 67; // C
  const zone = isBC ? stop - 3 : stop;
  const sign = from.getUint8(zone - 3);
  off = writeString(from, pos, space, to, off);
  to.setUint8(off, 84); // T
  off = writeString(from, space + 1, zone, to, off + 1);
  if (sign === 43 || sign === 45) { // hours without minutes
    to.setUint16(off, 0x3a30);
    to.setUint8(off + 2, 48);
    off += 3;
  }
  return writeString(from, zone, stop, to, off);
}

/** @returns {string} of ASCII */
const textOf = (from, pos, stop) => Buffer.from(from.buffer, from.byteOffset + pos, stop - pos).toString('latin1');

/** @returns {number} the length of the column whose length word is at pos; never past the end of its row */
function lengthAt(from, pos, end) {
  const length = pos + 4 > end ? -2 : from.getInt32(pos);
  if (length < -1 || pos + 4 + length > end) throw protocolError('DataRow with a column longer than itself');
  return length;
}

/** @returns {number} what a value is written as, where that depends on the value */
function resolve(kind, from, pos, stop) {
  if (kind < Kind.VERBATIM || kind >= Kind.ARRAY) return kind;
  if (kind === Kind.TIMESTAMP) return spaceOf(from, pos, stop) > 0 ? kind : Kind.STRING;
  if (pos === stop) throw protocolError('a value that its type does not allow');
  if (kind === Kind.VERBATIM) return kind;
  const code = from.getUint8(pos);
  if (kind === Kind.BOOL) return code === 116 ? Kind.TRUE : Kind.FALSE; // t
  if (kind === Kind.INT8) {
    const exact = stop - pos < 16 || Number.isSafeInteger(Number(textOf(from, pos, stop)));
    return exact ? Kind.VERBATIM : Kind.STRING;
  }
  if (code !== 45) return code > 57 ? Kind.NULL : Kind.VERBATIM; // NaN, Infinity
  const second = stop - pos > 1 ? from.getUint8(pos + 1) : 0;
  return second > 57 ? Kind.NULL : second === 48 && stop - pos === 2 ? Kind.ZERO : Kind.VERBATIM; // -Infinity, -0
}

/** Writes null, true, false or 0. */
function writeLiteral(kind, to, off) {
  for (const byte of LITERALS[kind]) to.setUint8(off++, byte);
  return off;
}

/** Writes hexadecimal digits as base64. */
const writeBase64 = (from, pos, stop, to, off) =>
  off + Buffer.from(to.buffer).write(Buffer.from(textOf(from, pos, stop), 'hex').toString('base64'), off, 'latin1');

function put(out, code) {
  const block = out.reserve(1);
  block.bytes[block.used++] = code;
}

/** Writes a value of any length and kind. */
function writeValue(out, kind, from, pos, stop) {
  if (kind >= Kind.ARRAY) return writeArray(out, kind - Kind.ARRAY, from, pos, stop);
  kind = resolve(kind, from, pos, stop);
  if (kind <= Kind.ZERO) return out.append(LITERALS[kind], 0, LITERALS[kind].length);
  const isBytea = kind === Kind.HEX || kind === Kind.BASE64;
  if (isBytea && (stop - pos < 2 || from.getInt16(pos) !== 0x5c78)) { // \x, unless bytea_output is escape
    const value = rows.decoders[17][0](new Uint8Array(from.buffer, from.byteOffset), pos, stop);
    const digits = Buffer.from(`\\x${Buffer.from(value).toString('hex')}`);
    from = new DataView(digits.buffer, digits.byteOffset);
    [pos, stop] = [0, digits.length];
  }
  if (kind === Kind.BASE64) pos += 2;
  const write = kind === Kind.BASE64 ? writeBase64 : kind === Kind.VERBATIM ? writeVerbatim
    : kind === Kind.TIMESTAMP ? writeTimestamp : writeString;
  if (kind !== Kind.VERBATIM) put(out, 34);
  for (let end; pos < stop; pos = end) {
    end = Math.min(pos + PART, stop);
    // Digits that bytea was converted to are more than came: not to ask for more room than its row has.
    const block = out.reserve((isBytea ? 2 : MOST) * (end - pos));
    block.used = write(from, pos, end, block.view, block.used);
  }
  if (kind !== Kind.VERBATIM) put(out, 34);
}

/** Writes an array: its text is that of JSON but for brackets, bounds, NULL, and which elements are quoted. */
function writeArray(out, kind, from, pos, stop) {
  if (from.getUint8(pos) === 91) while (from.getUint8(pos++) !== 61);
  while (pos < stop) {
    const code = from.getUint8(pos);
    if (code === 123 || code === 125 || code === 44) { // { } ,
      put(out, code === 44 ? code : code - 32);
      pos++;
      continue;
    }
    const quoted = code === 34;
    const start = quoted ? ++pos : pos;
    let escapes = 0;
    for (let code; pos < stop; pos++) {
      code = from.getUint8(pos);
      if (quoted ? code === 34 : code === 44 || code === 125) break;
      if (code === 92) escapes++, pos++;
    }
    if (pos >= stop) throw protocolError('an array that does not end');
    if (!quoted && pos - start === 4 && from.getInt32(start) === 0x4e554c4c) { // NULL
      writeValue(out, Kind.NULL, from, start, pos);
    } else if (escapes === 0) writeValue(out, kind, from, start, pos);
    else {
      const plain = new DataView(new ArrayBuffer(pos - start - escapes));
      for (let off = start, i = 0; off < pos; off++) {
        if (from.getUint8(off) === 92) off++;
        plain.setUint8(i++, from.getUint8(off));
      }
      writeValue(out, kind, plain, 0, plain.byteLength);
    }
    if (quoted) pos++;
  }
}

module.exports = {
  Kind, MOST, PART, lengthAt, put, resolve, writeLiteral, writeString, writeTimestamp, writeValue, writeVerbatim
};

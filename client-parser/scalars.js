// Decoders of numbers, bytes and what else is one plain value. Each takes (bytes, start, end), the value's
// bytes without its length word.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES

import { int16, int32, uint16 } from './datarow.js';
import { text } from './text.js';
import { ProtocolError } from './errors.js';

/** @returns {ProtocolError} for a value that is not what its type allows */
export const malformed = () => new ProtocolError('a value that its type does not allow');

/** Throws unless the value has this many bytes: a decoder must not read its neighbour's. */
export function size(start, end, length) {
  if (end - start !== length) throw malformed();
}

// A DataView for each value would cost more than the value.
const scratch = new DataView(new ArrayBuffer(8));

/** @returns {DataView} whose first eight bytes are those at `start` */
function eight(bytes, start, end) {
  size(start, end, 8);
  scratch.setInt32(0, int32(bytes, start));
  scratch.setInt32(4, int32(bytes, start + 4));
  return scratch;
}

export function boolText(bytes, start, end) {
  size(start, end, 1);
  return bytes[start] === 116; // t
}

export function bool(bytes, start, end) {
  size(start, end, 1);
  return bytes[start] !== 0;
}

/** An integer of at most 15 digits. */
export function intText(bytes, start, end) {
  const negative = bytes[start] === 45;
  let off = start + negative;
  if (off >= end || end - off > 15) throw malformed();
  let value = 0;
  for (; off < end; off++) {
    const digit = bytes[off] - 48;
    if (!(digit >= 0 && digit <= 9)) throw malformed();
    value = value * 10 + digit;
  }
  return negative ? -value : value;
}

export function int2(bytes, start, end) {
  size(start, end, 2);
  return int16(bytes, start);
}

export function int4(bytes, start, end) {
  size(start, end, 4);
  return int32(bytes, start);
}

export const oid = (bytes, start, end) => int4(bytes, start, end) >>> 0;

/** @returns {bigint} */
export function int8Text(bytes, start, end) {
  if (end - start > 20) throw malformed();
  return BigInt(end - start < 16 ? intText(bytes, start, end) : text(bytes, start, end));
}

/** @returns {bigint} */
export const int8 = (bytes, start, end) => eight(bytes, start, end).getBigInt64(0);

export const floatText = (bytes, start, end) => Number(text(bytes, start, end));
export const float8 = (bytes, start, end) => eight(bytes, start, end).getFloat64(0);

/** The number with the fewest digits that is this float4, as the server prints it: 0.1, not 0.10000000149. */
export function float4(bytes, start, end) {
  const bits = int4(bytes, start, end);
  scratch.setInt32(0, bits);
  const value = scratch.getFloat32(0);
  if (!Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 0x1000000)) return value;
  // Below a power of two the neighbour is nearer than above: the middle of what rounds to it is another.
  const middles = bits & 0x7fffff ? [value] : [value, value * (1 + 2 ** -26)];
  for (let digits = Math.abs(value) < 1.2e-38 ? 1 : 6; digits < 9; digits++) {
    for (const middle of middles) {
      // Of two that are equally near the server takes the even one, toExponential the greater.
      const longer = digits > 6 ? middle.toExponential(digits) : '';
      const even = /[02468]5e/.test(longer) && Number(longer) === middle;
      const short = Number(even ? longer.replace('5e', 'e') : middle.toPrecision(digits));
      // Halfway to a neighbour, readers may differ in which of the two they take: the server avoids it.
      scratch.setInt32(0, bits + (Math.abs(short) > Math.abs(value) ? 1 : -1));
      if (Math.fround(short) === value && (scratch.getFloat32(0) + value) / 2 !== short) return short;
    }
  }
  return Number(value.toPrecision(9));
}

/** @returns {string} all the digits that there are, as the server prints them */
export function numeric(bytes, start, end) {
  const count = uint16(bytes, start);
  if (end - start < 8 || end - start !== 8 + 2 * count) throw malformed();
  const weight = int16(bytes, start + 2);
  const sign = uint16(bytes, start + 4);
  const scale = uint16(bytes, start + 6) & 0x3fff;
  if (sign & 0x8000) return sign === 0xc000 ? 'NaN' : sign === 0xd000 ? 'Infinity' : '-Infinity';
  // Each digit is one of base 10,000; the one at `weight` is the last before the point.
  const digit = i => i < 0 || i >= count ? 0 : uint16(bytes, start + 8 + 2 * i);
  const four = i => String(digit(i)).padStart(4, '0');
  let whole = weight < 0 ? '0' : String(digit(0));
  for (let i = 1; i <= weight; i++) whole += four(i);
  let fraction = '';
  for (let i = weight + 1; fraction.length < scale; i++) fraction += four(i);
  return (sign ? '-' : '') + whole + (scale > 0 ? '.' + fraction.slice(0, scale) : '');
}

/** The one byte of a "char", as the server prints it. */
export function char(bytes, start, end) {
  size(start, end, 1);
  const code = bytes[start];
  return code > 127 ? '\\' + code.toString(8) : code ? String.fromCharCode(code) : '';
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** @returns {string} two hexadecimal digits a byte */
export const hex = (bytes, start, end, separator = '') =>
  Array.from(bytes.subarray(start, end), byte => HEX[byte]).join(separator);

export function uuid(bytes, start, end) {
  size(start, end, 16);
  let digits = '';
  for (let i = 0; i < 16; i++) digits += (i > 3 && i < 11 && i % 2 === 0 ? '-' : '') + HEX[bytes[start + i]];
  return digits;
}

/** @returns {Uint8Array} a view of the value where it lies */
export const bytea = (bytes, start, end) => bytes.subarray(start, end);

/** A hexadecimal digit's number. */
function digit(bytes, off, end) {
  const code = off < end ? bytes[off] : 0;
  const value = code < 58 ? code - 48 : (code | 32) - 87;
  if (value < 0 || value > 15) throw malformed();
  return value;
}

/**
 * @returns {Uint8Array} from either output format
 * https://www.postgresql.org/docs/current/datatype-binary.html
 */
export function byteaText(bytes, start, end) {
  const value = new Uint8Array(end - start);
  const is = (off, code) => off < end && bytes[off] === code;
  let length = 0;
  if (is(start, 92) && is(start + 1, 120)) { // \x
    for (let off = start + 2; off < end; off += 2) {
      value[length++] = digit(bytes, off, end) << 4 | digit(bytes, off + 1, end);
    }
  } else {
    for (let off = start; off < end; off++) {
      if (!is(off, 92)) value[length++] = bytes[off];
      else if (is(++off, 92)) value[length++] = 92;
      else {
        const high = digit(bytes, off, end) << 6;
        value[length++] = high | digit(bytes, ++off, end) << 3 | digit(bytes, ++off, end);
      }
    }
  }
  return value.slice(0, length);
}

export const json = (bytes, start, end) => JSON.parse(text(bytes, start, end));

/** jsonb: a version, 1, and then the text. */
export function jsonb(bytes, start, end) {
  if (start === end || bytes[start] !== 1) throw malformed();
  return json(bytes, start + 1, end);
}

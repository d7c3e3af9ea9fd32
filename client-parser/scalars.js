// Decoders of plain values. Each takes (bytes, start, end), without the length word.
// https://www.postgresql.org/docs/current/protocol-overview.html#PROTOCOL-FORMAT-CODES

import { int16, int32, uint16, uint32 } from './datarow.js';
import { octets, scratch, text } from './text.js';
import { check } from './errors.js';

/** Throws a ProtocolError unless its type allows the value. */
export const valid = ok => check(ok, 'malformed value');

/** Parses a text; the error of the parser would show the value. */
function parsed(parse, bytes, start, end) {
  try {
    return parse(text(bytes, start, end));
  } catch {
    return valid(false);
  }
}

/** A decoder of values of one size, which must not read a neighbour's bytes. */
export const sized = (length, decode) => (bytes, start, end) => {
  valid(end - start === length);
  return decode(bytes, start, end);
};

/** Pads a number with zeros. */
export const pad = (number, digits = 2) => String(number).padStart(digits, '0');

const eight = method =>
  sized(8, (bytes, start) => {
    for (let i = 8; i--;) octets[i] = bytes[start + i];
    return scratch[method](0);
  });

export const boolText = sized(1, (bytes, start) => bytes[start] === 116); // t
export const bool = sized(1, (bytes, start) => bytes[start] > 0);
export const int2 = sized(2, int16);
export const int4 = sized(4, int32);
export const oid = sized(4, uint32);
export const bigint = eight('getBigInt64');
export const float8 = eight('getFloat64');

/**
 * Reads a number of at most 15 characters and a sign. Digits and power of ten are exact, so their quotient is the
 * nearest float.
 * @param {number} [mark] -2 allows one point
 * @returns {number|undefined} undefined for any other text
 */
function decimal(bytes, start, end, mark) {
  const first = bytes[start] === 45 ? start + 1 : start;
  if (end === first || end > first + 15) return;
  let value = 0;
  let power = 0;
  for (let i = first; i < end; i++) {
    const digit = bytes[i] - 48;
    if (digit === mark && !power) power = 1;
    else if (digit < 0 || digit > 9) return;
    else {
      value = value * 10 + digit;
      power *= 10;
    }
  }
  return (first > start ? -value : value) / (power || 1);
}

export const floatText = (bytes, start, end) => decimal(bytes, start, end, -2) ?? Number(text(bytes, start, end));

export const intText = (bytes, start, end) => decimal(bytes, start, end) ?? valid(false);

export function bigintText(bytes, start, end) {
  valid(end > start && end - start < 21);
  return parsed(BigInt, bytes, start, end);
}

/** @returns {number|string} a number if that is exact, else the string that the server prints */
const safe = (value, number = Number(value)) => (Number.isSafeInteger(number) ? number : `${value}`);

export function int8(bytes, start, end) {
  const value = int32(bytes, start) * 2 ** 32 + uint32(bytes, start + 4);
  return end - start === 8 && Number.isSafeInteger(value) ? value : `${bigint(bytes, start, end)}`;
}

export const int8Text = (...place) => decimal(...place) ?? safe(bigintText(...place));

/** The number with the fewest digits that is this float4, as the server prints it: 0.1, not 0.10000000149. */
export const float4 = sized(4, (bytes, start) => {
  const bits = int32(bytes, start);
  scratch.setInt32(0, bits);
  const value = scratch.getFloat32(0);
  if (!value || value === value / 2) return value;
  // Below a power of two the neighbour is nearer than above, so another range of numbers rounds to it.
  const middles = bits & 0x7fffff ? [value] : [value, value * (1 + 2 ** -26)];
  for (let digits = 1; ; digits++) {
    for (const middle of middles) {
      // Of two equally near numbers the server takes the even one, toExponential the greater.
      const longer = middle.toExponential(digits);
      const even = /[02468]5e/.test(longer) && Number(longer) === middle;
      const short = Number(even ? longer.replace('5e', 'e') : middle.toPrecision(digits));
      // Readers differ in how they round a number halfway to a neighbour, so the server avoids it.
      scratch.setInt32(0, bits + (Math.abs(short) > Math.abs(value) ? 1 : -1));
      if (Math.fround(short) === value && (scratch.getFloat32(0) + value) / 2 !== short) return short;
    }
  }
});

/** @returns {string} all digits, as the server prints them */
export function numeric(bytes, start, end) {
  const count = uint16(bytes, start);
  valid(end - start === 8 + 2 * count);
  const weight = int16(bytes, start + 2);
  const sign = uint16(bytes, start + 4);
  const scale = uint16(bytes, start + 6) & 0x3fff;
  if (sign & 0x8000) return sign === 0xc000 ? 'NaN' : sign === 0xd000 ? 'Infinity' : '-Infinity';
  // Digits have base 10,000; the one at `weight` is the last before the point.
  const point = Math.max(weight + 1, 0) * 4;
  let digits = '';
  for (let i = Math.min(weight + 1, 0); digits.length < point + scale; i++) {
    digits += pad(i < 0 || i >= count ? 0 : uint16(bytes, start + 8 + 2 * i), 4);
  }
  return (
    (sign ? '-' : '') +
    (digits.slice(0, point).replace(/^0+/, '') || '0') +
    (scale ? '.' : '') +
    digits.slice(point, point + scale)
  );
}

/** A "char" as the server prints it. */
export const char = sized(1, (bytes, start) => {
  const code = bytes[start];
  return code > 127 ? '\\' + code.toString(8) : code ? String.fromCharCode(code) : '';
});

export const hex = (bytes, start, end, separator = '') =>
  Array.from(bytes.subarray(start, end), byte => pad(byte.toString(16))).join(separator);

export const uuid = sized(16, (...place) => hex(...place).replace(/^.{8}|.{4}(?=.{12})/g, '$&-'));

function digit(bytes, off, end, base) {
  const code = off < end ? bytes[off] : 0;
  const value = code < 58 ? code - 48 : (code | 32) - 87;
  valid(value >= 0 && value < base);
  return value;
}

/**
 * @returns {Uint8Array} of either output format
 * https://www.postgresql.org/docs/current/datatype-binary.html
 */
export function byteaText(bytes, start, end) {
  const value = new Uint8Array(end - start);
  const at = (off, base) => digit(bytes, off, end, base);
  const isHex = end - start > 1 && uint16(bytes, start) === 0x5c78; // \x
  let length = 0;
  for (let off = isHex ? start + 2 : start; off < end; length++) {
    if (isHex) value[length] = (at(off++, 16) << 4) | at(off++, 16);
    else if (bytes[off] !== 92) value[length] = bytes[off++];
    else if (++off < end && bytes[off] === 92) value[length] = bytes[off++];
    else value[length] = (at(off++, 4) << 6) | (at(off++, 8) << 3) | at(off++, 8);
  }
  return value.slice(0, length);
}

export const json = (...place) => parsed(JSON.parse, ...place);

/** A version, 1, and the text. */
export function jsonb(bytes, start, end) {
  valid(start < end && bytes[start] === 1);
  return json(bytes, start + 1, end);
}

/** The short form of IPv6, with IPv4 at its end in its own notation. */
function ipv6(bytes, start, end) {
  const words = hex(bytes, start, end).replace(/.{4}(?=.)/g, '$&:');
  // URLs omit the longest run of zeros, as the server does.
  const address = new URL(`http://[${words}]`).hostname.slice(1, -1);
  return address.replace(
    /^(::(?:ffff:)?)[\da-f]+:[\da-f]+$/,
    (all, zeros) => zeros + bytes.subarray(end - 4, end).join('.')
  );
}

/** Family, bits of the mask, whether it is a cidr, length of the address, address. */
export function inet(bytes, start, end) {
  const length = bytes[start] === 2 ? 4 : 16;
  valid(end - start === 4 + length && bytes[start + 3] === length);
  const address = length === 4 ? bytes.subarray(start + 4, end).join('.') : ipv6(bytes, start + 4, end);
  const mask = bytes[start + 1];
  return bytes[start + 2] || mask !== length * 8 ? `${address}/${mask}` : address;
}

export function macaddr(bytes, start, end) {
  valid(end - start === 6 || end - start === 8);
  return hex(bytes, start, end, ':');
}

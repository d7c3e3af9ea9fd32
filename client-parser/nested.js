// Decoders of values made of values: arrays, ranges and multiranges, records.

import { int32 } from './datarow.js';
import { text } from './text.js';
import { hex, valid } from './scalars.js';

const DIMENSIONS = 6; // at most, as in the server

/**
 * An array in text: `{1,NULL,"a,b"}`, before it its bounds where they do not begin with 1.
 * https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
const arrayText = decode => (bytes, start, end) => {
  let pos = bytes[start] === 91 ? bytes.indexOf(61, start) + 1 : start; // [ … =
  const element = () => {
    const quoted = bytes[pos] === 34;
    const from = quoted ? ++pos : pos;
    let escapes = 0;
    while (pos < end && (quoted ? bytes[pos] !== 34 : bytes[pos] !== 44 && bytes[pos] !== 125)) { // , }
      if (bytes[pos++] === 92) escapes++, pos++;
    }
    const to = pos;
    if (quoted) pos++;
    valid(to < end && (quoted || to > from));
    if (!quoted && to - from === 4 && text(bytes, from, to) === 'NULL') return null;
    if (escapes === 0) return decode(bytes, from, to);
    const plain = new Uint8Array(to - from - escapes);
    for (let off = from, i = 0; off < to; off++) plain[i++] = bytes[bytes[off] === 92 ? ++off : off];
    return decode(plain, 0, plain.length);
  };
  const array = depth => {
    valid(pos < end && bytes[pos++] === 123 && depth <= DIMENSIONS); // {
    const values = [];
    if (bytes[pos] === 125) pos++;
    else {
      do values.push(bytes[pos] === 123 ? array(depth + 1) : element()); while (bytes[pos++] === 44);
      valid(bytes[pos - 1] === 125);
    }
    valid(pos <= end);
    return values;
  };
  const values = array(1);
  valid(pos === end);
  return values;
};

/** What is inside of a binary value: numbers, and values behind their lengths. */
function itemsOf(bytes, pos, end) {
  const take = length => {
    pos += length;
    valid(length >= 0 && pos <= end);
    return pos - length;
  };
  const number = () => int32(bytes, take(4));
  return {
    number,
    left: () => end - pos,
    /** The next value; null for NULL. */
    value(decode, typeOid) {
      const length = number();
      return length === -1 ? null : decode(bytes, take(length), pos, typeOid);
    },
    /** So many values as there are, each by `next`. */
    list(next) {
      const values = [];
      for (let left = number(); left > 0; left--) values.push(next());
      valid(pos === end);
      return values;
    }
  };
}

/**
 * An array in binary: dimensions, whether it has NULLs, type of its elements; for each dimension its length
 * and lower bound; then the elements.
 */
function readArray(bytes, start, end, decode) {
  const items = itemsOf(bytes, start, end);
  const dimensions = items.number();
  valid(dimensions >= 0 && dimensions <= DIMENSIONS);
  items.number();
  const typeOid = items.number() >>> 0;
  const lengths = [];
  let bounds = '';
  while (lengths.length < dimensions) {
    const length = items.number();
    const lower = items.number();
    lengths.push(length);
    bounds += `[${lower}:${lower + length - 1}]`;
  }
  const array = ([length, ...inner]) => {
    // An empty dimension is never sent, and a longer one than the bytes can hold would only cost memory.
    valid(length > 0 && length <= items.left() / 4);
    return Array.from({ length }, () => inner.length > 0 ? array(inner) : items.value(decode, typeOid));
  };
  const values = dimensions > 0 ? array(lengths) : [];
  valid(items.left() === 0);
  return { values, bounds };
}

/**
 * Decoders of the arrays of a type: nested JavaScript arrays, null for NULL; lower bounds are dropped.
 * @param {[Decoder, Decoder]} element of text and of binary values
 * @returns {[Decoder, Decoder]}
 */
export const arrayOf = ([asText, decode]) => [arrayText(asText), (...place) => readArray(...place, decode).values];

/** Puts a string in quotes where the server does. */
const quote = (string, special, escaped) => special.test(string) ? `"${string.replace(/["\\]/g, escaped)}"` : string;

/**
 * A range in binary: flags, and its bounds.
 * @param {Decoder} decode a bound's binary value
 * @returns {Decoder} of the text form, as `[1,10)`
 */
export const range = decode => (bytes, start, end) => {
  valid(start < end);
  const flags = bytes[start]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
  const items = itemsOf(bytes, start + 1, end);
  const bound = infinite => flags & (infinite | 1) ? ''
    : quote(String(items.value(decode)), /^$|[ \t-\r"\\,()[\]]/, '$&$&');
  const string = `${flags & 2 ? '[' : '('}${bound(8)},${bound(16)}${flags & 4 ? ']' : ')'}`;
  valid(items.left() === 0);
  return flags & 1 ? 'empty' : string;
};

/**
 * A multirange in binary: how many ranges, and the ranges.
 * @param {Decoder} decode a range's binary value
 * @returns {Decoder} of the text form, as `{[1,3),[5,7)}`
 */
export const multirange = decode => (...place) => {
  const { list, value } = itemsOf(...place);
  return `{${list(() => value(decode))}}`;
};

/** A number as the server prints a float4 (up to 6 digits before the point) or float8 (15). */
function floatString(value, digits) {
  if (!Number.isFinite(value)) return String(value);
  const [mantissa, exponent] = value.toExponential().split('e');
  if (exponent >= -4 && exponent < digits) return Object.is(value, -0) ? '-0' : String(value);
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

const UNKNOWN = {};

/**
 * The decoder of anonymous records, `ROW(1, 'a')`, in binary: the number of fields; for each its type, length
 * and value.
 * @param {Object<number, [Decoder, Decoder]>} decoders of the fields' types
 * @returns {Decoder} of the text form, as `(1,"a b",)`; of the bytes, if a field is of an unknown type
 */
export function record(decoders) {
  const element = (...place) => quote(print(...place), /^(null)?$|[ \t-\r"\\{},]/i, '\\$&');
  const field = (...place) => quote(print(...place), /^$|[ \t-\r"\\(),]/, '$&$&');
  const printRecord = (...place) => {
    const { list, number, value } = itemsOf(...place);
    return `(${list(() => value(field, number() >>> 0))})`;
  };
  const printList = value => value === null ? 'NULL' : Array.isArray(value) ? `{${value.map(printList)}}` : value;
  const print = (bytes, start, end, typeOid) => {
    if (typeOid === 2249) return printRecord(bytes, start, end);
    // json as it is; jsonb has a version before it
    if (typeOid === 114 || typeOid === 3802) return text(bytes, start + (typeOid === 3802), end);
    if (decoders[typeOid] === undefined) throw UNKNOWN;
    const value = decoders[typeOid][1](bytes, start, end);
    if (Array.isArray(value)) {
      const { values, bounds } = readArray(bytes, start, end, element);
      return (/\[(?!1:)/.test(bounds) ? `${bounds}=` : '') + printList(values);
    }
    if (value instanceof Uint8Array) return `\\x${hex(value, 0, value.length)}`;
    if (typeof value === 'boolean') return value ? 't' : 'f';
    return typeof value === 'number' ? floatString(value, typeOid === 700 ? 6 : 15) : String(value);
  };
  return (bytes, start, end) => {
    try {
      return printRecord(bytes, start, end);
    } catch (error) {
      if (error !== UNKNOWN) throw error;
      return bytes.subarray(start, end);
    }
  };
}

// Decoders of values made of values: arrays, ranges and multiranges, records.

import { int32 } from './datarow.js';
import { text } from './text.js';
import { hex, malformed } from './scalars.js';

/** Arrays have at most this many dimensions: the server's MAXDIM. */
const DIMENSIONS = 6;

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
    if (to >= end || !(quoted || to > from)) throw malformed();
    if (!quoted && to - from === 4 && text(bytes, from, to) === 'NULL') return null;
    if (escapes === 0) return decode(bytes, from, to);
    const plain = new Uint8Array(to - from - escapes);
    for (let off = from, i = 0; off < to; off++) plain[i++] = bytes[bytes[off] === 92 ? ++off : off];
    return decode(plain, 0, plain.length);
  };
  const array = depth => {
    if (pos >= end || bytes[pos++] !== 123 || depth > DIMENSIONS) throw malformed(); // {
    const values = [];
    if (bytes[pos] === 125) pos++;
    else {
      do values.push(bytes[pos] === 123 ? array(depth + 1) : element()); while (bytes[pos++] === 44);
      if (bytes[pos - 1] !== 125) throw malformed();
    }
    if (pos > end) throw malformed();
    return values;
  };
  const values = array(1);
  if (pos !== end) throw malformed();
  return values;
};

/** What is inside of a binary value: numbers, and values behind their lengths. */
class Items {
  constructor(bytes, start, end) {
    this.bytes = bytes;
    this.pos = start;
    this.end = end;
  }

  /** @returns {number} the next four bytes */
  number() {
    this.pos += 4;
    if (this.pos > this.end) throw malformed();
    return int32(this.bytes, this.pos - 4);
  }

  /** The next value; null for NULL. */
  value(decode) {
    const length = this.number();
    if (length === -1) return null;
    const start = this.pos;
    this.pos += length;
    if (length < 0 || this.pos > this.end) throw malformed();
    return decode(this.bytes, start, this.pos);
  }

  /** Throws if there is more. */
  finish() {
    if (this.pos !== this.end) throw malformed();
  }
}

/**
 * An array in binary: dimensions, whether it has NULLs, type of its elements; for each dimension its length
 * and lower bound; then the elements.
 */
const arrayBinary = decode => (bytes, start, end) => {
  const items = new Items(bytes, start, end);
  const dimensions = items.number();
  if (dimensions < 0 || dimensions > DIMENSIONS) throw malformed();
  items.pos += 8;
  const lengths = [];
  while (lengths.length < dimensions) {
    lengths.push(items.number());
    items.number();
  }
  const array = dimension => {
    const length = lengths[dimension];
    // An empty dimension is never sent, and a longer one than the bytes can hold would only cost memory.
    if (length < 1 || length > (end - items.pos) / 4) throw malformed();
    const inner = dimension + 1 < dimensions;
    return Array.from({ length }, () => inner ? array(dimension + 1) : items.value(decode));
  };
  const values = dimensions > 0 ? array(0) : [];
  items.finish();
  return values;
};

/**
 * Decoders of the arrays of a type: nested JavaScript arrays, null for NULL; lower bounds are dropped.
 * @param {[Decoder, Decoder]} element of text and of binary values
 * @returns {[Decoder, Decoder]}
 */
export const arrayOf = element => [arrayText(element[0]), arrayBinary(element[1])];

/** Puts a string in quotes where the server does, with quotes and backslashes in it doubled. */
const quote = (string, special) => special.test(string) ? `"${string.replace(/["\\]/g, '$&$&')}"` : string;

/**
 * A range in binary: flags, and its bounds.
 * @param {Decoder} decode a bound's binary value
 * @returns {Decoder} of the text form, as `[1,10)`
 */
export const range = decode => (bytes, start, end) => {
  if (start === end) throw malformed();
  const flags = bytes[start]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
  const items = new Items(bytes, start + 1, end);
  const bound = infinite => flags & (infinite | 1) ? ''
    : quote(String(items.value(decode)), /^$|[ \t-\r"\\,()[\]]/);
  const string = `${flags & 2 ? '[' : '('}${bound(8)},${bound(16)}${flags & 4 ? ']' : ')'}`;
  items.finish();
  return flags & 1 ? 'empty' : string;
};

/** So many of what `next` gives, until the items end. */
function list(items, next) {
  const length = items.number();
  const values = [];
  while (values.length < length) values.push(next());
  items.finish();
  return values;
}

/**
 * A multirange in binary: how many ranges, and the ranges.
 * @param {Decoder} decode a range's binary value
 * @returns {Decoder} of the text form, as `{[1,3),[5,7)}`
 */
export const multirange = decode => (bytes, start, end) => {
  const items = new Items(bytes, start, end);
  return `{${list(items, () => items.value(decode))}}`;
};

const UNKNOWN = {};

/** A number as the server prints a float4 (up to 6 digits before the point) or float8 (15). */
function floatString(value, digits) {
  if (!Number.isFinite(value)) return String(value);
  const [mantissa, exponent] = value.toExponential().split('e');
  if (exponent >= -4 && exponent < digits) return Object.is(value, -0) ? '-0' : String(value);
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

/**
 * The decoder of anonymous records, `ROW(1, 'a')`, in binary: the number of fields; for each its type, length
 * and value.
 * @param {Object<number, [Decoder, Decoder]>} decoders of the fields' types
 * @returns {Decoder} of the text form, as `(1,"a b",)`; of the bytes, if a field is of an unknown type
 */
export function record(decoders) {
  const print = (typeOid, bytes, start, end) => {
    if (typeOid === 114) return text(bytes, start, end); // json
    if (typeOid === 3802) return text(bytes, start + 1, end); // jsonb
    if (typeOid === 2249) return printRecord(bytes, start, end);
    if (decoders[typeOid] === undefined) throw UNKNOWN;
    const value = decoders[typeOid][1](bytes, start, end);
    if (Array.isArray(value)) return printArray(bytes, start, end);
    if (value instanceof Uint8Array) return `\\x${hex(value, 0, value.length)}`;
    if (typeof value === 'boolean') return value ? 't' : 'f';
    if (typeOid === 700 || typeOid === 701) return floatString(value, typeOid === 700 ? 6 : 15);
    return String(value);
  };
  const printArray = (bytes, start, end) => {
    const items = new Items(bytes, start, end);
    const dimensions = items.number();
    items.number();
    const typeOid = items.number() >>> 0;
    let bounds = '';
    let other = '';
    for (let i = 0; i < dimensions; i++) {
      const length = items.number();
      const lower = items.number();
      bounds += `[${lower}:${lower + length - 1}]`;
      if (lower !== 1) other = '=';
    }
    const string = value => value === null ? 'NULL' : Array.isArray(value) ? `{${value.map(string)}}` : value;
    const values = arrayBinary((...place) => {
      const value = print(typeOid, ...place);
      return /^(null)?$|[ \t-\r"\\{},]/i.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value;
    })(bytes, start, end);
    return (other && bounds + other) + string(values);
  };
  const printRecord = (bytes, start, end) => {
    const items = new Items(bytes, start, end);
    return `(${list(items, () => {
      const typeOid = items.number() >>> 0;
      return items.value((...place) => quote(print(typeOid, ...place), /^$|[ \t-\r"\\(),]/));
    })})`;
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

// Decoders of arrays, ranges and multiranges.

import { int32 } from './datarow.js';
import { text } from './text.js';
import { valid } from './scalars.js';

/**
 * An array's text, `{1,NULL,"a,b"}`, behind its bounds unless they begin with 1.
 * https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
const arrayText = decode => (bytes, start, end) => {
  let pos = bytes[start] === 91 ? bytes.indexOf(61, start) + 1 : start; // [ … =
  const element = () => {
    const quoted = bytes[pos] === 34;
    const from = quoted ? ++pos : pos;
    let escape = 0;
    while (pos < end && (quoted ? bytes[pos] !== 34 : bytes[pos] !== 44 && bytes[pos] !== 125)) {
      // , }
      if (bytes[pos++] === 92) escape = ++pos;
    }
    const to = pos;
    if (quoted) pos++;
    valid(to < end && (quoted || to > from));
    if (!quoted && to - from === 4 && text(bytes, from, to) === 'NULL') return null;
    if (!escape) return decode(bytes, from, to);
    const plain = new Uint8Array(to - from);
    let length = 0;
    for (let off = from; off < to; off++) plain[length++] = bytes[bytes[off] === 92 ? ++off : off];
    return decode(plain, 0, length);
  };
  const array = depth => {
    valid(pos < end && bytes[pos++] === 123 && depth < 7); // {; the server has 6 dimensions at most
    const values = [];
    if (bytes[pos] === 125) pos++;
    else {
      do values.push(bytes[pos] === 123 ? array(depth + 1) : element());
      while (bytes[pos++] === 44);
      valid(bytes[pos - 1] === 125);
    }
    valid(pos <= end);
    return values;
  };
  const values = array(1);
  valid(pos === end);
  return values;
};

/** Reads the content of a binary value: numbers, and values behind their lengths. */
function itemsOf(bytes, pos, end) {
  const take = length => {
    pos += length;
    valid(length >= 0 && pos <= end);
    return pos - length;
  };
  const number = () => int32(bytes, take(4));
  return {
    number,
    rest: () => end - pos,
    /** @returns {*} null for NULL */
    value(decode, typeOid) {
      const length = number();
      return length === -1 ? null : decode(bytes, take(length), pos, typeOid);
    },
    list(next) {
      const values = [];
      for (let count = number(); count > 0; count--) values.push(next());
      valid(pos === end);
      return values;
    }
  };
}

/**
 * A binary array: the number of dimensions, whether there are NULLs, the elements' type, length and lower bound of each
 * dimension, then the elements.
 */
function readArray(bytes, start, end, decode) {
  const items = itemsOf(bytes, start, end);
  const dimensions = items.number();
  valid(dimensions >= 0 && dimensions < 7);
  items.number();
  const typeOid = items.number() >>> 0;
  const lengths = [];
  while (lengths.length < dimensions) {
    lengths.push(items.number());
    items.number(); // its lower bound
  }
  const array = ([length, ...inner]) => {
    // An empty dimension is never sent. One longer than its bytes would only cost memory.
    valid(length > 0 && length <= items.rest() / 4);
    return Array.from({ length }, () => (inner.length > 0 ? array(inner) : items.value(decode, typeOid)));
  };
  const values = dimensions > 0 ? array(lengths) : [];
  valid(items.rest() === 0);
  return values;
}

/**
 * @param {[Decoder, Decoder]} element decoders of text and binary values
 * @returns {[Decoder, Decoder]} of arrays: nested JavaScript arrays, null for NULL, without lower bounds
 */
export const arrayOf = ([asText, decode]) => [
  arrayText(asText),
  (bytes, start, end) => readArray(bytes, start, end, decode)
];

/** Quotes a bound as the server does. */
const quote = string => (/^$|[ \t-\r"\\,()[\]]/.test(string) ? `"${string.replace(/["\\]/g, '$&$&')}"` : string);

/**
 * @param {Decoder} decode of a binary bound
 * @returns {Decoder} of a binary range to text, as `[1,10)`
 */
export const range = decode => (bytes, start, end) => {
  valid(start < end);
  const flags = bytes[start]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
  const items = itemsOf(bytes, start + 1, end);
  const bound = infinite => (flags & (infinite | 1) ? '' : quote(String(items.value(decode))));
  const string = `${flags & 2 ? '[' : '('}${bound(8)},${bound(16)}${flags & 4 ? ']' : ')'}`;
  valid(items.rest() === 0);
  return flags & 1 ? 'empty' : string;
};

/**
 * @param {Decoder} decode of a binary range
 * @returns {Decoder} of a binary multirange to text, as `{[1,3),[5,7)}`
 */
export const multirange =
  decode =>
  (...place) => {
    const { list, value } = itemsOf(...place);
    return `{${list(() => value(decode))}}`;
  };

// Decoders of arrays, ranges and multiranges.

import { int32, uint32 } from './datarow.js';
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

/** @returns {number} the end of the value behind a length word, which is -1 for NULL */
function endOfItem(bytes, pos, end) {
  const size = int32(bytes, pos);
  const to = pos + 4 + Math.max(size, 0);
  valid(size > -2 && to <= end);
  return to;
}

/**
 * A binary array: the number of dimensions, whether there are NULLs, the elements' type, length and lower bound of each
 * dimension, then the elements.
 */
function readArray(bytes, start, end, decode) {
  const dimensions = uint32(bytes, start);
  const typeOid = uint32(bytes, start + 8);
  let pos = start + 12 + 8 * dimensions;
  valid(dimensions < 7 && pos <= end);
  const array = at => {
    const values = [];
    const isLast = (at += 8) === start + 4 + 8 * dimensions;
    const length = int32(bytes, at);
    // An empty dimension is never sent. One longer than its bytes would only cost memory.
    valid(length > 0 && length <= (end - pos) / 4);
    while (values.length < length) {
      if (!isLast) values.push(array(at));
      else {
        const to = endOfItem(bytes, pos, end);
        values.push(bytes[pos] > 127 ? null : decode(bytes, pos + 4, to, typeOid));
        pos = to;
      }
    }
    return values;
  };
  const values = dimensions ? array(start + 4) : [];
  valid(pos === end);
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
  const flags = bytes[start++]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
  const bound = infinite => {
    if (flags & (infinite | 1)) return '';
    const from = start + 4;
    start = endOfItem(bytes, start, end);
    return quote(String(decode(bytes, from, start)));
  };
  const string = `${flags & 2 ? '[' : '('}${bound(8)},${bound(16)}${flags & 4 ? ']' : ')'}`;
  valid(start === end);
  return flags & 1 ? 'empty' : string;
};

/**
 * @param {Decoder} decode of a binary range
 * @returns {Decoder} of a binary multirange to text, as `{[1,3),[5,7)}`
 */
export const multirange = decode => (bytes, start, end) => {
  const values = [];
  let count = int32(bytes, start);
  for (start += 4; count > 0; count--) {
    const from = start + 4;
    start = endOfItem(bytes, start, end);
    values.push(decode(bytes, from, start));
  }
  valid(start === end);
  return `{${values}}`;
};

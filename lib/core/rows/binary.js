'use strict';

// Binary values whose strings are made at a time for many rows, in Node.js: a string for each value costs up to 40
// times as much as the text format. client-parser has the same decoders for pages, which are smaller. The strings are
// those of the server with DateStyle ISO, IntervalStyle postgres and TimeZone UTC.

const { protocolError } = require('../protocol');
const { int16, int32, uint16 } = require('../../../client-parser/datarow.js');

const { latin1Slice } = Buffer.prototype;

/** Bytes of the text of many rows, and the most that one value needs. */
const PAGE = 16384;
const MOST = 256;

const page = Buffer.allocUnsafeSlow(PAGE + MOST);

/** Where the texts in the page end. */
const ends = new Int32Array(PAGE);

const DIGITS = Buffer.from('0123456789abcdef');
/** The numbers from 0 to 99 with two digits. */
const TENS = Buffer.from(Array.from({ length: 100 }, (_, i) => 48 + ((i / 10) | 0)));
const ONES = Buffer.from(Array.from({ length: 100 }, (_, i) => 48 + (i % 10)));

const [SPACE, PLUS, MINUS, DOT, SLASH, ZERO, COLON, S, QUOTE, COMMA] = Buffer.from(' +-./0:s",');
const [OPEN, CLOSE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = Buffer.from('()[]{}');

/** Writes a text of ASCII. @returns {number} the offset behind it, as all that write do */
function put(string, out, pos) {
  for (let i = 0; i < string.length; i++) out[pos++] = string.charCodeAt(i);
  return pos;
}

function two(value, out, pos) {
  out[pos] = TENS[value];
  out[pos + 1] = ONES[value];
}

/** Writes an integer from 0 to 9999 with four digits. */
function four(value, out, pos) {
  const high = (value / 100) | 0;
  two(high, out, pos);
  two(value - high * 100, out, pos + 2);
  return pos + 4;
}

/** Writes an integer with at least so many digits. */
function decimals(value, out, pos, least) {
  let end = pos + least;
  for (let top = 10 ** least; value >= top; top *= 10) end++;
  for (let i = end; i > pos; value = Math.floor(value / 10)) out[--i] = 48 + (value % 10);
  return end;
}

function hex(bytes, start, end, out, pos) {
  for (let i = start; i < end; i++, pos += 2) {
    const byte = bytes[i];
    out[pos] = DIGITS[byte >> 4];
    out[pos + 1] = DIGITS[byte & 15];
  }
  return pos;
}

function uuid(bytes, start, end, out, pos) {
  hex(bytes, start, start + 4, out, pos);
  hex(bytes, start + 4, start + 6, out, pos + 9);
  hex(bytes, start + 6, start + 8, out, pos + 14);
  hex(bytes, start + 8, start + 10, out, pos + 19);
  out[pos + 8] = out[pos + 13] = out[pos + 18] = out[pos + 23] = MINUS;
  return hex(bytes, start + 10, end, out, pos + 24);
}

function macaddr(bytes, start, end, out, pos) {
  for (let i = start; i < end; i++, pos += 3) {
    hex(bytes, i, i + 1, out, pos);
    out[pos + 2] = COLON;
  }
  return pos - 1;
}

// The greatest numbers mean infinity, the least ones -infinity.
const LAST = 2 ** 31 - 1;
const isInfinite = (high, low) => (high === LAST && low === -1) || (high === ~LAST && low === 0);
const infinity = (high, out, pos) => put(high > 0 ? 'infinity' : '-infinity', out, pos);

/** The microseconds of the second that `secondsOf` has found. */
let micros = 0;

/** @returns {number} the whole seconds of microseconds in 64 bits, below or equal to them */
function secondsOf(bytes, start) {
  const high = int32(bytes, start);
  if (high < 2 ** 20 && high >= -(2 ** 20)) {
    // the number of microseconds is exact
    const all = high * 2 ** 32 + (int32(bytes, start + 4) >>> 0);
    const seconds = Math.floor(all / 1e6);
    micros = all - seconds * 1e6;
    return seconds;
  }
  let seconds = 0;
  micros = 0;
  for (let i = 0; i < 8; i += 2) {
    const rest = micros * 65536 + (i > 0 ? uint16(bytes, start + i) : int16(bytes, start));
    const whole = Math.floor(rest / 1e6);
    seconds = seconds * 65536 + whole;
    micros = rest - whole * 1e6;
  }
  return seconds;
}

let isBC = false;

/** Writes the date so many days after 2000-01-01, in the proleptic Gregorian calendar, without ` BC`. */
function putDate(days, out, pos) {
  // Days since 0000-03-01, in eras of 400 years; years begin in March.
  const since = days + 730425;
  const era = Math.floor(since / 146097);
  const day = (since - era * 146097) | 0;
  const year = ((day - ((day / 1460) | 0) + ((day / 36524) | 0) - ((day / 146096) | 0)) / 365) | 0;
  const ofYear = day - (365 * year + (year >> 2) - ((year / 100) | 0));
  const month = ((5 * ofYear + 2) / 153) | 0;
  const full = year + era * 400 + (month > 9 ? 1 : 0);
  isBC = full <= 0;
  const shown = isBC ? 1 - full : full;
  pos = shown < 10000 ? four(shown, out, pos) : decimals(shown, out, pos, 4);
  out[pos] = out[pos + 3] = MINUS;
  two(month > 9 ? month - 9 : month + 3, out, pos + 1);
  two(ofYear - (((153 * month + 2) / 5) | 0) + 1, out, pos + 4);
  return pos + 6;
}

/** Writes hours, minutes, seconds, and the microseconds that `secondsOf` has found. */
function putTime(seconds, out, pos) {
  const hours = Math.floor(seconds / 3600);
  const rest = seconds - hours * 3600;
  const minutes = (rest / 60) | 0;
  if (hours < 100) {
    two(hours, out, pos);
    pos += 2;
  } else pos = decimals(hours, out, pos, 2);
  out[pos] = out[pos + 3] = COLON;
  two(minutes, out, pos + 1);
  two(rest - minutes * 60, out, pos + 4);
  pos += 6;
  if (micros === 0) return pos;
  out[pos] = DOT;
  const high = (micros / 10000) | 0;
  two(high, out, pos + 1);
  pos = four(micros - high * 10000, out, pos + 3);
  while (out[pos - 1] === ZERO) pos--;
  return pos;
}

const timestampOf = zone =>
  function timestamp(bytes, start, end, out, pos) {
    const high = int32(bytes, start);
    if ((high === LAST || high === ~LAST) && isInfinite(high, int32(bytes, start + 4))) return infinity(high, out, pos);
    const seconds = secondsOf(bytes, start);
    const days = Math.floor(seconds / 86400);
    pos = putDate(days, out, pos);
    out[pos] = SPACE;
    pos = putTime(seconds - days * 86400, out, pos + 1);
    if (zone !== '') pos = put(zone, out, pos);
    return isBC ? put(' BC', out, pos) : pos;
  };

function date(bytes, start, end, out, pos) {
  const days = int32(bytes, start);
  if (days === LAST || days === ~LAST) return infinity(days, out, pos);
  pos = putDate(days, out, pos);
  return isBC ? put(' BC', out, pos) : pos;
}

/** A time of day; no server sends others. */
function time(bytes, start, end, out, pos) {
  const seconds = secondsOf(bytes, start);
  return seconds >= 0 && seconds <= 86400 ? putTime(seconds, out, pos) : -1;
}

function timetz(bytes, start, end, out, pos) {
  const west = int32(bytes, start + 8);
  pos = time(bytes, start, end, out, pos);
  if (pos < 0) return -1;
  out[pos] = west > 0 ? MINUS : PLUS;
  micros = 0;
  pos = putTime(Math.abs(west), out, pos + 1);
  for (let parts = 2; parts > 0 && out[pos - 1] === ZERO && out[pos - 2] === ZERO; parts--) pos -= 3;
  return pos;
}

function interval(bytes, start, end, out, pos) {
  const from = pos;
  const high = int32(bytes, start);
  const days = int32(bytes, start + 8);
  const months = int32(bytes, start + 12);
  if (days === high && months === high && isInfinite(high, int32(bytes, start + 4))) return infinity(high, out, pos);
  let seconds = secondsOf(bytes, start);
  const isNegative = seconds < 0;
  if (isNegative) {
    seconds = -seconds - (micros > 0 ? 1 : 0);
    if (micros > 0) micros = 1e6 - micros;
  }
  let before = 0; // the previous part
  const part = (value, unit) => {
    if (value === 0) return;
    if (value < 0 || before < 0) out[pos++] = value < 0 ? MINUS : PLUS;
    pos = put(unit, out, decimals(Math.abs(value), out, pos, 1));
    if (value !== 1) out[pos++] = S;
    out[pos++] = SPACE;
    before = value;
  };
  part((months / 12) | 0, ' year');
  part(months % 12, ' mon');
  part(days, ' day');
  if (seconds === 0 && micros === 0 && pos > from) return pos - 1;
  if (isNegative || before < 0) out[pos++] = isNegative ? MINUS : PLUS;
  return putTime(seconds, out, pos);
}

/** All digits, as the server prints them. @returns {number} -1 for NaN, infinity and many digits */
function numeric(bytes, start, end, out, pos) {
  const count = uint16(bytes, start);
  const weight = int16(bytes, start + 2);
  const sign = uint16(bytes, start + 4);
  const scale = uint16(bytes, start + 6);
  // Digits have base 10,000; the one at `weight` is the last before the point.
  if (end - start < 8 || end - start !== 8 + 2 * count || sign & 0x8000 || scale > 99 || weight > 20) return -1;
  if (sign !== 0) out[pos++] = MINUS;
  const from = pos;
  let off = start + 8;
  for (let i = 0; i <= weight; i++, off += 2) {
    const digit = i < count ? uint16(bytes, off) : 0;
    if (pos > from) pos = four(digit, out, pos);
    else if (digit > 0) pos = decimals(digit, out, pos, 1);
  }
  if (pos === from) out[pos++] = ZERO;
  if (scale === 0) return pos;
  out[pos++] = DOT;
  const stop = pos + scale;
  for (let i = weight + 1; pos < stop; i++)
    pos = four(i >= 0 && i < count ? uint16(bytes, start + 8 + 2 * i) : 0, out, pos);
  return stop;
}

function byte(value, out, pos) {
  const hundreds = (value / 100) | 0;
  if (value > 99) out[pos++] = 48 + hundreds;
  const rest = value - hundreds * 100;
  if (value > 9) out[pos++] = TENS[rest];
  out[pos] = ONES[rest];
  return pos + 1;
}

function ipv4(bytes, start, out, pos) {
  for (let i = start; i < start + 4; i++) {
    pos = byte(bytes[i], out, pos);
    out[pos++] = DOT;
  }
  return pos - 1;
}

/** The short form of IPv6: the longest run of at least two words of zeros is left out, of several the first. */
function ipv6(bytes, start, out, pos) {
  let first = -1;
  let longest = 1;
  for (let i = 0; i < 8; i++) {
    let to = i;
    while (to < 8 && uint16(bytes, start + 2 * to) === 0) to++;
    if (to - i > longest) [first, longest] = [i, to - i];
    if (to > i) i = to - 1;
  }
  for (let i = 0; i < 8; i++) {
    if (i === first) {
      pos = put(i > 0 ? ':' : '::', out, pos);
      i += longest - 1;
      continue;
    }
    // An address of IPv4 has its own notation at the end.
    if (i === 6 && first === 0 && (longest === 6 || (longest === 5 && uint16(bytes, start + 10) === 0xffff)))
      return ipv4(bytes, start + 12, out, pos);
    const word = uint16(bytes, start + 2 * i);
    for (let shift = word > 0xfff ? 12 : word > 0xff ? 8 : word > 15 ? 4 : 0; shift >= 0; shift -= 4)
      out[pos++] = DIGITS[(word >> shift) & 15];
    if (i < 7) out[pos++] = COLON;
  }
  return pos;
}

/** Family, bits of the mask, whether it is a cidr, length of the address, address. */
function inet(bytes, start, end, out, pos) {
  const length = bytes[start] === 2 ? 4 : 16;
  if (end - start !== 4 + length || bytes[start + 3] !== length) return -1;
  pos = length === 4 ? ipv4(bytes, start + 4, out, pos) : ipv6(bytes, start + 4, out, pos);
  const mask = bytes[start + 1];
  if (bytes[start + 2] === 0 && mask === length * 8) return pos;
  out[pos] = SLASH;
  return byte(mask, out, pos + 1);
}

function int4(bytes, start, end, out, pos) {
  const value = int32(bytes, start);
  if (value < 0) out[pos++] = MINUS;
  return decimals(Math.abs(value), out, pos, 1);
}

/** @param {number} [size] of a bound */
const rangeOf = (write, size) => {
  function bound(bytes, start, end, out, pos) {
    if (size !== undefined && end - start !== size) return -1;
    if (size === undefined && end - start < 8) return -1;
    const stop = write(bytes, start, end, out, pos + 1);
    if (stop < 0) return -1;
    // A bound with a space is quoted.
    for (let i = pos + 1; i < stop; i++) {
      if (out[i] !== SPACE) continue;
      out[pos] = out[stop] = QUOTE;
      return stop + 1;
    }
    out.copyWithin(pos, pos + 1, stop);
    return stop - 1;
  }
  return function range(bytes, start, end, out, pos) {
    const flags = bytes[start]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
    if (flags & 1) return end - start === 1 ? put('empty', out, pos) : -1;
    out[pos++] = flags & 2 ? OPEN_BRACKET : OPEN;
    let off = start + 1;
    for (let infinite = 8; infinite <= 16; infinite *= 2) {
      if (!(flags & infinite)) {
        const from = off + 4;
        const length = from > end ? -1 : int32(bytes, off);
        off = from + length;
        if (length < 0 || off > end) return -1;
        pos = bound(bytes, from, off, out, pos);
        if (pos < 0) return -1;
      }
      out[pos++] = infinite === 8 ? COMMA : flags & 4 ? CLOSE_BRACKET : CLOSE;
    }
    return off === end ? pos : -1;
  };
};

/** @returns {function} the writer of a multirange: -1 for many ranges */
const multirangeOf = write =>
  function multirange(bytes, start, end, out, pos) {
    if (end - start < 4 || end - start > MOST / 4) return -1;
    out[pos++] = OPEN_BRACE;
    let off = start + 4;
    for (let left = int32(bytes, start); left > 0; left--) {
      const from = off + 4;
      const length = from > end ? 0 : int32(bytes, off);
      off = from + length;
      if (length < 1 || off > end) return -1;
      pos = write(bytes, from, off, out, pos);
      if (pos < 0) return -1;
      if (left > 1) out[pos++] = COMMA;
    }
    out[pos] = CLOSE_BRACE;
    return off === end ? pos + 1 : -1;
  };

const bits = new DataView(new ArrayBuffer(4));

/**
 * @param {Decoder} slow for all numbers
 * @returns {Decoder} of float4 to the number with the fewest digits that is this float4, see client-parser
 */
const float4Of = slow => (bytes, start, end) => {
  const word = int32(bytes, start);
  bits.setInt32(0, word);
  const value = bits.getFloat32(0);
  const size = Math.abs(value);
  // Products of these with powers of ten up to 1e7 are exact. A power of two has neighbours at different distances.
  if (end - start !== 4 || !(size >= 1e-3 && size < 2 ** 24) || (word & 0x7fffff) === 0) return slow(bytes, start, end);
  for (let scale = 1; scale <= 1e7; scale *= 10) {
    const product = value * scale;
    const rounded = Math.round(product);
    const short = rounded / scale;
    if (short === value) return value;
    if (Math.fround(short) !== value) continue;
    bits.setInt32(0, word + (Math.abs(short) > size ? 1 : -1));
    const isHalfway = Math.abs(product - Math.trunc(product)) === 0.5 || (bits.getFloat32(0) + value) / 2 === short;
    return isHalfway ? slow(bytes, start, end) : short;
  }
  return slow(bytes, start, end);
};

/** Writers by type OID, and the size of the values they write. */
const WRITERS = [
  [650, inet],
  [774, macaddr, 8],
  [829, macaddr, 6],
  [869, inet],
  [1082, date, 4],
  [1083, time, 8],
  [1114, timestampOf(''), 8],
  [1186, interval, 16],
  [1266, timetz, 12],
  [1700, numeric],
  [2950, uuid, 16],
  [3904, rangeOf(int4, 4)],
  [3906, rangeOf(numeric)],
  [3908, rangeOf(timestampOf(''), 8)],
  [3910, rangeOf(timestampOf('+00'), 8)],
  [3912, rangeOf(date, 4)],
  [4451, multirangeOf(rangeOf(int4, 4))],
  [4535, multirangeOf(rangeOf(date, 4))]
];

/**
 * @param {Object<number, [Decoder, Decoder]>} decoders of client-parser
 * @returns {Object<number, [Decoder, Decoder]>} those of types whose binary values can be written
 */
function writing(decoders) {
  const made = {};
  for (const [oid, write, size] of WRITERS) {
    const [asText, slow] = decoders[oid];
    const decode = (bytes, start, end) => {
      const fits = size === undefined ? end > start : end - start === size;
      const stop = fits ? write(bytes, start, end, page, 0) : -1;
      return stop < 0 ? slow(bytes, start, end) : latin1Slice.call(page, 0, stop);
    };
    decode.write = write;
    decode.size = size ?? 0;
    made[oid] = [asText, decode];
  }
  made[700] = [decoders[700][0], float4Of(decoders[700][1])];
  return made;
}

/**
 * Makes the rows of a chunk, in two steps: writes the texts of many rows, then takes the parts of their string.
 * @param {Chunk} chunk of rows without a column of plain text
 * @param {Array} list that gets them
 * @param {function(Chunk, number): object|Array} make makes one row
 */
function makeRows(chunk, list, isObject) {
  const {
    bytes,
    type: { count, decoders, names, Shape }
  } = chunk;
  const writers = decoders.map(decoder => decoder.write);
  const sizes = decoders.map(decoder => decoder.size);
  for (let at = chunk.start; at < chunk.end;) {
    const from = at;
    let [pos, n] = [0, 0];
    for (; at < chunk.end && pos < PAGE - MOST && n + count < PAGE; at += 1 + int32(bytes, at + 1)) {
      const end = at + 1 + int32(bytes, at + 1);
      let off = at + 7;
      for (let i = 0; i < count; i++) {
        const length = int32(bytes, off);
        const start = off + 4;
        off = length > 0 ? start + length : start;
        if (length < -1 || off > end) throw protocolError('DataRow of a wrong length');
        if (writers[i] === undefined || length < 1) continue;
        const fits = sizes[i] === 0 || length === sizes[i];
        const stop = fits && pos < PAGE - MOST ? writers[i](bytes, start, off, page, pos) : -1;
        ends[n++] = stop;
        if (stop >= 0) pos = stop;
      }
      if (off !== end || ((bytes[at + 5] << 8) | bytes[at + 6]) !== count)
        throw protocolError('DataRow of a wrong length');
    }
    const text = latin1Slice.call(page, 0, pos);
    let before = (n = 0);
    for (let row = from; row < at; row += 1 + int32(bytes, row + 1)) {
      const target = isObject ? new Shape() : [];
      for (let i = 0, off = row + 7; i < count; i++) {
        const length = int32(bytes, off);
        const start = off + 4;
        off = length > 0 ? start + length : start;
        let value = null;
        if (length >= 0) {
          const stop = writers[i] === undefined || length < 1 ? -1 : ends[n++];
          if (stop < 0) value = decoders[i](bytes, start, off);
          else {
            value = text.substring(before, stop);
            before = stop;
          }
        }
        if (isObject) target[names[i]] = value;
        else target.push(value);
      }
      list.push(target);
    }
  }
}

module.exports = { makeRows, writing };

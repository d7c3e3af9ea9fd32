'use strict';

// Binary values whose strings are made at a time for many rows, in Node.js: a string for each value costs up to 40
// times as much as the text format. client-parser has the same decoders for pages, which are smaller. The strings are
// those of the server with DateStyle ISO, IntervalStyle postgres and TimeZone UTC.

const { check, int16, int32, uint16 } = require('../../../client-parser/datarow.js');
const { arrayOf } = require('../../../client-parser/nested.js');

const { latin1Slice } = Buffer.prototype;

/** Bytes of the text of many rows, and the most that one value needs: six ranges of numerics of 185 characters. */
const PAGE = 16384;
const MOST = 1200;

/** The most bytes of a multirange that is written. */
const RANGES = 128;

/** Where the page has the last date. */
const DATE = PAGE + MOST;

const page = Buffer.allocUnsafeSlow(DATE + 16);
/** Writes several characters at once: a fourth of the stores, and they need not be aligned. */
const view = new DataView(page.buffer);

/** Where the texts in the page end. */
const ends = new Int32Array(PAGE);

/** Two characters: the numbers from 0 to 99, and bytes in hexadecimal digits. */
const TWO = Uint16Array.from({ length: 100 }, (_, i) => ((48 + ((i / 10) | 0)) << 8) | (48 + (i % 10)));
const HEX = Uint16Array.from({ length: 256 }, (_, i) => Buffer.from((256 + i).toString(16)).readUInt16BE(1));

const [SPACE, PLUS, MINUS, DOT, SLASH, ZERO, COLON, R, S, QUOTE, COMMA] = Buffer.from(' +-./0:rs",');
const [OPEN, CLOSE, OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE, C, Y] = Buffer.from('()[]{}Cy');

/** Writes a text of ASCII. @returns {number} the offset behind it, as all that write do */
function put(string, pos) {
  for (let i = 0; i < string.length; i++) page[pos++] = string.charCodeAt(i);
  return pos;
}

/** Writes an integer from 0 to 9999 with four digits. */
function four(value, pos) {
  const high = ((value | 0) / 100) | 0;
  view.setUint32(pos, (TWO[high] << 16) | TWO[(value - high * 100) | 0]);
  return pos + 4;
}

/** Writes a natural number that is exact: four digits without leading zeros, behind those before them. */
function decimals(value, pos) {
  if (value > 9999) {
    const high = value < 2 ** 32 ? (value / 10000) >>> 0 : Math.floor(value / 10000);
    return four(value - high * 10000, decimals(high, pos));
  }
  const high = ((value | 0) / 100) | 0;
  const zeros = value > 999 ? 0 : value > 99 ? 1 : value > 9 ? 2 : 3;
  view.setUint32(pos, ((TWO[high] << 16) | TWO[(value - high * 100) | 0]) << (8 * zeros));
  return pos + 4 - zeros;
}

function integer(value, pos) {
  if (value < 0) {
    page[pos++] = MINUS;
    value = -value;
  }
  return decimals(value, pos);
}

function uuid(bytes, start, end, pos) {
  for (let i = start; i < end; i += 2) {
    view.setUint32(pos, (HEX[bytes[i]] << 16) | HEX[bytes[i + 1]]);
    pos += 4;
    if (i > start && i < start + 10) page[pos++] = MINUS;
  }
  return pos;
}

function macaddr(bytes, start, end, pos) {
  for (let i = start; i < end; i++, pos += 3) {
    view.setUint16(pos, HEX[bytes[i]]);
    page[pos + 2] = COLON;
  }
  return pos - 1;
}

// The greatest numbers mean infinity, the least ones -infinity.
const LAST = 2 ** 31 - 1;
const infinity = (high, low, pos) =>
  low === ~(high >> 31) && (high === LAST || high === ~LAST) ? put(high > 0 ? 'infinity' : '-infinity', pos) : -1;

const DAY = 86400e6;

/** The parts of the 64-bit number that was read last: days, the seconds of the day, and their microseconds. */
let days = 0;
let seconds = 0;
let micros = 0;

/** The microseconds before the day, which is mostly that of the next number as well. */
const midnight = new Float64Array(1);

/**
 * Reads microseconds; only the number of days may be negative. Products are exact, since a day has a multiple of
 * 2 ** 13 microseconds.
 */
function readMicros(bytes, start) {
  const high = int32(bytes, start) * 2 ** 32;
  const low = int32(bytes, start + 4) >>> 0;
  let rest = high - midnight[0] + low;
  if (rest < 0 || rest >= DAY) {
    days = Math.floor((high + low) / DAY);
    rest = high - days * DAY + low;
    if (rest < 0) {
      days--;
      rest += DAY;
    }
    midnight[0] = days * DAY;
  }
  // A half is more than the product can be wrong by. A division would take longer.
  const whole = ((rest + 0.5) * 1e-6) | 0;
  seconds = whole;
  micros = (rest - whole * 1e6) | 0;
}

/**
 * Writes the date so many days after 2000-01-01, in the proleptic Gregorian calendar, without ` BC`.
 * @returns {number} -1 before the year -4800 and after 99999
 */
function putDate(days, pos) {
  if (days < -2483589 || days > 35793764) return -1;
  // Fourths of days since -4800-03-01: years begin in March, and a century has 146,097, a year 1,461 of them.
  const since = ((days + 2483589) << 2) | 3;
  const century = (since / 146097) | 0;
  const ofCentury = (since - century * 146097) | 3;
  let year = (ofCentury / 1461) | 0;
  const ofYear = ((ofCentury - year * 1461) | 0) >> 2;
  // A line through the first days of months, in 65,536ths; 2,141 of them are a day.
  const line = 2141 * ofYear + 197913;
  let month = line >> 16;
  if (month > 12) {
    month -= 12;
    year++;
  }
  year = (century * 100 + year - 4800) | 0;
  pos = year > 9999 ? decimals(year, pos) : four(year > 0 ? year : 1 - year, pos);
  view.setUint32(pos, 0x2d00002d | (TWO[month] << 8)); // between hyphens
  view.setUint32(pos + 4, (TWO[(((line & 65535) / 2141) | 0) + 1] << 16) | 0x2000);
  return pos + 6;
}

/** Writes hours below 100, minutes, seconds, and the microseconds that were read. */
function putTime(ofDay, pos) {
  const hours = ((ofDay | 0) / 3600) | 0;
  view.setUint16(pos, TWO[hours]);
  return putMinutes((ofDay - hours * 3600) | 0, pos + 2);
}

function putMinutes(rest, pos) {
  const minutes = ((rest | 0) / 60) | 0;
  view.setUint32(pos, 0x3a00003a | (TWO[minutes] << 8)); // between colons
  view.setUint16(pos + 4, TWO[(rest - minutes * 60) | 0]);
  pos += 6;
  if (micros === 0) return pos;
  page[pos] = DOT;
  const high = (micros / 10000) | 0;
  view.setUint16(pos + 1, TWO[high]);
  pos = four(micros - high * 10000, pos + 3);
  while (page[pos - 1] === ZERO) pos--;
  return pos;
}

/** Writes what is behind a day, after 2000-01-01, before the year 1. */
const era = (day, pos) => (day < -730119 ? put(' BC', pos) : pos);

/** The day whose date is in the page at DATE with a space behind it, and the length of both. */
let dated = NaN;
let datedLength = 0;

/** For V8, only what is made once is fast: so this is no function that makes two. @param {number} zone its length */
function instant(bytes, start, pos, zone) {
  readMicros(bytes, start);
  if (days !== dated) {
    const stop = putDate(days, DATE);
    if (stop < 0) return infinity(int32(bytes, start), int32(bytes, start + 4), pos);
    datedLength = stop + 1 - DATE;
    dated = days;
  }
  view.setInt32(pos, view.getInt32(DATE));
  view.setInt32(pos + 4, view.getInt32(DATE + 4));
  view.setInt32(pos + 8, view.getInt32(DATE + 8));
  pos = putTime(seconds, pos + datedLength);
  view.setUint32(pos, 0x2b303000); // +00
  pos += zone;
  return era(days, pos);
}

const timestamp = (bytes, start, end, pos) => instant(bytes, start, pos, 0);
const timestamptz = (bytes, start, end, pos) => instant(bytes, start, pos, 3);

function date(bytes, start, end, pos) {
  const value = int32(bytes, start);
  const stop = putDate(value, pos);
  return stop < 0 ? infinity(value, ~(value >> 31), pos) : era(value, stop);
}

/** A time of day, to 24:00:00; no server sends others. */
function time(bytes, start, end, pos) {
  readMicros(bytes, start);
  if (days === 1 && seconds + micros === 0) return putTime(86400, pos);
  return days === 0 ? putTime(seconds, pos) : -1;
}

function timetz(bytes, start, end, pos) {
  const west = int32(bytes, start + 8);
  const zone = Math.abs(west);
  pos = time(bytes, start, end, pos);
  if (pos < 0 || zone >= 360000) return -1;
  page[pos++] = west > 0 ? MINUS : PLUS;
  const hours = (zone / 3600) | 0;
  view.setUint16(pos, TWO[hours]);
  pos += 2;
  if (zone === hours * 3600) return pos;
  micros = 0;
  pos = putMinutes(zone - hours * 3600, pos);
  return zone % 60 === 0 ? pos - 3 : pos;
}

const [YEAR, MON, DAYS] = [' yea', ' mon', ' day'].map(unit => Buffer.from(unit).readUInt32BE());

/** Writes a part of an interval. @param {boolean} [isSigned] whether a positive one has a sign, after a negative */
function part(value, unit, pos, isSigned) {
  if (isSigned && value > 0) page[pos++] = PLUS;
  pos = integer(value, pos);
  view.setUint32(pos, unit);
  pos += 4;
  if (unit === YEAR) page[pos++] = R;
  if (value !== 1) page[pos++] = S;
  page[pos] = SPACE;
  return pos + 1;
}

function interval(bytes, start, end, pos) {
  const from = pos;
  const ofDays = int32(bytes, start + 8);
  const months = int32(bytes, start + 12);
  if (months === ofDays && months === int32(bytes, start)) {
    const stop = infinity(months, int32(bytes, start + 4), pos);
    if (stop > pos) return stop;
  }
  readMicros(bytes, start);
  let whole = days * 86400 + seconds;
  const isNegative = days < 0;
  if (isNegative) {
    whole = -whole;
    if (micros > 0) {
      whole--;
      micros = 1e6 - micros;
    }
  }
  const isBefore = months < 0;
  const years = (months / 12) | 0;
  if (years) pos = part(years, YEAR, pos);
  if (months % 12 !== 0) pos = part(months % 12, MON, pos);
  if (ofDays !== 0) pos = part(ofDays, DAYS, pos, isBefore);
  if (whole + micros === 0 && pos > from) return pos - 1;
  if (isNegative || ofDays < 0 || (ofDays === 0 && isBefore)) page[pos++] = isNegative ? MINUS : PLUS;
  if (whole < 360000) return putTime(whole, pos);
  const hours = Math.floor(whole / 3600);
  return putMinutes(whole - hours * 3600, decimals(hours, pos));
}

/** All digits, as the server prints them. @returns {number} -1 for NaN, infinity and many digits */
function numeric(bytes, start, end, pos) {
  const count = uint16(bytes, start);
  const weight = int16(bytes, start + 2);
  const sign = uint16(bytes, start + 4);
  const scale = uint16(bytes, start + 6);
  // Digits have base 10,000; the one at `weight` is the last before the point.
  if (end - start !== 8 + 2 * count || sign & 0x8000 || scale > 99 || weight > 20) return -1;
  if (sign !== 0) page[pos++] = MINUS;
  const from = pos;
  let off = start + 8;
  for (let i = 0; i <= weight; i++, off += 2) {
    const digit = i < count ? uint16(bytes, off) : 0;
    if (pos > from) pos = four(digit, pos);
    else if (digit > 0) pos = decimals(digit, pos);
  }
  if (pos === from) page[pos++] = ZERO;
  if (scale === 0) return pos;
  page[pos++] = DOT;
  const stop = pos + scale;
  for (let i = weight + 1; pos < stop; i++) pos = four(i >= 0 && i < count ? uint16(bytes, start + 8 + 2 * i) : 0, pos);
  return stop;
}

function ipv4(bytes, start, pos) {
  for (let i = start; i < start + 4; i++) {
    pos = decimals(bytes[i], pos);
    page[pos++] = DOT;
  }
  return pos - 1;
}

/** The short form of IPv6: the longest run of at least two words of zeros is left out, of several the first. */
function ipv6(bytes, start, pos) {
  let first = -1;
  let longest = 1;
  for (let i = 0, run = 0; i < 8; i++) {
    run = uint16(bytes, start + 2 * i) === 0 ? run + 1 : 0;
    if (run > longest) {
      first = i + 1 - run;
      longest = run;
    }
  }
  for (let i = 0; i < 8; i++) {
    if (i === first) {
      if (i === 0) page[pos++] = COLON;
      page[pos++] = COLON;
      i += longest - 1;
      continue;
    }
    // An address of IPv4 has its own notation at the end.
    if (i === 6 && first === 0 && (longest === 6 || (longest === 5 && uint16(bytes, start + 10) === 0xffff)))
      return ipv4(bytes, start + 12, pos);
    const word = uint16(bytes, start + 2 * i);
    const zeros = word > 4095 ? 0 : word > 255 ? 1 : word > 15 ? 2 : 3;
    view.setUint32(pos, ((HEX[word >> 8] << 16) | HEX[word & 255]) << (8 * zeros));
    pos += 4 - zeros;
    if (i < 7) page[pos++] = COLON;
  }
  return pos;
}

/** Family, bits of the mask, whether it is a cidr, length of the address, address. */
function inet(bytes, start, end, pos) {
  const length = bytes[start] === 2 ? 4 : 16;
  if (end - start !== 4 + length || bytes[start + 3] !== length) return -1;
  pos = length === 4 ? ipv4(bytes, start + 4, pos) : ipv6(bytes, start + 4, pos);
  const mask = bytes[start + 1];
  if (bytes[start + 2] === 0 && mask === length * 8) return pos;
  page[pos] = SLASH;
  return decimals(mask, pos + 1);
}

const int4 = (bytes, start, end, pos) => integer(int32(bytes, start), pos);

function int8(bytes, start, end, pos) {
  const value = int32(bytes, start) * 2 ** 32 + (int32(bytes, start + 4) >>> 0);
  return Number.isSafeInteger(value) ? integer(value, pos) : -1;
}

function putRange(write, size, isQuoted, bytes, start, end, pos) {
  const flags = bytes[start]; // 1 empty, 2 and 4 lower and upper included, 8 and 16 lower and upper infinite
  if (flags & 1) return end - start === 1 ? put('empty', pos) : -1;
  page[pos++] = flags & 2 ? OPEN_BRACKET : OPEN;
  let off = start + 1;
  for (let infinite = 8; infinite <= 16; infinite *= 2) {
    if (!(flags & infinite)) {
      const from = off + 4;
      const length = from > end ? -1 : int32(bytes, off);
      off = from + length;
      if (off > end || (size > 0 ? length !== size : length < 8)) return -1;
      let stop = write(bytes, from, off, isQuoted ? pos + 1 : pos);
      // Infinity has no quotes, and a date before Christ has.
      const isOther = page[stop - 1] === (isQuoted ? Y : C);
      if (isOther) stop = write(bytes, from, off, isQuoted ? pos : pos + 1);
      if (stop < 0) return -1;
      if (isOther !== isQuoted) page[pos] = page[stop++] = QUOTE;
      pos = stop;
    }
    page[pos++] = infinite === 8 ? COMMA : flags & 4 ? CLOSE_BRACKET : CLOSE;
  }
  return off === end ? pos : -1;
}

/**
 * @param {number} [size] of a bound
 * @param {boolean} [isQuoted] whether a bound mostly has a space, and so quotes
 */
const rangeOf =
  (write, size = 0, isQuoted = false) =>
  (bytes, start, end, pos) =>
    putRange(write, size, isQuoted, bytes, start, end, pos);

/** @returns {function} the writer of a multirange: -1 for many ranges */
const multirangeOf = write =>
  function multirange(bytes, start, end, pos) {
    if (end - start > RANGES) return -1;
    page[pos++] = OPEN_BRACE;
    let off = start + 4;
    for (let left = int32(bytes, start); left > 0; left--) {
      const from = off + 4;
      const length = from > end ? 0 : int32(bytes, off);
      off = from + length;
      if (length < 1 || off > end) return -1;
      pos = write(bytes, from, off, pos);
      if (pos < 0) return -1;
      if (left > 1) page[pos++] = COMMA;
    }
    page[pos] = CLOSE_BRACE;
    return off === end ? pos + 1 : -1;
  };

/**
 * @param {Decoder} slow for all numbers
 * @returns {Decoder} of float4 to the number with the fewest digits that is this float4, see client-parser
 */
const float4Of = slow => (bytes, start, end) => {
  const word = int32(bytes, start);
  view.setInt32(PAGE, word);
  const value = view.getFloat32(PAGE);
  const size = Math.abs(value);
  // Products of these with powers of ten up to 1e7 are exact. A power of two has neighbours at different distances.
  if (end - start !== 4 || !(size >= 1e-3 && size < 2 ** 24) || (word & 0x7fffff) === 0) return slow(bytes, start, end);
  for (let scale = 1; scale <= 1e7; scale *= 10) {
    const product = value * scale;
    const rounded = Math.round(product);
    const short = rounded / scale;
    if (short === value) return value;
    if (Math.fround(short) !== value) continue;
    view.setInt32(PAGE, word + (Math.abs(short) > size ? 1 : -1));
    const isHalfway = Math.abs(product - rounded) === 0.5 || (view.getFloat32(PAGE) + value) / 2 === short;
    return isHalfway ? slow(bytes, start, end) : short;
  }
  return slow(bytes, start, end);
};

/** OIDs of types and of their arrays, writers, and the size of the values they write. */
const WRITERS = [
  [650, 651, inet],
  [774, 775, macaddr, 8],
  [829, 1040, macaddr, 6],
  [869, 1041, inet],
  [1082, 1182, date, 4],
  [1083, 1183, time, 8],
  [1114, 1115, timestamp, 8],
  [1186, 1187, interval, 16],
  [1266, 1270, timetz, 12],
  [1700, 1231, numeric],
  [2950, 2951, uuid, 16]
];

for (const [oid, multirangeOid, multirangesOid, ...bound] of [
  [3904, 4451, 6150, int4, 4],
  [3906, 4532, 6151, numeric],
  [3908, 4533, 6152, timestamp, 8, true],
  [3910, 4534, 6153, timestamptz, 8, true],
  [3912, 4535, 6155, date, 4],
  [3926, 4536, 6157, int8, 8]
]) {
  const write = rangeOf(...bound);
  WRITERS.push([oid, oid + 1, write], [multirangeOid, multirangesOid, multirangeOf(write)]);
}

/**
 * @param {Object<number, [Decoder, Decoder]>} decoders of client-parser
 * @returns {Object<number, [Decoder, Decoder]>} those of types whose binary values have decoders here, and of their
 *   arrays
 */
function writing(decoders) {
  const made = { 700: [decoders[700][0], float4Of(decoders[700][1])] };
  made[1021] = arrayOf(made[700]);
  for (const [oid, arrayOid, write, size = 0] of WRITERS) {
    const [asText, slow] = decoders[oid];
    const decode = (bytes, start, end) => {
      const fits = size > 0 ? end - start === size : end > start;
      const stop = fits ? write(bytes, start, end, PAGE) : -1;
      return stop < 0 ? slow(bytes, start, end) : latin1Slice.call(page, PAGE, stop);
    };
    decode.write = write;
    decode.size = size;
    made[oid] = [asText, decode];
    made[arrayOid] = arrayOf(made[oid]);
  }
  return made;
}

let isMaking = false;

/**
 * Makes the rows of a chunk, in two steps: writes the texts of many rows, then takes the parts of their string.
 * @param {Chunk} chunk of rows without a column of plain text
 * @param {Array} list that gets them
 * @param {boolean} isObject whether rows are objects, or arrays
 * @returns {boolean} false inside of itself: a decoder of the caller's reads another result
 */
function makeRows(chunk, list, isObject) {
  if (isMaking) return false;
  isMaking = true;
  try {
    for (let at = chunk.start; at < chunk.end;) at = makePage(chunk, at, list, isObject);
  } finally {
    isMaking = false;
  }
  return true;
}

/** @returns {number} the offset behind the rows whose texts fit into the page */
function makePage({ bytes, end: last, type: { count, decoders, names, platform, Shape } }, at, list, isObject) {
  const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const others = []; // values that are not written
  let [pos, n] = [0, 0];
  const [{ write, size }] = decoders;
  for (; at < last && pos < PAGE - MOST && n + count < PAGE;) {
    const rest = source.getInt32(at + 1) - 10;
    const from = at + 11;
    const end = from + rest;
    // A row of one column costs 1.1 to 1.2 times as much by the loop over columns.
    if (count === 1 && rest > 0 && source.getInt32(at + 7) === rest && (size === 0 || size === rest)) {
      const stop = uint16(bytes, at + 5) === 1 ? write(bytes, from, end, pos) : -1;
      if (stop >= 0) {
        ends[n++] = pos = stop;
        at = end;
        continue;
      }
    }
    let off = at + 7;
    for (let i = 0; i < count; i++) {
      const start = off + 4;
      const length = start > end ? -2 : source.getInt32(off);
      off = length > 0 ? start + length : start;
      check(length > -2 && off <= end, platform, 'DataRow');
      const { write, size } = decoders[i];
      const fits = write !== undefined && (size === length || (size === 0 && length > 0)) && pos < PAGE - MOST;
      const stop = fits ? write(bytes, start, off, pos) : -1;
      ends[n++] = stop;
      if (stop >= 0) pos = stop;
      else others.push(length < 0 ? null : decoders[i](bytes, start, off));
    }
    check(off === end && uint16(bytes, at + 5) === count, platform, 'DataRow');
    at = end;
  }
  const text = latin1Slice.call(page, 0, pos);
  const total = n;
  let [before, k] = [0, 0];
  for (n = 0; n < total;) {
    const target = isObject ? new Shape() : [];
    for (let i = 0; i < count; i++) {
      const stop = ends[n++];
      const value = stop < 0 ? others[k++] : text.substring(before, stop);
      if (stop >= 0) before = stop;
      if (isObject) target[names[i]] = value;
      else target.push(value);
    }
    list.push(target);
  }
  return at;
}

module.exports = { makeRows, writing };

// Decoders of dates and times. Binary values become the strings that the server prints with DateStyle ISO,
// IntervalStyle postgres and TimeZone UTC.

import { int32, uint32 } from './datarow.js';
import { bigint, pad, sized } from './scalars.js';
import { text } from './text.js';

const { abs, floor } = Math;

const DAY = 86400000000n; // in microseconds
const EPOCH = 946684800000; // 2000-01-01, in a Date's milliseconds

// The greatest numbers mean infinity, the least ones -infinity.
const LAST_DAY = 2 ** 31 - 1;
const LAST = 2n ** 63n - 1n;
const infinity = (value, last) => (value === last ? 'infinity' : ~value === last ? '-infinity' : undefined);

/** @returns {string} the date so many days after 2000-01-01, in the proleptic Gregorian calendar */
function dateOf(days, time = '') {
  // A Date does not reach all of PostgreSQL's years, but the calendar repeats every 400 years.
  const era = floor(days / 146097);
  const date = new Date((days - era * 146097) * 86400000 + EPOCH);
  const year = date.getUTCFullYear() + era * 400;
  const rest = date.toISOString().slice(4, 10) + time;
  return year > 0 ? pad(year, 4) + rest : `${pad(1 - year, 4)}${rest} BC`;
}

function timeOf(micros) {
  const seconds = Number(micros / 1000000n);
  const fraction = `.${pad(micros % 1000000n, 6)}`.replace(/\.?0+$/, '');
  return `${pad(floor(seconds / 3600))}:${pad(floor(seconds / 60) % 60)}:${pad(seconds % 60)}${fraction}`;
}

const timestampOf =
  zone =>
  (...place) => {
    const micros = bigint(...place);
    const time = ((micros % DAY) + DAY) % DAY;
    return infinity(micros, LAST) ?? dateOf(Number((micros - time) / DAY), ` ${timeOf(time)}${zone}`);
  };

export const timestamp = timestampOf('');
export const timestamptz = timestampOf('+00');

export const date = sized(4, (bytes, start) => {
  const days = int32(bytes, start);
  return infinity(days, LAST_DAY) ?? dateOf(days);
});

export const time = (...place) => timeOf(bigint(...place));

export const timetz = sized(12, (bytes, start) => {
  const west = int32(bytes, start + 8);
  const zone = timeOf(BigInt(abs(west)) * 1000000n).replace(/(:00){1,2}$/, '');
  return time(bytes, start, start + 8) + (west > 0 ? '-' : '+') + zone;
});

export const interval = sized(16, (bytes, start) => {
  const micros = bigint(bytes, start, start + 8);
  const days = int32(bytes, start + 8);
  const months = int32(bytes, start + 12);
  const whole = infinity(micros, LAST);
  if (whole && infinity(days, LAST_DAY) === whole && days === months) return whole;
  let result = '';
  let before = 0; // the previous part
  for (const [value, unit] of [
    [(months / 12) | 0, 'year'],
    [months % 12, 'mon'],
    [days, 'day']
  ]) {
    if (!value) continue;
    result += `${before < 0 && value > 0 ? '+' : ''}${value} ${unit}${value === 1 ? ' ' : 's '}`;
    before = value;
  }
  if (!micros && result) return result.trimEnd();
  return result + (micros < 0 ? '-' : before < 0 ? '+' : '') + timeOf(micros < 0 ? -micros : micros);
});

const two = (bytes, off) => bytes[off] * 10 + bytes[off + 1] - 528;

/**
 * The milliseconds of a timestamptz with DateStyle ISO, without microseconds; NaN for any other text. A string and a
 * regular expression for each value would cost ten times as much.
 */
function millisText(bytes, start, end) {
  let year = 0;
  while (bytes[start] > 47) year = year * 10 + bytes[start++] - 48;
  const march = (two(bytes, start + 1) + 9) % 12; // months since March
  const iso = bytes[start + 3] === 45 && bytes[start + 6] === 32;
  let time =
    (((two(bytes, start + 4) * 24 + two(bytes, start + 7)) * 60 + two(bytes, start + 10)) * 60 +
      two(bytes, start + 13)) *
    1000;
  start += 15;
  let unit = 100;
  if (bytes[start] === 46) {
    // .
    for (; bytes[++start] > 47; unit = (unit / 10) | 0) time += (bytes[start] - 48) * unit;
  }
  unit = (44 - bytes[start]) * 3600000; // of the zone: + is 43, - is 45
  do {
    time -= two(bytes, start + 1) * unit;
    unit /= 60;
  } while ((start += 3) < end && bytes[start] === 58);
  if (start < end) {
    // ' BC'
    year = 1 - year;
    start += 3;
  }
  year -= march > 9;
  const days = year * 365 + floor(year / 4) - floor(year / 100) + floor(year / 400) + floor(march * 30.6 - 719468.5);
  return iso && start === end ? days * 86400000 + time : NaN;
}

/** The milliseconds of a binary timestamp. */
// 2 ** 32 is 4294967296: each part is exact in the range of Dates.
const millis = sized(
  8,
  (bytes, start) =>
    int32(bytes, start) * 4294967 + floor((int32(bytes, start) * 296 + uint32(bytes, start + 4)) / 1000) + EPOCH
);

/** An Invalid Date for infinity and after the year 275760. */
export const toDate = (...place) => new Date(millis(...place));

/** A decoder to a Date, or to a string if no Date is the same instant. */
const orString = (millis, string) => (bytes, start, end) => {
  const time = millis(bytes, start, end);
  return abs(time) <= 8.64e15 ? new Date(time) : string(bytes, start, end);
};
export const instant = orString(millis, timestamptz);
export const instantText = orString(millisText, text);

// Decoders of dates and times. Binary values become the strings that the server prints with DateStyle ISO, IntervalStyle
// postgres and TimeZone UTC.

import { int32 } from './datarow.js';
import { bigint, pad, sized } from './scalars.js';

const { abs, floor, trunc } = Math;

const DAY = 86400000000n; // in microseconds
const EPOCH = 946684800000; // 2000-01-01, in a Date's milliseconds

// The greatest numbers; they stand for infinity, and the least ones for -infinity.
const LAST_DAY = 2 ** 31 - 1;
const LAST = 2n ** 63n - 1n;
const infinity = (value, last) => value === last ? 'infinity' : ~value === last ? '-infinity' : undefined;

/** The date that is so many days from 2000-01-01, in the proleptic Gregorian calendar. */
function dateOf(days, time = '') {
  // A Date does not hold all the years that PostgreSQL has; every 400 years they repeat.
  const era = floor(days / 146097);
  const date = new Date((days - era * 146097) * 86400000 + EPOCH);
  const year = date.getUTCFullYear() + era * 400;
  const rest = date.toISOString().slice(4, 10) + time;
  return year > 0 ? pad(year, 4) + rest : `${pad(1 - year, 4)}${rest} BC`;
}

/** A time of day, or longer, of microseconds. */
function timeOf(micros) {
  const seconds = Number(micros / 1000000n);
  return `${pad(floor(seconds / 3600))}:${pad(floor(seconds / 60) % 60)}:${pad(seconds % 60)}${
    `.${pad(micros % 1000000n, 6)}`.replace(/\.?0+$/, '')}`;
}

const timestampOf = zone => (...place) => {
  const micros = bigint(...place);
  const time = (micros % DAY + DAY) % DAY;
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
  let before = 0; // the part before this one
  for (const [value, unit] of [[trunc(months / 12), 'year'], [months % 12, 'mon'], [days, 'day']]) {
    if (!value) continue;
    result += `${before < 0 && value > 0 ? '+' : ''}${value} ${unit}${value === 1 ? ' ' : 's '}`;
    before = value;
  }
  if (!micros && result) return result.trimEnd();
  return `${result}${micros < 0 ? '-' : before < 0 ? '+' : ''}${timeOf(micros < 0 ? -micros : micros)}`;
});

/** A date, timestamp or timestamptz as the server prints it with DateStyle ISO. */
const ISO = /^(\d{3,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):([\d.]+)(?:([+-]\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?( BC)?$/;

/**
 * @param {string} string a date, timestamp or timestamptz as the server prints it
 * @returns {Date} without a time zone in UTC; microseconds are cut off; an Invalid Date for infinity, after the year 275760,
 *   and for a DateStyle other than ISO
 */
export function toDate(string) {
  const [, year, month, day, hour = 0, minute = 0, second = 0, zone = '0', minutes = 0, seconds = 0, bc] =
    ISO.exec(string.slice(0, 41)) || [];
  const east = abs(zone) * 3600 + minutes * 60 + Number(seconds);
  const result = new Date(0);
  result.setUTCFullYear(bc ? 1 - year : year, month - 1, day);
  result.setUTCHours(hour, minute, zone[0] === '-' ? east : -east, floor(second * 1000 + 0.0005));
  return result;
}

/**
 * @param {Decoder} decode to the string
 * @returns {Decoder} to a Date; the string stays where no Date is the same instant
 */
export const orDate = decode => (...place) => {
  const string = decode(...place);
  // Engines read most of them themselves, which costs a fifth: 2024-02-29T12:34:56.789012+00:00.
  const date = new Date(Date.parse(string[7] === '-' && string.replace(' ', 'T') + ':00') || toDate(string));
  return isFinite(date) ? date : string;
};

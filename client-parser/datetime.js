// Decoders of dates and times. Binary values become the strings that the server prints with DateStyle ISO, IntervalStyle
// postgres and TimeZone UTC.

import { int32 } from './datarow.js';
import { bigint, decimal, pad, sized } from './scalars.js';
import { text } from './text.js';

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

/** @returns {number} milliseconds of a date, timestamp or timestamptz with DateStyle ISO, microseconds cut off; else NaN */
function parse(string) {
  const [year, month, day, hour = 0, minute = 0, second = 0, ...zone] = /^\d{4,6}-.{0,35}$/.test(string) ? string.split(/[^\d.]+/) : [];
  const [east = 0, minutes = 0, seconds = 0] = zone.map(/:\S*-/.test(string) ? part => -part : Number);
  const date = new Date(0);
  date.setUTCFullYear(string.endsWith('C') ? 1 - year : year, month - 1, day);
  return date.setUTCHours(hour - east, minute - minutes, 0, floor((second - seconds) * 1000 + 0.0005));
}

/**
 * Milliseconds of a timestamptz in text. Almost all have four digits of a year and a zone of whole hours; they need neither
 * string nor regular expression. What has other characters where digits are expected becomes NaN.
 */
function millisText(bytes, start, end) {
  const number = (from, to, mark) => decimal(bytes, start + from, start + to, mark);
  const last = end - start - 3;
  const sign = 44 - bytes[end - 3];
  const month = (number(5, 7) + 9) % 12; // from March, 0
  const year = number(0, 4) - (month > 9);
  const days = year * 365 + floor(year / 4) - floor(year / 100) + floor(year / 400) + floor(month * 30.6 + 0.5) + number(8, 10) - 719469;
  const minutes = (days * 24 + number(11, 13) - sign * number(last + 1, last + 3)) * 60 + number(14, 16);
  return (last > 18 && sign * sign === 1 && minutes * 60000 + floor(number(17, last, -2) * 1000 + 0.0005))
    || parse(text(bytes, start, end));
}

/** Milliseconds of a binary timestamp. */
function millis(...place) {
  const micros = bigint(...place);
  return Number(micros / 1000n) - (micros % 1000n < 0) + EPOCH;
}

/** @returns {Date} of a binary timestamp; an Invalid Date for infinity and after the year 275760 */
export const toDate = (...place) => new Date(millis(...place));

/** A decoder to a Date; where no Date is the same instant, to a string. */
const orString = (millis, string) => (bytes, start, end) => {
  const time = millis(bytes, start, end);
  return abs(time) <= 8.64e15 ? new Date(time) : string(bytes, start, end);
};
export const instant = orString(millis, timestamptz);
export const instantText = orString(millisText, text);

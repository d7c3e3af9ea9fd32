// Decoders of dates and times. Binary values become what the server prints with DateStyle ISO, IntervalStyle
// postgres and TimeZone UTC: strings, because a Date holds neither microseconds nor infinity nor the year
// 294276.

import { int32 } from './datarow.js';
import { text } from './text.js';
import { size } from './scalars.js';

const { floor } = Math;
const pad = (number, digits = 2) => String(number).padStart(digits, '0');

const MICROS = 86400e6; // of a day
const EPOCH = 946684800000; // 2000-01-01, in a Date's milliseconds

/**
 * A 64-bit number of microseconds as whole days and the rest, exactly; as a number it would not be.
 * @returns {[number, number]} days, rounded down, and microseconds from 0
 */
function split(bytes, off) {
  // A day is 10546875 times 8192 microseconds, and without its last 13 bits the value fits.
  const low = int32(bytes, off + 4);
  const high = int32(bytes, off) * 0x80000 + (low >>> 13);
  const days = floor(high / 10546875);
  return [days, (high - days * 10546875) * 8192 + (low & 8191)];
}

/** 1 or -1 if the 4 or 8 bytes are the greatest or least number of their size, which stand for infinity. */
function infinite(bytes, start, end) {
  const first = int32(bytes, start);
  const rest = end - start === 8 ? int32(bytes, start + 4) : first >> 31 ^ -1;
  return first === 0x7fffffff && rest === -1 ? 1 : first === -0x80000000 && rest === 0 ? -1 : 0;
}

/** The date that is so many days from 2000-01-01, in the proleptic Gregorian calendar. */
function dateOf(days, time = '') {
  // A Date does not hold all the years that PostgreSQL has; every 400 years they repeat.
  const era = floor(days / 146097);
  const date = new Date((days - era * 146097) * 86400000 + EPOCH);
  const year = date.getUTCFullYear() + era * 400;
  const rest = date.toISOString().slice(4, 10) + time;
  return year > 0 ? pad(year, 4) + rest : `${pad(1 - year, 4)}${rest} BC`;
}

/** A time of day, or longer. */
function timeOf(days, micros) {
  const seconds = floor(micros / 1e6);
  return `${pad(days * 24 + floor(seconds / 3600))}:${pad(floor(seconds / 60) % 60)}:${pad(seconds % 60)}${
    `.${pad(micros % 1e6, 6)}`.replace(/\.?0+$/, '')}`;
}

const infinity = sign => sign > 0 ? 'infinity' : '-infinity';

/** A decoder of dates, or with a zone of timestamps. */
const stampOf = zone => (bytes, start, end) => {
  size(start, end, zone === undefined ? 4 : 8);
  const sign = infinite(bytes, start, end);
  if (sign) return infinity(sign);
  if (zone === undefined) return dateOf(int32(bytes, start));
  const [days, micros] = split(bytes, start);
  return dateOf(days, ` ${timeOf(0, micros)}${zone}`);
};

export const date = stampOf();
export const timestamp = stampOf('');
export const timestamptz = stampOf('+00');

export function time(bytes, start, end) {
  size(start, end, 8);
  return timeOf(...split(bytes, start)); // 24:00:00 is one
}

export function timetz(bytes, start, end) {
  size(start, end, 12);
  const west = int32(bytes, start + 8);
  const zone = timeOf(0, Math.abs(west) * 1e6).replace(/(:00){1,2}$/, '');
  return time(bytes, start, start + 8) + (west > 0 ? '-' : '+') + zone;
}

export function interval(bytes, start, end) {
  size(start, end, 16);
  const days = int32(bytes, start + 8);
  const months = int32(bytes, start + 12);
  const sign = infinite(bytes, start, start + 8);
  if (sign && sign === infinite(bytes, start + 8, start + 12) && days === months) return infinity(sign);
  let result = '';
  let before = 0; // the part before this one
  const part = (value, unit) => {
    if (!value) return;
    result += `${before < 0 && value > 0 ? '+' : ''}${value} ${unit}${value === 1 ? ' ' : 's '}`;
    before = value;
  };
  part(Math.trunc(months / 12), 'year');
  part(months % 12, 'mon');
  part(days, 'day');
  let [whole, micros] = split(bytes, start);
  if (!whole && !micros && result) return result.trimEnd();
  const negative = whole < 0;
  // Rounded down, as it is, it would be a negative day and a positive time.
  if (negative) [whole, micros] = micros ? [-1 - whole, MICROS - micros] : [-whole, 0];
  return `${result}${negative ? '-' : before < 0 ? '+' : ''}${timeOf(whole, micros)}`;
}

/** A date, timestamp or timestamptz as the server prints it with DateStyle ISO. */
const ISO = /^(\d{3,7})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):([\d.]+)(?:([+-]\d\d)(?::(\d\d)(?::(\d\d))?)?)?)?( BC)?$/;

/**
 * @returns {Date|number} Infinity and -Infinity for infinity; what has no time zone is taken for UTC;
 *   microseconds are cut off; an Invalid Date after the year 275760, and for a DateStyle other than ISO
 */
export function toDateText(bytes, start, end) {
  const string = end - start > 40 ? '' : text(bytes, start, end);
  if (string.endsWith('infinity')) return Number(string.replace('i', 'I'));
  const [, year, month, day, hour = 0, minute = 0, second = 0, zone = '0', minutes = 0, seconds = 0, bc] =
    ISO.exec(string) || [];
  const east = Math.abs(zone) * 3600 + minutes * 60 + Number(seconds);
  const result = new Date(0);
  result.setUTCFullYear(bc ? 1 - year : year, month - 1, day);
  result.setUTCHours(hour, minute, zone[0] === '-' ? east : -east, floor(second * 1000 + 0.0005));
  return result;
}

/** @returns {Date|number} as toDateText */
export function toDate(bytes, start, end) {
  const isDate = end - start === 4;
  size(start, end, isDate ? 4 : 8);
  const sign = infinite(bytes, start, end);
  if (sign) return sign * Infinity;
  const [days, micros] = isDate ? [int32(bytes, start), 0] : split(bytes, start);
  return new Date(days * 86400000 + floor(micros / 1000) + EPOCH);
}

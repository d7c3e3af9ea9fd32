'use strict';

// Parameter values as node-postgres converts them, quoting, and `defaults`.

const { array } = require('../..');
const { inYear, isDate, quoted: escapeIdentifier } = require('../core/protocol');
const { bytesOf, types } = require('./types');

const defaults = {
  host: 'localhost',
  port: 5432,
  user: process.env.USER ?? process.env.USERNAME,
  password: null,
  ssl: false,
  max: 10,
  idleTimeoutMillis: 30000,
  binary: false,
  rows: 0,
  client_encoding: '',
  /** Whether a Date is sent in UTC instead of local time, which is another value for a column without time zone. */
  parseInputDatesAsUTC: false,
  /** Whether int8 is read as a number, which may lose digits, instead of a string. */
  set parseInt8(asNumber) {
    const parse = asNumber ? Number : String;
    types.setTypeParser(20, parse);
    types.setTypeParser(1016, text => types.arrayParser.create(text, parse).parse());
  }
};

/** Milliseconds of 400 years, after which dates repeat. */
const CYCLE = 146097 * 86400000;

/** A time in milliseconds, perhaps beyond those of a Date. */
function timestampText(time, zone) {
  const cycles = Math.floor(time / CYCLE); // since 1970
  const text = new Date(time - cycles * CYCLE).toISOString();
  return inYear(Number(text.slice(0, 4)) + 400 * cycles, text.slice(4, -1) + zone);
}

const two = number => String(number).padStart(2, '0');

/** A date that PostgreSQL reads for every date type: in local time with its offset, or in UTC. */
function dateText(date) {
  if (Number.isNaN(date.getTime())) throw new TypeError('a value is an invalid Date: PostgreSQL has none');
  if (defaults.parseInputDatesAsUTC) return timestampText(date.getTime(), '+00:00');
  // Seconds, which `getTimezoneOffset` rounds to minutes.
  const ofDay = 3600 * date.getHours() + 60 * date.getMinutes() + date.getSeconds();
  let offset = ofDay - (3600 * date.getUTCHours() + 60 * date.getUTCMinutes() + date.getUTCSeconds());
  if (date.getDate() !== date.getUTCDate()) offset -= Math.sign(offset) * 86400;
  const size = Math.abs(offset);
  const seconds = size % 60 === 0 ? '' : `:${two(size % 60)}`;
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(size / 3600))}:${two(Math.floor(size / 60) % 60)}${seconds}`;
  return timestampText(date.getTime() + 1000 * offset, zone);
}

/** A hole of a list is NULL. */
const prepareElements = values =>
  Array.from(values, each => (Array.isArray(each) ? prepareElements(each) : prepareValue(each)));

/** Lists of nothing but empty lists are as in pg: `{}`, PostgreSQL's one empty array, would be an object for json. */
const nested = list => `{${list.map(nested)}}`;

function listText(list) {
  const text = array(prepareElements(list));
  return text === '{}' ? nested(list) : text;
}

/** @param {object[]} seen the objects whose `toPostgres` has led here */
function convert(value, seen) {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object') return value.toString();
  if (ArrayBuffer.isView(value)) return Buffer.isBuffer(value) ? value : bytesOf(value);
  if (isDate(value)) return dateText(value);
  if (Array.isArray(value)) return listText(value);
  if (typeof value.toPostgres !== 'function') return JSON.stringify(value);
  if (seen.includes(value)) throw new Error(`circular reference detected while preparing "${value}" for query`);
  return convert(value.toPostgres(prepareValue), [...seen, value]);
}

/**
 * Converts a value: bytes stay, arrays become array literals, objects with a method `toPostgres` what it returns, other
 * objects JSON. It has one parameter, since pg-cursor passes it to `map`.
 */
function prepareValue(value) {
  return convert(value, []);
}

function escapeLiteral(text) {
  if (typeof text !== 'string') return "''";
  return `${text.includes('\\') ? ' E' : ''}'${text.replace(/['\\]/g, '$&$&')}'`;
}

module.exports = { defaults, escapeIdentifier, escapeLiteral, prepareValue };

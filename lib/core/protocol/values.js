'use strict';

const { tagOf } = require('../../../client-parser/text.js');
const { isPiece } = require('./piece');

/** Describes a value for an error, which never shows the value itself. */
function kindOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return isPiece(value) ? 'a piece of SQL' : 'an array';
  if (typeof value !== 'object') return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
  // A column, which is a getter, can have the name `constructor`.
  const name = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(value) ?? {}, 'constructor')?.value?.name;
  return name === undefined || name === 'Object' ? 'an object' : `an object of class ${name}`;
}

/** @returns {TypeError} with the SQLSTATE that the server would give */
const invalid = (message, code) => Object.assign(new TypeError(message), { code });

/** What to write if a query's text is not a string; '' if that cannot be guessed. */
function textHint(text) {
  if (Array.isArray(text?.raw))
    return ': query is no template tag; write query(sql`…`) with sql of quickgres/sql, or query(text, values)';
  if (isPiece(text)) return ': pass its text, piece[0], and its values, piece[1], if the method takes any';
  if (Array.isArray(text)) return ': write query(text, values), or query(sql`…`) with sql of quickgres/sql';
  return typeof text?.text === 'string'
    ? ': write query(text, values) in place of query({ text, values }), or use quickgres/pg'
    : '';
}

/** @throws {TypeError} naming `what` if the text is not a string or contains a null byte */
function checkText(text, what) {
  if (typeof text !== 'string')
    throw new TypeError(`${what} must be a string, not ${kindOf(text)}${what === 'text' ? textHint(text) : ''}`);
  if (text.includes('\0'))
    throw invalid(`${what} has a null byte at ${text.indexOf('\0')}, which PostgreSQL cannot take`, '22021');
}

/** @throws {TypeError|RangeError} unless `values` is a row or an array of at most 65535 values */
function checkValues(values) {
  if (Array.isArray(values)) {
    if (values.length > 65535) throw new RangeError(`${values.length} values: a query takes at most 65535 parameters`);
  } else if (!(isRow(values) && values.rowBuffer.length >= 7)) {
    throw new TypeError(
      `values must be an array or a row, not ${kindOf(values)}: ` +
        (typeof values === 'function'
          ? 'query takes no callback, but returns a promise'
          : 'all values go into one array, query(text, [value, …], options)')
    );
  }
}

/** @returns {string} a name as an identifier of SQL */
const quoted = name => `"${name.replaceAll('"', '""')}"`;

/** 24 November 4714 BC, where the dates of PostgreSQL begin: the day, and the moment. */
const FIRST_DAY = '-11-24';
const FIRST = -210866803200000;
const TOO_EARLY = 'is before 24 November 4714 BC, where the dates of PostgreSQL begin';

/** An ISO 8601 text of Temporal as PostgreSQL reads it: there a year may have a sign, and there is a year 0. */
function isoText(text, what) {
  const [, digits, rest] = /^([-+]?\d+)(-.*)$/.exec(text);
  const year = Number(digits);
  if (year < -4713 || (year === -4713 && rest < FIRST_DAY)) throw invalid(`${what} ${TOO_EARLY}`, '22008');
  return inYear(year, rest);
}

const inYear = (year, rest) => `${String(year > 0 ? year : 1 - year).padStart(4, '0')}${rest}${year > 0 ? '' : ' BC'}`;

const DAY = 86400000;

/** Codes of digits. */
const tens = number => 48 + ((number / 10) | 0);
const ones = number => 48 + (number % 10);

/** Days of 400 years, after which dates repeat. */
const CYCLE = 146097;

/**
 * What `toISOString` makes of a time with a year from 1 to 9999, in a sixth of the time.
 * https://howardhinnant.github.io/date_algorithms.html#civil_from_days
 * @returns {string|undefined} undefined for another year, and NaN
 */
function usualText(time) {
  const days = Math.floor(time / DAY);
  const era = Math.floor((days + 719468) / CYCLE);
  const day = days + 719468 - era * CYCLE; // of 400 years that begin with March
  const yearOfEra = ((day - ((day / 1460) | 0) + ((day / 36524) | 0) - ((day / 146096) | 0)) / 365) | 0;
  const dayOfYear = day - (365 * yearOfEra + ((yearOfEra / 4) | 0) - ((yearOfEra / 100) | 0));
  const fromMarch = ((5 * dayOfYear + 2) / 153) | 0;
  const year = yearOfEra + era * 400 + (fromMarch > 9 ? 1 : 0);
  if (!(year > 0 && year < 10000)) return undefined;
  const month = fromMarch > 9 ? fromMarch - 9 : fromMarch + 3;
  const dayOfMonth = dayOfYear - (((153 * fromMarch + 2) / 5) | 0) + 1;
  const rest = time - days * DAY;
  const [c, h, m, s] = [(year / 100) | 0, (rest / 3600000) | 0, ((rest / 60000) | 0) % 60, ((rest / 1000) | 0) % 60];
  const ms = rest % 1000;
  // One flat string: a template makes a tree, which costs three times as much.
  // prettier-ignore
  return String.fromCharCode(
    tens(c), ones(c), tens(year % 100), ones(year), 45, tens(month), ones(month), 45, tens(dayOfMonth), ones(dayOfMonth),
    84, tens(h), ones(h), 58, tens(m), ones(m), 58, tens(s), ones(s), 46, 48 + ((ms / 100) | 0), tens(ms % 100), ones(ms), 90
  );
}

/** @returns {string} a time in milliseconds as PostgreSQL reads it, of any year */
function timestampText(time, zone = 'Z') {
  const cycles = Math.floor(time / (CYCLE * DAY)); // since 1970
  const text = usualText(time - cycles * CYCLE * DAY);
  return inYear(Number(text.slice(0, 4)) + 400 * cycles, text.slice(4, -1) + zone);
}

function dateText(date, what) {
  const time = date.getTime();
  if (Number.isNaN(time)) throw invalid(`${what} is an invalid Date`, '22007');
  if (time < FIRST) throw invalid(`${what} ${TOO_EARLY}`, '22008');
  return usualText(time) ?? timestampText(time);
}

const isDate = value => tagOf(value) === 'Date';
const isUrl = value => tagOf(value) === 'URL';

/** Whether a value is a Uint8Array, such as a Buffer. */
const isBytes = value => ArrayBuffer.isView(value) && tagOf(value) === 'Uint8Array';

/** Whether a value is a struct of a result: its own bytes are sent. */
const isRow = value => typeof value === 'object' && value !== null && isBytes(value.rowBuffer);

/** For PostgreSQL -0 is not 0, but `String(-0)` is '0'. */
const numberText = value => (Object.is(value, -0) ? '-0' : `${value}`);

/** @returns {string} bytes as the text of a bytea */
const hexText = ({ buffer, byteOffset, length }) => `\\x${Buffer.from(buffer, byteOffset, length).toString('hex')}`;

/** PostgreSQL takes no names of zones and calendars. */
const NO_NAMES = { calendarName: 'never', timeZoneName: 'never' };

const temporalText = (value, what) => isoText(value.toString(NO_NAMES), what);

/** The texts of classes other than JSON, by their tags. */
const TEXTS = {
  __proto__: null,
  Date: dateText,
  URL: value => value.href,
  'Temporal.Instant': temporalText,
  'Temporal.PlainDate': temporalText,
  'Temporal.PlainDateTime': temporalText,
  'Temporal.PlainTime': value => value.toString(),
  'Temporal.ZonedDateTime'(value, what) {
    if (/^.(?:1[6-9]|2)/.test(value.offset))
      refuse(what, value, 'PostgreSQL takes offsets of less than 16 hours: pass value.toInstant()');
    const text = value.toString(NO_NAMES);
    // `toString` has rounded an offset with seconds to minutes.
    return isoText(value.offset?.length > 6 ? text.slice(0, -6) + value.offset : text, what);
  },
  'Temporal.Duration'(value) {
    const text = value.toString();
    // PostgreSQL takes no sign in front of P.
    return text.startsWith('-') ? text.slice(1).replace(/\d+(?:\.\d+)?/g, '-$&') : text;
  },
  'Temporal.PlainYearMonth': (value, what) =>
    refuse(what, value, 'pass String(value), or value.toPlainDate({ day: 1 })'),
  'Temporal.PlainMonthDay': (value, what) =>
    refuse(what, value, 'pass String(value), or value.toPlainDate({ year: 2000 })')
};

/** What to write in place of a value that is not supported, by its tag. JSON would lose these values. */
const HINTS = {
  __proto__: null,
  Promise: 'await it',
  Map: 'pass Object.fromEntries(map) as JSON, or [...map.keys()] as an array',
  Set: 'pass [...set] as an array',
  RegExp: 'pass value.source',
  ArrayBuffer: 'pass Buffer.from(value)',
  SharedArrayBuffer: 'pass Buffer.from(value)',
  DataView: 'pass Buffer.from(value.buffer, value.byteOffset, value.byteLength)'
};
for (const name of ['Number', 'String', 'Boolean', 'BigInt']) HINTS[name] = 'pass value.valueOf()';
const OF_NUMBERS =
  'pass [...value] as an array, or Buffer.from(value.buffer, value.byteOffset, value.byteLength) as bytes';
const OF_OBJECT = 'pass String(value) as text, or { ...value } as JSON';

/** @returns {string|undefined} what to write in place of a value that is refused even if JSON is wanted */
function hintFor(value) {
  if (value === undefined) return 'pass null for NULL';
  if (typeof value === 'function') return 'call it, and pass what it returns';
  if (typeof value !== 'object') return 'pass String(value)';
  if (isPiece(value)) return 'put it into sql`…`, and that into query(sql`…`)';
  return HINTS[tagOf(value)] ?? (ArrayBuffer.isView(value) ? OF_NUMBERS : undefined);
}

/** @throws {TypeError} with the value's kind, and what to write instead */
function refuse(what, value, hint = hintFor(value) ?? OF_OBJECT) {
  throw new TypeError(`${what} is ${kindOf(value)}: ${hint}`);
}

/** Whether an object is JSON: one without a class, of any realm, or with `toJSON`. */
const isJson = value =>
  typeof value.toJSON === 'function' ||
  Object.getPrototypeOf(Object.getPrototypeOf(value) ?? Object.prototype) === null;

/** @throws {TypeError} for a value without JSON */
function jsonText(value, what) {
  let text, cause;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    cause = error;
  }
  return text ?? refuse(what, value, cause?.message ?? 'it has no JSON');
}

/** @throws {TypeError} for an object of a class that JSON would lose */
function refuseLost(value, what) {
  if (typeof value !== 'object' || typeof value?.toJSON === 'function') return;
  if (HINTS[tagOf(value)] !== undefined || ArrayBuffer.isView(value)) refuse(what, value);
}

/** @returns {string|undefined} the text of an object which is no JSON, list or bytes */
function objectText(value, what) {
  const textOf = TEXTS[tagOf(value)];
  return textOf === undefined ? refuseLost(value, what) : textOf(value, what);
}

/**
 * The text of a value that is neither a list, nor bytes, nor null.
 * @param {string} what its name in an error
 */
function textOf(value, what) {
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') {
    if (value.includes('\0')) checkText(value, what);
    return value;
  }
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return refuse(what, value);
  return objectText(value, what) ?? (isJson(value) ? jsonText(value, what) : refuse(what, value));
}

/** The property of a List with its items, for each copy of the library. */
const ITEMS = Symbol.for('quickgres.list');

/**
 * A list of parameters, as it was when it was read. It is an array or JSON: the type of the parameter decides, which
 * may be known later. Its items are strings, numbers, bigints, booleans, null, lists of these, and what has two texts:
 * `{ array, json, wrong }`, where `wrong` is the error if one of them is missing.
 */
class List {
  constructor(list, what) {
    this[ITEMS] = itemsOf(list, what, 1);
  }

  toJSON() {
    return this.toPostgres();
  }

  /** For quickgres/pg, which has no types of parameters. */
  toPostgres() {
    return listText(this, false, 'the list');
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `List ${inspect(this[ITEMS], options)}`;
  }
}

const isList = value => value?.[ITEMS] !== undefined;

/** One pass, which names an item only for those that may need it: a third of the time of a list of 1,000. */
function itemsOf(list, what, depth) {
  if (isPiece(list)) refuse(what, list);
  if (depth > 6) {
    const wrong = `${what} is nested deeper than the 6 dimensions of a PostgreSQL array`;
    try {
      return { json: JSON.stringify(list), wrong };
    } catch (cause) {
      throw new TypeError(wrong, { cause });
    }
  }
  const items = [...list];
  for (let i = 0; i < items.length; i++) {
    const value = items[i];
    if (typeof value === 'number' || value === null || (typeof value === 'string' && !value.includes('\0'))) continue;
    items[i] = (value instanceof Date && usualText(value.getTime())) || itemOf(value, `${what}[${i}]`, depth + 1);
  }
  return items;
}

function itemOf(value, what, depth) {
  if (typeof value === 'bigint' || typeof value === 'boolean') return value;
  if (typeof value !== 'object') return textOf(value, what); // or throws
  if (Array.isArray(value)) return itemsOf(value, what, depth);
  if (isList(value)) return value[ITEMS];
  if (isBytes(value))
    return { array: hexText(value), wrong: `${what} is bytes, which JSON has not: pass value.toString('base64')` };
  const text = objectText(value, what);
  if (text !== undefined) return { array: text, json: JSON.stringify(value) };
  const json = jsonText(value, what);
  return isJson(value) ? { array: json, json } : { json, wrong: `${what} is ${kindOf(value)}: ${OF_OBJECT}` };
}

const quoteItem = text => (/["\\]/.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`);

/** @throws {TypeError} for items that no array has */
function arrayText(items) {
  let elements = '';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    let text;
    if (typeof item === 'string') text = quoteItem(item);
    else if (typeof item === 'number') text = numberText(item);
    else if (item === null) text = 'NULL';
    else if (typeof item !== 'object') text = String(item);
    else if (Array.isArray(item)) text = arrayText(item);
    else if (item.array === undefined) throw new TypeError(item.wrong);
    else text = quoteItem(item.array);
    elements += `,${text}`;
  }
  // PostgreSQL has one empty array for all dimensions.
  return /^(?:,\{\})*$/.test(elements) ? '{}' : `{${elements.slice(1)}}`;
}

const isJsonItem = item => typeof item !== 'bigint' && (typeof item !== 'object' || item === null);

/** @throws {TypeError} for items that JSON has not */
function jsonItem(item, what) {
  if (Array.isArray(item) && item.every(isJsonItem)) return JSON.stringify(item);
  if (Array.isArray(item)) return `[${item.map((each, i) => jsonItem(each, `${what}[${i}]`)).join()}]`;
  if (typeof item === 'bigint') return refuse(what, item, 'JSON has none: pass String(value)');
  if (typeof item !== 'object' || item === null) return JSON.stringify(item);
  if (item.json === undefined) throw new TypeError(item.wrong);
  return item.json;
}

/** @param {boolean} [isJson] whether its type is json; undefined if that is not known: then json refuses the text */
function listText(list, isJson, what) {
  if (isJson) return jsonItem(list[ITEMS], what);
  const text = arrayText(list[ITEMS]);
  return text === '{}' && isJson === undefined ? '{{}}' : text;
}

/** @returns {string|Uint8Array|List|null} a value as it is sent; bytes are not copied */
function readValue(value, what) {
  if (value === null) return null;
  if (typeof value !== 'object') return textOf(value, what);
  if (Array.isArray(value)) return new List(value, what);
  return isList(value) || isBytes(value) ? value : textOf(value, what);
}

/** Reads values before anything is written: toJSON is the caller's code, and may send a query of its own. */
function readValues(values) {
  try {
    return Array.from(values, (value, index) =>
      typeof value !== 'object' ? value : readValue(value, `values[${index}]`)
    );
  } catch (error) {
    Error.captureStackTrace?.(error, readValues); // a stack has ten lines: without these it reaches the caller
    throw error;
  }
}

/**
 * Copies parameter values, so that the caller may change them. It accepts and rejects the same values as
 * MessageWriter.bind.
 * @param {number} [limit] of the bytes of all Buffers
 * @returns {Array|object|null} null above the limit
 */
function snapshot(values, limit = Infinity) {
  if (!Array.isArray(values)) {
    const { rowBuffer, dataFormat, rowParser } = values;
    return { rowBuffer: Buffer.from(rowBuffer), dataFormat, rowParser };
  }
  let bytes = 0;
  const copies = Array.from(values, (value, index) => {
    const read = readValue(value, `values[${index}]`);
    if (!ArrayBuffer.isView(read)) return read;
    bytes += read.length;
    return bytes > limit ? read : Buffer.from(read);
  });
  return bytes > limit ? null : copies;
}

/**
 * The types of a struct in binary format: the bytes are those of no other types.
 * @param {number[]} [given] the caller's
 * @throws {TypeError} if they differ
 */
function typesOfRow({ dataFormat, rowParser }, given = []) {
  if (dataFormat !== 1) return given;
  if (rowParser === undefined) throw new TypeError('values is a row in binary format without a rowParser, its types');
  return rowParser.columns.map(({ name, typeOid }, i) => {
    if (given[i] > 0 && given[i] !== typeOid)
      throw new TypeError(`paramTypes[${i}] is ${given[i]}, but ${name} of the row is ${typeOid}, in binary format`);
    return typeOid;
  });
}

const keyOfValue = value =>
  value === null
    ? null
    : typeof value !== 'object'
      ? textOf(value)
      : isList(value)
        ? [keyOfItem(value[ITEMS])]
        : { bytes: Buffer.from(value).toString('latin1') };

/** @returns {*} JSON that differs for items with other texts: numbers have texts that JSON has not */
const keyOfItem = item =>
  typeof item === 'number' || typeof item === 'bigint'
    ? { [typeof item]: numberText(item) }
    : Array.isArray(item)
      ? item.map(keyOfItem)
      : item;

/**
 * @returns {string} which is equal for no values that are sent as other bytes. @param {Array|object} values a snapshot
 */
const keyOf = values =>
  JSON.stringify(
    Array.isArray(values)
      ? values.map(keyOfValue)
      : { row: keyOfValue(values.rowBuffer), format: values.dataFormat, types: typesOfRow(values) }
  );

/**
 * The literal of a PostgreSQL array, as `query` makes it of a list.
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
function array(values) {
  if (!Array.isArray(values)) throw new TypeError(`array takes an array, not ${kindOf(values)}`);
  return arrayText(itemsOf(values, 'values', 1));
}

module.exports = {
  array,
  checkText,
  checkValues,
  hexText,
  isBytes,
  isDate,
  isList,
  isRow,
  isUrl,
  jsonText,
  keyOf,
  kindOf,
  listText,
  numberText,
  quoted,
  readValue,
  readValues,
  refuse,
  refuseLost,
  snapshot,
  tagOf,
  textOf,
  timestampText,
  typesOfRow
};

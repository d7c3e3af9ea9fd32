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
  return !name || name === 'Object' ? 'an object' : `an object of class ${name}`;
}

/** @returns {TypeError} with the SQLSTATE that the server would give */
const invalid = (message, code) => Object.assign(new TypeError(message), { code });

/** What to write if a query's text is not a string; '' if that cannot be guessed. */
function textHint(text) {
  if (isPiece(text)) return ': pass its text, piece[0], and its values, piece[1], if the method takes any';
  const tag = text?.raw ? 'query is no template tag; ' : '';
  if (Array.isArray(text)) return `: ${tag}write query(text, values), or query(sql\`…\`) with sql of quickgres/sql`;
  return typeof text?.text === 'string'
    ? ': write query(text, values) in place of query({ text, values }), or use quickgres/pg'
    : '';
}

/** Whether a value is a string that PostgreSQL can take. */
const isText = value => typeof value === 'string' && !value.includes('\0') && value.isWellFormed();

/** @throws {TypeError} naming `what` if the text is not a string, or has what PostgreSQL cannot take */
function checkText(text, what) {
  if (isText(text)) return;
  if (typeof text !== 'string')
    throw new TypeError(`${what} must be a string, not ${kindOf(text)}${what === 'text' ? textHint(text) : ''}`);
  const at = text.search(/[\0\ud800-\udfff]/u);
  const wrong = text[at] === '\0' ? 'a null byte' : 'half of a surrogate pair';
  throw invalid(`${what} has ${wrong} at ${at}, which PostgreSQL cannot take`, '22021');
}

/** Whether a value is immutable, and is sent as it is. */
const isPlain = value => typeof value === 'number' || value === null || isText(value);

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

/** @returns {string} a date as PostgreSQL reads it; there is a year 0 in ISO 8601 */
const inYear = (year, rest) => `${String(year > 0 ? year : 1 - year).padStart(4, '0')}${rest}${year > 0 ? '' : ' BC'}`;

/** An ISO 8601 text as PostgreSQL reads it: there a year may have a sign. */
function isoText(text, what) {
  if (text >= '0001') return text; // without a sign
  const [, digits, rest] = /^([-+]?\d+)(-.*)$/.exec(text);
  const year = Number(digits);
  if (year < -4713 || (year === -4713 && rest < '-11-24'))
    throw invalid(`${what} is before 24 November 4714 BC, the first date of PostgreSQL`, '22008');
  return inYear(year, rest);
}

const { getTime, toISOString, toJSON } = Date.prototype;

function dateText(date, what) {
  if (Number.isNaN(getTime.call(date))) throw invalid(`${what} is an invalid Date`, '22007');
  return isoText(toISOString.call(date), what);
}

const isDate = value => tagOf(value) === 'Date';

/** Whether a value is an object of names and values: no list, Map or promise. The exports of a module are one. */
function isRecord(value) {
  const tag = tagOf(value);
  return tag === 'Object' || tag === 'Module';
}

/**
 * @param {Iterable<string>} names those that count
 * @returns {string[]} the keys of an object of options
 * @throws {TypeError} if it inherits or hides one of the names: a copy, such as `with` makes, would lack it
 */
function keysOf(object, names) {
  const keys = Object.keys(object);
  const isUsual =
    Object.getPrototypeOf(object) === Object.prototype && Object.getOwnPropertyNames(object).length === keys.length;
  // Of a usual object no name is looked up, which would take ten times as long.
  for (const name of isUsual ? [] : names)
    if (name in object && !keys.includes(name)) throw new TypeError(`${name} is inherited or hidden`);
  return keys;
}

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
  URL: value => value.href,
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
  }
};

for (const name of ['Instant', 'PlainDate', 'PlainDateTime', 'PlainTime']) TEXTS[`Temporal.${name}`] = temporalText;
for (const [name, rest] of Object.entries({ YearMonth: 'day: 1', MonthDay: 'year: 2000' }))
  TEXTS[`Temporal.Plain${name}`] = (value, what) =>
    refuse(what, value, `pass String(value), or value.toPlainDate({ ${rest} })`);

const AS_BYTES = 'Buffer.from(value.buffer, value.byteOffset, value.byteLength)';

/** What to write in place of a value that is not supported, by its tag. JSON would lose these values. */
const HINTS = {
  __proto__: null,
  Promise: 'await it',
  Map: 'pass Object.fromEntries(map) as JSON, or [...map.keys()] as an array',
  Set: 'pass [...set] as an array',
  RegExp: 'pass value.source',
  ArrayBuffer: 'pass Buffer.from(value)',
  SharedArrayBuffer: 'pass Buffer.from(value)',
  DataView: `pass ${AS_BYTES}`
};
for (const name of ['Number', 'String', 'Boolean', 'BigInt']) HINTS[name] = 'pass value.valueOf()';
const OF_NUMBERS = `pass [...value] as an array, or ${AS_BYTES} as bytes`;
const OF_OBJECT = 'pass String(value) as text, or { ...value } as JSON';

/** @returns {string} what to write in place of a value */
function hintFor(value) {
  if (value === undefined) return 'pass null for NULL';
  if (typeof value === 'function') return 'call it, and pass what it returns';
  if (typeof value !== 'object') return 'pass String(value)';
  if (isPiece(value)) return 'put it into sql`…`, and that into query(sql`…`)';
  return HINTS[tagOf(value)] ?? (ArrayBuffer.isView(value) ? OF_NUMBERS : OF_OBJECT);
}

/** @throws {TypeError} with the value's kind, and what to write instead */
function refuse(what, value, hint = hintFor(value)) {
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

/**
 * @returns {Uint8Array} the value
 * @throws {TypeError} if its memory has gone to another thread: it seems to be empty
 */
function bytesOf(value, what) {
  try {
    value.at(0);
  } catch (error) {
    refuse(what, value, error.message);
  }
  return value;
}

/** @returns {string|undefined} the text of an object which is no JSON, list or bytes */
function objectText(value, what) {
  const tag = tagOf(value);
  if (tag === 'Object') return undefined;
  if (tag === 'Date') return dateText(value, what); // the usual ones cost no look-up
  return TEXTS[tag]?.(value, what) ?? refuseLost(value, what);
}

/**
 * The text of a value that is neither a list, nor bytes, nor null.
 * @param {string} what its name in an error
 */
function textOf(value, what) {
  if (isText(value)) return value;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return checkText(value, what); // throws
  if (typeof value !== 'object') return refuse(what, value);
  return objectText(value, what) ?? (isJson(value) ? jsonText(value, what) : refuse(what, value));
}

/** The property of a List with its items, for each copy of the library. */
const ITEMS = Symbol.for('quickgres.list');

/**
 * A list of parameters, as it was when it was read. It is an array or JSON: the type of the parameter decides, which
 * may be known later. Its items are what both write alike, strings in quotes, and lists of items; null; and any other
 * as the two texts `{ array, json, wrong }`, where `wrong` is the error if one of them is missing.
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

/** Whether a list has no item, at any depth: as an array it is {}, which JSON takes as well. */
const isEmptyList = list => list[ITEMS].flat(Infinity).length === 0;

/** Levels of lists: of a PostgreSQL array, and of JSON. PostgreSQL reads a few thousand. */
const DIMENSIONS = 6;
const LEVELS = 1000;

/** Whether arrays and JSON write an item alike. */
function isAlike(value) {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === 'string'
    ? !/[^ !#-[\]-~\xa0-\ud7ff\ue000-\u{10ffff}]/u.test(value)
    : typeof value === 'boolean';
}

/** One pass, which names an item only for those that may need it: a third of the time of a list of 1,000. */
function itemsOf(list, what, level) {
  if (isPiece(list)) refuse(what, list);
  if (level > LEVELS) throw new TypeError(`${what} is nested deeper than ${LEVELS} lists`);
  const items = [...list];
  for (let i = 0; i < items.length; i++)
    if (!(isAlike(items[i]) || items[i] === null)) items[i] = itemOf(items[i], what, i, level);
  return items;
}

function itemOf(value, list, index, level) {
  if (typeof value === 'bigint') return { array: `${value}`, wrong: NO_BIGINT };
  if (isList(value)) return value[ITEMS];
  const what = level > DIMENSIONS ? list : `${list}[${index}]`;
  if (isBytes(value)) return { array: `"\\${hexText(bytesOf(value, what))}"`, wrong: NO_BYTES };
  if (Array.isArray(value)) return itemsOf(value, what, level + 1);
  const text = typeof value === 'object' ? objectText(value, what) : textOf(value, what);
  if (text?.length === 24 && value.toJSON === toJSON) return text; // JSON.stringify would make it once more
  const json = jsonText(value, what);
  if (text === undefined && !isJson(value)) return { json, wrong: `is ${kindOf(value)}: ${OF_OBJECT}` };
  return { array: typeof value === 'number' ? text : quoteItem(text ?? json), json };
}

const NO_BIGINT = 'is a bigint, which JSON has not: pass String(value)';
const NO_BYTES = "is bytes, which JSON has not: pass value.toString('base64')";

const quoteItem = text => `"${text.replace(/["\\]/g, '\\$&')}"`;

/** @throws {TypeError} for items that an array or JSON has not */
function textOfItems(items, isJson, what, level = 1) {
  if (!isJson && level > DIMENSIONS)
    throw new TypeError(`${what} is nested deeper than the ${DIMENSIONS} dimensions of a PostgreSQL array`);
  let text = '';
  for (let i = 0; i < items.length; i++) {
    const item = items[i];
    let each = item;
    if (typeof item === 'string') each = `"${item}"`;
    else if (item === null) each = isJson ? 'null' : 'NULL';
    else if (Array.isArray(item)) each = textOfItems(item, isJson, `${what}[${i}]`, level + 1);
    else if (typeof item === 'object') each = item[isJson ? 'json' : 'array'];
    if (each === undefined) throw new TypeError(`${what}[${i}] ${item.wrong}`);
    text += `,${each}`;
  }
  if (isJson) return `[${text.slice(1)}]`;
  // PostgreSQL has one empty array for all dimensions.
  return /^(?:,\{\})*$/.test(text) ? '{}' : `{${text.slice(1)}}`;
}

/**
 * @param {boolean} [isJson] whether its type is json; undefined if that is not known: then json refuses an empty list.
 * A form feed is white space in an array of every version, and not in JSON.
 */
function listText(list, isJson, what) {
  const text = textOfItems(list[ITEMS], isJson, what);
  return text === '{}' && isJson === undefined ? '{\f}' : text;
}

/** @returns {string|Uint8Array|List|null} a value as it is sent; bytes are not copied */
function readValue(value, what) {
  if (Array.isArray(value)) return new List(value, what);
  if (isBytes(value)) return bytesOf(value, what);
  return value === null || isList(value) ? value : textOf(value, what);
}

/** @param {function(*): *} [keep] makes a value that does not change */
function readAll(values, keep = value => value) {
  const read = [...values];
  for (let i = 0; i < read.length; i++) if (!isPlain(read[i])) read[i] = keep(readValue(read[i], `values[${i}]`));
  return read;
}

/** Reads values before anything is written: toJSON is the caller's code, and may send a query of its own. */
function readValues(values) {
  try {
    return readAll(values);
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
  const copies = readAll(values, value => {
    if (!ArrayBuffer.isView(value)) return value;
    bytes += value.length;
    return bytes > limit ? value : Buffer.from(value);
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

const keyOfBytes = bytes => ({ bytes: Buffer.from(bytes).toString('latin1') });

function keyOfValue(value) {
  if (isList(value)) return [value[ITEMS]];
  if (ArrayBuffer.isView(value)) return keyOfBytes(value);
  return typeof value === 'number' ? numberText(value) : value;
}

/**
 * @returns {string} which is equal for no values that are sent as other bytes. @param {Array|object} values a snapshot
 */
const keyOf = values =>
  JSON.stringify(
    Array.isArray(values)
      ? values.map(keyOfValue)
      : { row: keyOfBytes(values.rowBuffer), format: values.dataFormat, types: typesOfRow(values) }
  );

/**
 * The literal of a PostgreSQL array, as `query` makes it of a list.
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
function array(values) {
  if (!Array.isArray(values)) throw new TypeError(`array takes an array, not ${kindOf(values)}`);
  return textOfItems(itemsOf(values, 'values', 1), false, 'values');
}

module.exports = {
  array,
  checkText,
  checkValues,
  hexText,
  inYear,
  isBytes,
  isDate,
  isEmptyList,
  isList,
  isPlain,
  isRecord,
  isRow,
  isText,
  isUrl,
  jsonText,
  keyOf,
  keysOf,
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
  typesOfRow
};

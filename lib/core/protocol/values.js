'use strict';

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
  } else if (!(values && values.rowBuffer instanceof Uint8Array && values.rowBuffer.length >= 7)) {
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

/** A Date as PostgreSQL reads a timestamptz: in UTC, including years after 9999 and before Christ. */
function dateText(date, what) {
  if (Number.isNaN(date.getTime())) throw invalid(`${what} is an invalid Date`, '22007');
  const text = date.toISOString();
  const year = date.getUTCFullYear();
  if (year > 0 && year < 10000) return text;
  const rest = text.slice(text.indexOf('-', 1));
  return year > 0 ? `${year}${rest}` : `${String(1 - year).padStart(4, '0')}${rest} BC`;
}

/** Also of another realm, unlike `instanceof`. */
const isDate = value => Object.prototype.toString.call(value) === '[object Date]';

/** For PostgreSQL -0 is not 0, but `String(-0)` is '0'. */
const numberText = value => (Object.is(value, -0) ? '-0' : `${value}`);

/**
 * @returns {string|undefined} the ISO text of a value of Temporal: PostgreSQL takes no name of a zone or calendar, and
 * no sign before P
 */
function temporalText(value) {
  const [, kind] =
    /^\[object Temporal\.(Instant|Plain(?:Date|Time|DateTime)|ZonedDateTime|Duration)\]$/.exec(
      Object.prototype.toString.call(value)
    ) ?? [];
  if (kind === undefined) return undefined;
  const text = value.toString({ calendarName: 'never', timeZoneName: 'never' });
  return text.startsWith('-P') ? text.slice(1).replace(/\d+(?:\.\d+)?/g, '-$&') : text;
}

/** What to write in place of a value that is not supported. */
const HINTS = [
  [Promise, 'await it'],
  [Function, 'call it, and pass what it returns'],
  [Map, 'pass Object.fromEntries(map) as JSON, or [...map.keys()] as an array'],
  [Set, 'pass [...set] as an array'],
  [RegExp, 'pass value.source'],
  [ArrayBuffer, 'pass Buffer.from(value)'],
  [Object.getPrototypeOf(Int8Array), 'pass [...value] as an array, or Buffer.from(value.buffer) as bytes'],
  [Object, 'pass String(value) as text, or { ...value } as JSON']
];

/** @throws {TypeError} with the value's kind, and what to write instead */
function refuse(what, value, hint = HINTS.find(([type]) => value instanceof type)?.[1] ?? 'pass String(value)') {
  throw new TypeError(`${what} is ${kindOf(value)}: ${hint}`);
}

/** Whether an object has no class, in any realm. */
const isPlain = object => Object.getPrototypeOf(Object.getPrototypeOf(object) ?? Object.prototype) === null;

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

/** An empty array that is no JSON. */
const EMPTY = '{{}}';

/**
 * A list of parameters: the texts that PostgreSQL's arrays and json take, of which the type of the parameter decides.
 */
class List {
  #json;
  #array;

  constructor(list, what) {
    this.#array = literal(list, what, 1);
    try {
      this.#json = JSON.stringify(list);
    } catch {
      /* a bigint has no JSON */
    }
  }

  /**
   * @param {boolean} [isJson] undefined if the type is not known yet: then json refuses the text, of an empty list as
   * well
   */
  text(isJson) {
    return isJson ? (this.#json ?? this.#array) : isJson === false || this.#array !== '{}' ? this.#array : EMPTY;
  }

  toJSON() {
    return this.text();
  }

  /** For quickgres/pg, which has no types of parameters. */
  toPostgres() {
    return this.#array;
  }

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return `List ${inspect(this.#array, options)}`;
  }
}

/**
 * The text of a value that is neither a string, nor bytes, nor null. A list is an array of PostgreSQL; a plain object
 * and any other with `toJSON` are JSON.
 * @param {string} what its name in an error
 */
function textOf(value, what) {
  if (value === undefined) return refuse(what, value, 'pass null for NULL');
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value !== 'object') return refuse(what, value);
  if (Array.isArray(value) || value instanceof List) return listOf(value, what).text();
  if (isDate(value)) return dateText(value, what);
  if (value instanceof URL) return value.href;
  const text = temporalText(value);
  if (text !== undefined) return text;
  return typeof value.toJSON === 'function' || isPlain(value) ? jsonText(value, what) : refuse(what, value);
}

/** @returns {List} of an array; throws a TypeError for a list that has no text */
const listOf = (value, what) => (value instanceof List ? value : new List(value, what));

/** A value whose text depends on the type of its parameter stays a List. */
const textOrList = (value, what) =>
  Array.isArray(value) || value instanceof List ? listOf(value, what) : textOf(value, what);

/**
 * Puts texts in the place of lists, Dates and objects, before anything is written: toJSON is the caller's code, and may
 * send a query of its own.
 */
function withTexts(values) {
  try {
    return Array.from(values, (value, index) =>
      typeof value !== 'object' || value === null || value instanceof Uint8Array
        ? value
        : textOrList(value, `values[${index}]`)
    );
  } catch (error) {
    Error.captureStackTrace?.(error, withTexts); // a stack has ten lines: without these it reaches the caller
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
  if (values.rowBuffer !== undefined)
    return { rowBuffer: Buffer.from(values.rowBuffer), dataFormat: values.dataFormat };
  let bytes = 0;
  const copies = Array.from(values, (value, index) => {
    if (value === null) return null;
    if (typeof value === 'string') {
      if (value.includes('\0')) checkText(value, `values[${index}]`);
      return value;
    }
    if (!(value instanceof Uint8Array)) return textOrList(value, `values[${index}]`);
    bytes += value.length;
    return bytes > limit ? value : Buffer.from(value);
  });
  return bytes > limit ? null : copies;
}

function element(value, what, depth) {
  if (Array.isArray(value)) return literal(value, what, depth);
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString('hex')}"`;
  const text = typeof value === 'string' ? value : textOf(value, what);
  if (typeof value !== 'string' && typeof value !== 'object') return text;
  checkText(text, what);
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** One pass, which names an element only for those that may need it: a third of the time of a list of 1,000. */
function literal(values, what, depth) {
  if (isPiece(values)) refuse(what, values, 'put it into sql`…`, and that into query(sql`…`)');
  if (depth > 6) throw new TypeError(`${what} is nested deeper than the 6 dimensions of a PostgreSQL array`);
  let elements = '';
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    let text;
    if (typeof value === 'string' && !/["\\\0]/.test(value)) text = `"${value}"`;
    else if (typeof value === 'number') text = numberText(value);
    else text = value === null ? 'NULL' : element(value, `${what}[${i}]`, depth + 1);
    elements += `,${text}`;
  }
  // PostgreSQL has one empty array for all dimensions.
  return /^(?:,\{\})*$/.test(elements) ? '{}' : `{${elements.slice(1)}}`;
}

/**
 * The literal of a PostgreSQL array, as `query` makes it of a list.
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
function array(values) {
  if (!Array.isArray(values)) throw new TypeError(`array takes an array, not ${kindOf(values)}`);
  return literal(values, 'values', 1);
}

module.exports = {
  List,
  array,
  checkText,
  checkValues,
  isDate,
  jsonText,
  kindOf,
  numberText,
  quoted,
  refuse,
  snapshot,
  textOf,
  textOrList,
  withTexts
};

'use strict';

/** Describes a value for an error, which never shows the value itself. */
function kindOf(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (typeof value !== 'object') return typeof value === 'undefined' ? 'undefined' : `a ${typeof value}`;
  // A column, which is a getter, can have the name `constructor`.
  const name = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(value) ?? {}, 'constructor')?.value?.name;
  return name === undefined || name === 'Object' ? 'an object' : `an object of class ${name}`;
}

/** @returns {TypeError} with the SQLSTATE that the server would give */
const invalid = (message, code) => Object.assign(new TypeError(message), { code });

/** What to write if a query's text is not a string; '' if that cannot be guessed. */
function textRemedy(text) {
  if (Array.isArray(text?.raw)) return ': query is no template tag; write query(...sql`…`) with sql of quickgres/sql, or query(text, values)';
  if (Array.isArray(text)) return ': spread what sql`…` gives, query(...sql`…`), or write query(text, values)';
  return typeof text?.text === 'string' ? ': write query(text, values) in place of query({ text, values }), or use quickgres/pg' : '';
}

/** @throws {TypeError} naming `what` if the text is not a string or contains a null byte */
function checkText(text, what) {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${kindOf(text)}${what === 'text' ? textRemedy(text) : ''}`);
  if (text.includes('\0')) throw invalid(`${what} has a null byte at ${text.indexOf('\0')}, which PostgreSQL cannot take`, '22021');
}

/** @throws {TypeError|RangeError} unless `values` is a row or an array of at most 65535 values */
function checkValues(values) {
  if (Array.isArray(values)) {
    if (values.length > 65535) throw new RangeError(`${values.length} values: a query takes at most 65535 parameters`);
  } else if (!(values && values.rowBuffer instanceof Uint8Array && values.rowBuffer.length >= 7)) {
    throw new TypeError(`values must be an array or a row, not ${kindOf(values)}: ` +
      (typeof values === 'function' ? 'query takes no callback, but returns a promise' : 'all values go into one array, query(text, [value, …], options)'));
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
const numberText = value => Object.is(value, -0) ? '-0' : `${value}`;

/** Remedies by the kind of an unsupported value. */
const REMEDIES = [
  [Promise, 'await it'], [Function, 'call it, and pass what it returns'], [RegExp, 'write value.source'], [URL, 'write value.href'],
  [ArrayBuffer, 'write Buffer.from(value)'], [Object.getPrototypeOf(Int8Array), 'write Buffer.from(value.buffer)'],
  [Array, 'write array(value) for a PostgreSQL array, JSON.stringify(value) for json'],
  [Map, 'write JSON.stringify(Object.fromEntries(map)) for json, array([...map.keys()]) for a PostgreSQL array'],
  [Set, 'write array([...set]) for a PostgreSQL array, JSON.stringify([...set]) for json'],
  [Object, 'write JSON.stringify(value) for json, String(value) for text']
];

/**
 * The text of a value that is neither a string, nor bytes, nor null.
 * @param {string} what its name in an error
 */
function textOf(value, what) {
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (isDate(value)) return dateText(value, what);
  const remedy = REMEDIES.find(([type]) => value instanceof type)?.[1] ?? 'write String(value)';
  throw new TypeError(`${what} is ${kindOf(value)}: ${remedy}`);
}

/**
 * Copies parameter values, so that the caller may change them. It accepts and rejects the same values as MessageWriter.bind.
 * @param {number} [limit] of the bytes of all Buffers
 * @returns {Array|object|null} null above the limit
 */
function snapshot(values, limit = Infinity) {
  if (values.rowBuffer !== undefined) return { rowBuffer: Buffer.from(values.rowBuffer), dataFormat: values.dataFormat };
  let bytes = 0;
  const copies = Array.from(values, (value, index) => {
    if (value === null || value === undefined) return null;
    if (typeof value === 'string') {
      if (value.includes('\0')) checkText(value, `values[${index}]`);
      return value;
    }
    if (!(value instanceof Uint8Array)) return textOf(value, `values[${index}]`);
    bytes += value.length;
    return bytes > limit ? value : Buffer.from(value);
  });
  return bytes > limit ? null : copies;
}

function element(value, what) {
  if (value === null || value === undefined) return 'NULL';
  if (Array.isArray(value)) return literal(value, what);
  if (typeof value !== 'string' && typeof value !== 'object') return textOf(value, what);
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}"`;
  const text = typeof value === 'string' ? value : textOf(value, what);
  if (text.includes('\0')) checkText(text, what);
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function literal(values, what) {
  const elements = Array.from(values, (value, index) => element(value, `${what}[${index}]`));
  // PostgreSQL has one empty array for all dimensions.
  return elements.every(each => each === '{}') ? '{}' : `{${elements.join()}}`;
}

/**
 * The literal of a PostgreSQL array, to be passed as a value: `query('… = ANY($1)', [array([1, 2])])`.
 * @see https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 */
function array(values) {
  if (!Array.isArray(values)) throw new TypeError(`array takes an array, not ${kindOf(values)}`);
  return literal(values, 'values');
}

module.exports = { array, checkText, checkValues, isDate, kindOf, numberText, quoted, snapshot, textOf };

'use strict';

// What a query is asked with, and what it comes to.

const { events: { EventEmitter } } = require('#platform');
const { ConnectionError, PostgresError, UsageError } = require('../..');
const { TypeOverrides } = require('./types');
const { prepareValue } = require('./values');

/** An error that the server reported, as node-postgres has it: its numbers are strings. */
class DatabaseError extends PostgresError {
  /**
   * @param {string} message
   * @param {number} [length] of the message of the protocol
   * @param {string} [name='error']
   */
  constructor(message, length, name = 'error') {
    super({ message });
    Object.assign(this, { length, name });
  }
}

/** Messages of what was not to be, by the code. */
const MESSAGES = {
  '08003': 'Connection terminated', '08006': 'Connection terminated unexpectedly',
  53300: 'timeout exceeded when trying to connect'
};

/**
 * An error of this library as node-postgres tells it.
 * @param {Error} error
 * @returns {Error} a DatabaseError where the server has reported it, also as the reason why a connection was lost
 */
function errorOf(error) {
  if (error instanceof UsageError && error.code === '57014') return new Error('Query read timeout', { cause: error });
  const isLost = error instanceof ConnectionError;
  const cause = isLost ? error.cause : error;
  if (isLost && error.sent !== undefined) error.message = MESSAGES[error.code] ?? error.message;
  if (!(cause instanceof PostgresError)) return error;
  const told = Object.assign(new DatabaseError(cause.message), cause);
  for (const name of ['position', 'internalPosition', 'line']) if (name in told) told[name] = String(told[name]);
  return told;
}

/** Commands whose tag counts rows. */
const COUNTED = new Set(['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'MERGE', 'MOVE', 'FETCH', 'COPY']);

/** A column as a result describes it. */
const fieldOf = ({ name, tableOid, tableColumnIndex, typeOid, typeLen, typeModifier, binary }) => ({
  name, tableID: tableOid, columnID: tableColumnIndex, dataTypeID: typeOid, dataTypeSize: typeLen,
  dataTypeModifier: typeModifier, format: binary === 1 ? 'binary' : 'text'
});

/** The result of one statement. */
class Result {
  /**
   * @param {RowReader} reader of the statement
   * @param {string} [rowMode] 'array': rows are arrays, else they are objects
   */
  constructor(reader, rowMode) {
    const { cmd, oid, rowParser } = reader;
    /** @type {string|null} the first word of the command; null of an empty text */
    this.command = cmd === 'EMPTY' ? null : /^\w*/.exec(cmd)[0];
    /** @type {number|null} rows returned or changed; null of a command that counts none */
    this.rowCount = COUNTED.has(cmd) ? reader.rowCount : null;
    /** @type {number|null} the OID in the tag of an INSERT */
    this.oid = oid === undefined ? null : Number(oid);
    /** @type {Array<object|Array>} */
    this.rows = rowParser === undefined ? [] : rowMode === 'array' ? reader.arrays : reader.objects;
    /** @type {Array<{name: string, tableID: number, columnID: number, dataTypeID: number, format: string}>} */
    this.fields = rowParser === undefined ? [] : rowParser.columns.map(fieldOf);
    this.rowAsArray = rowMode === 'array';
  }
}

/**
 * The arguments of `query` as one object. A config is read, never kept or written to.
 * @param {string|object} config
 * @param {Array|function} [values]
 * @param {function} [callback]
 */
function queryOf(config, values, callback) {
  if (typeof values === 'function') [values, callback] = [undefined, values];
  if (typeof config === 'string') return { text: config, values, callback };
  const { text, name, rowMode, types, binary, queryMode, rows, query_timeout } = config;
  return {
    text, name, rowMode, types, binary, queryMode, rows, query_timeout,
    values: values || config.values, callback: callback || config.callback
  };
}

/** The text of a prepared statement, which may be left out when it was given once. */
function named(name, text, texts) {
  const known = texts.get(name);
  if (known !== undefined && text && text !== known) {
    throw new Error(`Prepared statements must be unique - '${name}' was used for a different statement`);
  }
  return text || known || '';
}

/**
 * Asks what holds a connection, or many.
 * @param {Client|Pool} session of this library
 * @param {object} query as `queryOf` gives it
 * @param {object} settings `{ binary, query_timeout, statement_cache, types }`; `texts` of prepared statements by name;
 *   `shared`: several statements in a text are refused
 * @returns {Promise<Result|Result[]>} an array where the text has several statements
 */
async function ask(session, { text, values, name, rowMode, types, binary, queryMode, rows, query_timeout }, settings) {
  const { shared, texts, types: usual } = settings;
  if (values && !Array.isArray(values)) throw new Error('Query values must be an array');
  const isNew = name && !texts.has(name);
  if (name) texts.set(name, text = named(name, text, texts));
  if (typeof text !== 'string') throw new Error('A query must have either text or a name. Supplying neither is unsupported.');
  const { decode } = types instanceof TypeOverrides ? types : types ? new TypeOverrides(types) : usual;
  const isSimple = !name && !rows && queryMode !== 'extended' && !values?.length;
  const options = { decode, statement_timeout: query_timeout || settings.query_timeout || undefined };
  try {
    if (isSimple && !shared) {
      const results = (await session.simpleQuery(text, options)).map(reader => new Result(reader, rowMode));
      return results.length === 1 ? results[0] : results;
    }
    if (!isSimple && (binary || settings.binary)) options.format = 1;
    options.cache = Boolean(name || settings.statement_cache);
    const reader = await session.query(text, values ? values.map(value => prepareValue(value)) : [], options);
    if (reader.cmd === undefined) {
      await session.copyFail();
      throw new Error('COPY FROM STDIN: No source stream defined; use copyFrom of the client');
    }
    return new Result(reader, rowMode);
  } catch (error) {
    if (isNew) texts.delete(name);
    throw errorOf(error);
  }
}

/** A query that tells by events: 'row' (row, result), then 'end' (result), or 'error'; or by its callback. */
class Query extends EventEmitter {
  /**
   * @param {string|object} config text, or `{ text, values, name, rowMode, types, binary, query_timeout }`
   * @param {Array|function} [values]
   * @param {function(Error|null, Result)} [callback]
   */
  constructor(config, values, callback) {
    super();
    Object.assign(this, queryOf(config, values, callback));
  }

  /** By this a client knows what is submitted to it. */
  submit() {}

  /** @private It is over. */
  finish(error, results) {
    const { callback } = this;
    if (error) return callback ? callback(error) : this.emit('error', error);
    const perRow = !callback && this.listenerCount('row') > 0;
    for (const result of [results].flat()) {
      for (const row of result.rows) this.emit('row', row, result);
      if (perRow) result.rows = [];
    }
    callback?.(null, results);
    this.emit('end', results);
  }
}

module.exports = { DatabaseError, Query, Result, ask, errorOf, fieldOf, queryOf };

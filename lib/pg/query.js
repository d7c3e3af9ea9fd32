'use strict';

// What a query is asked with, and what it comes to.

const { events: { EventEmitter } } = require('../platform');
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

/** Messages of what was not to be, by the code, or by how the message of this library begins. */
const MESSAGES = {
  '08003': 'Connection terminated', '08006': 'Connection terminated unexpectedly',
  53300: 'timeout exceeded when trying to connect', 'not connected': 'not connected: call connect() first'
};

/**
 * An error of this library as node-postgres tells it.
 * @param {Error} error
 * @param {object} [settings] `max` and `held` of a pool: how many clients there may be, and those that are taken
 * @returns {Error} a DatabaseError where the server has reported it, also as the reason why a connection was lost
 */
function errorOf(error, { held, max } = {}) {
  if (error instanceof UsageError && error.code === '57014') return new Error('Query read timeout', { cause: error });
  const isLost = error instanceof ConnectionError;
  const cause = isLost ? error.cause : error;
  if (cause instanceof PostgresError) {
    const told = Object.assign(new DatabaseError(cause.message), cause);
    for (const name of ['position', 'internalPosition', 'line']) if (name in told) told[name] = String(told[name]);
    return told;
  }
  if (!isLost || error.sent === undefined) return error;
  if (held && error.code === '53300') error.cause = new Error(`${held.size} of ${max} clients are taken: release() them`);
  error.message = MESSAGES[error.message.split(':', 1)] ?? MESSAGES[error.code] ?? error.message;
  return error;
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
 * @throws {TypeError} without a config
 */
function queryOf(config, values, callback) {
  if (typeof values === 'function') [values, callback] = [undefined, values];
  if (config === null || config === undefined) throw new TypeError('Client was passed a null or undefined query');
  if (typeof config === 'string') return { text: config, values, callback };
  const { text, name, rowMode, types, binary, queryMode, rows, query_timeout, signal } = config;
  return {
    text, name, rowMode, types, binary, queryMode, rows, query_timeout, signal,
    values: values || config.values, callback: callback || config.callback
  };
}

/**
 * Asks what holds a connection, or many.
 * @param {Client|Pool} session of this library
 * @param {object} query as `queryOf` gives it
 * @param {object} settings `{ binary, query_timeout, statement_cache, types }`; `texts` of prepared statements by name;
 *   of a pool, `max`, and `held`: its clients that are taken; statements are prepared, several in a text are refused
 * @returns {Promise<Result|Result[]>} an array where the text has several statements
 */
async function ask(session, query, settings) {
  let { text, values, name, rowMode, types, binary, queryMode, rows, query_timeout, signal } = query;
  const { held, texts, types: usual } = settings;
  if (values && !Array.isArray(values)) throw new Error('Query values must be an array');
  const known = texts.get(name);
  if (name) {
    const isOther = known !== undefined && text && text !== known;
    if (isOther) throw new Error(`Prepared statements must be unique - '${name}' was used for a different statement`);
    texts.set(name, text ||= known ?? ''); // which may be left out when it was given once
  } else if (typeof text !== 'string') {
    throw new Error('A query must have either text or a name. Supplying neither is unsupported.');
  }
  const isSimple = !name && !rows && queryMode !== 'extended' && !values?.length;
  const { decode } = types instanceof TypeOverrides ? types : types ? new TypeOverrides(types) : usual;
  const options = { decode, signal, statement_timeout: query_timeout || settings.query_timeout || undefined };
  try {
    if (isSimple && !held) {
      const results = (await session.simpleQuery(text, options)).map(reader => new Result(reader, rowMode));
      return results.length === 1 ? results[0] : results;
    }
    options.format = !isSimple && (binary || settings.binary) ? 1 : 0;
    options.cache = Boolean(held || name || settings.statement_cache);
    const reader = await session.query(text, values ? values.map(value => prepareValue(value)) : [], options);
    if (reader.cmd !== undefined) return new Result(reader, rowMode);
    await session.copyFail();
    throw new Error('COPY FROM STDIN: No source stream defined; use copyFrom of the client');
  } catch (error) {
    if (known === undefined) texts.delete(name);
    throw errorOf(error, settings);
  }
}

/** A query that tells by events: 'row' (row, result), then 'end' (result), or 'error'; or by its callback. */
class Query extends EventEmitter {
  /**
   * @param {string|object} config text, or `{ text, values, name, rowMode, types, binary, query_timeout, signal }`
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

/**
 * The connection as an object sees it that was submitted and writes the messages of the extended protocol itself, and
 * takes the answers by methods of its own: a cursor of pg-cursor, a stream of pg-query-stream. The rows come by way of
 * a portal of the client's; its first row is fetched with the description.
 */
class Submission extends EventEmitter {
  #client;
  #first = null; // the reader of the first row, until rows are asked for
  #query;
  #state = 'open'; // 'failed', 'over'
  #work; // promise of what was begun last

  /**
   * @param {Client} client of this library
   * @param {object} query that was submitted; 'readyForQuery' is emitted when the connection is free for others
   */
  constructor(client, query) {
    super();
    this.#client = client;
    this.#query = query;
    client.closed.then(error => this.#fail(error ?? new Error('Connection terminated')));
    this.#work = this.#begin().catch(error => this.#fail(error));
  }

  async #begin() {
    this.#query.submit(this);
    this.#client.startQuery(this.text, this.values, 0, false);
    const { rowParser } = this.#first = await this.#client.getResults(1);
    if (this.#state !== 'open') return;
    if (rowParser !== undefined) this.#query.handleRowDescription({ fields: rowParser.columns.map(fieldOf) });
    this.emit(rowParser === undefined ? 'noData' : 'rowDescription');
  }

  #fail(error) {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#query.handleError(errorOf(error), this);
    this.sync();
  }

  parse({ text }) { this.text = text; }
  bind({ values }) { this.values = (values ?? []).map(value => prepareValue(value)); }
  describe() {}
  flush() {}
  close() {}

  /** Asks for so many rows; 0 for all. */
  execute({ rows }) { this.#work = this.#work.then(() => this.#execute(rows)).catch(error => this.#fail(error)); }

  async #execute(rows) {
    if (this.#state !== 'open') return;
    let reader = this.#first;
    this.#first = null;
    if (reader !== null) this.#give(reader);
    if (reader === null || (reader.cmd === 'SUSPENDED' && rows !== 1)) {
      this.#give(reader = await this.#client.getResults(rows && reader ? rows - 1 : rows));
    }
    const { cmd, oid = '', rowCount } = reader;
    if (cmd === 'SUSPENDED') this.#query.handlePortalSuspended(this);
    else if (cmd === 'EMPTY') this.#query.handleEmptyQuery(this);
    else this.#query.handleCommandComplete({ text: `${cmd} ${oid} ${rowCount}` }, this);
  }

  #give({ rows }) { for (const row of rows) this.#query.handleDataRow({ fields: row.toArray() }); }

  /** Ends it: others may go on. */
  async sync() {
    const state = this.#state;
    if (state === 'over') return;
    this.#state = 'over';
    const error = await this.#client.sync().then(() => undefined, reason => reason);
    if (state === 'open' && error !== undefined) this.#query.handleError(errorOf(error), this);
    else if (state === 'open') this.#query.handleReadyForQuery(this);
    this.emit('readyForQuery');
  }
}

module.exports = { DatabaseError, Query, Result, Submission, ask, errorOf, queryOf };

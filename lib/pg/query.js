'use strict';

// What a query is asked with, and what it comes to.

const { EventEmitter } = require('node:events');
const { ConnectionError, PostgresError, TimeoutError, UsageError } = require('../..');
const { copyDirection } = require('../query');
const { COUNTED, fieldOf, resultOf } = require('./result');
const { TypeOverrides } = require('./types');
const { prepareValue } = require('./values');

const FIELDS = ['severity', 'code', 'detail', 'hint', 'position', 'internalPosition', 'internalQuery', 'where',
  'schema', 'table', 'column', 'dataType', 'constraint', 'file', 'line', 'routine'];

/**
 * An error that the server reported, as node-postgres has it: its name is 'error', its numbers are strings, and what
 * was not sent is there, undefined: db-errors knows it by that.
 */
class DatabaseError extends PostgresError {
  name = 'error';

  /** @param {object|string} fields that the server sent, or a message */
  constructor(fields) {
    super({ message: typeof fields === 'string' ? fields : fields.message });
    for (const name of FIELDS) this[name] = fields[name] && String(fields[name]);
    // Of the message: its length, then each field by a letter, its text and a zero; the severity comes twice.
    const texts = [this.message, this.severity, ...FIELDS.map(name => this[name])].filter(text => text !== undefined);
    this.length = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 2, 5);
  }
}

const NEITHER = 'A query must have either text or a name. Supplying neither is unsupported.';
/** Messages of what was not to be, by what the message of this library has in it, or by the code. */
const MESSAGES = {
  connect_timeout: 'timeout expired', acquire_timeout: 'timeout exceeded when trying to connect',
  'not connected': 'not connected: call connect() first', '08003': 'Connection terminated',
  '08006': 'Connection terminated unexpectedly'
};

/**
 * An error of this library as node-postgres tells it.
 * @param {Error} error
 * @returns {Error} a DatabaseError where the server has reported it, also as the reason why a connection was lost; a
 *   ConnectionError with another message has a cause that says more
 */
function errorOf(error) {
  if (error instanceof TimeoutError && error.code === '57014') return new Error('Query read timeout', { cause: error });
  const isLost = error instanceof ConnectionError || error instanceof TimeoutError;
  const cause = isLost ? error.cause : error;
  if (cause instanceof PostgresError && !(error instanceof DatabaseError)) return new DatabaseError(cause);
  const known = Object.keys(MESSAGES).find(each => error.code === each || error.message.includes(each));
  if (isLost && known) Object.assign(error, { message: MESSAGES[known], cause: cause ?? new Error(error.message) });
  return error;
}

/** @returns {object} a config, also of a text alone; throws a TypeError where there is none */
function configOf(config) {
  if (config === null || config === undefined) throw new TypeError('Client was passed a null or undefined query');
  return typeof config === 'string' ? { text: config } : config;
}

/**
 * In a config that a pool gives a client that others ask, too: `{ pool, texts }`. Statements are prepared then, several in a
 * text are refused, and what concerns a session.
 */
const SHARED = Symbol('shared');

/**
 * Asks what holds a connection.
 * @param {Client} session of this library
 * @param {string|object} config text, or `{ text, values, name, rowMode, types, binary, query_timeout, signal }`, which
 *   is read, never kept or written to
 * @param {Array} [values]
 * @param {object} settings of the client; `texts` of prepared statements by name
 * @returns {Promise<Result|Result[]>} an array where the text has several statements
 */
async function ask(session, config, values, { binary, query_timeout, statement_cache, texts: own, types: usual }) {
  const query = configOf(config);
  const { [SHARED]: shared } = query;
  const { texts = own } = shared ?? {};
  values ||= query.values;
  const { name, rowMode, types } = query;
  if (values && !Array.isArray(values)) throw new Error('Query values must be an array');
  const known = texts.get(name);
  const text = query.text || known || (name ? '' : query.text); // which may be left out when it was given once
  if (typeof text !== 'string') throw new Error(NEITHER);
  const isOther = known && text !== known;
  if (isOther) throw new Error(`Prepared statements must be unique - '${name}' was used for a different statement`);
  if (name) texts.set(name, text);
  const isSimple = !name && !query.rows && query.queryMode !== 'extended' && !values?.length;
  const { decode } = types instanceof TypeOverrides ? types : types ? new TypeOverrides(types) : usual;
  const statement_timeout = query.query_timeout || query_timeout || undefined;
  try {
    shared?.pool.lease.check(text, []);
    if (shared && copyDirection(text) === 'in') throw new UsageError('COPY FROM STDIN owns its connection', '0A000');
    if (isSimple && shared === undefined) {
      const results = await session.simpleQuery(text, { decode, signal: query.signal, statement_timeout });
      return results.length === 1 ? resultOf(results[0], rowMode) : results.map(each => resultOf(each, rowMode));
    }
    const reader = await session.query(text, values ? values.map(value => prepareValue(value)) : [], {
      decode, signal: query.signal, statement_timeout, format: !isSimple && (query.binary || binary) ? 1 : 0,
      cache: Boolean(shared || name || statement_cache)
    });
    if (reader.cmd !== undefined) return resultOf(reader, rowMode);
    await session.copyFail();
    throw new Error('COPY FROM STDIN: No source stream defined; use copyFrom of the client');
  } catch (error) {
    if (known === undefined) texts.delete(name);
    throw shared === undefined ? errorOf(error) : error; // the pool may repeat it
  }
}

/** What a config may say beside values and a callback. */
const NAMES = ['text', 'name', 'rowMode', 'types', 'binary', 'queryMode', 'rows', 'query_timeout', 'signal'];

/** A query that tells by events: 'row' (row, result), then 'end' (result), or 'error'; or by its callback. */
class Query extends EventEmitter {
  /**
   * @param {string|object} config as of `ask`
   * @param {Array|function} [values]
   * @param {function(Error|null, Result)} [callback]
   */
  constructor(config, values, callback) {
    super();
    if (typeof values === 'function') [values, callback] = [undefined, values];
    const given = configOf(config);
    for (const name of NAMES) this[name] = given[name];
    Object.assign(this, { values: values || given.values, callback: callback || given.callback });
  }

  /** By this a client knows what is submitted to it. */
  submit() {}

  /** @private It is over. */
  finish(error, results) {
    const { callback } = this;
    if (error) return callback ? callback(error) : this.emit('error', error);
    for (const result of [results].flat()) {
      for (const row of result.rows) this.emit('row', row, result);
      if (!callback && this.listenerCount('row') > 0) result.rows = [];
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
  #first = []; // the reader of the first row, until rows are asked for
  #query;
  #state = 'open'; // 'failed', 'over'
  #work; // promise of what was begun last

  /**
   * @param {Client} client of this library
   * @param {object} query that was submitted; 'rowDescription' `({ fields })` or 'noData' is emitted when the columns
   *   are known, 'readyForQuery' when the connection is free for others
   * @param {number} [timeout] milliseconds after which it fails
   */
  constructor(client, query, timeout) {
    super();
    this.#client = client;
    this.#query = query;
    client.closed.then(error => this.#fail(error ?? new Error('Connection terminated')));
    if (timeout) {
      const timer = setTimeout(() => this.#fail(new Error('Query read timeout')), timeout);
      this.once('readyForQuery', () => clearTimeout(timer));
    }
    this.#work = this.#begin().catch(error => this.#fail(error));
  }

  async #begin() {
    this.#query.submit(this);
    this.#client.startQuery(this.text, this.values, 0, false);
    this.#first = [await this.#client.getResults(1)];
    if (this.#state !== 'open') return;
    const [{ rowParser }] = this.#first;
    if (rowParser === undefined) return this.emit('noData');
    const description = { fields: rowParser.columns.map(fieldOf) };
    this.#query.handleRowDescription(description);
    this.emit('rowDescription', description);
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
  /** A cursor that failed may be closed once more, and waits for the connection. */
  close() { if (this.#state === 'over') setImmediate(() => this.emit('readyForQuery')); }

  /** Asks for so many rows; 0 for all. */
  execute({ rows }) { this.#work = this.#work.then(() => this.#execute(rows)).catch(error => this.#fail(error)); }

  async #execute(most) {
    if (this.#state !== 'open') return;
    const readers = this.#first;
    this.#first = [];
    if (readers.length === 0 || (readers[0].cmd === 'SUSPENDED' && most !== 1)) {
      readers.push(await this.#client.getResults(most && most - readers.length));
    }
    for (const row of readers.flatMap(({ rows }) => rows)) this.#query.handleDataRow({ fields: row.toArray() });
    const { cmd, oid = [], rowCount } = readers.at(-1);
    const count = COUNTED.has(cmd) ? rowCount + readers.length - 1 : [];
    if (cmd === 'SUSPENDED') this.#query.handlePortalSuspended(this);
    else if (cmd === 'EMPTY') this.#query.handleEmptyQuery(this);
    else this.#query.handleCommandComplete({ text: [cmd, oid, count].flat().join(' ') }, this);
  }

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

module.exports = { DatabaseError, Query, SHARED, Submission, ask, configOf, errorOf };

'use strict';

// Queries: configs, requests and errors.

const { AsyncResource } = require('node:async_hooks');
const { EventEmitter } = require('node:events');
const { finished } = require('node:stream/promises');
const { LEASE } = require('../core/internal');
const { ConnectionError, PostgresError, RowReader, TimeoutError, UsageError } = require('../..');
const { originOf } = require('../core/protocol');
const { copyDirection, firstWord, statementsOf, unhindered } = require('../core/pipeline');
const requests = require('../core/requests');
const { after, setImmediate } = require('../core/timer');
const { thrown } = require('./config');
const { CopyStream, ScriptCopy } = require('./copy');
const { COUNTED, Result, fieldOf, resultOf, rowsOf } = require('./result');
const { decodeOf } = require('./types');
const { prepareValue } = require('./values');

const FIELDS = [
  'severity',
  'code',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'where',
  'schema',
  'table',
  'column',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine'
];

/**
 * The length of an error's or a notice's message. Each field has a letter, its text and a zero; the severity comes
 * twice.
 */
const lengthOf = fields =>
  ['message', 'severity', ...FIELDS]
    .map(name => fields[name])
    .filter(value => value !== undefined)
    .reduce((sum, value) => sum + Buffer.byteLength(String(value)) + 2, 5);

/**
 * A server's error in node-postgres' form: its name is 'error', its numbers are strings, and absent fields are
 * undefined properties, by which db-errors recognizes it.
 */
class DatabaseError extends PostgresError {
  constructor(fields, length, name = 'error') {
    super({ message: typeof fields === 'string' ? fields : fields.message });
    this.name = name;
    for (const each of FIELDS) this[each] = fields[each] && String(fields[each]);
    this.length = length ?? lengthOf(this);
  }
}

/** node-postgres' message of connectionTimeoutMillis. */
const TOO_LATE = 'timeout exceeded when trying to connect';

/** node-postgres' messages, by a part of this library's message or by the code. */
const MESSAGES = {
  connect_timeout: 'timeout expired',
  acquire_timeout: TOO_LATE,
  'not connected': 'not connected: call connect() first',
  '08003': 'Connection terminated',
  '08006': 'Connection terminated unexpectedly'
};

/**
 * Translates an error of this library. The server's errors become DatabaseErrors, even as the cause of a lost
 * connection. A ConnectionError with another message has the original as its cause.
 */
function errorOf(error) {
  for (let each = error; each; each = originOf(each)) if (thrown.has(each)) return thrown.get(each);
  if (error instanceof TimeoutError && error.code === '57014') return new Error('Query read timeout', { cause: error });
  const isLost = error instanceof ConnectionError || error instanceof TimeoutError;
  let cause = isLost ? originOf(error) : error;
  while (originOf(cause) instanceof PostgresError) cause = originOf(cause); // as sent
  if (cause instanceof PostgresError && !(error instanceof DatabaseError)) return new DatabaseError(cause);
  // The config of this library has `ssl` for both.
  const { PGSSLMODE: mode } = process.env;
  if (mode && isLost)
    error.message = error.message.replace('but ssl requires', () => `but ssl or PGSSLMODE=${mode} requires`);
  const known = isLost && Object.keys(MESSAGES).find(each => error.code === each || error.message.includes(each));
  if (known) Object.assign(error, { message: MESSAGES[known], cause: cause ?? new Error(error.message) });
  if (isLost && error.code === '08006') error.code = 'ECONNRESET'; // by which programs see that they may try again
  return error;
}

/** @returns {object} a config, made of a text if necessary; throws a TypeError if there is none */
function configOf(config) {
  if (config === null || config === undefined) throw new TypeError('Client was passed a null or undefined query');
  return typeof config === 'string' ? { text: config } : config;
}

/**
 * A pool adds it to the config: `{ pool, texts, emitter, enter }`. With `pool` the connection is shared: the query is
 * then prepared, and several statements in a text, and statements that change the session, are rejected. `emitter` is
 * the Query, if the pool got one. `enter` calls what sends, see traceAbove.
 */
const SHARED = Symbol('shared');

/**
 * Sends a query.
 * @param {Client} session of this library
 * @param {string|object} config which is neither kept nor changed
 * @param {object} settings of the client; `texts` of prepared statements by name
 * @returns {Promise<Result|Result[]>} an array if the text has several statements
 */
async function ask(session, config, values, { binary, query_timeout, statement_cache, texts: own, types: usual }) {
  const query = configOf(config);
  const given = query[SHARED] ?? {};
  const { pool, texts = own, emitter = config instanceof Query ? config : undefined, enter = send => send() } = given;
  values ||= query.values;
  const { name, rowMode, types } = query;
  if (values && !Array.isArray(values)) throw new Error('Query values must be an array');
  const known = texts.get(name);
  const text = query.text || known || (name ? '' : query.text); // the text may be omitted the second time
  if (typeof text !== 'string')
    throw new Error('A query must have either text or a name. Supplying neither is unsupported.');
  if (known && text !== known)
    throw new Error(`Prepared statements must be unique - '${name}' was used for a different statement`);
  if (name) texts.set(name, text);
  const isSimple = !name && !query.rows && query.queryMode !== 'extended' && !values?.length;
  // simpleQuery keeps its rows, so it is for what may be several statements.
  const isEmitted = emitter !== undefined && !(isSimple && text.trimEnd().slice(0, -1).includes(';'));
  const decode = decodeOf(types || usual);
  const statement_timeout = query.query_timeout || query_timeout || undefined;
  try {
    pool?.[LEASE].inputOf(text, []);
    if (pool && copyDirection(text) === 'in') throw new UsageError('COPY FROM STDIN owns its connection', '0A000');
    if (isSimple && pool === undefined && !isEmitted) {
      const options = { decode, signal: query.signal, statement_timeout };
      const readers = await enter(() => session.simpleQuery(text, options));
      const results = readers.map(each => resultOf(each, rowMode));
      if (emitter !== undefined) for (const result of results) emitRows(emitter, result.rows, result);
      return results.length === 1 ? results[0] : results;
    }
    const stream = isEmitted ? new EmittingReader(emitter, decode) : undefined;
    const prepared = values ? [...values].map(prepareValue) : []; // a hole is NULL
    const options = {
      decode: stream ? undefined : decode,
      stream,
      signal: query.signal,
      statement_timeout,
      format: !isSimple && (query.binary || binary) ? 1 : 0,
      cache: Boolean(pool || name || statement_cache)
    };
    const reader = await enter(() => session.query(text, prepared, options));
    if (reader.cmd !== undefined) return resultOf(reader, rowMode, stream?.result);
    await session.copyFail();
    throw new Error('COPY FROM STDIN: No source stream defined; use copyFrom of the client');
  } catch (error) {
    if (known === undefined) texts.delete(name);
    throw pool === undefined ? errorOf(error) : error; // the pool may repeat it
  }
}

/** Options of a config, beside values and a callback. */
const NAMES = ['text', 'name', 'rowMode', 'types', 'binary', 'queryMode', 'rows', 'query_timeout', 'signal'];

/** A query with events: 'row' (row, result), then 'end' (result), or 'error'. */
class Query extends EventEmitter {
  constructor(config, values, callback) {
    super();
    if (typeof values === 'function') [values, callback] = [undefined, values];
    const given = configOf(config);
    for (const name of NAMES) this[name] = given[name];
    Object.assign(this, { values: values || given.values, callback: callback || given.callback });
  }

  /** A client recognizes a Submittable by this method. */
  submit() {}

  finish(error, results) {
    const { callback } = this;
    if (error) return callback ? callback(error) : this.emit('error', error);
    callback?.(null, results);
    this.emit('end', results);
  }
}

const emitRows = (query, rows, result) => {
  for (const row of rows) unhindered(() => query.emit('row', row, result));
};

/** Emits the rows of a Query as they arrive, and keeps them for a callback only. Without a listener it keeps them. */
class EmittingReader extends RowReader {
  #query;
  #context = new AsyncResource('quickgres.Query'); // the caller's, in which listeners run

  constructor(query, decode) {
    super({ decode });
    this.#query = query;
  }

  start(rowParser, ...more) {
    super.start(rowParser, ...more);
    this.result = new Result(this.#query.rowMode, undefined, this.rowParser);
  }

  receiveData(...data) {
    super.receiveData(...data);
    const query = this.#query;
    const { result } = this;
    if (query.listenerCount('row') === 0 || this.rowParser === undefined) return;
    try {
      const rows = this.error ? [] : rowsOf(this, result);
      if (query.callback) result.rows = result.rows.concat(rows);
      this.#context.runInAsyncScope(emitRows, undefined, query, rows, result);
    } catch (error) {
      // of a parser
      this.error = error; // the request rejects with it
    }
    this.rows = [];
  }
}

/**
 * The connection as a cursor of pg-cursor or a stream of pg-query-stream sees it, which write the messages of the
 * extended protocol and take the answers. The rows come from a portal of the client, whose first row is fetched with
 * the description.
 */
class Submission extends EventEmitter {
  #client;
  #copied; // the text of a COPY
  #ended = false; // by end(), not by a loss
  #first = []; // the reader of the first row, until rows are wanted
  #query;
  #reads = 0; // which the query waits for
  #stream;
  #state = 'open'; // or 'failed', 'over'
  #work; // the last step

  /** Emits 'rowDescription' `({ fields })` or 'noData', then 'over' and 'readyForQuery' when the connection is free. */
  constructor(client, query, timeout) {
    super();
    this.#client = client;
    this.#query = query;
    // `closed.then(…)` would keep the query as long as the connection lives.
    const lost = () =>
      client.closed.then(error => {
        this.#ended = error === undefined || error.code === '08003';
        this.#fail(error ?? new Error('Connection terminated'));
      });
    client.once('end', lost);
    const stop = timeout && after(timeout, () => this.#fail(new Error('Query read timeout')));
    this.once('over', () => {
      client.off('end', lost);
      if (stop) stop();
    });
    let begin;
    this.#work = new Promise(resolve => {
      begin = resolve;
    });
    // What is submitted may execute at once, which is behind this.
    begin(this.#begin().catch(error => this.#fail(error)));
  }

  async #begin() {
    this.#query.submit(this);
    if (this.#copied !== undefined) return this.#copy();
    this.#client.startQuery(this.text, this.values, 0, false);
    this.#first = [await this.#client.getResults(1)];
    if (this.#state !== 'open') return;
    const [{ rowParser }] = this.#first;
    if (rowParser === undefined) return this.emit('noData');
    const description = { fields: rowParser.columns.map(fieldOf) };
    this.#query.handleRowDescription(description);
    this.emit('rowDescription', description);
  }

  async #copy() {
    const query = this.#query;
    const statements = statementsOf(this.#copied).filter(each => each.trim() !== '');
    const direction = statements.map(copyDirection).find(each => each !== undefined);
    if (direction === undefined) {
      // The server says what is wrong with a COPY.
      if (statements.some(each => firstWord(each) === 'copy')) await this.#client.describe(this.#copied);
      throw new UsageError(
        'what is submitted may ask for COPY … FROM STDIN and COPY … TO STDOUT alone: ' +
          'for replication use quickgres/replication',
        '0A000'
      );
    }
    const isOut = direction === 'out';
    if (isOut === (query.handleCopyInResponse !== undefined))
      throw new UsageError('`from` of pg-copy-streams is for COPY … FROM STDIN, `to` for COPY … TO STDOUT', '0A000');
    const isScript = statements.length > 1;
    const copy = isScript ? new ScriptCopy(direction) : this.#client[isOut ? 'copyTo' : 'copyFrom'](this.#copied);
    const over = finished(copy, { readable: isOut, writable: !isOut });
    this.once('over', () => copy.destroy());
    this.stream.open(copy);
    if (isOut) {
      query.once('close', () => {
        // before its end
        if (this.#state === 'open') this.#state = 'failed';
        this.sync();
      });
    } else query.handleCopyInResponse(this); // data may be sent before the server agrees
    let count = copy;
    if (isScript) {
      over.catch(() => {}); // the query says why
      // Its last data is read in a tick, which Deno runs behind the promises of the same packet.
      const results = await this.#client
        .simpleQuery(this.#copied, { [requests.COPY]: copy })
        .finally(() => new Promise(setImmediate));
      count = results.find(({ cmd }) => cmd === 'COPY');
      copy.finish();
    }
    await over;
    query.handleCommandComplete({ text: `COPY ${count.rowCount}` }, this);
    this.stream.end();
    await this.sync();
  }

  /** The messages of a COPY are written to it, and read from it. */
  get stream() {
    return (this.#stream ??= new CopyStream());
  }

  query(text) {
    this.#copied = text;
  }
  sendCopyFail(message) {
    this.stream.fail(message);
  }

  #fail(error) {
    if (this.#state !== 'open') return;
    this.#state = 'failed';
    this.#query.handleError(errorOf(error), this);
    this.sync();
  }

  parse({ text }) {
    this.text = text;
  }
  bind({ values }) {
    this.values = [...(values ?? [])].map(prepareValue);
  }
  describe() {}
  flush() {}
  close() {
    if (this.#state === 'over') setImmediate(() => this.#ready());
  }

  /** With 'readyForQuery' a stream emits its error. An orderly end is one only for a stream that something reads. */
  #ready() {
    const { readableFlowing: isFlowing } = this.#query;
    const isRead = isFlowing === undefined || isFlowing || this.#query.listenerCount('readable') > 0;
    if (isRead || !this.#ended) this.emit('readyForQuery');
  }

  execute({ rows }) {
    this.#reads++;
    this.#work = this.#work.then(() => this.#execute(rows)).catch(error => this.#fail(error));
  }

  async #execute(most) {
    if (this.#state !== 'open') return;
    const readers = this.#first;
    this.#first = [];
    if (readers.length === 0 || (readers[0].cmd === 'SUSPENDED' && most !== 1)) {
      readers.push(await this.#client.getResults(most && most - readers.length));
    }
    for (const row of readers.flatMap(({ structs }) => structs)) this.#query.handleDataRow({ fields: row.toArray() });
    this.#reads--; // the query may end in the method that is called
    const { cmd, oid = [], rowCount } = readers.at(-1);
    const count = COUNTED.has(cmd) ? rowCount + readers.length - 1 : [];
    if (cmd === 'SUSPENDED') this.#query.handlePortalSuspended(this);
    else if (cmd === 'EMPTY') this.#query.handleEmptyQuery(this);
    else this.#query.handleCommandComplete({ text: [cmd, oid, count].flat().join(' ') }, this);
  }

  async sync() {
    const state = this.#state;
    if (state === 'over') return;
    if (state === 'open' && this.#reads > 0) return this.#work.then(() => this.sync());
    this.#state = 'over';
    // The last rows were the answer to a Sync.
    const error = await (this.#client.inQuery
      ? this.#client.sync().then(
          () => undefined,
          reason => reason
        )
      : undefined);
    if (state === 'open' && error !== undefined) this.#query.handleError(errorOf(error), this);
    else if (state === 'open') this.#query.handleReadyForQuery(this);
    this.emit('over');
    setImmediate(() => this.#ready()); // a target that was destroyed has left its stream by then
  }
}

module.exports = {
  DatabaseError,
  NAMES,
  Query,
  SHARED,
  Submission,
  TOO_LATE,
  ask,
  configOf,
  errorOf,
  lengthOf,
  unhindered
};

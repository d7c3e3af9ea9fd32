'use strict';

const { Buffer } = require('#platform');
const { guard, leadInside, stayInside, watch } = require('./query/deadlock');
const { loadDecoders } = require('./rows/decode');
const { UsageError } = require('./protocol/errors');
const rooms = require('./rooms');
const { Scope } = require('./query/scope');
const { checkNames, checkOptions, NAMES, NO_OPTIONS, NO_VALUES } = require('./query/options');
const { QueryRequest } = require('./query/query');
const { CloseRequest, SyncRequest, callerOf } = require('./query/request');
const { RowReader } = require('./rows/result');
const { isCopyIn } = require('./query/statements');
const { StreamingSession } = require('./streaming-session');
const { checkText, checkValues, hasStreamed } = require('./protocol/writer');

const BATCH_SIZE = 1000;
const COPY_BUFFER = 1 << 20;

/** What takes a result: a new reader, or what the caller gave. */
function receiverOf(stream) { return stream === undefined ? new RowReader() : rooms.passThrough.receiverFor(stream); }

/** @returns {Promise} that of a result; it rejects with the error of the stream that the caller gave, too */
function watchOver(stream, receiver, promise) {
  return stream === undefined ? promise : rooms.passThrough.watchOver(receiver, promise);
}

/**
 * What can be asked of the server, on a connection or inside a transaction block: the base of Client and of the
 * object that the function of `transaction` gets.
 */
class Session extends StreamingSession {
  constructor() {
    super();
    this._copy = null; // the COPY FROM STDIN that copyData writes to
    this._portal = null; // the portal of startQuery
    this._portals = 0;
  }

  /**
   * Sends one query: Parse and Describe where its text is new, Bind, Execute and Sync, always in one write.
   * Queries are pipelined: a query does not wait for those before it, nor is an error of one that of another.
   *
   * @param {string} text SQL, parameters as $1, $2, …
   * @param {Array|Row} [values=[]] strings, Buffers and Uint8Arrays (sent as binary), numbers, bigints, booleans,
   *   null, undefined (NULL), or of large values `{ stream, length, format }`: a Readable that gives so many bytes,
   *   in binary format (1) unless said otherwise, without having them in memory; or a row of an earlier result
   * @param {number|object} [format=Client.STRING] of the result's columns; or options, all in one object
   *   `{ format, cache, stream, paramTypes, decode, signal, statement_timeout }`
   * @param {boolean} [cache=true] false: the unnamed statement, for a text that is used once
   * @param {RowReader|Writable|{write: function}} [stream] what takes the result
   * @returns {Promise<RowReader>} resolves to the stream; rejects with a PostgresError, a ConnectionError, an
   *   AbortError, or for bad input, and before anything is sent, with a TypeError or RangeError
   * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
   */
  query(text, values = NO_VALUES, format = 0, cache = true, stream) {
    try {
      this._check();
      const options = typeof format === 'object' && format !== null ? format : undefined;
      if (options !== undefined) ({ format = 0, cache = true, stream } = options);
      if (options !== undefined || (format !== 0 && format !== 1)) checkOptions(options || { format }, NAMES.query);
      const receiver = receiverOf(stream);
      if (typeof text === 'string' && isCopyIn(text)) return this._copyIn(text, values, receiver, options);
      const paramTypes = options && options.paramTypes;
      const request = hasStreamed(values)
        ? new rooms.streamedQuery.StreamedRequest(this._pipeline, text, values, format, cache, paramTypes, receiver)
        : new QueryRequest(text, values, format, cache, paramTypes, receiver);
      if (options === undefined && stream === undefined) return this._pipeline.submit(request, this._scope);
      const promise = watchOver(stream, receiver, this._submit(request, options));
      return options !== undefined && options.decode ? loadDecoders(receiver, options.decode, promise) : promise;
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Sends several statements as one text, without parameters. They are one transaction unless they contain
   * BEGIN and COMMIT themselves.
   * @param {string} text
   * @param {object} [options] `{ signal, statement_timeout }`
   * @returns {Promise<RowReader[]>} a reader a statement; rejects with the first error
   * @see https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
   */
  simpleQuery(text, options) {
    return this._try(() => {
      checkNames(options, NAMES.abortable);
      return this._submit(new rooms.simpleQuery.SimpleQueryRequest(text), options);
    });
  }

  /**
   * Sends several queries that share one Sync: they succeed or fail as one, in one implicit transaction, and
   * cost a fraction of as many `query` calls.
   * @param {Array<[string, Array, object]>} queries text, values and options as of `query`
   * @param {object} [options] `{ signal, statement_timeout }` for all of them
   * @returns {Promise<RowReader[]>} rejects with the first error, whose `index` tells the query
   */
  batch(queries, options) {
    return this._try(() => {
      if (!Array.isArray(queries)) throw new TypeError('batch takes an array of [text, values, options]');
      checkNames(options, NAMES.abortable);
      const decoding = [];
      const streams = [];
      const requests = Array.from(queries, (query, index) => {
        try {
          if (typeof query === 'string') query = [query];
          else if (!Array.isArray(query)) throw new TypeError('a query of a batch is [text, values, options]');
          const [text, values = NO_VALUES, each = NO_OPTIONS] = query;
          const { format = 0, cache = true, stream, paramTypes, decode } = each;
          checkOptions(each, NAMES.batched);
          checkText(text, 'text');
          if (isCopyIn(text)) throw new TypeError('COPY FROM STDIN cannot be part of a batch');
          const receiver = receiverOf(stream);
          if (decode) decoding.push([receiver, decode]);
          if (stream !== undefined) streams.push([stream, receiver]);
          return new rooms.batch.BatchedQuery(text, values, format, cache, paramTypes, receiver);
        } catch (error) {
          throw Object.assign(error, { index, message: `queries[${index}]: ${error.message}` });
        }
      });
      const promise = streams.reduce((last, [stream, receiver]) => watchOver(stream, receiver, last),
        this._submit(new rooms.batch.BatchRequest(requests), options));
      return decoding.reduce((last, [receiver, decode]) => loadDecoders(receiver, decode, last), promise);
    });
  }

  /**
   * Runs a function in a transaction block (of a transaction: behind a savepoint). Commits when the function
   * returns, rolls back when it throws. Requests of others wait until it is over.
   * @param {function(Session): Promise} work gets what to send its queries with; useless once it has returned
   * @param {object} [options] `{ isolation, readOnly, deferrable }`
   * @returns {Promise} of what the function returned; rejects with what it threw, or with the error of COMMIT
   */
  transaction(work, options) {
    return this._try(() => {
      if (typeof work !== 'function') throw new TypeError('transaction takes a function');
      checkNames(options, NAMES.transaction);
      const depth = this._depth === undefined ? 0 : this._depth + 1;
      const scope = new Scope(this._scope, depth === 0 ? 'the transaction' : 'the savepoint');
      const tx = new Transaction(this, scope, depth);
      const promise = rooms.transaction.transaction(this._pipeline, tx, scope, depth, work, options);
      return guard(promise, this._scope, error => {
        this._pipeline.leave(scope);
        scope.onlost(error);
      });
    });
  }

  /**
   * The rows of a query, fetched some at a time. Outside a transaction the connection is the cursor's until it
   * is exhausted or closed; in that of `transaction`, several cursors and other queries may go on side by side.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] `{ batchSize, format, cache, paramTypes, decode, signal }`; batchSize: rows a round
   *   trip, 1000 by default
   * @returns {Cursor} an async iterable; `break` closes it
   */
  cursor(text, values = NO_VALUES, options = NO_OPTIONS) {
    const { batchSize = BATCH_SIZE, format = 0, cache = true, paramTypes, decode, signal } = options;
    checkOptions(options, NAMES.cursor);
    if (!(Number.isInteger(batchSize) && batchSize > 0 && batchSize <= 0x7fffffff)) {
      throw new TypeError(`batchSize must be a positive integer, not ${batchSize}`);
    }
    checkText(text, 'text');
    checkValues(values);
    return new rooms.cursor.Cursor(() => {
      this._check();
      return this._openPortal(text, values, format, cache, paramTypes);
    }, {
      batchSize,
      prepare: request => this._limit(request, { signal }),
      decode
    });
  }

  _openPortal(text, values, format, cache, paramTypes) {
    const name = this._depth === undefined ? '' : `c${this._depth}_${++this._portals}`;
    return new rooms.portal.Portal(this._pipeline, this._scope, { text, values, format, cache, paramTypes }, name);
  }

  /**
   * Starts a query whose rows `getResults` fetches; the connection is its own until it is over.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {number} [format=Client.STRING]
   * @param {boolean} [cache=true]
   * @throws {UsageError} when another one is open; for bad input a TypeError or RangeError
   */
  startQuery(text, values = NO_VALUES, format = 0, cache = true) {
    this._check();
    if (this.inQuery) throw new UsageError('a query is open already: sync() before the next startQuery', '34000');
    checkOptions({ format });
    const portal = this._portal = this._openPortal(text, values, format, cache);
    if (!portal.inBlock) watch(portal.scope);
  }

  /** Whether a query started with `startQuery` may have more rows. */
  get inQuery() { return this._portal !== null && this._portal.open; }

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param {number} [maxCount=0] at most so many; 0 for all that are left
   * @param {RowReader|Writable|{write: function}} [stream]
   * @returns {Promise<RowReader>} whose `cmd` is SUSPENDED while there may be more; rejects with the error of the query or of the
   *   connection, and with a UsageError (34000) where no query is open
   */
  getResults(maxCount = 0, stream) {
    return this._try(() => {
      if (!(Number.isInteger(maxCount) && maxCount >= 0 && maxCount <= 0x7fffffff)) {
        throw new TypeError(`maxCount must be an integer from 0, not ${maxCount}`);
      }
      if (this._portal === null) throw new UsageError('no query is open: startQuery begins one', '34000');
      stayInside();
      const receiver = receiverOf(stream);
      const promise = watchOver(stream, receiver, this._portal.fetch(maxCount, receiver, callerOf(this.getResults)));
      return this._portal.inBlock ? promise : leadInside(promise, this._portal.scope);
    });
  }

  /**
   * Ends the query that `startQuery` has started; without one, resolves when all requests before it are over.
   * @param {RowReader} [stream] what to resolve to
   * @returns {Promise<RowReader>} rejects with the error that ends the transaction of the query, such as that of a deferred
   *   constraint, or with a ConnectionError
   */
  sync(stream = new RowReader()) {
    return this._try(() => {
      if (this.inQuery) return this._portal.close(stream);
      return this._pipeline.submit(new SyncRequest(stream), this._scope);
    });
  }

  /**
   * Closes a named statement or portal on the server.
   * @param {string} type 'S' for a statement, 'P' for a portal
   * @param {string} name
   * @returns {Promise} resolves also where there is none of this name; rejects with a TypeError, or a ConnectionError
   */
  close(type, name) {
    return this._try(() => {
      if (type !== 'S' && type !== 'P') throw new TypeError("type must be 'S' (statement) or 'P' (portal)");
      checkText(name, 'name');
      return this._pipeline.submit(new CloseRequest(type, name), this._scope);
    });
  }

  _copyIn(text, values, receiver, options) {
    const scope = new Scope(this._scope, 'the COPY FROM STDIN');
    const request = new rooms.copyIn.CopyInRequest(this._pipeline, scope, text, values, receiver);
    request.caller = callerOf(this.query);
    request.oncopy = () => {
      try {
        this._check();
        this._copy = request;
      } catch (error) {
        request.end(new RowReader(), error.message).catch(() => {}); // nobody can end it any more
      }
    };
    this._limit(request, options);
    this._pipeline.enter(scope);
    watch(scope);
    return leadInside(this._pipeline.submit(request, scope), scope);
  }

  _copying() {
    if (this._copy === null) throw new UsageError("no COPY is open: query('COPY … FROM STDIN') begins one", '55000');
    return this._copy;
  }

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun. Rows may be split anywhere.
   * @param {Uint8Array|string} data
   * @returns {boolean} false when a mebibyte and more waits to be taken: best to go on after the event 'drain'
   * @throws {UsageError} when no COPY is open
   */
  copyData(data) {
    const copy = this._copying();
    if (typeof data === 'string') data = Buffer.from(data);
    if (!(data instanceof Uint8Array)) throw new TypeError('copyData takes a Buffer, Uint8Array or string');
    copy.data(data);
    stayInside();
    return this._pipeline.bufferedBytes < COPY_BUFFER;
  }

  /**
   * Ends the data of a COPY FROM STDIN.
   * @param {RowReader} [stream]
   * @returns {Promise<RowReader>} `rowCount` tells the rows copied; rejects with the server's error
   */
  copyDone(stream = new RowReader()) {
    if (!(stream instanceof RowReader)) return Promise.reject(new TypeError('stream must be a RowReader'));
    return this._endCopy(stream);
  }

  /**
   * Makes a COPY FROM STDIN fail: nothing of it is stored.
   * @param {string|Buffer} [reason]
   * @returns {Promise<RowReader>} resolves when the server has confirmed it; rejects with the error for which the COPY had failed
   *   before, with a ConnectionError, or with a UsageError (55000) where none is open
   */
  copyFail(reason = 'the client gave up') {
    return this._try(() => this._endCopy(new RowReader(), Buffer.from(reason).toString().replace(/\0/g, '')));
  }

  _endCopy(stream, reason) {
    return this._try(() => {
      const copy = this._copying();
      this._copy = null;
      return copy.end(stream, reason);
    });
  }
}

/** What the function of `transaction` is given. */
class Transaction extends Session {
  constructor(session, scope, depth) {
    super();
    this._session = session;
    this._scope = scope;
    this._depth = depth;
    this._over = false;
    this._streams = new Set(); // COPY streams that are open
    scope.endsItself = () => this._over;
  }

  get _pipeline() { return this._session._pipeline; }
  _cancel() { return this._session._cancel(); }

  _check() {
    if (this._over) throw new UsageError('the transaction is over', '25P01');
  }

  /** A statement of `transaction` itself. */
  control(text) { return new QueryRequest(text, NO_VALUES, 0, false, undefined, new RowReader()); }

  /** The function has returned or thrown: what it left open is closed, and nothing more is taken. */
  finish() {
    this._over = true;
    if (this._copy !== null) this._copy.end(new RowReader(), 'the transaction is over').catch(() => {});
    if (this.inQuery) this._portal.close().catch(() => {});
    for (const stream of this._streams) stream.giveUp(new UsageError('the transaction is over', '25P01'));
  }
}

module.exports = { Session };

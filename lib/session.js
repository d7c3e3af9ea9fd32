'use strict';

const { EventEmitter } = require('node:events');
const query = require('./query');
const { UsageError, checkText } = require('./protocol');
const { RowReader } = require('./rows');
const { Steps } = require('./steps');

const { DECODING, NAMES, NO_OPTIONS, NO_VALUES, QueryRequest, SCOPE, checkNames, checkOptions, copyDirection } = query;
// What a plain query does not need is loaded when it is needed.
const copy = () => require('./copy');
const stream = () => require('./stream');

/**
 * What can be asked of the server, on a connection or inside a transaction block: the base of Client, and what the
 * function of `transaction` is given. Events: 'drain', after copyData returned false.
 */
class Session extends EventEmitter {
  #depth; // of savepoints; undefined outside a transaction
  #portals = 0;
  #scope;
  #steps;
  #streams = new Set(); // COPY streams that are open in this transaction

  /**
   * @param {Scope} scope that its requests are submitted to
   * @param {number} [depth] inside a transaction: of savepoints
   */
  constructor(scope, depth) {
    super();
    this.#depth = depth;
    this.setScope(scope);
  }

  /** @private of a client: it has a new one for each connection. */
  setScope(scope) {
    this.#scope = scope;
    this.#steps = new Steps(scope, this, this.#depth !== undefined);
  }

  get [SCOPE]() { return this.#scope; }
  get [DECODING]() { return this.#scope.pipeline.decoding; }

  /** Runs what may throw because of its input; then it rejects. */
  #try(work) {
    try {
      return work(this.#scope);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Sends one query: Parse and Describe where its text is new, Bind, Execute and Sync, always in one write.
   * Queries are pipelined: a query does not wait for those before it, nor is an error of one that of another.
   * @param {string} text SQL, parameters as $1, $2, …
   * @param {Array|Row} [values=[]] strings, numbers, bigints, booleans, Dates (as timestamptz), Buffers and
   *   Uint8Arrays (sent as binary), null and undefined (NULL); arrays as `array(value)`, json as
   *   `JSON.stringify(value)`; or a row of an earlier result
   * @param {number|object} [format=Client.STRING] of the result; or all options as an object:
   *   `{ format, cache, stream, decode, paramTypes, signal, statement_timeout }`
   * @param {boolean} [cache=true] false: the unnamed statement, for a text that is used once
   * @param {RowReader|Writable|{write: function}} [target] what takes the result
   * @returns {Promise<RowReader>} of the target; rejects with a PostgresError, ConnectionError or AbortError, or for
   *   bad input, before anything is sent, with a TypeError or RangeError
   */
  query(text, values = NO_VALUES, format = 0, cache = true, target) {
    try {
      const { pipeline } = this.#scope;
      let options, paramTypes, receiver, buffer;
      if (typeof format === 'object' && format !== null) {
        checkOptions(options = format, NAMES.query);
        ({ format = 0, cache = true, stream: target, paramTypes, buffer } = options);
        if (options.decode !== undefined) receiver = new RowReader(options);
      } else if (format !== 0 || cache !== true) checkOptions({ format, cache }, NAMES.query);
      if (target !== undefined) receiver = stream().receiverFor(target, { buffer, text });
      const letter = typeof text === 'string' ? text.charCodeAt(0) | 32 : 100;
      // From d to z is what most texts begin with.
      if ((letter < 100 || letter > 122) && copyDirection(text) === 'in') {
        return this.#steps.copyIn(text, values, receiver, options);
      }
      const request = new QueryRequest(text, values, format, cache, paramTypes, receiver);
      if (options === undefined && target === undefined) return pipeline.submit(request, this.#scope);
      if (target !== undefined && pipeline.longTexts.has(text)) request.barrier = true;
      const promise = query.submit(request, this.#scope, options);
      return target === undefined ? promise : stream().untilTaken(receiver, promise, request);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Sends several statements as one text, without parameters: one transaction, unless it has BEGIN and COMMIT in it.
   * @param {string} text
   * @param {object} [options] `{ decode, signal, statement_timeout }`
   * @returns {Promise<RowReader[]>} a reader a statement; rejects with the first error
   */
  simpleQuery(text, options = NO_OPTIONS) {
    return this.#try(scope => {
      checkOptions(options, NAMES.simpleQuery);
      const decoding = options.decode === undefined ? scope.pipeline.decoding : options;
      return query.submit(new query.SimpleQueryRequest(text, decoding), scope, options);
    });
  }

  /**
   * Sends several queries that share one Sync: they succeed or fail as one, in one implicit transaction.
   * @param {Array<string|[string, Array, object]>} queries text, values and `{ format, cache, stream, decode,
   *   paramTypes }` of each
   * @param {object} [options] `{ signal, statement_timeout }` for all of them
   * @returns {Promise<RowReader[]>} rejects with the first error, whose `index` tells the query
   */
  batch(queries, options = NO_OPTIONS) {
    return this.#try(scope => {
      checkNames(options, NAMES.batch);
      const request = new query.BatchRequest(queries, target => stream().receiverFor(target));
      const promise = query.submit(request, scope, options);
      return request.given.reduce((last, receiver) => stream().untilTaken(receiver, last), promise);
    });
  }

  /**
   * Runs a function in a transaction block (of a transaction: behind a savepoint). Commits when it returns, rolls back
   * when it throws. Requests of others wait until it is over; inside it, requests to the outer client are refused.
   * @param {function(Session): Promise} work gets what to send its queries with; useless once it has returned
   * @param {object} [options] `{ isolation, readOnly, deferrable }`
   * @returns {Promise} of what the function returned; rejects with what it threw, or with the error of COMMIT
   */
  transaction(work, options = NO_OPTIONS) {
    return this.#try(scope => {
      if (typeof work !== 'function') throw new TypeError('transaction takes a function');
      checkNames(options, NAMES.transaction);
      const depth = this.#depth === undefined ? 0 : this.#depth + 1;
      return query.transaction(scope, depth, inner => new Session(inner, depth), work, options);
    });
  }

  /** @private Ends what is fetched or copied step by step and, in a transaction, the streams of COPY that are open. */
  abandonSteps(refused) {
    this.#steps.abandon(refused);
    for (const each of this.#streams) each.abandon(query.again(refused()));
  }

  /**
   * The rows of a query, fetched some at a time. Outside a transaction the connection is the cursor's until it
   * is exhausted or closed; in that of `transaction`, several cursors and other queries may go on side by side.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] `{ batchSize = 1000 rows a round trip, format, cache, paramTypes, decode, signal }`
   * @returns {Cursor} an async iterable; `break` closes it
   * @throws {TypeError|RangeError}
   */
  cursor(text, values = NO_VALUES, options = NO_OPTIONS) {
    const { batchSize = 1000, decode, signal } = options;
    const open = this.#portalFor(text, values, options, NAMES.cursor);
    query.checkCount(batchSize, 'batchSize', 1);
    const decoding = decode === undefined ? this.#scope.pipeline.decoding : { decode };
    return new query.Cursor(open, { batchSize, decoding, signal });
  }

  /** Checks a query at once, and returns what opens its portal: in a block by a name, so that others may be open. */
  #portalFor(text, values, options, names) {
    checkOptions(options, names);
    const kept = query.Portal.check(text, values);
    const name = this.#depth === undefined ? '' : `c${this.#depth}_${++this.#portals}`;
    return () => new query.Portal(this.#scope, text, kept, options, name);
  }

  /**
   * Starts a query whose rows `getResults` fetches; the connection is its own until it is over.
   * The arguments are those of `query`.
   * @throws {UsageError} when another one is open; for bad input a TypeError or RangeError
   */
  startQuery(text, values = NO_VALUES, format = 0, cache = true) {
    this.#steps.start(this.#portalFor(text, values, { format, cache }, NAMES.query));
  }

  /** Whether a query started with `startQuery` may have more rows. */
  get inQuery() { return this.#steps.inQuery; }

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param {number} [maxCount=0] at most so many; 0 for all that are left
   * @param {RowReader|Writable|{write: function}} [target]
   * @returns {Promise<RowReader>} whose `cmd` is SUSPENDED while there may be more; rejects with the error of the query
   *   or of the connection, with a UsageError (34000) where no query is open
   */
  getResults(maxCount = 0, target) { return this.#try(() => this.#steps.fetch(maxCount, target)); }

  /**
   * Ends the query that `startQuery` has started; without one, resolves when all requests before it are over.
   * @param {RowReader} [reader] what to resolve to
   * @returns {Promise<RowReader>} rejects with the error that ends the transaction of the query, such as that of a
   *   deferred constraint, or with a ConnectionError
   */
  sync(reader = new RowReader()) { return this.#try(() => this.#steps.sync(reader)); }

  /**
   * Closes a named statement or portal on the server.
   * @param {string} type 'S' for a statement, 'P' for a portal
   * @param {string} name
   * @returns {Promise} resolves also where there is none of this name
   */
  close(type, name) {
    return this.#try(scope => {
      if (type !== 'S' && type !== 'P') throw new TypeError("type must be 'S' (statement) or 'P' (portal)");
      checkText(name, 'name');
      return scope.pipeline.submit(new query.CloseRequest(type, [name]), scope);
    });
  }

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun. Rows may be split anywhere.
   * @param {Uint8Array|string} data
   * @returns {boolean} false when a mebibyte and more waits to be taken: best to go on after the event 'drain'
   * @throws {UsageError} when no COPY is open
   */
  copyData(data) { return this.#steps.copyData(data); }

  /**
   * Ends the data of a COPY FROM STDIN.
   * @returns {Promise<RowReader>} `rowCount` is that of the rows copied; rejects with the server's error
   */
  copyDone(reader = new RowReader()) { return this.#try(() => this.#steps.copyDone(reader)); }

  /**
   * Makes a COPY FROM STDIN fail: nothing of it is stored.
   * @param {string|Buffer} [reason]
   * @returns {Promise<RowReader>} rejects with the error for which the COPY had failed before, with a ConnectionError,
   *   or with a UsageError (55000) where none is open
   */
  copyFail(reason = 'the client gave up') { return this.#try(() => this.#steps.copyFail(reason)); }

  /**
   * Runs a query and writes its result straight to a target, without looking at the rows. Nothing is written before
   * the first rows or the end of the result have come, so a query that fails before leaves the target as it was.
   * While the target asks to wait, the connection is not read, for nobody.
   * @param {Writable|WritableStream} target an HTTP response, a file, …
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] `{ as, int8, numeric, bytea, separator, end = true, stall_timeout = 60000, format, cache,
   *   paramTypes, signal, statement_timeout }`; as: 'protocol' (the default), messages that a reader can parse without
   *   earlier state; 'values', the bytes of the columns or of COPY, with `separator` between two rows; 'json', an array
   *   of objects; 'ndjson', an object a line; in these int8, numeric: 'number' or 'string'; bytea: 'hex' or 'base64';
   *   stall_timeout: milliseconds after which a target that takes nothing is destroyed, 0 for never
   * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} resolves when the target has taken
   *   everything; rejects with the error of the query, of the target, or an AbortError when the target was closed. A
   *   reader of what was written by then can tell: with 'protocol' an ErrorResponse ends it, else the target is destroyed
   */
  queryTo(target, text, values = NO_VALUES, options = NO_OPTIONS) {
    return this.#try(scope => {
      checkOptions(options, NAMES.queryTo);
      return stream().queryTo(scope, target, text, values, options);
    });
  }

  /**
   * Copies a table, or the result of a query, out of the database. Nothing is sent behind it until it is over.
   * @param {string} text COPY … TO STDOUT
   * @param {object} [options] `{ signal, highWaterMark = 65536, stall_timeout = 60000 }`; a reader that takes nothing for
   *   stall_timeout milliseconds (0: for ever), or the signal, destroys the stream, which cancels the COPY
   * @returns {Readable} the bytes that COPY gives; `rowCount` when it has ended, `bytes`, `format`
   * @throws {TypeError} for any other text
   */
  copyTo(text, options = NO_OPTIONS) { return this.#open('CopyTo', text, options, NAMES.copyTo); }

  /**
   * Copies into a table: a stream that takes text, CSV or binary as COPY does; rows may be split anywhere. To destroy
   * it makes the COPY fail. The connection is its own until it is over.
   * @param {string} text COPY … FROM STDIN
   * @param {object} [options] `{ signal, highWaterMark = 262144 }`; signal destroys the stream
   * @returns {Writable} 'finish' says that the server has taken the rows; `rowCount` then, `bytes`
   * @throws {TypeError} for any other text
   */
  copyFrom(text, options = NO_OPTIONS) { return this.#open('CopyFrom', text, options, NAMES.copyFrom); }

  /**
   * Listens to a channel, until the loop over it is left. What comes while nobody takes it is kept.
   * @param {string} channel
   * @param {object} [options] `{ signal }` makes the loop throw its reason
   * @returns {Listener} an async iterable of `{ processId, channel, payload }`; `ready` resolves when the server has
   *   begun to notify. It ends with `end()`, and throws when the connection is lost
   * @throws {TypeError|RangeError|UsageError} inside a transaction (25001), where it would begin with the commit
   */
  listen(channel, options = NO_OPTIONS) {
    checkNames(options, NAMES.listen);
    if (this.#depth === undefined) return new query.Listener(this, channel, options.signal);
    throw new UsageError("listen is the client's: in a transaction it would begin with the commit", '25001');
  }

  #open(name, text, options, names) {
    checkNames(options, names);
    const opened = new (copy()[name])(this.#scope, text, options);
    if (this.#depth === undefined) return opened;
    this.#streams.add(opened);
    return opened.once('close', () => this.#streams.delete(opened));
  }
}

module.exports = { Session };

'use strict';

const { EventEmitter } = require('node:events');
const query = require('./query');
const { UsageError, checkText, kindOf } = require('./protocol');
const { RowReader } = require('./rows');

const { NAMES, NO_OPTIONS, NO_VALUES, QueryRequest, checkOptions, copyDirection, promised, submit } = query;
// What a plain query does not need is loaded when it is needed.
const copy = () => require('./copy');
let streams;
const stream = () => (streams ??= require('./stream'));

/** Of requests whose streams would get rows twice. */
const never = () => false;

/** @throws {TypeError} of options of what has a stream */
function checkRepeated({ retry }) {
  if (!retry) return;
  throw new TypeError('the stream of a query that is repeated may get rows twice: leave out retry');
}

/**
 * What can be asked of the server: the base of Client and Pool, and what the function of `transaction` is given. A session
 * works on a lease: it asks for a scope to send in, and gives it back when the request, cursor, stream or function is over.
 */
class Session extends EventEmitter {
  #depth; // of savepoints; undefined outside a transaction
  #lease;
  #portals = 0;
  #streams = new Set(); // COPY streams that are open in this transaction

  /**
   * @private
   * @param {Scope|object|null} [lease=null] see Scope.run
   * @param {number} [depth] inside a transaction: of savepoints
   */
  constructor(lease = null, depth) {
    super();
    this.#lease = lease;
    this.#depth = depth;
  }

  /** @private for Client, which has another one for each connection, and for what makes requests of its own. */
  get lease() { return this.#lease; }
  set lease(lease) { this.#lease = lease; }

  /** How columns are decoded where a query says nothing: the option `decode` of the config. */
  get decode() { return this.#lease.decoding?.decode; }

  /**
   * Sends one query: Parse and Describe where its text is new, Bind, Execute and Sync, always in one write.
   * Queries are pipelined: a query does not wait for those before it, nor is an error of one that of another.
   * @param {string} text SQL, parameters as $1, $2, …
   * @param {Array|Row} [values=[]] strings, numbers, bigints, booleans, Dates (as timestamptz), Buffers and
   *   Uint8Arrays (sent as binary), null and undefined (NULL); arrays as `array(value)`, json as
   *   `JSON.stringify(value)`; or a row of an earlier result
   * @param {number|object} [format=Client.STRING] of the result; or all options as an object:
   *   `{ format, cache, stream, decode, paramTypes, signal, statement_timeout, alone, retry }`. alone: nothing is sent
   *   behind it, so that it can always be cancelled; retry: a pool may repeat it when the connection is lost
   * @param {boolean} [cache=true] false: the unnamed statement, for a text that is used once
   * @param {RowReader|Writable|{write: function}} [target] what takes the result
   * @returns {Promise<RowReader>} of the target; rejects with a PostgresError, ConnectionError or AbortError, or for
   *   bad input, before anything is sent, with a TypeError or RangeError
   */
  query(text, values = NO_VALUES, format = 0, cache = true, target) {
    try {
      const { scope } = this.#lease;
      let options;
      if (typeof format === 'object' && format !== null) {
        checkOptions(options = format, NAMES.query);
        ({ format = 0, cache = true, stream: target } = options);
      } else if (format !== 0 || cache !== true) checkOptions({ format, cache }, NAMES.query);
      const letter = typeof text === 'string' ? text.charCodeAt(0) | 32 : 100;
      // From d to z is what most texts begin with.
      const isCopy = (letter < 100 || letter > 122) && copyDirection(text) === 'in';
      if (options === undefined && target === undefined && !isCopy && scope !== null) {
        return scope.pipeline.submit(new QueryRequest(text, values, format, cache), scope);
      }
      return this.#query(text, values, options ?? NO_OPTIONS, { format, cache, target, isCopy });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #query(text, values, options, { format, cache, target, isCopy }) {
    const { paramTypes, decode, buffer } = options;
    const receiver = target === undefined ? undefined : stream().receiverFor(target, { buffer, text });
    const takes = () => receiver ?? (decode === undefined ? undefined : new RowReader(options));
    if (isCopy) return this.copyIn(text, values, takes(), options);
    const lease = this.#lease;
    const kept = lease.check(text, values);
    const make = () => new QueryRequest(text, kept, format, cache, paramTypes, takes());
    if (target !== undefined) return this.#queryInto(receiver, make(), options);
    return lease.run(options.alone ? 'alone' : 'shared', options, scope => submit(make(), scope, options));
  }

  /** A query whose result goes to what the caller gave as `stream`: it is not repeated. */
  #queryInto(receiver, request, options) {
    checkRepeated(options);
    const alone = options.alone || this.#lease.longTexts.has(request.text);
    const limits = { ...options, alone };
    const promise = this.#lease.run(alone ? 'alone' : 'shared', options, scope => submit(request, scope, limits), never);
    return stream().untilTaken(receiver, promise, request);
  }

  /** @private Begins a COPY FROM STDIN: only a Client has steps for its data. */
  copyIn(text, values, receiver, options) {
    query.keep(text, values);
    throw new UsageError('COPY FROM STDIN by query() is for a Client, which has copyData(): use copyFrom()', '0A000');
  }

  /**
   * Sends several statements as one text, without parameters: one transaction, unless it has BEGIN and COMMIT in it.
   * A pool resets the session after it, and rejects where a transaction block is left open.
   * @param {string} text
   * @param {object} [options] `{ decode, signal, statement_timeout, retry }`
   * @returns {Promise<RowReader[]>} a reader a statement; rejects with the first error
   */
  simpleQuery(text, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.simpleQuery);
      const how = options.decode === undefined ? this.#lease.decoding : options;
      checkText(text, 'text');
      return this.#lease.run('session', options, scope => submit(new query.SimpleQueryRequest(text, how), scope, options));
    });
  }

  /**
   * Sends several queries that share one Sync: they succeed or fail as one, in one implicit transaction.
   * @param {Array<string|[string, Array, object]>} queries text, values and `{ format, cache, stream, decode,
   *   paramTypes }` of each
   * @param {object} [options] `{ signal, statement_timeout, alone, retry }` for all of them
   * @returns {Promise<RowReader[]>} rejects with the first error, whose `index` tells the query
   */
  batch(queries, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.batch);
      const receiverFor = target => {
        checkRepeated(options);
        return stream().receiverFor(target);
      };
      const lease = this.#lease;
      let request = new query.BatchRequest(queries, receiverFor, lease);
      const { given, inputs } = request;
      const mayRepeat = (error, retry) => given.length === 0 && (retry || error.sent === false);
      const promise = lease.run(options.alone ? 'alone' : 'shared', options, scope => {
        if (request.scope !== null) request = new query.BatchRequest(inputs, receiverFor, lease);
        return submit(request, scope, options);
      }, mayRepeat);
      return given.reduce((last, receiver) => stream().untilTaken(receiver, last), promise);
    });
  }

  /**
   * Runs a function in a transaction block (of a transaction: behind a savepoint). Commits when it returns, rolls back
   * when it throws. Requests of others wait until it is over; inside it, requests to the outer client are refused.
   * @param {function(Session): Promise} work gets what to send its queries with; useless once it has returned
   * @param {object} [options] `{ isolation, readOnly, deferrable, signal, statement_timeout, retry }`. retry: a pool may
   *   call the function again when the connection is lost, also where that may have been after the commit, but not before
   *   the first call is over
   * @returns {Promise} of what the function returned; rejects with what it threw, or with the error of COMMIT
   */
  transaction(work, options = NO_OPTIONS) {
    return promised(() => {
      if (typeof work !== 'function') throw new TypeError(`transaction takes a function, then options, not ${kindOf(work)}`);
      checkOptions(options, NAMES.transaction);
      const depth = this.#depth === undefined ? 0 : this.#depth + 1;
      let called; // a promise of when the function that was called is over
      const call = tx => (called = new Promise(resolve => { resolve(work(tx)); }));
      const mayRepeat = async (error, retry) => {
        if (called !== undefined && retry) await called.catch(() => {});
        return called === undefined || retry;
      };
      const begin = scope => query.transaction(scope, depth, inner => new Session(inner, depth), call, options);
      return this.#lease.run('alone', options, begin, mayRepeat);
    });
  }

  /** @private Ends the streams of COPY that are open in this transaction. */
  abandonStreams(refused) { for (const each of this.#streams) each.abandon(query.again(refused())); }

  /**
   * The rows of a query, fetched some at a time. Outside a transaction it owns a connection until it is exhausted or
   * closed; in that of `transaction`, several cursors and other queries may go on side by side.
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] `{ batchSize = 1000 rows a round trip, format, cache, paramTypes, decode, signal }`
   * @returns {Cursor} an async iterable; `break` closes it
   * @throws {TypeError|RangeError}
   */
  cursor(text, values = NO_VALUES, options = NO_OPTIONS) {
    checkOptions(options, NAMES.cursor);
    const { batchSize = 1000, decode, signal } = options;
    const kept = query.Portal.check(text, values);
    const name = this.#depth === undefined ? '' : `c${this.#depth}_${++this.#portals}`;
    const lease = this.#lease;
    const openIn = scope => new query.Portal(scope, text, kept, options, name);
    const hold = () => new Promise((resolve, reject) => {
      lease.run('alone', options, scope => {
        const portal = openIn(scope);
        resolve(portal);
        return portal.ended;
      }).catch(reject);
    });
    const decoding = decode === undefined ? lease.decoding : { decode };
    return new query.Cursor(() => lease.scope === null ? hold() : openIn(lease.scope), { batchSize, decoding, signal });
  }

  /**
   * Closes a named statement or portal on the server.
   * @param {string} type 'S' for a statement, 'P' for a portal
   * @param {string} name
   * @returns {Promise} resolves also where there is none of this name
   */
  close(type, name) {
    return promised(() => {
      if (type !== 'S' && type !== 'P') throw new TypeError("type must be 'S' (statement) or 'P' (portal)");
      checkText(name, 'name');
      return this.#lease.run('shared', NO_OPTIONS, scope => submit(new query.CloseRequest(type, [name]), scope));
    });
  }

  /**
   * Runs a query and writes its result straight to a target, without looking at the rows. Nothing is written before
   * the first rows or the end of the result have come, so a query that fails before leaves the target as it was.
   * A result of more than `buffer` bytes is read at the target's pace, and its text is sent alone the next time.
   * @param {Writable|WritableStream} target an HTTP response, a file, …
   * @param {string} text
   * @param {Array|Row} [values=[]]
   * @param {object} [options] `{ as, int8, numeric, bytea, separator, end = true, stall_timeout = 60000, buffer = 1 MiB,
   *   format, cache, paramTypes, signal, statement_timeout, alone, retry }`; as: 'protocol' (the default), messages that a reader can parse without
   *   earlier state; 'values', the bytes of the columns or of COPY, with `separator` between two rows; 'json', an array
   *   of objects; 'ndjson', an object a line; in these int8, numeric: 'number' or 'string'; bytea: 'hex' or 'base64';
   *   stall_timeout: milliseconds after which a target that takes nothing is destroyed, 0 for never
   * @returns {Promise<{cmd: string, rowCount: number, bytes: number}>} resolves when the target has taken
   *   everything; rejects with the error of the query, of the target, or an AbortError when the target was closed. A
   *   reader of what was written by then can tell: with 'protocol' an ErrorResponse ends it, else the target is destroyed
   */
  queryTo(target, text, values = NO_VALUES, options = NO_OPTIONS) {
    return promised(() => {
      checkOptions(options, NAMES.queryTo);
      return stream().queryTo(this.#lease, target, text, values, options);
    });
  }

  /**
   * Copies a table, or the result of a query, out of the database. It is pipelined like a query.
   * @param {string} text COPY … TO STDOUT
   * @param {object} [options] `{ signal, highWaterMark = 65536, stall_timeout = 60000, buffer, alone }`; a reader that takes nothing for
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
    checkOptions(options, NAMES.listen);
    query.checkChannel(channel);
    return new query.Listener(this.channels, channel, options.signal, query.callerOf(this.listen));
  }

  /** @private What `listen` takes notifications from. */
  get channels() { throw new UsageError("listen is the client's: in a transaction it would begin with the commit", '25001'); }

  #open(name, text, options, names) {
    checkOptions(options, names);
    const opened = new (copy()[name])(this.#lease, text, options);
    if (this.#depth === undefined) return opened;
    this.#streams.add(opened);
    return opened.once('close', () => this.#streams.delete(opened));
  }
}

module.exports = { Session };

'use strict';

const { CloseRequest, NAMES, NO_VALUES, Portal, again, checkCount, checkOptions, promised, submit } = require('./query');
const { UsageError, kindOf } = require('./protocol');
const { RowReader } = require('./rows');
const { Session } = require('./session');

const copy = () => require('./copy');
const stream = () => require('./stream');

/** Above this many bytes that the system has not taken, copyData asks to wait. */
const COPY_BUFFER = 1 << 20;

/**
 * What a client does step by step, as in kig/quickgres 0.4: startQuery, getResults, sync; and the COPY FROM STDIN that
 * `query` begins, with copyData, copyDone and copyFail. One of each may be open. It makes sense only on a connection
 * that one has.
 */
class Steps extends Session {
  #copy = null;
  #portal = null;

  /** @private A new connection begins. @param {Scope} scope its root */
  beginSteps(scope) {
    this.lease = scope;
    this.#copy = this.#portal = null;
  }

  /**
   * Starts a query whose rows `getResults` fetches; the connection is its own until it is over.
   * The arguments are those of `query`.
   * @throws {UsageError} when another one is open; for bad input a TypeError or RangeError
   */
  startQuery(text, values = NO_VALUES, format = 0, cache = true) {
    checkOptions({ format, cache }, NAMES.query);
    const kept = Portal.check(text, values);
    if (this.inQuery) throw new UsageError('a query is open already: sync() before the next startQuery', '34000');
    this.#portal = new Portal(this.lease, text, kept, { format, cache });
  }

  /** Whether a query started with `startQuery` may have more rows. */
  get inQuery() { return this.#portal?.open === true; }

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param {number} [maxCount=0] at most so many; 0 for all that are left
   * @param {RowReader|Writable|{write: function}} [target]
   * @returns {Promise<RowReader>} whose `cmd` is SUSPENDED while there may be more; rejects with the error of the query
   *   or of the connection, with a UsageError (34000) where no query is open
   */
  getResults(maxCount = 0, target) {
    return promised(() => {
      checkCount(maxCount, 'maxCount', 0);
      if (this.#portal === null) throw this.#closed('no query is open: startQuery begins one', '34000');
      const receiver = target === undefined ? undefined : stream().receiverFor(target);
      const promise = this.#portal.fetch(maxCount, receiver);
      return target === undefined ? promise : stream().untilTaken(receiver, promise);
    });
  }

  /**
   * Ends the query that `startQuery` has started; without one, resolves when all requests before it are over.
   * @param {RowReader} [reader] what to resolve to
   * @returns {Promise<RowReader>} rejects with the error that ends the transaction of the query, such as that of a
   *   deferred constraint, or with a ConnectionError
   */
  sync(reader = new RowReader()) {
    return promised(() => {
      if (this.inQuery) return this.#closePortal().then(() => reader);
      const request = new CloseRequest('P', []);
      request.result = reader;
      return submit(request, this.lease);
    });
  }

  async #closePortal() {
    const { pipeline } = this.lease;
    await this.#portal.close();
    if (pipeline.socket === null) throw again(pipeline.scopes.root.refused()); // lost before it was closed
  }

  /** @private Begins a COPY FROM STDIN; resolves when the server takes data. */
  copyIn(text, values, receiver, options) {
    const scope = this.lease;
    const request = new (copy().CopyInRequest)(text, values, receiver, begun => {
      this.#copy = begun;
      if (scope.refused !== null) this.abandonSteps(scope.refused); // nobody can end it any more
    });
    return submit(request, scope, options);
  }

  #closed(message, code) { return again(this.lease.refused?.() ?? new UsageError(message, code)); }

  #taken() {
    if (this.#copy === null) throw this.#closed("no COPY is open: query('COPY … FROM STDIN') begins one", '55000');
    return this.#copy;
  }

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun. Rows may be split anywhere.
   * @param {Uint8Array|string} data
   * @returns {boolean} false when a mebibyte and more waits to be taken: best to go on after the event 'drain'
   * @throws {UsageError} when no COPY is open
   */
  copyData(data) {
    const request = this.#taken();
    if (typeof data === 'string') data = Buffer.from(data);
    if (!(data instanceof Uint8Array)) throw new TypeError(`copyData takes a Buffer, Uint8Array or string, not ${kindOf(data)}`);
    request.data(data);
    return this.lease.pipeline.bufferedBytes < COPY_BUFFER;
  }

  /**
   * Ends the data of a COPY FROM STDIN.
   * @returns {Promise<RowReader>} `rowCount` is that of the rows copied; rejects with the server's error
   */
  copyDone(reader = new RowReader()) {
    return promised(() => {
      if (!(reader instanceof RowReader)) throw new TypeError(`copyDone takes a RowReader, not ${kindOf(reader)}`);
      return this.#endCopy(reader);
    });
  }

  /**
   * Makes a COPY FROM STDIN fail: nothing of it is stored.
   * @param {string|Buffer} [reason]
   * @returns {Promise<RowReader>} rejects with the error for which the COPY had failed before, with a ConnectionError,
   *   or with a UsageError (55000) where none is open
   */
  copyFail(reason = 'the client gave up') {
    return promised(() => {
      const isText = typeof reason === 'string' || reason instanceof Uint8Array; // of any other object Buffer.from takes the length
      if (!isText) throw new TypeError(`copyFail takes a string or a Buffer, not ${kindOf(reason)}`);
      return this.#endCopy(new RowReader(), Buffer.from(reason).toString());
    });
  }

  #endCopy(reader, reason) {
    const request = this.#taken();
    this.#copy = null;
    return request.end(reader, reason);
  }

  /** @private Ends what is open, since the client takes no more requests. */
  abandonSteps(refused) {
    if (this.#copy !== null) this.copyFail(refused().message).catch(() => {});
    if (this.inQuery) this.#portal.close().catch(() => {});
  }
}

module.exports = { Steps };

'use strict';

const { BEGIN_STEPS, COPY_IN, END_STEPS, LEASE } = require('./internal');
const { SyncRequest, again, handOut, outcome, promised, submitIn } = require('./pipeline');
const { NAMES, NO_VALUES, checkCount, checkOptions, inputOf } = require('./options');
const requests = require('./requests');
const { UsageError, checkText, isBytes, kindOf } = require('./protocol');
const { RowReader } = require('./rows');
const { Session } = require('./session');

const stream = () => require('./stream');

/** With more bytes than this unsent, copyData asks to wait. */
const COPY_BUFFER = 1 << 20;

function checkReader(reader, method) {
  if (!(reader instanceof RowReader)) throw new TypeError(`${method} takes a RowReader, not ${kindOf(reader)}`);
}

/**
 * The steps of kig/quickgres 0.4: startQuery, getResults, sync; and copyData, copyDone and copyFail for the COPY FROM
 * STDIN that `query` begins. One of each may be open. Steps need a connection of their own, so only a Client has them.
 */
class Steps extends Session {
  #copy = null;
  #portal = null;

  /** A new connection begins, with this root scope. */
  [BEGIN_STEPS](scope) {
    this[LEASE] = scope;
    this.#copy = this.#portal = null;
  }

  /** Starts a query whose rows `getResults` fetches. It owns the connection until it is over. */
  startQuery(text, values = NO_VALUES, format = 0, cache = true) {
    checkOptions({ format, cache }, NAMES.query);
    const copied = requests.Portal.inputOf(text, values);
    if (this.inQuery) throw new UsageError('a query is open already: sync() before the next startQuery', '34000');
    this.#portal = require('./transaction').openPortal(this[LEASE], text, copied, { format, cache }, 'steps');
  }

  /** Whether a query of `startQuery` may have more rows. */
  get inQuery() {
    return this.#portal?.open === true;
  }

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param {RowReader|Writable|{write: function}} [target] takes the result
   * @returns {Promise<RowReader>} whose `cmd` is SUSPENDED while there may be more rows
   */
  getResults(maxCount = 0, target) {
    return promised(() => {
      checkCount(0)(maxCount, 'maxCount');
      if (this.#portal === null) throw this.#closed('no query is open: startQuery begins one', '34000');
      const receiver = target === undefined ? undefined : stream().receiverFor(target);
      const promise = this.#portal.fetch(maxCount, receiver);
      return handOut(target === undefined ? promise : stream().untilTaken(receiver, promise));
    });
  }

  /**
   * Ends the query of `startQuery`; without one, waits until all earlier requests are over.
   * @returns {Promise<RowReader>} rejects with the error that ends the query's transaction, for example of a deferred
   *   constraint
   */
  sync(reader = new RowReader()) {
    return promised(() => {
      checkReader(reader, 'sync');
      if (this.inQuery) return handOut(this.#closePortal().then(() => reader));
      return submitIn(new SyncRequest(reader), this[LEASE]);
    });
  }

  async #closePortal() {
    const { pipeline } = this[LEASE];
    await this.#portal.close();
    if (pipeline.socket === null) throw again(pipeline.scopes.root.refused()); // the connection was lost before
  }

  /** Begins a COPY FROM STDIN; resolves when the server takes data. */
  async [COPY_IN](text, values, receiver, options) {
    const { length, columnCount = length } = inputOf(text, values);
    if (columnCount > 0) throw new UsageError('COPY takes no values: write them as data', '08P01');
    if (receiver !== undefined && !(receiver instanceof RowReader))
      throw new TypeError('COPY FROM STDIN has no result for a stream: leave it out');
    const scope = this[LEASE];
    let resolve;
    const begun = new Promise(settle => {
      resolve = settle;
    });
    const request = new requests.CopyInRequest(
      text,
      () => {
        this.#copy = { request, over };
        if (scope.refused !== null) this[END_STEPS](scope.refused); // it could not be ended any more
        resolve(request.receiver);
      },
      undefined,
      receiver
    );
    const over = submitIn(request, scope, options);
    return Promise.race([over, begun]); // which handles a failure before copyDone
  }

  #closed(message, code) {
    return again(this[LEASE].refused?.() ?? new UsageError(message, code));
  }

  #taken() {
    if (this.#copy === null) throw this.#closed("no COPY is open: query('COPY … FROM STDIN') begins one", '55000');
    return this.#copy;
  }

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun, with rows split anywhere.
   * @returns {boolean} false if a mebibyte or more is waiting: continue after the event 'drain'
   */
  copyData(data) {
    const { request } = this.#taken();
    if (typeof data === 'string') {
      checkText(data, 'data');
      data = Buffer.from(data);
    }
    if (!isBytes(data)) throw new TypeError(`copyData takes a Buffer, Uint8Array or string, not ${kindOf(data)}`);
    request.data(data);
    return this[LEASE].pipeline.bufferedBytes < COPY_BUFFER;
  }

  /**
   * Ends the data of a COPY FROM STDIN.
   * @returns {Promise<RowReader>} with the `rowCount` of the copied rows
   */
  copyDone(reader = new RowReader()) {
    return promised(() => {
      checkReader(reader, 'copyDone');
      return handOut(this.#endCopy(reader));
    });
  }

  /**
   * Makes a COPY FROM STDIN fail, so that nothing is stored.
   * @returns {Promise<RowReader>} rejects with an earlier error of the COPY, a ConnectionError, or a UsageError
   *   (55000) if no COPY is open
   */
  copyFail(reason = 'the client gave up') {
    return promised(() => {
      // Buffer.from would take the length of any other object.
      const isText = typeof reason === 'string' || isBytes(reason);
      if (!isText) throw new TypeError(`copyFail takes a string or a Buffer, not ${kindOf(reason)}`);
      return handOut(this.#endCopy(new RowReader(), Buffer.from(reason).toString()));
    });
  }

  async #endCopy(reader, reason) {
    const { request, over } = this.#taken();
    this.#copy = null;
    const isFailing = request.end(reason, reader) && reason !== undefined;
    try {
      return await over;
    } catch (error) {
      return outcome({ error: isFailing && error.code === '57014' ? undefined : error, result: reader });
    }
  }

  /** Ends open steps, since the client takes no more requests. */
  [END_STEPS](refused) {
    if (this.#copy !== null) this.copyFail(refused().message).catch(() => {});
    if (this.inQuery) this.#portal.close().catch(() => {});
  }
}

module.exports = { Steps };

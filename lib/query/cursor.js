'use strict';

const { RowReader } = require('../rows');
const { checkLimits } = require('./abort');
const { callerOf, showCaller } = require('./failure');
const { checkStallTimeout, stalled } = require('./options');

/** The rows of a query, some at a time: an async iterable that holds one batch in memory. */
class Cursor {
  #batches;
  #caller;
  #index = 0;
  #rows = [];
  #turn = Promise.resolve();
  #waiting = 0; // calls that wait for their turn

  /**
   * @param {function(): Portal} open makes the portal; called for the first row
   * @param {object} options
   * @param {number} options.batchSize rows a round trip
   * @param {object} [options.decoding] `{ decode }` for the readers
   * @param {AbortSignal} [options.signal]
   */
  constructor(open, { batchSize, decoding, signal }) {
    this.#batches = this.#fetch(open, batchSize, decoding, { signal });
  }

  async * #fetch(open, batchSize, decoding, limits) {
    checkLimits(limits);
    let portal;
    try {
      portal = open();
    } catch (error) {
      throw showCaller(error, this.#caller);
    }
    try {
      let reader;
      do {
        reader = new RowReader(decoding);
        await portal.fetch(batchSize, reader, this.#caller, limits);
        yield reader.rows;
      } while (reader.cmd === 'SUSPENDED');
    } finally {
      await portal.close();
    }
  }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{done: boolean, value: object}>} the next row; rejects once with the error of the query, of the
   *   connection or of the signal, after the rows that came before it
   */
  next() {
    if (this.#waiting === 0 && this.#index < this.#rows.length) {
      return Promise.resolve({ done: false, value: this.#rows[this.#index++] });
    }
    this.#caller = callerOf(this.next);
    return this.#inTurn(async () => {
      while (this.#index >= this.#rows.length) {
        const { done, value } = await this.#batches.next();
        if (done) return { done, value };
        this.#rows = value;
        this.#index = 0;
      }
      return { done: false, value: this.#rows[this.#index++] };
    });
  }

  /** Calls that do not wait for each other are answered in their order. */
  #inTurn(work) {
    // At once, if it can be: the cursor has its place among the client's requests.
    const begun = this.#waiting++ === 0 ? work() : this.#turn.then(work);
    const turn = begun.finally(() => { this.#waiting--; });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /**
   * Closes the portal, when the rows that are being fetched have come; what `break` in a loop calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{done: true}>} rejects with a ConnectionError where the connection is lost meanwhile
   */
  return(value) {
    return this.#inTurn(() => {
      this.#rows = [];
      return this.#batches.return(value);
    });
  }

  /**
   * The rows as a Node stream in object mode. To destroy it closes the cursor.
   * @param {object} [options]
   * @param {number} [options.highWaterMark=16] rows to be read ahead
   * @param {AbortSignal} [options.signal] destroys the stream
   * @param {number} [options.stall_timeout=60000] milliseconds after which a stream that nobody reads is destroyed; 0: never
   * @returns {Readable}
   * @throws {TypeError}
   */
  readable({ highWaterMark = 16, signal, stall_timeout: given } = {}) {
    if (signal?.aborted !== true) checkLimits({ signal });
    const timeout = checkStallTimeout(given);
    const stream = require('#platform').stream.Readable.from(this, { highWaterMark, signal });
    if (timeout > 0) this.#watchStall(stream, timeout);
    return stream;
  }

  /** Destroys the stream when the cursor has rows, or more to fetch, and is not asked for any for too long. */
  #watchStall(stream, timeout) {
    let rows, index;
    const timer = setInterval(() => {
      if (this.#waiting === 0 && rows === this.#rows && index === this.#index && index > 0) stream.destroy(stalled('reader', timeout));
      rows = this.#rows;
      index = this.#index;
    }, timeout);
    stream.once('close', () => clearInterval(timer));
  }

  /**
   * The rows as a WHATWG stream. To cancel it closes the cursor.
   * @returns {ReadableStream}
   */
  readableStream() {
    return new ReadableStream({
      pull: async controller => {
        const { done, value } = await this.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => this.return()
    }, { highWaterMark: 0 });
  }
}

module.exports = { Cursor };

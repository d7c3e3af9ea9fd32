'use strict';

const { RowReader } = require('../rows');
const { checkLimits } = require('./abort');
const { callerOf } = require('./request');

/**
 * The rows of a query, some at a time: an async iterable that holds one batch in memory.
 */
class Cursor {
  #open;
  #batchSize;
  #decode;
  #signal;
  #portal = null;
  #rows = [];
  #index = 0;
  #over = false;
  #turns = 0; // calls that wait
  #turn = Promise.resolve();

  /**
   * @param {function(): Portal} open makes the portal; called for the first row
   * @param {object} options
   * @param {number} options.batchSize rows a round trip
   * @param {boolean|object} [options.decode]
   * @param {AbortSignal} [options.signal]
   */
  constructor(open, { batchSize, decode, signal }) {
    this.#open = open;
    this.#batchSize = batchSize;
    this.#decode = decode;
    this.#signal = signal;
  }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{done: boolean, value: object}>} the next row; rejects once with the error of the query, of the
   *   connection or of the signal, after the rows that came before it
   */
  next() {
    if (this.#index < this.#rows.length && this.#turns === 0) {
      return Promise.resolve({ done: false, value: this.#rows[this.#index++] });
    }
    try {
      if (this.#portal === null && !this.#over) {
        checkLimits({ signal: this.#signal });
        this.#portal = this.#open();
      }
    } catch (error) {
      this.#over = true;
      return Promise.reject(error);
    }
    const caller = callerOf(this.next);
    return this.#inTurn(() => this.#next(caller));
  }

  /**
   * The rows as a Node stream in object mode. To destroy it closes the cursor, once the batch that is being
   * fetched has come.
   * @param {object} [options]
   * @param {number} [options.highWaterMark=16] rows to be read ahead
   * @param {AbortSignal} [options.signal] destroys the stream
   * @returns {Readable}
   * @throws {TypeError}
   */
  readable({ highWaterMark = 16, signal } = {}) {
    if (signal?.aborted !== true) checkLimits({ signal });
    return require('#platform').stream.Readable.from(this, { highWaterMark, signal });
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

  /** Calls that do not wait for each other are answered in their order. */
  #inTurn(work) {
    this.#turns++;
    const turn = this.#turn.then(work).finally(() => { this.#turns--; });
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #next(caller) {
    while (this.#index >= this.#rows.length) {
      if (this.#over) return { done: true, value: undefined };
      try {
        await this.#fetch(caller);
      } catch (error) {
        this.#over = true;
        this.#portal.close().catch(() => {});
        throw error;
      }
    }
    return { done: false, value: this.#rows[this.#index++] };
  }

  async #fetch(caller) {
    const reader = new RowReader({ decode: this.#decode });
    await this.#portal.fetch(this.#batchSize, reader, caller, { signal: this.#signal });
    this.#rows = reader.rows;
    this.#index = 0;
    if (reader.cmd !== 'SUSPENDED') this.#over = true;
  }

  /**
   * Closes the portal; what `break` in a loop calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{done: true}>} rejects with a ConnectionError where the connection is lost meanwhile
   */
  return(value) {
    return this.#inTurn(async () => {
      this.#over = true;
      this.#rows = [];
      if (this.#portal !== null) await this.#portal.close();
      return { done: true, value };
    });
  }
}

module.exports = { Cursor };

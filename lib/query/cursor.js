'use strict';

const { RowReader } = require('../rows');
const { throwIfAborted } = require('./abort');
const { callerOf, showCaller } = require('./failure');
const { NAMES, NO_OPTIONS, checkOptions, checkStallTimeout, stalled } = require('./options');

/**
 * The rows of a query, some at a time: an async iterable. It holds two batches in memory, since the next one is under way
 * while the rows of one are read.
 */
class Cursor {
  #asked = 0; // rows that the generator is to give
  #caller = {}; // see callerOf
  #index = 0; // of the next row
  #generator;
  #portal; // once the first row was asked for
  #rows = []; // of the last batch

  /**
   * @param {function(): Portal|Promise<Portal>} open makes the portal, or a promise of it; called for the first row
   * @param {object} options
   * @param {number} options.batchSize rows a round trip
   * @param {object} [options.decoding] `{ decode }` for the readers
   * @param {AbortSignal} [options.signal]
   */
  constructor(open, options) { this.#generator = this.#generate(open, options); }

  async * #generate(open, { batchSize, decoding, signal }) {
    throwIfAborted({ signal });
    const opened = this.#opened(open);
    const portal = this.#portal = opened instanceof Promise ? await opened : opened; // what is sent at once is one write
    const fetch = async () => {
      const reader = new RowReader(decoding);
      await portal.fetch(batchSize, reader, { signal }, this.#caller);
      return reader;
    };
    try {
      for (let ahead = fetch(); ahead !== undefined;) {
        const { cmd, rows } = await ahead;
        portal.check();
        ahead = cmd === 'SUSPENDED' ? fetch() : undefined;
        ahead?.catch(() => {}); // it is awaited when these rows have been read
        this.#rows = rows;
        this.#index = 0;
        while (this.#index < this.#rows.length) yield this.#rows[this.#index++];
      }
    } finally {
      this.#rows = [];
      await portal.leave();
    }
  }

  /** The portal; its error shows who asked for rows, also where a stream of Node is between. */
  #opened(open) {
    try {
      return open();
    } catch (error) {
      throw showCaller(error, callerOf(this.next));
    }
  }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{done: boolean, value: object}>} the next row; rejects once with the error of the query, of the
   *   connection or of the signal, after the rows that came before it
   */
  next() {
    if (this.#asked === 0 && this.#index < this.#rows.length) {
      return Promise.resolve({ done: false, value: this.#rows[this.#index++] });
    }
    this.#asked++;
    callerOf(this.next, this.#caller);
    return this.#generator.next().finally(() => { this.#asked--; });
  }

  /**
   * Closes the portal; what `break` in a loop calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{done: true}>} rejects with a ConnectionError where the connection is lost meanwhile
   */
  return(value) { return this.#generator.return(value); }

  /** A stream of the rows is given up: nobody waits for those that are being fetched. */
  #abandon() {
    this.#portal?.cancel();
    return this.#generator.return();
  }

  /**
   * The rows as a Node stream in object mode. To destroy it closes the cursor, and cancels the query outside a transaction.
   * @param {object} [options]
   * @param {number} [options.highWaterMark=16] rows to be read ahead
   * @param {AbortSignal} [options.signal] destroys the stream
   * @param {number} [options.stall_timeout=60000] milliseconds after which a stream that nobody reads is destroyed; 0: never
   * @returns {Readable}
   * @throws {TypeError}
   */
  readable(options = NO_OPTIONS) {
    checkOptions(options, NAMES.readable);
    const { highWaterMark = 16, signal, stall_timeout: given } = options;
    const timeout = checkStallTimeout(given);
    const rows = { next: () => this.next(), return: () => this.#abandon(), [Symbol.asyncIterator]: () => rows };
    const stream = require('node:stream').Readable.from(rows, { highWaterMark, signal });
    if (timeout > 0) this.#watchStall(stream, timeout);
    return stream;
  }

  /** Destroys the stream when the cursor has rows, or more to fetch, and is not asked for any for too long. */
  #watchStall(stream, timeout) {
    let rows, index;
    const timer = setInterval(() => {
      if (this.#asked === 0 && rows === this.#rows && index === this.#index && index > 0) stream.destroy(stalled('reader', timeout));
      rows = this.#rows;
      index = this.#index;
    }, timeout);
    stream.once('close', () => clearInterval(timer));
  }

  /**
   * The rows as a WHATWG stream. To cancel it does what destroying `readable()` does.
   * @returns {ReadableStream}
   */
  readableStream() {
    return new ReadableStream({
      pull: async controller => {
        const { done, value } = await this.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => this.#abandon()
    }, { highWaterMark: 0 });
  }
}

module.exports = { Cursor };

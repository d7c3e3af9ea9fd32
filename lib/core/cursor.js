'use strict';

const { RowReader } = require('./rows');
const { callerOf, showCaller, throwIfAborted, watchStall } = require('./pipeline');
const { NAMES, NO_OPTIONS, STALL_TIMEOUT, checkOptions } = require('./options');

/** The rows of a query in batches, as an async iterable. */
class Cursor {
  #asked = 0; // rows that the generator has to give
  #caller = {}; // see callerOf
  #index = 0; // of the next row
  #leave; // ends the wait for a connection
  #generator;
  #given = 0; // rows
  #portal; // set when the first row was asked for
  #rows = []; // of the last batch

  constructor(open, options) { this.#generator = this.#generate(open, options); }

  async * #generate(open, { batchSize, decode, signal }) {
    throwIfAborted({ signal });
    const opened = this.#opened(open);
    const portal = this.#portal = opened instanceof Promise ? await opened : opened; // without an await, both messages leave in one write
    const fetch = async () => {
      const reader = new RowReader({ decode });
      await portal.fetch(batchSize, reader, { signal }, this.#caller);
      return reader;
    };
    try {
      for (let ahead = fetch(); ahead !== undefined;) {
        const { cmd, rows } = await ahead;
        portal.check();
        ahead = cmd === 'SUSPENDED' ? fetch() : undefined;
        ahead?.catch(() => {}); // it is awaited after these rows
        this.#rows = rows;
        this.#index = 0;
        while (this.#index < this.#rows.length) yield this.#take();
      }
    } finally {
      this.#rows = [];
      await portal.leave();
    }
  }

  #take() {
    this.#given++;
    return this.#rows[this.#index++];
  }

  /** Its error shows the code that asked for rows, even through a Node stream. */
  #opened(open) {
    try {
      return open(leave => { this.#leave = leave; });
    } catch (error) {
      throw showCaller(error, callerOf(this.next));
    }
  }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{done: boolean, value: object}>} rejects once with the error of the query, the connection or the signal,
   *   after the rows before it
   */
  next() {
    if (this.#asked === 0 && this.#index < this.#rows.length) {
      return Promise.resolve({ done: false, value: this.#take() });
    }
    this.#asked++;
    callerOf(this.next, this.#caller);
    return this.#generator.next().finally(() => { this.#asked--; });
  }

  return(value) { return this.#generator.return(value); }

  /** For `await using`; not every engine has the symbol. */
  async [Symbol.asyncDispose ?? Symbol()]() { await this.return(); }

  /** Drops the rows that are being fetched for a stream that was destroyed. */
  #giveUp() {
    this.#leave?.();
    this.#portal?.cancel();
    return this.#generator.return();
  }

  /** The rows as a Node stream in object mode. Destroying it closes the cursor, and cancels the query outside a transaction. */
  readable(options = NO_OPTIONS) {
    checkOptions(options, NAMES.readable);
    const { highWaterMark = 16, signal, stall_timeout: timeout = STALL_TIMEOUT } = options;
    const rows = { next: () => this.next(), return: () => this.#giveUp(), [Symbol.asyncIterator]: () => rows };
    const stream = require('node:stream').Readable.from(rows, { highWaterMark, signal });
    if (timeout === 0) return stream;
    const unread = () => this.#asked > 0 || this.#given === 0 ? NaN : -this.#given;
    const unwatch = watchStall('reader', timeout, unread, error => stream.destroy(error));
    return stream.once('close', unwatch);
  }

  /** The rows as a WHATWG stream; cancelling it is like destroying `readable()`. */
  readableStream() {
    return new ReadableStream({
      pull: async controller => {
        const { done, value } = await this.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => this.#giveUp()
    }, { highWaterMark: 0 });
  }
}

module.exports = { Cursor };

'use strict';

const { RowReader, readingOf } = require('./rows');
const { callerOf, handOut, throwIfAborted } = require('./pipeline');

const { nextTick } = process; // fake timers replace it later

/** The rows of a query in batches, as an async iterable. */
class Cursor {
  #index = 0; // of the next row
  #generator;
  #reading = 0; // calls of the generator that next() has to come behind
  #rows = []; // of the last batch

  constructor(open, options) {
    this.#generator = this.#generate(open, options);
  }

  async *#generate(open, options) {
    const { batchSize = 1000, signal } = options;
    throwIfAborted(options);
    const opened = open();
    // Without an await, both messages leave in one write.
    const portal = typeof opened.then === 'function' ? await opened : opened;
    const fetch = async () => {
      const reader = new RowReader(readingOf(options));
      await portal.fetch(batchSize, reader, { signal });
      if (reader.error !== undefined) throw reader.error;
      return reader;
    };
    let isLeft = false;
    try {
      for (let ahead = fetch(); ahead !== undefined;) {
        const { cmd, rows } = await ahead;
        portal.check();
        // In the next tick: a loop that ends before asks for no more.
        ahead = cmd === 'SUSPENDED' ? new Promise(nextTick).then(() => isLeft || fetch()) : undefined;
        ahead?.catch(() => {}); // it is awaited after these rows
        this.#rows = rows;
        this.#index = 0;
        while (this.#index < this.#rows.length) yield this.#rows[this.#index++];
      }
    } finally {
      isLeft = true;
      this.#rows = [];
      await portal.drop(); // also after `break`, which commits its transaction
    }
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  /**
   * @returns {Promise<{done: boolean, value: object}>} rejects once with the error of the query, the connection or
   *   the signal, after the rows before it
   */
  next() {
    if (this.#reading === 0 && this.#index < this.#rows.length)
      return Promise.resolve({ done: false, value: this.#rows[this.#index++] });
    this.#reading++;
    return handOut(
      this.#generator.next().finally(() => {
        this.#reading--;
      }),
      callerOf(this.next)
    );
  }

  return(value) {
    this.#reading++; // for ever: calls of next() wait for the generator's end
    return handOut(this.#generator.return(value));
  }

  /** For `await using`; not every engine has the symbol. */
  async [Symbol.asyncDispose ?? Symbol()]() {
    await this.return();
  }
}

module.exports = { Cursor };

'use strict';

const { PassThrough } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { AbortError } = require('../..');

/** What a Cursor takes for its portal: the cursor of a client that is held until the last row. */
class PooledPortal {
  #release;
  #rows;

  /**
   * @param {function(function(Client): Promise): Promise} hold calls a function with a client of its own
   * @param {function(Client): Cursor} open
   */
  constructor(hold, open) {
    this.#rows = new Promise((resolve, reject) => {
      hold(client => new Promise(release => {
        this.#release = release;
        resolve(open(client));
      })).catch(reject);
    });
  }

  /** Takes as many rows as the client's cursor fetches at a time. */
  async fetch(count, reader) {
    const cursor = await this.#rows;
    for (const { rows } = reader; rows.length < count;) {
      const { done, value } = await cursor.next();
      if (done) return;
      rows.push(value);
    }
    reader.cmd = 'SUSPENDED';
  }

  /** Nobody waits for the rows that are being fetched. */
  cancel() { this.#rows.then(cursor => cursor.readableStream().cancel()).catch(() => {}); }

  async close() {
    try {
      await (await this.#rows).return();
    } finally {
      this.#release?.();
    }
  }
}

/** What a CopyTo of a client is piped to, or a CopyFrom is piped from, on a connection of its own. */
class PooledCopy extends PassThrough {
  #copied; // promise of when all is copied
  #inner; // once there is a connection
  #isOut;

  /**
   * @param {function(function(Client): Promise): Promise} hold calls a function with a client of its own
   * @param {function(Client): CopyTo|CopyFrom} open
   * @param {object} options `{ isOut, highWaterMark }`
   */
  constructor(hold, open, { isOut, highWaterMark = 65536 }) {
    super({ highWaterMark });
    this.#isOut = isOut;
    this.#copied = hold(async client => {
      if (this.destroyed) throw new AbortError('the stream was destroyed');
      this.#inner = open(client);
      await (isOut ? pipeline(this.#inner, this) : pipeline(this, this.#inner));
    });
    this.#copied.catch(error => this.destroy(error));
  }

  get rowCount() { return this.#inner?.rowCount; }
  get bytes() { return this.#inner?.bytes ?? 0; }
  get format() { return this.#inner?.format; }
  get columnCount() { return this.#inner?.columnCount; }
  get columnFormats() { return this.#inner?.columnFormats; }

  /** The event 'finish' is to say that the server has taken the rows. */
  _flush(callback) {
    if (this.#isOut) return callback();
    this.push(null);
    this.#copied.then(() => callback(), callback);
  }
}

module.exports = { PooledCopy, PooledPortal };

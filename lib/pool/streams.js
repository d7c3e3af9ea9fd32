'use strict';

const { Duplex, addAbortSignal } = require('../platform').stream;
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

/** A CopyTo or CopyFrom on a connection of its own. */
class PooledCopy extends Duplex {
  #begun; // promise of the client's stream
  #inner;

  /**
   * @param {function(function(Client): Promise): Promise} hold calls a function with a client of its own
   * @param {function(Client): CopyTo|CopyFrom} open
   * @param {object} options `{ isOut, signal, highWaterMark }`
   */
  constructor(hold, open, { isOut, signal, highWaterMark = 65536 }) {
    super({ readable: isOut, writable: !isOut, highWaterMark });
    if (signal !== undefined) addAbortSignal(signal, this);
    this.#begun = new Promise((resolve, reject) => {
      hold(client => {
        if (this.destroyed) throw new AbortError('the stream was destroyed');
        const inner = this.#inner = open(client).on('error', error => this.destroy(error));
        if (isOut) inner.on('data', chunk => this.push(chunk) || inner.pause()).on('end', () => this.push(null));
        resolve(inner);
        return new Promise(release => { inner.once('close', release); });
      }).catch(reject);
    });
    this.#begun.catch(error => this.destroy(error));
  }

  get rowCount() { return this.#inner?.rowCount; }
  get bytes() { return this.#inner?.bytes ?? 0; }
  get format() { return this.#inner?.format; }
  get columnCount() { return this.#inner?.columnCount; }
  get columnFormats() { return this.#inner?.columnFormats; }

  _read() { this.#inner?.resume(); }

  _write(chunk, encoding, callback) {
    this.#begun.then(inner => inner.write(chunk) ? callback() : inner.once('drain', callback), callback);
  }

  _final(callback) { this.#begun.then(inner => inner.once('finish', callback).end(), callback); }

  _destroy(error, callback) {
    this.#inner?.destroy(error);
    callback(error);
  }
}

module.exports = { PooledCopy, PooledPortal };

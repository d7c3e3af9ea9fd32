'use strict';

const { Duplex, addAbortSignal } = require('#platform').stream;
const { Cursor, checkStallTimeout, stalled } = require('../query');

/** A Cursor on a connection that is taken for the first row, and released behind the last. */
class PooledCursor {
  #asked = 0;
  #rows;
  #waiting = 0;

  /** @param {AsyncGenerator} rows */
  constructor(rows) { this.#rows = rows; }

  [Symbol.asyncIterator]() { return this; }

  /** See Cursor. */
  next() { return this.#ask(() => this.#rows.next()); }

  /** See Cursor. */
  return(value) { return this.#ask(() => this.#rows.return(value)); }

  #ask(what) {
    this.#asked++;
    this.#waiting++;
    return what().finally(() => { this.#waiting--; });
  }

  /** See Cursor. */
  readable({ stall_timeout, ...options } = {}) {
    const timeout = checkStallTimeout(stall_timeout);
    const stream = Cursor.prototype.readable.call(this, { ...options, stall_timeout: 0 });
    let asked = 0;
    const timer = timeout > 0 && setInterval(() => {
      if (this.#waiting === 0 && asked === this.#asked && asked > 0) stream.destroy(stalled('reader', timeout));
      asked = this.#asked;
    }, timeout);
    return stream.once('close', () => clearInterval(timer));
  }

  /** See Cursor. */
  readableStream() { return Cursor.prototype.readableStream.call(this); }
}

/** A CopyTo or CopyFrom on a connection of its own. */
class PooledCopy extends Duplex {
  #begun; // promise of the client's stream
  #inner;

  /**
   * @param {string} method 'copyTo' or 'copyFrom'
   * @param {Promise<{client: Client, release: function()}>} held
   * @param {string} text
   * @param {object} options of that method
   */
  constructor(method, held, text, { signal, ...options }) {
    const isOut = method === 'copyTo';
    super({ readable: isOut, writable: !isOut, highWaterMark: options.highWaterMark ?? 65536 });
    if (signal !== undefined) addAbortSignal(signal, this);
    this.#begun = held.then(({ client, release }) => {
      if (this.destroyed) return release();
      const inner = this.#inner = client[method](text, options);
      inner.on('error', error => this.destroy(error)).once('close', release);
      if (isOut) inner.on('data', chunk => this.push(chunk) || inner.pause()).on('end', () => this.push(null));
      return inner;
    });
    this.#begun.catch(error => this.destroy(error));
  }

  get rowCount() { return this.#inner?.rowCount; }
  get bytes() { return this.#inner?.bytes ?? 0; }
  get format() { return this.#inner?.format; }
  get columnCount() { return this.#inner?.columnCount; }
  get columnFormats() { return this.#inner?.columnFormats; }

  _read() { this.#inner?.resume(); }

  _write(chunk, encoding, callback) { this._writev([{ chunk }], callback); }

  _writev(entries, callback) {
    this.#begun.then(inner => {
      inner.cork();
      const last = entries.pop();
      for (const { chunk } of entries) inner.write(chunk);
      inner.write(last.chunk, callback);
      inner.uncork();
    }, callback);
  }

  _final(callback) { this.#begun.then(inner => inner.once('finish', callback).end(), callback); }

  _destroy(error, callback) {
    this.#inner?.destroy(error);
    callback(error);
  }
}

module.exports = { PooledCopy, PooledCursor };

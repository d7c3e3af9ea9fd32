import { isBytes, view } from './bytes.js';
import { FrameReader } from './reader.js';
import { RowReader } from './row-reader.js';

/** A response whose status says that it does not hold rows; its body is left to the caller to read. */
export class ResponseError extends Error {
  /** @param {Response} response */
  constructor(response) {
    super(`the response has status ${response.status} ${response.statusText}`.trim());
    this.status = response.status;
    this.response = response;
  }
}
ResponseError.prototype.name = 'ResponseError';

/**
 * Opens a source.
 * @returns {Promise<Iterator|AsyncIterator>} of its chunks
 */
async function open(source) {
  source = await source;
  if (typeof source?.ok === 'boolean' && 'body' in source) {
    if (!source.ok) throw new ResponseError(source);
    source = source.body ?? [];
  }
  if (typeof source?.stream === 'function') source = source.stream();
  if (typeof source?.getReader === 'function') {
    const reader = source.getReader();
    return { next: () => reader.read(), return: reason => reader.cancel(reason) };
  }
  if (source?.[Symbol.asyncIterator]) return source[Symbol.asyncIterator]();
  return (isBytes(source) || !source?.[Symbol.iterator] ? [source] : source)[Symbol.iterator]();
}

/** The rows of a source as an async iterator, and what is known of their result so far. */
class Rows {
  #source;
  #chunks; // its iterator
  #reader;
  #rows = [];
  #at = 0; // the next of them
  #error; // to be thrown after them
  #ended = false;
  #reading; // the promise of more rows
  #reject; // of the promise of a chunk
  #signal;
  #abort;

  constructor(source, { decode = false, signal } = {}) {
    /** Bytes read so far. */
    this.bytes = 0;
    this.#source = source;
    this.#reader = new FrameReader(new RowReader({ decode }));
    this.#signal = signal;
    this.#abort = () => {
      this.#error = signal.reason;
      this.#close(signal.reason);
      this.#reject?.(signal.reason);
    };
    signal?.addEventListener('abort', this.#abort);
    if (signal?.aborted) this.#abort();
  }

  /** @type {RowParser|undefined} of the rows that came last */
  get rowParser() { return this.#reader.receiver.rowParser; }

  /** Descriptions of the columns; undefined before the first bytes are read. */
  get columns() { return this.rowParser?.columns; }

  /** The command tag without its numbers; undefined before the end. */
  get cmd() { return this.#reader.receiver.cmd; }

  /** Rows that the command says to have returned or changed; 0 before the end. */
  get rowCount() { return this.#reader.receiver.rowCount; }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{value: Row, done: boolean}>} the next row; rejects, after the rows that came before, with a PostgresError,
   *   ProtocolError or ResponseError, the error of the source, or the reason of the signal
   */
  next() {
    if (this.#at < this.#rows.length) return Promise.resolve({ value: this.#rows[this.#at++], done: false });
    return this.#more().then(more => more ? this.next() : { value: undefined, done: true });
  }

  /**
   * Stops reading and cancels the source: what `break` calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{value: *, done: true}>} resolves when the source is cancelled; never rejects
   */
  async return(value) {
    await this.#close();
    return { value, done: true };
  }

  /**
   * The rows as they come. Saves a promise a row.
   * @returns {AsyncGenerator<Row[]>} arrays of all those that a chunk completes; throws as the loop over single rows does
   */
  async *batches() {
    try {
      while (this.#at < this.#rows.length || await this.#more()) {
        const rows = this.#rows;
        const from = this.#at;
        this.#rows = [];
        this.#at = 0;
        yield from === 0 ? rows : rows.slice(from);
      }
    } finally {
      await this.#close();
    }
  }

  /** Reads until there are rows, or none any more (false); those who ask meanwhile wait for the same. */
  #more() {
    this.#reading ??= this.#read().finally(() => { this.#reading = undefined; });
    return this.#reading;
  }

  async #read() {
    for (;;) {
      if (this.#error !== undefined) {
        const error = this.#error;
        this.#error = undefined;
        this.#close(error);
        throw error;
      }
      if (this.#ended) return false;
      try {
        const { value, done } = await this.#chunk();
        if (!this.#ended) this.#take(value, done);
      } catch (error) {
        // Rows that came before it are given first.
        this.#error = error;
      }
      if (this.#rows.length > 0) return true;
    }
  }

  #chunk() {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      this.#pull().then(resolve, reject);
    });
  }

  async #pull() {
    if (this.#chunks === undefined) {
      this.#chunks = await open(this.#source);
      if (this.#ended) this.#cancel();
    }
    return this.#chunks.next();
  }

  #take(value, done) {
    this.#rows = this.#reader.receiver.rows = [];
    this.#at = 0;
    if (done) {
      this.#reader.end();
      this.#signal?.removeEventListener('abort', this.#abort);
      this.#ended = true;
    } else {
      const bytes = view(value);
      this.bytes += bytes.length;
      this.#reader.push(bytes);
    }
  }

  /** @returns {Promise} of the source being cancelled */
  async #close(reason) {
    if (this.#ended) return;
    this.#ended = true;
    this.#rows = [];
    this.#signal?.removeEventListener('abort', this.#abort);
    await this.#cancel(reason);
  }

  async #cancel(reason) {
    try {
      await this.#chunks?.return?.(reason);
    } catch { /* It is not wanted any more. */ }
  }
}

/**
 * Reads rows from wherever the bytes come from, as they come. Bytes are not copied; a row keeps the memory of
 * its chunk, `toObject()` does not.
 * @param {Response|ReadableStream|Blob|ArrayBuffer|ArrayBufferView|Iterable|AsyncIterable|Promise} source
 *   or a promise of it, such as fetch gives; iterables are of ArrayBuffers or views of them
 * @param {object} [options]
 * @param {boolean|object} [options.decode=false] true, or a map of decoders by type OID; else columns are
 *   strings, or Uint8Arrays where they are binary
 * @param {AbortSignal} [options.signal] stops reading and cancels the source
 * @returns {Rows} an async iterable of rows, with `columns`, `rowParser`, `cmd`, `rowCount`, `bytes` and
 *   `batches()`; after the rows that came before it, it throws a PostgresError for an ErrorResponse, a
 *   ProtocolError for bytes that are malformed or stop too early, a ResponseError for a response that is not
 *   ok, the signal's reason, or what the source throws
 */
export function rows(source, options) {
  return new Rows(source, options);
}

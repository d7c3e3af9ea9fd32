import { Client } from './client.js';
import { LineReader } from './line-reader.js';
import { isBytes, view } from './text.js';

/** So many bytes are read at a time, so that few of the rows that they become are there at once. */
const PIECE = 65536;
/** So many milliseconds of work at a time, then the browser may draw. */
const TURN = 8;

/** Memory as a source. */
function* pieces(bytes) {
  for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE);
}

/** Lets the browser do other things: scheduler.yield() where there is one, and no timer, which a hidden page waits for. */
const turn = () => globalThis.scheduler?.yield?.() ?? new Promise(resolve => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve(port1.close());
  port2.postMessage(0);
});

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

/** The rows of a source as an async iterator, and what is known of their result so far. */
class Rows {
  #client;
  #signal;
  #batches;
  #each;
  #batch = []; // that came last
  #at = 0; // the next row of it
  #reject; // the promise of what comes from the source

  constructor(source, { decode = false, signal } = {}) {
    /** Bytes read so far. */
    this.bytes = 0;
    this.#client = new Client(0, { decode });
    this.#signal = signal;
    this.#batches = this.#read(source);
    this.#each = this.#rows();
  }

  /** @type {RowParser|undefined} of the rows that came last */
  get rowParser() { return this.#client.stream.rowParser; }

  /** Descriptions of the columns; undefined before the first bytes are read. */
  get columns() { return this.rowParser?.columns; }

  /** The command tag without its numbers; undefined before the end. */
  get cmd() { return this.#client.stream.cmd; }

  /** Rows that the command says to have returned or changed; 0 before the end. */
  get rowCount() { return this.#client.stream.rowCount; }

  [Symbol.asyncIterator]() { return this; }

  /**
   * @returns {Promise<{value: Row, done: boolean}>} the next row; rejects, after the rows that came before, with a
   *   PostgresError, ProtocolError or ResponseError, the error of the source, or the reason of the signal
   */
  next() { return this.#each.next(); }

  /**
   * Stops reading and cancels the source: what `break` calls.
   * @param {*} [value] to be given back
   * @returns {Promise<{value: *, done: true}>} resolves when the source is cancelled, which waits for what was asked for
   *   before; never rejects
   */
  return(value) { return this.#each.return(value); }

  /**
   * The rows as they come. Saves a promise a row.
   * @returns {AsyncGenerator<Row[]>} arrays of all those that a chunk completes; throws as the loop over single
   *   rows does
   */
  async *batches() {
    try {
      if (this.#at < this.#batch.length) yield this.#batch.splice(this.#at);
      yield* this.#batches;
    } finally {
      await this.#batches.return();
    }
  }

  async *#rows() {
    for await (this.#batch of this.#batches) {
      for (this.#at = 0; this.#at < this.#batch.length;) {
        this.#signal?.throwIfAborted();
        yield this.#batch[this.#at++];
      }
    }
  }

  /**
   * Opens a source; what it is tells its content type.
   * @returns {Promise<Iterator|AsyncIterator>} of its chunks
   */
  async #open(source) {
    source = await source;
    if (/ndjson/i.test(source?.headers?.get('content-type') ?? source?.type)) this.#client = new LineReader();
    if (source?.ok === false) throw new ResponseError(source);
    if (source?.ok) source = source.body ?? [];
    source = source?.stream?.() ?? source;
    if (source?.getReader) {
      const reader = source.getReader();
      return { next: () => reader.read(), return: reason => reader.cancel(reason) };
    }
    if (source?.[Symbol.asyncIterator]) return source[Symbol.asyncIterator]();
    return (isBytes(source) ? pieces(view(source)) : source?.[Symbol.iterator] ? source : [source])[Symbol.iterator]();
  }

  async *#read(source) {
    const abort = () => this.#reject(this.#signal.reason);
    this.#signal?.addEventListener('abort', abort);
    const opening = this.#open(source);
    let chunks, answer, reason;
    try {
      chunks = await this.#wait(opening);
      const { stream } = this.#client;
      let last = 0;
      do {
        answer = await this.#wait(chunks.next());
        stream.rows = [];
        try {
          if (answer.done) this.#client.end();
          else {
            this.bytes += answer.value?.byteLength ?? 0;
            this.#client.onData(answer.value);
          }
          stream.rows; // are made
        } catch (error) {
          // Rows that came before it are given first.
          reason = error;
        }
        if (stream.made.length > 0) yield stream.made;
        if (reason) throw reason;
        if (performance.now() - last > TURN) {
          await this.#wait(turn());
          last = performance.now();
        }
      } while (!answer.done);
    } catch (error) {
      reason = error;
      throw error;
    } finally {
      this.#signal?.removeEventListener('abort', abort);
      const cancelled = opening.then(source => answer?.done || source.return?.(chunks && reason)).catch(() => {});
      if (chunks) await cancelled;
    }
  }

  /** What a promise of the source's gives, unless the signal aborts. */
  #wait(promise) {
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      if (this.#signal?.aborted) reject(this.#signal.reason);
      Promise.resolve(promise).then(resolve, reject);
    });
  }
}

/**
 * Reads rows from wherever the bytes come from, as they come. Bytes are not copied; a row keeps the memory of
 * its chunk, `toObject()` does not. Of a source whose content type is newline-delimited JSON, rows are plain objects.
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

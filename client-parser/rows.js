import { Client } from './client.js';
import { LineReader } from './line-reader.js';
import { isBytes, view } from './text.js';

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

/** So many bytes become rows at once, so that few of those of a large chunk are there at once, and the browser may draw. */
const PIECE = 65536;

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
export function rows(source, { decode = false, signal } = {}) {
  let client = new Client(0, { decode });
  let batch = []; // that came last
  let at = 0; // the next row of it
  let reject; // the promise of what comes from the source

  /** What a promise of the source's gives, unless the signal aborts. */
  const wait = promise => new Promise((resolve, refuse) => {
    reject = refuse;
    if (signal?.aborted) refuse(signal.reason);
    Promise.resolve(promise).then(resolve, refuse);
  });

  /**
   * Opens the source; what it is tells its content type.
   * @returns {Promise<Iterator|AsyncIterator>} of its chunks
   */
  async function open() {
    source = await source;
    if (/ndjson/i.test(source?.headers?.get('content-type') ?? source?.type)) client = new LineReader();
    if (source?.ok === false) throw new ResponseError(source);
    if (source?.ok) source = source.body ?? [];
    const reader = (source?.stream?.() ?? source)?.getReader?.();
    if (reader) return { next: () => reader.read(), return: reason => reader.cancel(reason) };
    return source?.[Symbol.asyncIterator]?.()
      ?? (source?.[Symbol.iterator] && !isBytes(source) ? source : [source])[Symbol.iterator]();
  }

  async function* read() {
    const abort = () => {
      batch = [];
      reject(signal.reason);
    };
    signal?.addEventListener('abort', abort);
    const opening = open();
    let chunks, answer, reason;
    try {
      chunks = await wait(opening);
      const { stream } = client;
      let rest = new Uint8Array(0);
      let last = 0;
      do {
        if (!rest.length) {
          answer = await wait(chunks.next());
          if (!answer.done) rest = view(answer.value);
          result.bytes += rest.length;
        }
        stream.rows = [];
        try {
          if (answer.done) client.end();
          else client.onData(rest.subarray(0, PIECE));
          stream.rows; // are made
        } finally {
          // Rows that came before an error are given before it.
          if (stream.made.length > 0) yield stream.made;
        }
        rest = rest.subarray(PIECE);
        // After so many milliseconds the browser may draw.
        if (Date.now() - last > 8) {
          await wait(globalThis.scheduler?.yield?.() ?? new Promise(resolve => setTimeout(resolve)));
          last = Date.now();
        }
      } while (!answer.done);
    } catch (error) {
      throw reason = error;
    } finally {
      signal?.removeEventListener('abort', abort);
      const cancelled = opening.then(source => answer?.done || source.return?.(chunks && reason)).catch(() => {});
      if (chunks) await cancelled;
    }
  }

  const all = read();

  const each = (async function* () {
    for await (batch of all) {
      for (at = 0; signal?.throwIfAborted(), at < batch.length;) yield batch[at++];
    }
  })();

  const result = {
    /** Bytes read so far. */
    bytes: 0,

    /** @type {RowParser|undefined} of the rows that came last */
    get rowParser() { return client.stream.rowParser; },

    /** Descriptions of the columns; undefined before the first bytes are read. */
    get columns() { return result.rowParser?.columns; },

    /** The command tag without its numbers; undefined before the end. */
    get cmd() { return client.stream.cmd; },

    /** Rows that the command says to have returned or changed; 0 before the end. */
    get rowCount() { return client.stream.rowCount; },

    // A loop gets rows that are there without a promise for each.
    [Symbol.asyncIterator]: () => ({
      next: () => at < batch.length ? { value: batch[at++] } : result.next(),
      return: result.return
    }),

    /**
     * @returns {Promise<{value: Row, done: boolean}>} the next row; rejects, after the rows that came before, with a
     *   PostgresError, ProtocolError or ResponseError, the error of the source, or the reason of the signal
     */
    next: () => each.next(),

    /**
     * Stops reading and cancels the source: what `break` calls.
     * @param {*} [value] to be given back
     * @returns {Promise<{value: *, done: true}>} resolves when the source is cancelled, which waits for what was asked for
     *   before; never rejects
     */
    return: value => {
      batch = [];
      return each.return(value);
    },

    /**
     * The rows as they come. Saves a promise a row.
     * @returns {AsyncGenerator<Row[]>} arrays of all those that a chunk completes; throws as the loop over single
     *   rows does
     */
    async *batches() {
      try {
        if (at < batch.length) yield batch.splice(at);
        yield* all;
      } finally {
        await all.return();
      }
    }
  };
  return result;
}

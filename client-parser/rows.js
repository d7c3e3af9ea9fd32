import { Client } from './client.js';
import { named } from './errors.js';
import { LineReader } from './line-reader.js';
import { isBytes, view } from './text.js';

/** The response's status says that it has no rows. Its body has not been read. */
export class ResponseError extends Error {
  constructor(response) {
    super(`status ${response.status}`);
    this.status = response.status;
    this.response = response;
  }
}
named(ResponseError, 'ResponseError');

/** Bytes of a large chunk that become rows at a time, so that few rows exist at once and the browser can draw. */
const PIECE = 65536;

/**
 * Reads rows as they arrive: see index.d.ts. Bytes are not copied: a struct keeps the memory of its chunk.
 * @param {object} [options] `decode`, `structs`, `signal`
 * @returns {Rows} an async iterable of rows
 */
export function rows(source, { decode = true, structs, signal } = {}) {
  let client = new Client(0, { decode });
  client.stream.plain = !structs;
  let batch = []; // the last one
  let at = 0; // its next row
  let reject; // rejects the wait for the source

  /** Waits for a promise of the source, unless the signal aborts. */
  const wait = promise =>
    new Promise((resolve, refuse) => {
      reject = refuse;
      if (signal?.aborted) refuse(signal.reason);
      Promise.resolve(promise).then(resolve, refuse);
    });

  /**
   * Opens the source, and takes its content type.
   * @returns {Promise<Iterator|AsyncIterator>} of its chunks
   */
  async function open() {
    source = await source;
    if (/ (?:String|URL|Request)/.test({}.toString.call(source))) {
      source = new Request(source, { signal });
      source.headers.set('accept', 'application/x-postgresql');
      source = await fetch(source);
    }
    if (/ndjson/i.test(source?.headers?.get('content-type') ?? source?.type)) client = new LineReader();
    if (source?.ok === false) throw new ResponseError(source);
    if (source?.ok) source = source.body ?? [];
    const reader = (source?.stream?.() ?? source)?.getReader?.();
    if (reader) return { next: () => reader.read(), return: reason => reader.cancel(reason) };
    return (
      source?.[Symbol.asyncIterator]?.() ??
      (source?.[Symbol.iterator] && !isBytes(source) ? source : [source])[Symbol.iterator]()
    );
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
        } finally {
          // Rows before an error come before it.
          if (stream.rows.length) yield stream.rows;
        }
        rest = rest.subarray(PIECE);
        // After 8 ms the browser may draw. It does before a posted task; Chromium's scheduler.yield() delays it by up
        // to 100 ms.
        if (Date.now() - last > 8) {
          await wait(new Promise(resolve => globalThis.scheduler?.postTask?.(resolve) ?? setTimeout(resolve)));
          last = Date.now();
        }
      } while (!answer.done);
    } catch (error) {
      throw (reason = error);
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
    bytes: 0,

    /** @type {RowParser|undefined} of the last rows */
    get rowParser() {
      return client.stream.rowParser;
    },

    /** The columns; undefined before the first bytes. */
    get columns() {
      return result.rowParser?.columns;
    },

    /** The command tag without numbers; undefined before the end. */
    get cmd() {
      return client.stream.cmd;
    },

    /** The number of rows in the command tag; 0 before the end. */
    get rowCount() {
      return client.stream.rowCount;
    },

    // Rows that are there need no promise each.
    [Symbol.asyncIterator]: () => ({
      next: () => (at < batch.length ? { value: batch[at++] } : result.next()),
      return: result.return
    }),

    /** @returns {Promise<{value: Row, done: boolean}>} rejects, after the rows before, as `rows` says */
    next: () => each.next(),

    /**
     * Stops reading and cancels the source, as `break` does.
     * @returns {Promise<{value: *, done: true}>} resolves when the source is cancelled, after earlier reads; never
     *   rejects
     */
    return: value => {
      batch = [];
      return each.return(value);
    },

    /**
     * @returns {AsyncGenerator<Row[]>} arrays of the rows that a piece of at most 64 kB completes
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

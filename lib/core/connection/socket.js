'use strict';

const { ConnectionError } = require('../protocol');
const { setImmediate } = require('../timer');
const { isWorkerd, sameRequest } = require('../worker');

const { nextTick } = process; // fake timers replace it later

/**
 * Bytes read at a time: few until a read has that many, since V8 collects garbage early for large memory, and an idle
 * connection keeps what its largest read needed.
 */
const SMALL = 2048;
const MIDDLE = 32768;
const LARGE = 65536;

/** Node.js keeps a closed stream until it collects all garbage: nothing else is kept with it. */
const NOBODY = { chunk() {}, closed() {} };

/**
 * @typedef {object} SocketListener
 * @property {function(Buffer, number): void} chunk gets bytes in buffer[0 … length), which the next ones overwrite
 * @property {function(Error|undefined): void} closed called exactly once
 * @property {function(): void} [drained] everything written has been taken
 */

/**
 * The byte stream to a server: TCP, a Unix socket, TLS or the caller's Duplex. A stream made with `onread:
 * socket.onread` reads into memory that is used again, so that a read allocates nothing; any other Duplex delivers
 * 'data' events.
 */
class Socket {
  #listener;
  #pausing = new Set();
  #error;
  #closed = false;
  #request; // in a Worker: only the request that has connected may read
  #isPlain = false;
  #scheduled = false; // a write at the end of the tick
  #events = {
    data: chunk => this.#listener.chunk(chunk, chunk.length),
    drain: () => this.#listener.drained?.(),
    error: error => {
      this.#error ??= error;
    },
    end: () => this.destroy(),
    close: () => this.#close()
  };

  constructor(listener) {
    this.#listener = listener;
    this.stream = null;
  }

  /**
   * The option `onread` of net.connect and tls.connect; undefined if none works. Node.js asks `buffer` for memory after
   * each callback, unless the callback throws: then it goes on with what it has, although `next` is another.
   *
   *     small ──read──▶ callback ──▶ small ──read──▶ callback: it was full ──▶ larger ─read──▶ callback ──▶ larger …
   *                                                     └─ it throws ────────▶ small ──read──▶ callback: which one has
   *                                                     the bytes?
   *
   * Both are zeroed meanwhile, so the one that has bytes was read into.
   */
  get onread() {
    if (isWorkerd) return undefined; // it reads once and takes the memory away
    let used = Buffer.allocUnsafe(SMALL);
    let next = used;
    const callback = length => {
      if (used !== next && (length > used.length || next.subarray(0, length).some(Boolean))) used = next;
      this.#listener.chunk(used, length);
      if (used === next && length === used.length && length < LARGE)
        next = Buffer.alloc(length === SMALL ? MIDDLE : LARGE);
      if (used !== next) used.fill(0);
      return true;
    };
    return { buffer: () => next, callback };
  }

  handOver(listener) {
    this.#listener = listener;
    if (this.#closed) setImmediate(() => listener.closed(this.#error));
  }

  /** Delivers bytes that the earlier listener has not read. */
  deliver(bytes) {
    this.#listener.chunk(bytes, bytes.length);
  }

  /** @param {import('stream').Duplex} stream connected or connecting */
  attach(stream) {
    this.stream = stream;
    if (isWorkerd) this.#request = sameRequest();
    // Whether the system copies what it takes at once, as it does for Node.js's own sockets without TLS.
    this.#isPlain = stream._handle && stream.encrypted === undefined;
    for (const event of Object.keys(this.#events)) stream.on(event, this.#events[event]);
  }

  /** @returns {import('stream').Duplex} the stream without listeners, for TLS on top of it */
  detach() {
    const { stream } = this;
    for (const event of Object.keys(this.#events)) stream.removeListener(event, this.#events[event]);
    this.stream = null;
    return stream;
  }

  /** Writes everything of this tick at its end, at once. */
  flushSoon(writer) {
    if (this.#scheduled) return;
    this.#scheduled = true;
    nextTick(this.flush, writer);
  }

  flush = writer => {
    this.#scheduled = false;
    if (this.#request !== undefined) this.#checkRequest();
    if (writer.length === 0 || this.#closed || this.stream.destroyed) return;
    // New memory of the writer's size costs 50 µs; a copy of a query costs 1.
    this.stream.write(this.#isPlain ? writer.take() : Buffer.from(writer.take()));
    if (!this.#isPlain || this.stream.writableLength === 0) writer.reuse();
  };

  /** workerd takes a write to another request's socket, and never answers. */
  #checkRequest() {
    const cause = this.#request();
    if (cause === undefined) return;
    const message = 'the client was connected by another request of the Worker: connect one in each request';
    this.destroy(new ConnectionError(message, { code: '08003', cause }));
  }

  /**
   * Writes several pieces as one, without a copy.
   * @param {function} callback called when the system has taken all; never after a loss
   */
  writeAll(pieces, callback) {
    const { stream } = this;
    const last = pieces.length - 1;
    stream.cork?.(); // the caller's stream may have no cork
    for (let i = 0; i < last; i++) stream.write(pieces[i]);
    // A destroyed socket calls back without an error.
    stream.write(pieces[last], error => {
      if (!error && !stream.destroyed) callback();
    });
    stream.uncork?.();
  }

  /** Bytes written that the system has not taken. */
  get bufferedBytes() {
    return this.stream?.writableLength ?? 0;
  }

  /** Stops reading until each `who` that has paused has resumed. */
  pause(who) {
    if (this.#closed) return;
    if (this.#pausing.size === 0) this.stream.pause();
    this.#pausing.add(who);
  }

  resume(who) {
    if (this.#pausing.delete(who) && this.#pausing.size === 0) this.stream.resume();
  }

  ref() {
    this.stream?.ref?.();
  }
  unref() {
    this.stream?.unref?.();
  }

  /** Sends what was written, then closes, even if reading is paused. */
  end() {
    if (this.#pausing.size > 0) this.stream.resume();
    this.#pausing.clear();
    this.stream.end();
  }

  /** Closes at once; `closed` follows with this error. */
  destroy(error) {
    this.#error ??= error;
    if (this.stream === null) return void this.#close();
    this.stream.destroy();
    // A Duplex may not emit 'close'.
    if (!this.#isPlain) setImmediate(() => this.#close());
  }

  #close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#pausing.clear();
    const listener = this.#listener;
    this.#listener = NOBODY;
    listener.closed(this.#error);
  }
}

module.exports = { Socket };

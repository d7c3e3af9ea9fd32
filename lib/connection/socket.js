'use strict';

const { ConnectionError } = require('../protocol');

/** Cloudflare's Workers read once by `onread` and take its memory away. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';

/** Bytes read at a time. The system commits their memory only as far as it is written to: an idle connection costs 5 kB. */
const CHUNK = 65536;

/**
 * @typedef {object} SocketListener
 * @property {function(Buffer, number): void} chunk bytes have arrived in buffer[0 … length), which are overwritten
 *   by the next ones
 * @property {function(Error|undefined): void} closed the connection is over; called exactly once
 * @property {function(): void} [drained] after `needsDrain`: everything written has been taken
 */

/**
 * The byte stream to a server, whatever carries it: TCP, a Unix socket, TLS or a Duplex of the caller's.
 *
 * A stream made with the option `onread: socket.onread` reads into memory of the Socket that is used again and
 * again, so that a read costs no allocation; any other Duplex delivers by its 'data' events.
 */
class Socket {
  #listener;
  #pausing = new Set();
  #error;
  #closed = false;
  #request; // of a Worker: a signal that only the request that has connected may read
  #isPlain = false;
  #scheduled = false; // whether what is written leaves at the end of the tick
  #events = {
    data: chunk => this.#listener.chunk(chunk, chunk.length),
    drain: () => this.#listener.drained?.(),
    error: error => { this.#error ??= error; },
    end: () => this.destroy(),
    close: () => this.#close()
  };

  /** @param {SocketListener} listener */
  constructor(listener) {
    this.#listener = listener;
    /** @type {import('stream').Duplex|null} what carries the bytes */
    this.stream = null;
  }

  /** The option `onread` of net.connect and tls.connect; undefined where there is none that works. */
  get onread() {
    if (isWorkerd) return undefined;
    // Never exchanged: if the listener throws, Node goes on writing to the memory that it was given first.
    const buffer = Buffer.allocUnsafeSlow(CHUNK);
    const callback = length => {
      this.#listener.chunk(buffer, length);
      return true;
    };
    return { buffer, callback };
  }

  /** @param {SocketListener} listener who is told from now on */
  handOver(listener) {
    this.#listener = listener;
    if (this.#closed) setImmediate(() => listener.closed(this.#error));
  }

  /** @param {Buffer} bytes what the listener of before has left */
  deliver(bytes) { this.#listener.chunk(bytes, bytes.length); }

  /** @param {import('stream').Duplex} stream connected or connecting */
  attach(stream) {
    this.stream = stream;
    if (isWorkerd) this.#request = new AbortController().signal;
    // Whether a flushed write means that nobody reads the memory any more; only Node's own sockets promise it.
    this.#isPlain = typeof stream._handle === 'object' && typeof stream.encrypted === 'undefined';
    for (const event of Object.keys(this.#events)) stream.on(event, this.#events[event]);
    stream.setNoDelay?.(true);
  }

  /** @returns {import('stream').Duplex} the stream, which is not listened to any more, for TLS on top of it */
  detach() {
    const { stream } = this;
    for (const event of Object.keys(this.#events)) stream.removeListener(event, this.#events[event]);
    this.stream = null;
    return stream;
  }

  /**
   * @param {Buffer} buffer
   * @returns {boolean} whether the system has taken all bytes, so that the memory may be used again at once
   */
  write(buffer) {
    this.stream.write(buffer);
    return this.#isPlain && this.stream.writableLength === 0;
  }

  /**
   * Everything written in this tick leaves in one write at its end.
   * @param {MessageWriter} writer
   */
  flushSoon(writer) {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(this.flush, writer);
  }

  /** Writes out what a writer holds. */
  flush = writer => {
    this.#scheduled = false;
    if (this.#request !== undefined) this.#checkRequest();
    if (writer.length > 0 && !this.#closed && !this.stream.destroyed && this.write(writer.take())) writer.reuse();
  };

  /** Of another request's socket, workerd takes a write and never answers. */
  #checkRequest() {
    try {
      void this.#request.aborted;
    } catch (cause) {
      this.destroy(new ConnectionError(
        'the client was connected by another request of the Worker, and is of no use in this one: connect one in each request',
        { code: '08003', cause }));
    }
  }

  /**
   * Writes several pieces as one, without a copy.
   * @param {Uint8Array[]} pieces
   * @param {function} callback called when the system has taken all; not at all if the connection is lost before
   */
  writeAll(pieces, callback) {
    const { stream } = this;
    const last = pieces.length - 1;
    stream.cork?.(); // a WebSocket gathers nothing
    for (let i = 0; i < last; i++) stream.write(pieces[i]);
    // Also a socket that is destroyed calls back, and without an error.
    stream.write(pieces[last], error => { if (!error && !stream.destroyed) callback(); });
    stream.uncork?.();
  }

  /** Bytes written that the system has not taken yet. */
  get bufferedBytes() { return this.stream?.writableLength ?? 0; }

  /**
   * Nothing is read until everybody who has paused has resumed.
   * @param {*} who cannot take more
   */
  pause(who) {
    if (this.#closed) return;
    if (this.#pausing.size === 0) this.stream.pause();
    this.#pausing.add(who);
  }

  /** @param {*} who can go on; nothing happens where it had not paused */
  resume(who) {
    if (this.#pausing.delete(who) && this.#pausing.size === 0) this.stream.resume();
  }

  ref() { this.stream?.ref?.(); }
  unref() { this.stream?.unref?.(); }

  /** Sends what was written, then closes; whoever has paused is not waited for any more. */
  end() {
    if (this.#pausing.size > 0) this.stream.resume();
    this.#pausing.clear();
    this.stream.end();
  }

  /**
   * Closes at once; `closed` follows, with this error.
   * @param {Error} [error]
   */
  destroy(error) {
    this.#error ??= error;
    if (this.stream === null) return void this.#close();
    this.stream.destroy();
    // A Duplex that does not emit 'close' must not keep a promise waiting.
    if (!this.#isPlain) setImmediate(() => this.#close());
  }

  #close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#pausing.clear();
    this.#listener.closed(this.#error);
  }
}

module.exports = { Socket };

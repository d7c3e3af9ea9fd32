'use strict';

const { Buffer, setImmediate } = require('#platform');
const { isWorkerd } = require('#platform');

const CHUNK = 65536;
/** Most chunks that are given back and wait to be used again. */
const SPARE = 8;

/**
 * One byte stream to the server, whatever carries it: TCP, a Unix socket, TLS or a Duplex of the caller's.
 * A socket made with `onread: transport.onread` reads into memory of the transport that is used again and
 * again, so that a read costs no allocation; any other Duplex delivers through its 'data' events.
 */
class Transport {
  constructor() {
    /** `(chunk, length)`: bytes have arrived in chunk[0 … length); lent for the call, see `keep`. */
    this.onchunk = () => {};
    /** `(error | undefined)`: the stream is over; called exactly once. */
    this.onclose = () => {};
    /** `()`: after `write` returned false, what was written has been taken. */
    this.ondrain = () => {};
    this.socket = null;
    this._memory = Buffer.allocUnsafeSlow(CHUNK);
    this._kept = false;
    this._lent = null; // the transport's memory that holds the chunk
    this._hold = null; // the chunk being read, if it was kept
    this._spare = [];
    this._reading = false;
    this._error = undefined;
    this._closed = false;
    /** The `onread` option for net.connect and tls.connect; undefined where there is none that works. */
    this.onread = isWorkerd ? undefined : {
      buffer: () => {
        // Asked after each read, and once for each handle that net.connect tries.
        if (this._reading && !this._kept) return undefined; // go on with the same memory
        if (this._kept) this._memory = this._spare.pop() || Buffer.allocUnsafeSlow(CHUNK);
        this._kept = this._reading = false;
        return this._memory;
      },
      callback: (length, memory) => {
        this._kept = false;
        this._lent = memory;
        this.onchunk(memory, length);
        this._reading = true;
        return true;
      }
    };
    this._listeners = {
      data: chunk => this.onchunk(chunk, chunk.length),
      drain: () => this.ondrain(),
      error: error => { this._error = this._error || error; },
      end: () => this.destroy(),
      close: () => this._close()
    };
  }

  /**
   * Takes over a connected or connecting stream.
   * @param {import('stream').Duplex} socket
   */
  attach(socket) {
    this.socket = socket;
    // Whether a flushed write means that nobody reads the memory any more; only Node's own sockets promise it.
    this._reusable = typeof socket._handle === 'object' && typeof socket.encrypted === 'undefined';
    for (const event in this._listeners) socket.on(event, this._listeners[event]);
    if (typeof socket.setNoDelay === 'function') socket.setNoDelay(true);
  }

  /** Stops listening and gives the stream back, for wrapping it in TLS. */
  detach() {
    const socket = this.socket;
    for (const event in this._listeners) socket.removeListener(event, this._listeners[event]);
    this.socket = null;
    return socket;
  }

  /**
   * Inside `onchunk`: the chunk is the caller's from now on, the transport takes other memory.
   * @returns {object} to be given to `release`, if it is known when nobody reads the chunk any more
   */
  keep() {
    if (!this._kept) this._hold = { memory: this._lent, uses: 0 };
    this._kept = true;
    this._hold.uses++;
    return this._hold;
  }

  /** Inside `onchunk`: whether a chunk is the transport's own memory, which may be written to. */
  lends(chunk) { return chunk === this._lent; }

  /** The chunk is not read any more by one of those who kept it: without it, its memory is left to the collector. */
  release(hold) {
    if (--hold.uses === 0 && hold.memory !== null && this._spare.length < SPARE) this._spare.push(hold.memory);
  }

  /** Whether the chunk being read was kept. */
  get kept() { return this._kept; }

  /**
   * @param {Buffer} buffer
   * @returns {boolean} true when the system has taken all bytes and the memory may be used again
   */
  write(buffer) {
    this.socket.write(buffer);
    return this._reusable && this.socket.writableLength === 0;
  }

  /** Whether `writeAll` is possible: what stands for a socket over a WebSocket does not tell when bytes are taken. */
  get tellsTaken() { return this.socket !== null && typeof this.socket.cork === 'function'; }

  /**
   * Writes several pieces as one, without a copy.
   * @param {Uint8Array[]} pieces
   * @param {function} callback called when the system has taken all; not at all if the connection is lost before
   */
  writeAll(pieces, callback) {
    const { socket } = this;
    const last = pieces.length - 1;
    socket.cork();
    for (let i = 0; i < last; i++) socket.write(pieces[i]);
    // Also a socket that is destroyed calls back, and without an error.
    socket.write(pieces[last], error => { if (!error && !socket.destroyed) callback(); });
    socket.uncork();
  }

  /** Bytes written that the system has not taken yet. */
  get bufferedBytes() { return this.socket === null ? 0 : this.socket.writableLength; }

  /** Whether `ondrain` will be called. */
  get needsDrain() { return this.socket !== null && this.socket.writableNeedDrain === true; }

  pause() { this.socket.pause(); }
  resume() { this.socket.resume(); }
  ref() { if (this.socket !== null && this.socket.ref) this.socket.ref(); }
  unref() { if (this.socket !== null && this.socket.unref) this.socket.unref(); }

  /** Sends what was written, then closes. */
  end() { this.socket.end(); }

  /**
   * Closes at once; `onclose` follows with this error.
   * @param {Error} [error]
   */
  destroy(error) {
    if (this._closed) return;
    this._error = this._error || error;
    if (this.socket === null) return void this._close();
    this.socket.destroy();
    // A Duplex that does not emit 'close' must not keep a promise waiting.
    setImmediate(() => this._close());
  }

  _close() {
    if (this._closed) return;
    this._closed = true;
    this.onclose(this._error);
  }
}

module.exports = { Transport };

'use strict';

const { backend: { CommandComplete, EmptyQueryResponse, PortalSuspended }, decodeCommandComplete } = require('../protocol');

/** Bytes go to a target in pieces of about this size. */
const PIECE = 65536;

/** The first piece of a result is mostly the last, too: it needs less memory. */
const FIRST = 4096;

/** Bytes that may wait in the target when it has asked to wait: to stop the socket and to start it again costs more. */
const AHEAD = 131072;

/** Memory that a result is written to, and from there to a sink. */
class Block {
  #view;

  /**
   * @param {Buffer} bytes
   * @param {number} [sent=0] offset after what was taken of it
   * @param {number} [used=sent] offset after what was written to it
   */
  constructor(bytes, sent = 0, used = sent) {
    this.bytes = bytes;
    this.sent = sent;
    this.used = used;
  }

  /** The same memory for an encoder that writes words. */
  get view() { return (this.#view ??= new DataView(this.bytes.buffer)); }

  /** @returns {Buffer|undefined} what was not taken before */
  take() {
    if (this.used === this.sent) return undefined;
    const piece = this.bytes.subarray(this.sent, this.used);
    this.sent = this.used;
    return piece;
  }
}

const NO_BLOCK = new Block(Buffer.alloc(0));

/**
 * Writes a result to a sink as bytes, in large pieces. What the bytes are says an encoder: the messages as they came,
 * or what it makes of them. While the sink asks to wait, the socket is not read.
 */
class StreamReceiver {
  #block = NO_BLOCK; // that is written to
  #encoder;
  #flush = () => this.flush();
  #flushing;
  #over = false;
  #pipeline = null;
  #waiting = false;

  /**
   * @param {object} sink takes the pieces by `write`, and has `wait` and `queued`, as a Target
   * @param {object} encoder writes to this receiver, see Messages
   */
  constructor(sink, encoder) {
    this.sink = sink;
    this.#encoder = encoder;
    this.cmd = undefined;
    this.rowCount = 0;
    /** Bytes written to the sink. */
    this.bytes = 0;
    /** @type {Error|undefined} of the sink: nothing is passed on after it */
    this.error = undefined;
  }

  /** What the request resolves to, see QueryRequest. */
  get target() { return this.sink.given; }

  start(rowParser, format, pipeline) {
    this.#pipeline = pipeline;
    this.#encoder.start(this, rowParser, format);
  }

  receiveData(buf, start, end, count, owned) {
    this.#encoder.messages(this, buf, start, end, count, owned && end - start > PIECE);
    this.#flushing ??= setImmediate(this.#flush); // when no block is full, but nothing more comes for now
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) Object.assign(this, decodeCommandComplete(buf, start, end));
    this.#encoder.message(this, buf, start, end);
    if (type === CommandComplete || type === EmptyQueryResponse || type === PortalSuspended) this.complete();
  }

  /** The result is complete. */
  complete() {
    this.flush();
    this.letGo();
  }

  /** Nothing more is passed on. */
  stop() {
    clearImmediate(this.#flushing);
    this.letGo();
  }

  /** The socket is read from now on, however slow the sink is. */
  letGo() {
    this.#over = true;
    this.#resume();
  }

  /**
   * Room for bytes of the result, for an encoder.
   * @param {number} length
   * @returns {Block} whose `bytes` may be written to from `used` on, which then has to be set
   */
  reserve(length) {
    if (this.#block.used + length > this.#block.bytes.length) {
      this.flush();
      this.#block = new Block(Buffer.allocUnsafeSlow(Math.max(length, this.bytes === 0 ? FIRST : PIECE)));
    }
    return this.#block;
  }

  /**
   * Has a long message in its own memory become a part of the result, without a copy.
   * @param {Buffer} buf of which [start, end) is the part
   * @returns {Block} an encoder may write to `bytes`, and set `used`
   */
  adopt(buf, start, end) {
    this.flush();
    return (this.#block = new Block(buf, start, end));
  }

  /** Adds a copy of bytes. */
  append(buf, start, end) {
    const block = this.reserve(end - start);
    block.used += buf.copy(block.bytes, block.used, start, end);
  }

  /** @returns {Buffer|undefined} what was not written to the sink yet */
  take() {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const piece = this.#block.take();
    this.bytes += piece === undefined ? 0 : piece.length;
    return piece;
  }

  /** Writes to the sink what there is. */
  flush() {
    const piece = this.error === undefined ? this.take() : undefined;
    if (piece === undefined) return;
    try {
      if (this.sink.write(piece) === false && !(this.sink.queued < AHEAD)) this.#pause();
    } catch (error) {
      this.error = error;
    }
  }

  /** Stops reading until the sink can take more, or is gone. */
  #pause() {
    if (this.#waiting || this.#over) return;
    this.#waiting = true;
    this.#pipeline.socket?.pause(this);
    this.sink.wait(() => this.#resume());
  }

  #resume() {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#pipeline.socket?.resume(this);
  }
}

/**
 * The messages as they came: RowDescription first, also when the statement had been described earlier, CommandComplete
 * last, so that a reader needs no earlier state.
 */
const messages = {
  start(out, rowParser, format) {
    if (rowParser !== null) {
      const description = rowParser.description(format);
      out.append(description, 0, description.length);
    }
  },
  messages(out, buf, start, end, count, own) {
    if (own) out.adopt(buf, start, end);
    else out.append(buf, start, end);
  },
  message(out, buf, start, end) { out.append(buf, start, end); }
};

module.exports = { messages, StreamReceiver };

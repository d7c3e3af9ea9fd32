'use strict';

const {
  backend: { CommandComplete, EmptyQueryResponse, PortalSuspended },
  decodeCommandComplete
} = require('../protocol');
const { BUFFER } = require('../options');
const { giveUp, isFollowed } = require('../pipeline');
const { Backlog, urge } = require('./backlog');

/** About the size of the pieces that a target gets. */
const PIECE = 131072;

/** Room behind a piece for a message that began in the bytes before, which would else be a piece of its own. */
const SPARE = 16384;

/**
 * The size of the first block, which serves one result after another. It grows up to MOST for a result in one chunk.
 */
const FIRST = 16384;
const MOST = 262144;

/** Bytes of a long result that may wait in the target, since stopping and restarting the socket costs more. */
const AHEAD = 262144;

class Block {
  #view;

  constructor(bytes, start = 0, used = start, isOurs = true) {
    this.bytes = bytes;
    this.start = start;
    this.used = used;
    this.isOurs = isOurs;
  }

  /** For encoders that write words. */
  get view() {
    return (this.#view ??= new DataView(this.bytes.buffer));
  }

  get isFree() {
    return this.isOurs && this.used === 0;
  }

  /**
   * @returns {Buffer|undefined} what was written: a copy, after which the block is free, if the block is much larger
   */
  take() {
    const { bytes, start, used } = this;
    if (used === start) return undefined;
    if (!this.isOurs || 2 * used > bytes.length) return bytes.subarray(start, used);
    this.used = 0;
    const piece = Buffer.allocUnsafe(used);
    bytes.copy(piece, 0, 0, used);
    return piece;
  }
}

const NO_BLOCK = new Block(Buffer.alloc(0), 0, 0, false);

/**
 * @typedef {object} Encoder writes a result in its form by the receiver's `append`, `reserve` and `adopt`
 * @property {function(StreamReceiver, RowParser|null, number): void} start the result begins; an encoder serves one
 *   after another
 * @property {function(StreamReceiver, Buffer, number, number, number, boolean): void} messages writes so many whole
 *   DataRow or CopyData messages in buf[start … end); the last argument tells whether they are one message in memory of
 *   its own
 * @property {function(StreamReceiver, Buffer, number, number): void} message writes one message of any other type
 */

/**
 * Writes a result to a target in large pieces, which an encoder makes of the messages. A result of up to `buffer` bytes
 * is read however slow the target is. A longer one pauses the socket while the target asks to wait, and nothing more is
 * sent behind its request.
 */
class StreamReceiver {
  #backlog;
  #block = NO_BLOCK;
  #buffer;
  #encoder;
  #flushing;
  #isFirst = true; // no chunk has come before
  #stopped = false;
  #pipeline = null;
  #unwatch; // ends the watch of a wait
  #waiting = false;

  /**
   * @param {Target} target
   * @param {Encoder} encoder
   * @param {number} [buffer] bytes above which a result is long
   */
  constructor(target, encoder, buffer = BUFFER) {
    this.target = target;
    this.#encoder = encoder;
    this.#buffer = buffer;
    this.cmd = undefined;
    this.rowCount = 0;
    this.bytes = 0;
    /** @type {Error|undefined} of the target, which gets nothing after it */
    this.error = undefined;
  }

  /** The value that the request resolves to, see QueryRequest. */
  get given() {
    return this.target.given;
  }

  start(rowParser, format, pipeline) {
    this.#stopped = false;
    this.#pipeline = pipeline;
    this.target.backlog = this.#backlog = Backlog.of(pipeline);
    this.#encoder.start(this, rowParser, format);
  }

  receiveData(buf, start, end, count, owned) {
    this.#encoder.messages(this, buf, start, end, count, owned && end - start > PIECE);
    this.#backlog.unflushed = this;
  }

  /** Writes what there is, unless more arrives in this tick. */
  flushLater() {
    this.#isFirst = false;
    if (!this.#stopped) this.#flushing ??= setImmediate(flush, this);
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) ({ cmd: this.cmd, rowCount: this.rowCount } = decodeCommandComplete(buf, start, end));
    this.#encoder.message(this, buf, start, end);
    if (type === CommandComplete || type === EmptyQueryResponse || type === PortalSuspended) this.complete();
  }

  complete() {
    this.flush();
    this.release();
  }

  drop() {
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
    this.release();
  }

  /** Reads the socket from now on, however slow the target is. */
  release() {
    this.#stopped = true;
    this.#resume();
  }

  /** @returns {Block} with room for `length` bytes from `used` on; the encoder then sets `used` */
  reserve(length) {
    if (this.#block.used + length > this.#block.bytes.length) this.#enlarge(length);
    return this.#block;
  }

  #enlarge(length) {
    const old = this.#block;
    if (!this.#isFirst || this.bytes > 0 || old.used + length > MOST || !(old.isOurs || old === NO_BLOCK)) {
      this.flush();
      this.#block = new Block(Buffer.allocUnsafeSlow(Math.max(length, PIECE) + SPARE));
      return;
    }
    const { block } = this.#backlog;
    this.#backlog.block = undefined;
    this.#block =
      block?.bytes.length >= old.used + length
        ? block
        : new Block(Buffer.allocUnsafeSlow(Math.max(FIRST, 2 * old.bytes.length, old.used + length)));
    this.#block.used = old.bytes.copy(this.#block.bytes, 0, 0, old.used);
  }

  /** Makes a long message in memory of its own, buf[start … end), a part of the result without a copy. */
  adopt(buf, start, end) {
    this.flush();
    return (this.#block = new Block(buf, start, end, false));
  }

  append(buf, start, end) {
    const block = this.reserve(end - start);
    block.used += buf.copy(block.bytes, block.used, start, end);
  }

  /** @returns {Buffer|undefined} bytes that were not written to the target */
  take() {
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const block = this.#block;
    const piece = block.take();
    if (piece !== undefined) this.bytes += piece.length;
    if (this.#stopped && block.isFree && block.bytes.length === FIRST) this.#backlog.block = block;
    if (this.#stopped || !block.isFree) this.#block = NO_BLOCK;
    return piece;
  }

  flush() {
    const piece = this.error === undefined ? this.take() : undefined;
    if (piece === undefined) return;
    try {
      const isReady = this.target.write(piece) !== false;
      if (this.bytes <= this.#buffer || this.#stopped) return;
      this.#pipeline.holdBehind(this.#pipeline.head); // it is a long one
      if (!isReady && !(this.target.queued < AHEAD)) this.#pause();
    } catch (error) {
      this.error = error;
      if (!this.#stopped) giveUp(this.#pipeline.head, error);
    }
  }

  /** Stops reading until the target can take more or is gone. */
  #pause() {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#pipeline.socket?.pause(this);
    // Requests that were sent behind a long result do not wait longer for a target, however little it takes.
    this.#unwatch = urge(this.target, () => (isFollowed(this.#pipeline.head) ? 0 : NaN));
    this.target.wait(() => this.#resume());
  }

  #resume() {
    if (!this.#waiting) return;
    this.#waiting = false;
    this.#unwatch();
    this.#pipeline.socket?.resume(this);
  }
}

const flush = receiver => receiver.flush();

/**
 * Passes the messages on unchanged: RowDescription first, even for a prepared statement, and CommandComplete last, so
 * that a reader needs no earlier state.
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
  message(out, buf, start, end) {
    out.append(buf, start, end);
  }
};

module.exports = { messages, StreamReceiver };

'use strict';

const {
  backend: { CommandComplete, EmptyQueryResponse, PortalSuspended }
} = require('../protocol');
const { BUFFER } = require('../options');
const { giveUp } = require('../pipeline');
const { clearImmediate, setImmediate } = require('../timer');
const { Backlog } = require('./backlog');

/** From this length on, a message in memory of its own is passed on without a copy. */
const LONG = 131072;

/**
 * The size of the block that the results of a connection share: two full reads of the socket, and a message that began
 * in the bytes before.
 */
const BLOCK_BYTES = 147456;

/** The largest read of the socket: a block with less room is left to the pieces that were made of it. */
const READ = 65536;

/** Bytes of a long result that may wait in the target, since stopping and restarting the socket costs more. */
const AHEAD = 262144;

/** Memory that an encoder writes to. */
class Block {
  #view;

  constructor(bytes = Buffer.allocUnsafeSlow(BLOCK_BYTES), start = 0) {
    this.bytes = bytes;
    this.start = this.used = start;
  }

  /** For encoders that write words. */
  get view() {
    return (this.#view ??= new DataView(this.bytes.buffer));
  }
}

/**
 * @typedef {object} Encoder writes a result in its form by the sink's `append`, `reserve` and `adopt`
 * @property {function(Sink, RowParser|null, number): void} start the result begins; an encoder serves one after another
 * @property {function(Sink, Buffer, number, number, number, boolean): void} messages writes so many whole DataRow or
 *   CopyData messages in buf[start … end); the last argument tells whether they are one message in memory of its own
 * @property {function(Sink, Buffer, number, number): void} message writes one message of any other type
 */

/**
 * Takes a result, see Receiver, and writes it to a target in large pieces, which an encoder makes of the messages. A
 * result of up to `buffer` bytes is read however slow the target is. A longer one pauses the socket while the target
 * asks to wait, and nothing more is sent behind its request.
 *
 * The results of a connection are written to one block, one after another: what a result leaves in it is its `last`.
 * The pieces of a long result are views of blocks that nothing else is written to, so they pin a block at most.
 */
class Sink {
  cmd;
  rowCount = 0;
  /** The number of bytes that were written. */
  bytes = 0;
  /**
   * @type {Buffer|undefined} the end of the result, which is not written before ReadyForQuery, since the commit may
   * fail; of a result that has failed, the last whole rows
   */
  last;
  /** @type {Error|undefined} of the target, which gets nothing after it */
  error;
  #backlog;
  #block;
  #buffer;
  #encoder;
  #flushing;
  #isOver = false; // nothing more is written before `last`
  #pipeline;

  /**
   * @param {Target} target
   * @param {Encoder} encoder
   * @param {number} [buffer] bytes above which a result is long
   */
  constructor(target, encoder, buffer = BUFFER) {
    this.target = target;
    this.#encoder = encoder;
    this.#buffer = buffer;
  }

  /** See Receiver. */
  get wants() {
    return this.#encoder.wants;
  }

  get lacking() {
    return this.#encoder.lacking;
  }

  /** @type {Types|undefined} */
  get types() {
    return this.#encoder.types;
  }

  /** The value that the request resolves to, see QueryRequest. */
  get given() {
    return this.target.given;
  }

  start(rowParser, format, pipeline) {
    this.#isOver = false;
    this.#pipeline = pipeline;
    this.target.backlog = this.#backlog = Backlog.of(pipeline);
    if (this.#backlog.block === undefined || this.#backlog.block.start > 0) this.#backlog.block = new Block();
    this.#block = this.#backlog.block;
    this.#block.used = 0; // an encoder may have gone on after its result was dropped
    this.#encoder.start(this, rowParser, format);
  }

  receiveData(buf, start, end, count, owned) {
    this.#encoder.messages(this, buf, start, end, count, owned && end - start > LONG);
    this.#backlog.unflushed = this;
  }

  /** Writes what there is, unless more arrives in this tick. */
  flushLater() {
    if (!this.#isOver) this.#flushing ??= setImmediate(flush, this);
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) {
      const { command } = this.#backlog;
      command.receive(type, buf, start, end);
      ({ cmd: this.cmd, rowCount: this.rowCount } = command);
    }
    this.#encoder.message(this, buf, start, end);
    if (type === CommandComplete || type === EmptyQueryResponse || type === PortalSuspended) this.#finish();
  }

  /** The request has failed, or was given up. */
  drop() {
    this.#finish();
  }

  /** Nothing more comes: the socket is read from now on, however slow the target is. */
  #finish() {
    if (this.#isOver || this.#pipeline === undefined) return;
    this.#isOver = true;
    this.last = this.#take();
    this.#backlog.resumeFor(this.target);
  }

  /** @returns {Block} with room for `length` bytes from `used` on; the encoder then sets `used` */
  reserve(length) {
    if (this.#block.used + length > this.#block.bytes.length) {
      this.flush();
      if (this.#block.start > 0) this.#block = this.#backlog.block = new Block();
      if (length > BLOCK_BYTES) this.#block = new Block(Buffer.allocUnsafeSlow(length));
    }
    return this.#block;
  }

  /** Makes a long message in memory of its own, buf[start … end), a part of the result without a copy. */
  adopt(buf, start, end) {
    this.flush();
    this.#block = new Block(buf, start);
    this.#block.used = end;
    return this.#block;
  }

  append(buf, start, end) {
    const block = this.reserve(end - start);
    block.used += buf.copy(block.bytes, block.used, start, end);
  }

  /**
   * @returns {Buffer|undefined} what was not written: of a short result a copy, if the shared block is much larger,
   *   since a new block would make a result of one row 3.5 × as dear; of a long one a part of the block
   */
  #take() {
    clearImmediate(this.#flushing); // the next result may have begun by then
    this.#flushing = undefined;
    const block = this.#block;
    const { bytes, start, used } = block;
    const isShared = block === this.#backlog.block;
    if (!isShared) this.#block = this.#backlog.block;
    if (used === start) return undefined;
    if (isShared && start === 0 && 2 * used < BLOCK_BYTES && this.bytes <= this.#buffer) {
      const piece = Buffer.allocUnsafe(used);
      bytes.copy(piece);
      block.used = 0;
      return piece;
    }
    if (isShared && BLOCK_BYTES - used > READ) block.start = used;
    else if (isShared) this.#block = this.#backlog.block = new Block();
    return bytes.subarray(start, used);
  }

  flush() {
    const piece = this.#take();
    if (piece === undefined || this.#isOver) return;
    try {
      this.bytes += piece.length;
      const isReady = this.target.write(piece) !== false;
      if (this.bytes <= this.#buffer || this.#isOver) return;
      this.#pipeline.head.holdUntilOver(this.#pipeline); // it is a long one
      if (isReady || this.target.buffered < AHEAD) return;
      this.#backlog.pauseFor(this.target);
      this.target.wait(() => this.#backlog.resumeFor(this.target));
    } catch (error) {
      this.error = error;
      giveUp(this.#pipeline.head, error);
    }
  }
}

const flush = sink => sink.flush();

/**
 * Passes the messages on unchanged: RowDescription first, even for a prepared statement, and CommandComplete last, so
 * that a reader needs no earlier state.
 */
const protocol = {
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

module.exports = { protocol, Sink };

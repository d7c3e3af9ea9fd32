'use strict';

const { backend: { CommandComplete, EmptyQueryResponse, PortalSuspended }, decodeCommandComplete } = require('../protocol');
const { abort, checkBuffer, isFollowed } = require('../query');
const { Backlog, PATIENCE } = require('./backlog');

/** Bytes go to a target in pieces of about this size. */
const PIECE = 131072;

/** Room behind it for the message whose beginning had come with the bytes before, which would be a piece of its own. */
const SPARE = 16384;

/** The first block is used again for the next result; it grows up to MOST for a result that comes in one chunk. */
const FIRST = 16384;
const MOST = 262144;

/** Bytes of a long result that may wait in the target: to stop the socket and to start it again costs more. */
const AHEAD = 262144;

/** Memory that a result is written to, and from there to a sink. */
class Block {
  #view;

  /**
   * @param {Buffer} bytes
   * @param {number} [start=0] offset of what is written to it
   * @param {number} [used=start] offset after that
   * @param {boolean} [isOurs=true]
   */
  constructor(bytes, start = 0, used = start, isOurs = true) {
    this.bytes = bytes;
    this.start = start;
    this.used = used;
    this.isOurs = isOurs;
  }

  /** The same memory for an encoder that writes words. */
  get view() { return (this.#view ??= new DataView(this.bytes.buffer)); }

  /** Whether all of it may be written to. */
  get isFree() { return this.isOurs && this.used === 0; }

  /** @returns {Buffer|undefined} what was written to it: a copy, after which it is free, where it would pin much more than itself */
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
 * Writes a result to a sink as bytes, in large pieces. An encoder makes the bytes: the messages as they came, or
 * another form of them. A result of up to `buffer` bytes is read however slow the sink is. Of a longer one, the socket
 * is not read while the sink asks to wait, and nothing is sent behind its request any more.
 */
class StreamReceiver {
  #block = NO_BLOCK; // that is written to
  #buffer;
  #encoder;
  #flushing;
  #isFirst = true; // of the chunks that the result comes in
  #long = false;
  #over = false;
  #patience;
  #pipeline = null;
  #text;
  #waiting = false;

  /**
   * @param {object} sink takes the pieces by `write`, and has `wait` and `queued`, as a Target
   * @param {object} encoder writes to this receiver, see Messages
   * @param {object} [options]
   * @param {number} [options.buffer=1048576] bytes from which on the result is a long one
   * @param {string} [options.text] of the request whose only result it is: remembered as one that gives long results
   */
  constructor(sink, encoder, { buffer, text } = {}) {
    this.sink = sink;
    this.#encoder = encoder;
    this.#buffer = checkBuffer(buffer);
    this.#text = text;
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
    this.sink.backlog = Backlog.of(pipeline);
    this.#encoder.start(this, rowParser, format);
  }

  receiveData(buf, start, end, count, owned) {
    this.#encoder.messages(this, buf, start, end, count, owned && end - start > PIECE);
    this.#pipeline.unflushed = this;
  }

  /** No block is full, but this is all that has come: it leaves, unless more comes at once. */
  flushLater() {
    this.#isFirst = false;
    if (!this.#over) this.#flushing ??= setImmediate(flush, this);
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) Object.assign(this, decodeCommandComplete(buf, start, end));
    this.#encoder.message(this, buf, start, end);
    if (type === CommandComplete || type === EmptyQueryResponse || type === PortalSuspended) this.complete();
  }

  /** The result is complete. */
  complete() {
    this.flush();
    this.over();
    this.letGo();
  }

  /** Its text is remembered no longer, where the result was not long. */
  over() { if (!this.#long) this.#pipeline.longTexts.delete(this.#text); }

  /** Nothing more is passed on. */
  stop() {
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
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
    const { block } = this.#pipeline;
    this.#pipeline.block = undefined;
    this.#block = block?.bytes.length >= old.used + length ? block
      : new Block(Buffer.allocUnsafeSlow(Math.max(FIRST, 2 * old.bytes.length, old.used + length)));
    this.#block.used = old.bytes.copy(this.#block.bytes, 0, 0, old.used);
  }

  /**
   * Has a long message in its own memory become a part of the result, without a copy.
   * @param {Buffer} buf of which [start, end) is the part
   * @returns {Block} an encoder may write to `bytes`, and set `used`
   */
  adopt(buf, start, end) {
    this.flush();
    return (this.#block = new Block(buf, start, end, false));
  }

  /** Adds a copy of bytes. */
  append(buf, start, end) {
    const block = this.reserve(end - start);
    block.used += buf.copy(block.bytes, block.used, start, end);
  }

  /** @returns {Buffer|undefined} what was not written to the sink yet */
  take() {
    if (this.#flushing !== undefined) clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const block = this.#block;
    const piece = block.take();
    if (piece !== undefined) this.bytes += piece.length;
    if (this.#over && block.isFree && block.bytes.length === FIRST) this.#pipeline.block = block;
    if (this.#over || !block.isFree) this.#block = NO_BLOCK;
    return piece;
  }

  /** Writes to the sink what there is. */
  flush() {
    const piece = this.error === undefined ? this.take() : undefined;
    if (piece === undefined) return;
    try {
      const isReady = this.sink.write(piece) !== false;
      if (this.bytes <= this.#buffer || this.#over) return;
      this.#lengthen();
      if (!isReady && !(this.sink.queued < AHEAD)) this.#pause();
    } catch (error) {
      this.error = error;
      if (!this.#over && this.#text !== undefined) abort(this.#pipeline.head, error);
    }
  }

  /** It is a long result. */
  #lengthen() {
    if (this.#long) return;
    this.#long = true;
    this.#pipeline.longTexts.add(this.#text);
    this.#pipeline.holdBehind(this.#pipeline.head);
  }

  /** Stops reading until the sink can take more, or is gone. */
  #pause() {
    if (this.#waiting) return;
    this.#waiting = true;
    this.#pipeline.socket?.pause(this);
    this.#patience = setTimeout(() => this.#urge(), PATIENCE);
    this.sink.wait(() => this.#resume());
  }

  /** Requests that were sent behind a long result do not wait longer for a sink that takes nothing. */
  #urge() {
    const { head } = this.#pipeline;
    if (head !== null && isFollowed(head)) this.sink.giveUp?.(Backlog.stalled());
  }

  #resume() {
    if (!this.#waiting) return;
    this.#waiting = false;
    clearTimeout(this.#patience);
    this.#pipeline.socket?.resume(this);
  }
}

const flush = receiver => receiver.flush();

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

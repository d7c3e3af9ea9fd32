'use strict';

const { Buffer, process, setImmediate, clearImmediate } = require('../platform');
const { backend, decodeCommandComplete, kindOf } = require('../protocol');
const { abort } = require('../query');
const { RowReader, int32 } = require('../rows');
const { Target } = require('./target');

const { CommandComplete, EmptyQueryResponse, PortalSuspended } = backend;

/** Bytes go to a target in pieces of about this size. */
const PIECE = 65536;

/** The first piece of a result is mostly the last, too: it needs less memory. */
const FIRST = 4096;

/** Bytes that may wait in the target when it has asked to wait: to stop the socket and to start it again costs more. */
const AHEAD = 131072;

/** Memory that a result is written to, and from there to a sink. */
class Block {
  #view;

  /** @param {number} length */
  constructor(length) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    /** Offset after what was written to it, and after what was taken of that. */
    this.used = 0;
    this.sent = 0;
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

const NO_BLOCK = new Block(0);

/** Gives a target that has only `write` each message as a Buffer of its own, as Quickgres does. */
class PacketReceiver {
  constructor(target) {
    this.target = target;
    this.cmd = undefined;
    /** @type {Error|undefined} what the target threw: nothing is written to it after that */
    this.error = undefined;
  }

  start(rowParser, format) {
    this.target.rowParser = rowParser && rowParser.forFormat(format);
    this.target.binary = format;
    if (rowParser !== null) this.#write(rowParser.description(format));
  }

  #write(message) {
    if (this.error !== undefined) return;
    try {
      this.target.write(Buffer.from(message));
    } catch (error) {
      this.error = error;
    }
  }

  receiveData(buf, start, end) {
    for (let off = start; off < end;) {
      const next = off + 1 + int32(buf, off + 1);
      this.#write(buf.subarray(off, next));
      off = next;
    }
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) this.cmd = decodeCommandComplete(buf, start, end).cmd;
    this.#write(buf.subarray(start, end));
  }
}

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
    /** Whether long rows come in parts. */
    this.inParts = true;
    /** Whether the last byte that came is in the middle of a row. */
    this.inRow = false;
  }

  /** What the request resolves to, see QueryRequest. */
  get target() { return this.sink.given; }

  start(rowParser, format, pipeline) {
    this.#pipeline = pipeline;
    this.inParts = this.#encoder.start(this, rowParser, format);
  }

  receiveData(buf, start, end, count) {
    this.#encoder.messages(this, buf, start, end, count);
    this.#written();
  }

  receivePart(type, buf, start, end, left) {
    this.#encoder.part(this, type, buf, start, end, left, !this.inRow);
    this.inRow = left > 0;
    this.#written();
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
      this.#block = new Block(Math.max(length, this.bytes === 0 ? FIRST : PIECE));
    }
    return this.#block;
  }

  /** Adds a copy of bytes. */
  append(buf, start, end) {
    const block = this.reserve(end - start);
    block.used += buf.copy(block.bytes, block.used, start, end);
  }

  /** What has come is written when a block is full, or when nothing more comes for now. */
  #written() { this.#flushing ??= setImmediate(this.#flush); }

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
    return true;
  },
  messages(out, buf, start, end) { out.append(buf, start, end); },
  part(out, type, buf, start, end) { out.append(buf, start, end); },
  message(out, buf, start, end) { out.append(buf, start, end); }
};

/** What is not a Node stream, but asks by a property `pipe` for its bytes to be written as one does. */
const plainSink = given => ({ given, queued: 0, write(piece) { given.write(piece); }, wait(callback) { callback(); } });

/**
 * What takes the messages of a result for what the caller gave as `stream`.
 * @param {object} given a RowReader, a Node stream, or an object with `write(packet)`; one that has a `pipe`,
 *   too, is written to as a stream is, not packet by packet
 * @throws {TypeError}
 */
function receiverFor(given) {
  if (given instanceof RowReader && given.write === RowReader.prototype.write) return given;
  if (given === null || typeof given !== 'object' || typeof given.write !== 'function') {
    throw new TypeError(`stream must be a RowReader, a writable stream or an object with write(packet), not ${kindOf(given)}`);
  }
  if (!given.pipe) return new PacketReceiver(given);
  return new StreamReceiver(typeof given.on === 'function' ? new Target(given) : plainSink(given), messages);
}

/**
 * Watches over a stream while a result is written to it.
 * @param {object} receiver of the result
 * @param {Promise} promise of the result
 * @param {Request} [request] to be given up when the stream takes no more
 * @returns {Promise} the same, but it rejects with the error of the stream
 */
function untilTaken(receiver, promise, request) {
  const { sink } = receiver;
  if (!(sink instanceof Target)) return promise;
  sink.watch(error => {
    receiver.error = error;
    if (request !== undefined) abort(request, error);
  });
  return promise.then(async given => {
    await new Promise(process.nextTick); // a stream tells of an error in the tick after the write
    if (receiver.error !== undefined) throw receiver.error;
    return given;
  }).finally(() => sink.release());
}

module.exports = { messages, receiverFor, untilTaken, PacketReceiver, StreamReceiver };

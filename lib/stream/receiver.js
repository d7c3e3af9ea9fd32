'use strict';

const { Buffer, process, setImmediate, clearImmediate } = require('#platform');
const { backend, decodeCommandComplete, kindOf } = require('../protocol');
const { RowReader, int32 } = require('../rows');
const { Target } = require('./target');

const { CommandComplete, DataRow, EmptyQueryResponse, PortalSuspended } = backend;

/** Smaller pieces are gathered, at most to this length, rather than written one by one. */
const SMALL = 16384;

/** Behind others, so many bytes are not made to wait for more: a socket mostly gives 8 kB at a time. */
const READY = 4096;

/** Memory that copies of pieces of a large result share, since it costs more to get than to fill. */
const SHARED = 65536;

/** Bytes that may wait in the target when it has asked to wait: to stop the socket and to start it again costs more. */
const AHEAD = 131072;

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
 * Passes a result on as bytes, without looking at the rows: RowDescription first, also when the statement had
 * been described earlier, CommandComplete last, so that a reader needs no earlier state. Rows that fill the
 * memory they were received in are not copied. While the sink asks to wait, the socket is not read.
 */
class StreamReceiver {
  #flushing;
  #memory = null;
  #pieces = [];
  #piecesLength = 0;
  #pipeline = null;
  #used = 0;
  #waiting = false;

  /**
   * @param {object} sink takes the pieces by `write`, and has `wait` and `queued`, as a Target
   * @param {Values} [values] takes the rows' values, or the data of COPY, out of the messages
   */
  constructor(sink, values) {
    this.sink = sink;
    this.values = values;
    this.cmd = undefined;
    this.rowCount = 0;
    /** Bytes passed on. */
    this.bytes = 0;
    /** @type {Error|undefined} of the sink: nothing is passed on after it */
    this.error = undefined;
    /** Whether long rows are passed on in parts, as they come. */
    this.inParts = true;
    /** Whether the last byte that came is in the middle of a row. */
    this.inRow = false;
  }

  /** What the request resolves to, see QueryRequest. */
  get target() { return this.sink.given; }

  start(rowParser, format, pipeline) {
    this.#pipeline = pipeline;
    if (this.values !== undefined) {
      this.inParts = this.values.start(rowParser);
    } else if (rowParser !== null) {
      // It goes with the first rows: until then, a failure leaves the sink untouched. The target may write into it.
      this.#gather(Buffer.from(rowParser.description(format)), true);
    }
  }

  receiveData(buf, start, end, count, owned) {
    if (this.values === undefined) return this.#pass(buf, start, end, owned);
    const piece = this.values.messages(buf, start, end, count);
    this.#pass(piece, 0, piece.length, true);
  }

  receivePart(type, buf, start, end, left) {
    const first = !this.inRow;
    this.inRow = left > 0;
    if (this.values !== undefined) {
      if (first && type === DataRow) this.#gather(this.values.between());
      start = this.values.part(type, buf, start, end, left, first);
    }
    this.#pass(buf, start, end, false);
  }

  receive(type, buf, start, end) {
    if (type === CommandComplete) Object.assign(this, decodeCommandComplete(buf, start, end));
    if (this.values === undefined) this.#gather(Buffer.from(buf.subarray(start, end)));
    if (type === CommandComplete || type === EmptyQueryResponse || type === PortalSuspended) this.complete();
  }

  /** The result is complete: however slow the sink is, nobody else has to wait for it. */
  complete() {
    this.flush();
    this.#resume();
  }

  /** Nothing more is passed on, and the sink is not waited for. */
  stop() {
    clearImmediate(this.#flushing);
    this.#resume();
  }

  #pass(buf, start, end, owned) {
    if (end - start < SMALL) return this.#gather(owned ? buf.subarray(start, end) : this.#copy(buf, start, end));
    // The memory is the sink's from now on; what else lies in it was read already.
    if (!owned) this.#pipeline.socket.keep();
    this.flush();
    this.write(buf.subarray(start, end));
  }

  /** A copy of bytes that are the reader's. */
  #copy(buf, start, end) {
    if (this.bytes < SHARED) return Buffer.from(buf.subarray(start, end));
    if (this.#memory === null || this.#used + end - start > SHARED) {
      this.#memory = Buffer.allocUnsafeSlow(SHARED);
      this.#used = 0;
    }
    const from = this.#used;
    this.#used += buf.copy(this.#memory, from, start, end);
    return this.#memory.subarray(from, this.#used);
  }

  #gather(piece, quiet = false) {
    if (piece.length === 0) return;
    if (this.#piecesLength + piece.length > SMALL) this.flush();
    this.#pieces.push(piece);
    this.#piecesLength += piece.length;
    if (quiet) return;
    if (this.bytes > 0 && this.#piecesLength >= READY) this.flush();
    // Rows that come slowly must not wait until there are many.
    else if (this.#flushing === undefined) this.#flushing = setImmediate(() => this.flush());
  }

  /** @returns {Buffer|undefined} the pieces that were gathered, as one */
  take() {
    clearImmediate(this.#flushing);
    this.#flushing = undefined;
    const pieces = this.#pieces;
    if (pieces.length === 0) return undefined;
    this.#pieces = [];
    const length = this.#piecesLength;
    this.#piecesLength = 0;
    return pieces.length === 1 ? pieces[0] : Buffer.concat(pieces, length);
  }

  /** Passes on what was gathered. */
  flush() {
    const piece = this.take();
    if (piece !== undefined) this.write(piece);
  }

  write(piece) {
    if (this.error !== undefined) return;
    try {
      this.bytes += piece.length;
      if (this.sink.write(piece) === false && !(this.sink.queued < AHEAD) && !this.#waiting) this.#pause();
    } catch (error) {
      this.error = error;
    }
  }

  /** Stops reading until the sink can take more, or is gone. */
  #pause() {
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
  return new StreamReceiver(typeof given.on === 'function' ? new Target(given) : plainSink(given));
}

/**
 * Watches over a stream while a result is written to it.
 * @param {object} receiver of the result
 * @param {Promise} promise of the result
 * @returns {Promise} the same, but it rejects with the error of the stream
 */
function untilTaken(receiver, promise) {
  const { sink } = receiver;
  if (!(sink instanceof Target)) return promise;
  sink.watch(error => { receiver.error = error; });
  return promise.then(async given => {
    await new Promise(process.nextTick); // a stream tells of an error in the tick after the write
    if (receiver.error !== undefined) throw receiver.error;
    return given;
  }).finally(() => sink.release());
}

module.exports = { receiverFor, untilTaken, PacketReceiver, StreamReceiver };

'use strict';

const { Buffer, process, setImmediate, clearImmediate } = require('#platform');
const { decodeCommandComplete } = require('../protocol/messages');
const { RowReader } = require('../rows/result');
const { int32 } = require('../rows/row-parser');
const { Sink } = require('./target');

/** Smaller pieces are gathered, at most to this length, rather than written one by one. */
const SMALL = 16384;

/** Behind others, so many bytes are not made to wait for more: a socket mostly gives 8 kB at a time. */
const ENOUGH = 4096;

/** Memory that copies of pieces of a large result share, since it costs more to get than to fill. */
const SHARED = 65536;

/** Bytes that may wait in the sink when it has asked to: to stop the socket and to start it again costs more. */
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
    if (rowParser !== null) this._write(rowParser.description(format));
  }

  _write(message) {
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
      this._write(buf.subarray(off, next));
      off = next;
    }
  }

  receive(type, buf, start, end) {
    if (type === 67) this.cmd = decodeCommandComplete(buf, start, end).cmd;
    this._write(buf.subarray(start, end));
  }
}

/**
 * Passes a result on as bytes, without looking at the rows: RowDescription first, also when the statement had
 * been described earlier, CommandComplete last, so that a reader needs no earlier state. Rows that fill the
 * memory they were received in are not copied. While the sink asks to wait, the socket is not read.
 */
class StreamReceiver {
  /**
   * @param {Sink} sink takes the pieces, or what has its write, wait, queued and returns
   * @param {Payload} [payload] takes the rows' values, or the data of COPY, out of the messages
   */
  constructor(sink, payload) {
    this.sink = sink;
    this.payload = payload;
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
    this._small = [];
    this._smallLength = 0;
    this._memory = null;
    this._used = 0;
    this._flushing = undefined;
    this._waiting = false;
    this._pipeline = null;
  }

  /** What the request resolves to, see QueryRequest. */
  get target() { return this.sink.target; }

  start(rowParser, format, pipeline) {
    this._pipeline = pipeline;
    if (this.payload !== undefined) {
      this.inParts = this.payload.start(rowParser);
      return;
    }
    if (rowParser === null) return;
    // It goes with the first rows: until then, a failure leaves the sink untouched.
    const description = Buffer.from(rowParser.description(format)); // the target may write into it
    this._small.push(description);
    this._smallLength += description.length;
  }

  receiveData(buf, start, end, count, owned) {
    if (this.payload === undefined) return this._pass(buf, start, end, owned);
    const inPlace = owned || this._pipeline.transport.owns(buf);
    const values = this.payload.messages(buf, start, end, count, inPlace);
    this._pass(values.buf, values.start, values.end, owned || values.buf !== buf);
  }

  receivePart(type, buf, start, end, left) {
    const first = !this.inRow;
    this.inRow = left > 0;
    if (this.payload !== undefined) {
      if (first && type === 68) this._pass(this.payload.between(), 0, this.payload.separator.length, true);
      start = this.payload.part(type, buf, start, end, left, first);
    }
    this._pass(buf, start, end, false);
  }

  receive(type, buf, start, end) {
    if (type === 67) Object.assign(this, decodeCommandComplete(buf, start, end));
    if (this.payload === undefined) this._gather(Buffer.from(buf.subarray(start, end)));
    if (type === 67 || type === 73 || type === 115) this._complete();
  }

  /** The result is complete: however slow the sink is, nobody else has to wait for it. */
  _complete() {
    this.flush();
    this._goOn();
  }

  /** Nothing more is passed on, and the sink is not waited for. */
  stop() {
    clearImmediate(this._flushing);
    this._goOn();
  }

  _pass(buf, start, end, owned) {
    if (end - start < SMALL) this._gather(owned ? buf.subarray(start, end) : this._copy(buf, start, end));
    else {
      // The memory is the stream's from now on; what else lies in it was read already.
      const { transport } = this._pipeline;
      const hold = owned ? undefined : transport.keep();
      this.flush();
      this._write(buf.subarray(start, end), hold === undefined || !this.sink.returns ? undefined : () => transport.release(hold));
    }
  }

  /** A copy of bytes that are only lent. */
  _copy(buf, start, end) {
    if (this.bytes < SHARED) return Buffer.from(buf.subarray(start, end));
    if (this._memory === null || this._used + end - start > SHARED) {
      this._memory = Buffer.allocUnsafeSlow(SHARED);
      this._used = 0;
    }
    const from = this._used;
    this._used += buf.copy(this._memory, from, start, end);
    return this._memory.subarray(from, this._used);
  }

  _gather(piece) {
    if (piece.length === 0) return;
    if (this._smallLength + piece.length > SMALL) this.flush();
    this._small.push(piece);
    this._smallLength += piece.length;
    if (this.bytes > 0 && this._smallLength >= ENOUGH) this.flush();
    // Rows that come slowly must not wait until there are many.
    else if (this._flushing === undefined) this._flushing = setImmediate(() => this.flush());
  }

  /** @returns {Buffer|undefined} the pieces that were gathered, as one */
  take() {
    clearImmediate(this._flushing);
    this._flushing = undefined;
    if (this._smallLength === 0) return undefined;
    const pieces = this._small;
    const length = this._smallLength;
    this._small = [];
    this._smallLength = 0;
    const [{ buffer, byteOffset }] = pieces;
    let end = byteOffset;
    for (const piece of pieces) end = piece.buffer === buffer && piece.byteOffset === end ? end + piece.length : NaN;
    // Copies lie side by side.
    return end === byteOffset + length ? Buffer.from(buffer, byteOffset, length) : Buffer.concat(pieces, length);
  }

  /** Passes on what was gathered. */
  flush() {
    const piece = this.take();
    if (piece !== undefined) this._write(piece);
  }

  _write(piece, ontaken) {
    if (this.error !== undefined) return;
    try {
      this.bytes += piece.length;
      if (this.sink.write(piece, ontaken) === false && !(this.sink.queued < AHEAD) && !this._waiting) this._wait();
    } catch (error) {
      this.error = error;
    }
  }

  /** Stops reading until the sink can take more, or is gone. */
  _wait() {
    this._waiting = true;
    this._pipeline.pause(this);
    this.sink.wait(() => this._goOn());
  }

  _goOn() {
    if (!this._waiting) return;
    this._waiting = false;
    this._pipeline.resume(this);
  }
}

/** What is not a Node stream, but asks by a property `pipe` for its bytes to be written as one does. */
const plainSink = target => ({
  target, returns: false, queued: 0, write(piece) { target.write(piece); }, wait(callback) { callback(); }
});

/**
 * Watches over a stream while a result is written to it.
 * @param {object} receiver of the result
 * @param {Promise} promise of the result
 * @returns {Promise} the same, but it rejects with the error of the stream
 */
function watchOver(receiver, promise) {
  const { sink } = receiver;
  if (sink === undefined || sink.watch === undefined) return promise;
  sink.watch(error => { receiver.error = error; });
  return promise.then(async target => {
    await new Promise(process.nextTick); // a stream tells of an error in the tick after the write
    if (receiver.error !== undefined) throw receiver.error;
    return target;
  }).finally(() => sink.release());
}

/**
 * What takes the messages of a result for what the caller gave as `stream`.
 * @param {object} [stream] a RowReader, a Node stream, or an object with `write(packet)`; one that has a `pipe`,
 *   too, is written to as a stream is, not packet by packet
 * @throws {TypeError}
 */
function receiverFor(stream) {
  if (stream === undefined) return new RowReader();
  if (stream instanceof RowReader && stream.write === RowReader.prototype.write) return stream;
  if (stream === null || typeof stream.write !== 'function') {
    throw new TypeError('stream must be a RowReader, a writable stream or an object with write(packet)');
  }
  if (!stream.pipe) return new PacketReceiver(stream);
  return new StreamReceiver(typeof stream.on === 'function' ? new Sink(stream) : plainSink(stream));
}

module.exports = { receiverFor, watchOver, PacketReceiver, StreamReceiver };

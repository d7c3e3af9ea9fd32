'use strict';

const { ConnectionError } = require('./errors');
const { decodeCommandComplete, decodeCopyResponse } = require('./messages');
const { RowReader } = require('./row-reader');
const { int32 } = require('./row-parser');

/** Smaller pieces are copied together rather than written one by one. */
const SMALL = 16384;

/** Gives a target that has only `write` each message as a Buffer of its own, as Quickgres does. */
class PacketReceiver {
  constructor(target) {
    this.target = target;
    this.cmd = undefined;
    /** @type {Error|undefined} what the target threw: nothing is written to it after that */
    this.error = undefined;
  }

  start(rowParser, format) {
    this.target.rowParser = rowParser;
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
 * Writes the messages of a result to a Node stream, as they came: RowDescription first, also when the statement
 * had been described earlier, CommandComplete last. The rows are not looked at and, where they fill the memory
 * they were received in, not copied. While the stream asks to wait, the socket is not read.
 */
class StreamReceiver {
  /** @param {import('stream').Writable} target */
  constructor(target) {
    this.target = target;
    this.cmd = undefined;
    this._small = [];
    this._smallLength = 0;
    this._pipeline = null;
    this._resume = undefined;
    this.error = undefined;
  }

  start(rowParser, format, pipeline) {
    this._pipeline = pipeline;
    if (rowParser !== null) this._add(rowParser.description(format));
  }

  receiveData(buf, start, end, count, owned) {
    if (end - start < SMALL) return this._add(Buffer.from(buf.subarray(start, end)));
    if (!owned) {
      // The memory is the stream's from now on; what else lies in it was read already.
      this._pipeline.transport.keep();
    }
    this._write(buf.subarray(start, end));
  }

  receive(type, buf, start, end) {
    if (type === 67) this.cmd = decodeCommandComplete(buf, start, end).cmd;
    this._add(Buffer.from(buf.subarray(start, end)));
    if (type === 67 || type === 73) this._write();
  }

  _add(piece) {
    this._small.push(piece);
    this._smallLength += piece.length;
    if (this._smallLength >= SMALL) this._write();
  }

  _write(piece) {
    if (this._small.length > 0) {
      const small = this._small.length === 1 ? this._small[0] : Buffer.concat(this._small, this._smallLength);
      this._small = [];
      this._smallLength = 0;
      this._send(small);
    }
    if (piece !== undefined) this._send(piece);
  }

  _send(piece) {
    const { target } = this;
    if (target.destroyed || target.writableEnded) {
      this.error = this.error || new ConnectionError('the stream that takes the result is closed', { code: 'ERR_STREAM_DESTROYED' });
      return;
    }
    if (target.write(piece) === false && this._resume === undefined && typeof target.once === 'function') this._wait();
  }

  /** Stops reading until the stream has taken what it has, or is gone. */
  _wait() {
    const { target, _pipeline: pipeline } = this;
    this._resume = () => {
      for (const event of ['drain', 'close', 'error']) target.removeListener(event, this._resume);
      this._resume = undefined;
      pipeline.resume();
    };
    for (const event of ['drain', 'close', 'error']) target.on(event, this._resume);
    pipeline.pause();
  }
}

/**
 * What takes the messages of a result for what the caller gave as `stream`.
 * @param {object} [stream] a RowReader, a Node stream, or an object with `write(packet)`
 * @throws {TypeError}
 */
function receiverFor(stream) {
  if (stream === undefined) return new RowReader();
  if (stream instanceof RowReader && stream.write === RowReader.prototype.write) return stream;
  if (stream === null || typeof stream.write !== 'function') {
    throw new TypeError('stream must be a RowReader, a writable stream or an object with write(packet)');
  }
  return typeof stream.pipe === 'function' ? new StreamReceiver(stream) : new PacketReceiver(stream);
}

module.exports = { receiverFor, PacketReceiver, StreamReceiver };

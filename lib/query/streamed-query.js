'use strict';

const { Buffer, process } = require('#platform');
const { QueryRequest } = require('./query');
const { int32 } = require('../rows/row-parser');
const { isStreamed } = require('../protocol/writer');

/** How many bytes may wait for the system to take them, and how many are written at a time. */
const WAITING = 262144;
const PIECE = 65536;
const ZEROS = Buffer.alloc(PIECE);
const PLACE = Buffer.alloc(0);

/** @throws {TypeError|RangeError} for a value that says it is streamed, and cannot be */
function checkStreamed({ stream, length, format = 1 }, index) {
  const iterable = stream !== null && typeof (stream[Symbol.asyncIterator] || stream[Symbol.iterator]) === 'function';
  if (!iterable) {
    throw new TypeError(`values[${index}].stream must be a Readable or another iterable of bytes`);
  }
  if (!Number.isInteger(length) || length < 0) {
    throw new TypeError(`values[${index}].length must be the number of bytes that the stream gives`);
  }
  if (format !== 0 && format !== 1) throw new TypeError(`values[${index}].format must be 0 (text) or 1 (binary)`);
}

/**
 * A query with values that are written as they come from a stream. Bind says beforehand how long they are; so
 * nothing else can be sent meanwhile, and a stream that fails is filled up with zeros: the statement is then bound
 * but not executed.
 */
class StreamedRequest extends QueryRequest {
  /**
   * @param {Pipeline} pipeline
   * @param {...*} query as of QueryRequest; some values are `{ stream, length, format }`
   * @throws {TypeError}
   */
  constructor(pipeline, text, values, ...query) {
    values.forEach((value, index) => { if (isStreamed(value)) checkStreamed(value, index); });
    super(text, values.map(value => isStreamed(value) ? PLACE : value), ...query);
    this.pipeline = pipeline;
    this.sources = values.map(value => isStreamed(value) ? value : undefined);
    this.fenced = true;
    /** It is not for the first flight: what follows its first bytes needs a connection that is open. */
    this.streams = true;
    this._pieces = [];
    this._stopWaiting = () => {};
  }

  encode(writer, statements) {
    let start = writer.length;
    this._bind(writer, statements);
    // Behind what prepares the statement comes Bind, in which the places are to be filled.
    while (writer.buffer[start] !== 66) start += 1 + int32(writer.buffer, start + 1);
    this._cut(Buffer.from(writer.buffer.subarray(start, writer.length)));
    writer.length = start;
    process.nextTick(() => this._run());
  }

  /** Cuts Bind at the places of the streams: pieces are Buffers and sources. */
  _cut(bind) {
    let off = 5;
    for (let i = 0; i < 2; i++) off = bind.indexOf(0, off) + 1; // portal and statement
    const formats = off + 2;
    off = formats + 2 * bind.readUInt16BE(off) + 2;
    let total = int32(bind, 1);
    let from = 0;
    for (const [index, source] of this.sources.entries()) {
      const length = int32(bind, off);
      if (source !== undefined) {
        bind.writeUInt16BE(source.format ?? 1, formats + 2 * index);
        bind.writeInt32BE(source.length, off);
        total += source.length;
        this._pieces.push(bind.subarray(from, off + 4), source);
        from = off + 4;
      }
      off += 4 + Math.max(length, 0);
    }
    if (total > 0x3fffffff) throw new RangeError(`a message of ${total} bytes: PostgreSQL takes less than 1 GiB`);
    bind.writeInt32BE(total, 1);
    this._pieces.push(bind.subarray(from));
  }

  /** Whether there is no use in going on: it has failed, here or at the server. */
  get _failed() { return this.settled || this.error !== undefined; }

  async _run() {
    const { pipeline } = this;
    for (const piece of this._pieces) {
      if (Buffer.isBuffer(piece)) await this._write(piece);
      else await this._stream(piece);
    }
    if (pipeline.transport === null) return;
    if (this._failed) {
      this.done = true;
      pipeline.writer.sync();
    } else pipeline.writer.executeSync();
    pipeline.scheduleFlush();
  }

  async _stream({ stream, length }) {
    let left = length;
    try {
      for await (const chunk of this._chunks(stream)) {
        const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
        if (!(bytes instanceof Uint8Array)) throw new TypeError('the stream of a value must give bytes');
        if (bytes.length > left) throw new RangeError(`the stream of a value gives more than its ${length} bytes`);
        left -= bytes.length;
        await this._write(bytes);
      }
      if (left > 0) throw new RangeError(`the stream of a value gave ${length - left} of its ${length} bytes`);
    } catch (error) {
      if (!this._failed) this.error = error;
      this._leave();
    }
    for (; left > 0 && this.pipeline.transport !== null; left -= Math.min(left, PIECE)) {
      await this._write(left < PIECE ? ZEROS.subarray(0, left) : ZEROS);
    }
  }

  /** What an iterable gives until the query has failed: one that hangs must not keep the connection. */
  async * _chunks(iterable) {
    const iterator = (iterable[Symbol.asyncIterator] || iterable[Symbol.iterator]).call(iterable);
    try {
      while (!this._failed) {
        const { done, value } = await new Promise((resolve, reject) => {
          this._stopWaiting = () => resolve({ done: true });
          Promise.resolve(iterator.next()).then(resolve, reject);
        });
        if (done || this._failed) return;
        yield value;
      }
    } finally {
      if (iterator.return !== undefined) (async () => iterator.return())().catch(() => {});
    }
  }

  /** Writes bytes at the pace at which the system takes them. */
  async _write(bytes) {
    const { pipeline } = this;
    for (let off = 0; off < bytes.length && pipeline.transport !== null; off += PIECE) {
      pipeline.writer.raw(bytes.subarray(off, off + PIECE));
      if (pipeline.writer.length >= PIECE) pipeline.flush();
      else pipeline.scheduleFlush();
      if (pipeline.bufferedBytes > WAITING && pipeline.needsDrain) {
        await new Promise(resolve => pipeline.whenDrained(resolve));
      }
    }
  }

  /** Lets go of the streams. */
  _leave() {
    this._stopWaiting();
    for (const source of this.sources) {
      if (source !== undefined && typeof source.stream.destroy === 'function') source.stream.destroy();
    }
  }

  fail(error, pipeline) {
    super.fail(error, pipeline);
    this._leave();
  }

  reject(error) {
    super.reject(error);
    this._leave();
  }

  retry() { return false; }
}

module.exports = { StreamedRequest };

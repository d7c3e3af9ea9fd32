'use strict';

const { Buffer } = require('#platform');
const { frontend } = require('./codes');
const { checkText, textOf } = require('./values');

const INITIAL = 65536;
/** A value of more bytes is a large one. */
const LARGE = 65536;
const LIMIT = 0x3fffffff; // PostgreSQL refuses messages of 1 GiB and more
/** Execute of the unnamed portal, and Sync. */
const EXECUTE_SYNC = Buffer.from([frontend.Execute, 0, 0, 0, 9, 0, 0, 0, 0, 0, frontend.Sync, 0, 0, 0, 4]);

/**
 * Encodes frontend messages into one growing buffer, which is taken off with `take`.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
class MessageWriter {
  #spare = null;

  constructor() {
    this.buffer = Buffer.allocUnsafeSlow(INITIAL);
    /** Bytes written; set it back to drop what was written since. */
    this.length = 0;
  }

  /** @returns {Buffer} what was written; if `reuse()` is not called, the memory is the caller's */
  take() {
    const bytes = this.buffer.subarray(0, this.length);
    this.#spare = this.buffer.length <= 4 * INITIAL ? this.buffer : null;
    this.buffer = null;
    this.length = 0;
    return bytes;
  }

  /** What `take` gave is not needed any more. */
  reuse() {
    if (this.buffer === null) this.buffer = this.#spare;
    this.#spare = null;
  }

  #reserve(bytes) {
    if (this.buffer === null) this.buffer = Buffer.allocUnsafeSlow(Math.max(INITIAL, bytes));
    else if (this.length + bytes > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.buffer.length, this.length + bytes));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
  }

  #int16(value) { this.length = this.buffer.writeUInt16BE(value, this.length); }
  #int32(value) { this.length = this.buffer.writeInt32BE(value, this.length); }

  /** A string with its terminator. */
  #string(text) {
    this.length += this.buffer.utf8Write(text, this.length, this.buffer.length - this.length);
    this.buffer[this.length++] = 0;
  }

  /** Begins a message whose body takes at most `room` bytes. */
  #begin(type, room) {
    this.#reserve(room + 5);
    this.buffer[this.length] = type;
    this.length += 5;
    return this.length - 5;
  }

  /** Ends the message begun at `start`: its length is known now. */
  #end(start) {
    const length = this.length - start - 1;
    if (length > LIMIT) {
      this.length = start;
      throw new RangeError(`a message of ${length} bytes: PostgreSQL takes less than 1 GiB`);
    }
    this.buffer.writeInt32BE(length, start + 1);
  }

  /** Whole messages. */
  raw(bytes) {
    this.#reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Any message whose body is a list of bytes. */
  message(type, body) {
    const start = this.#begin(type, body.length);
    this.raw(body);
    this.#end(start);
  }

  /**
   * Parse.
   * @param {string} name of the statement, '' for the unnamed one
   * @param {string} text
   * @param {number[]} paramTypes OIDs, may be fewer than there are parameters
   */
  parse(name, text, paramTypes) {
    const start = this.#begin(frontend.Parse, Buffer.byteLength(text) + name.length + 4 + 4 * paramTypes.length);
    this.#string(name);
    this.#string(text);
    this.#int16(paramTypes.length);
    for (const oid of paramTypes) this.#int32(oid | 0);
    this.#end(start);
  }

  /** Describe, Close: `target` is 'S' for a statement, 'P' for a portal. */
  describe(target, name) { this.#named(frontend.Describe, target, name); }
  close(target, name) { this.#named(frontend.Close, target, name); }

  #named(type, target, name) {
    const start = this.#begin(type, 3 * name.length + 2);
    this.buffer[this.length++] = target.charCodeAt(0);
    this.#string(name);
    this.#end(start);
  }

  /**
   * Bind. What every query goes through is written out here.
   * @param {Buffer} names portal and statement, each with its terminator
   * @param {Array|object} values see `checkValues`, or a row of an earlier result
   * @param {number} format of the result: 0 text, 1 binary
   * @returns {boolean} whether there are Buffers among the values
   * @throws {TypeError} naming the first value of a wrong kind
   */
  bind(names, values, format) {
    const row = values.rowBuffer;
    const count = row === undefined ? values.length : 0;
    let binary = false;
    let room = row === undefined ? 6 * count : row.length;
    for (let i = 0; i < count; i++) {
      const value = values[i];
      // Room is made for large values at once: to grow means to copy.
      if (typeof value === 'object') {
        if (!(value instanceof Uint8Array)) continue;
        binary = true;
        if (value.length > LARGE) room += value.length + LARGE;
      } else if (typeof value === 'string' && value.length > LARGE) room += Buffer.byteLength(value) + LARGE;
    }
    this.#reserve(names.length + 15 + room);
    const start = this.length;
    let { buffer } = this;
    buffer[start] = frontend.Bind;
    let off = start + 5;
    for (let i = 0; i < names.length; i++) buffer[off++] = names[i];
    this.length = off;
    if (row !== undefined) this.#bindRow(row, values.dataFormat);
    else {
      buffer[off] = binary ? count >>> 8 : 0;
      buffer[off + 1] = binary ? count : 0;
      off += 2;
      if (binary) {
        for (let i = 0; i < count; i++, off += 2) {
          buffer[off] = 0;
          buffer[off + 1] = values[i] instanceof Uint8Array ? 1 : 0;
        }
      }
      buffer[off] = count >>> 8;
      buffer[off + 1] = count;
      this.length = off + 2;
      for (let i = 0; i < count; i++) this.#value(values[i], i);
    }
    this.#reserve(4);
    ({ buffer } = this);
    off = this.length;
    buffer[off] = 0;
    buffer[off + 1] = 1;
    buffer[off + 2] = 0;
    buffer[off + 3] = format;
    this.length = off + 4;
    const length = off + 3 - start;
    if (length > LIMIT) this.#end(start);
    buffer[start + 1] = length >>> 24;
    buffer[start + 2] = length >>> 16;
    buffer[start + 3] = length >>> 8;
    buffer[start + 4] = length;
    return binary;
  }

  /** A DataRow's body is laid out as Bind wants its values: count, then length and bytes of each. */
  #bindRow(row, format) {
    this.#int16(1);
    this.#int16(format);
    this.raw(row.subarray(5));
  }

  #value(value, index) {
    if (typeof value === 'string') return this.#text(value, index);
    if (value !== null && value !== undefined && !(value instanceof Uint8Array)) {
      return this.#text(textOf(value, `values[${index}]`), index);
    }
    this.#reserve(4);
    this.#int32(value ? value.length : -1);
    if (value) this.raw(value);
  }

  #text(text, index) {
    const { length } = text;
    this.#reserve(4 + (length > 1024 ? Buffer.byteLength(text) : 3 * length));
    const { buffer } = this;
    const start = this.length + 4;
    let off = start;
    if (length < 24) { // short ASCII is copied faster here than by a call into the runtime
      for (let i = 0; i < length; i++) {
        const code = text.charCodeAt(i);
        if (code > 127 || code === 0) break;
        buffer[off++] = code;
      }
    }
    if (off - start !== length) {
      if (text.includes('\0')) checkText(text, `values[${index}]`);
      off = start + buffer.utf8Write(text, start, buffer.length - start);
    }
    this.#int32(off - start);
    this.length = off;
  }

  /**
   * Execute of the unnamed portal to its end.
   * @param {boolean} sync whether Sync follows
   */
  executeAll(sync) {
    this.#reserve(15);
    const { buffer } = this;
    const from = this.length;
    const length = sync ? 15 : 10;
    for (let i = 0; i < length; i++) buffer[from + i] = EXECUTE_SYNC[i];
    this.length = from + length;
  }

  /** Execute: at most `maxRows` rows, 0 for all. */
  execute(portal, maxRows) {
    const start = this.#begin(frontend.Execute, portal.length + 5);
    this.#string(portal);
    this.#int32(maxRows);
    this.#end(start);
  }

  /** Query: the simple query protocol. */
  query(text) {
    const start = this.#begin(frontend.Query, Buffer.byteLength(text) + 1);
    this.#string(text);
    this.#end(start);
  }

  /** Messages without a body. */
  #bare(type) { this.#end(this.#begin(type, 0)); }
  sync() { this.#bare(frontend.Sync); }
  flush() { this.#bare(frontend.Flush); }
  copyDone() { this.#bare(frontend.CopyDone); }
  terminate() { this.#bare(frontend.Terminate); }

  /** CopyFail; `reason` is shown in the server's error. */
  copyFail(reason) {
    const start = this.#begin(frontend.CopyFail, Buffer.byteLength(reason) + 1);
    this.#string(reason);
    this.#end(start);
  }
}

module.exports = { MessageWriter };

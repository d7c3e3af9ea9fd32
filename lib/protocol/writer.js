'use strict';

const { Buffer } = require('#platform');

const INITIAL = 65536;
/** A value of more bytes is a large one. */
const LARGE = 65536;
const LIMIT = 0x3fffffff; // PostgreSQL refuses messages of 1 GiB and more
const EXECUTE_SYNC = Buffer.from([69, 0, 0, 0, 9, 0, 0, 0, 0, 0, 83, 0, 0, 0, 4]);

/** What a value is called in an error, which never shows the value itself. */
function kindOf(value) {
  if (value === null) return 'null';
  return typeof value === 'object' ? (value.constructor && value.constructor.name) || 'object' : typeof value;
}

/**
 * Text that is to be sent as a string of the protocol.
 * @throws {TypeError} naming `what` where it is not a string or holds a null byte
 */
function checkText(text, what) {
  if (typeof text !== 'string') throw new TypeError(`${what} must be a string, not ${kindOf(text)}`);
  if (text.includes('\0')) throw new TypeError(`${what} has a null byte at ${text.indexOf('\0')}, which PostgreSQL cannot take`);
}

/**
 * Checks each parameter value.
 * @param {Array|object} values or a row of an earlier result
 * @throws {TypeError} as MessageWriter.bind would
 */
function checkEach(values) {
  if (values.rowBuffer !== undefined) return;
  for (let i = 0; i < values.length; i++) {
    const value = values[i];
    if (typeof value === 'string') {
      if (value.includes('\0')) checkText(value, `values[${i}]`);
    } else if (typeof value === 'object') {
      if (value !== null && !(value instanceof Uint8Array)) throw wrongValue(value, i);
    } else if (typeof value === 'function' || typeof value === 'symbol') throw wrongValue(value, i);
  }
}

/**
 * A copy of parameter values that later changes by the caller cannot reach.
 * @param {Array|object} values or a row of an earlier result
 * @throws {TypeError} as MessageWriter.bind would
 */
function snapshot(values) {
  if (values.rowBuffer !== undefined) return { rowBuffer: Buffer.from(values.rowBuffer), dataFormat: values.dataFormat };
  checkEach(values);
  return Array.from(values, value => value instanceof Uint8Array ? Buffer.from(value) : value);
}

/** Whether a parameter value is one that comes from a stream. */
function isStreamed(value) {
  return typeof value === 'object' && value !== null && value.stream !== undefined && !(value instanceof Uint8Array);
}

/** Whether one of the values comes from a stream. */
function hasStreamed(values) {
  if (!Array.isArray(values)) return false;
  for (let i = 0; i < values.length; i++) if (isStreamed(values[i])) return true;
  return false;
}

function wrongValue(value, index) {
  return new TypeError(`values[${index}] is of type ${kindOf(value)}; a value is a string, Buffer, Uint8Array, ` +
    'number, bigint, boolean, null or undefined');
}

/** @throws {TypeError|RangeError} where `values` is not a list of at most 65535 values */
function checkValues(values) {
  if (!Array.isArray(values) && !(values && values.rowBuffer instanceof Uint8Array && values.rowBuffer.length >= 7)) {
    throw new TypeError(`values must be an array or a row, not ${kindOf(values)}`);
  }
  if (Array.isArray(values) && values.length > 65535) {
    throw new RangeError(`${values.length} values: a query takes at most 65535 parameters`);
  }
}

/**
 * Encodes frontend messages into one growing buffer, which is taken off with `take`.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
class MessageWriter {
  constructor() {
    this.buffer = Buffer.allocUnsafeSlow(INITIAL);
    /** Bytes written; set it back to drop what was written since. */
    this.length = 0;
  }

  /** @returns {Buffer} what was written; if `reuse()` is not called, the memory is the caller's */
  take() {
    const bytes = this.buffer.subarray(0, this.length);
    this._spare = this.buffer.length <= 4 * INITIAL ? this.buffer : null;
    this.buffer = null;
    this.length = 0;
    return bytes;
  }

  /** What `take` gave is not needed any more. */
  reuse() {
    if (this.buffer === null) this.buffer = this._spare;
    this._spare = null;
  }

  _reserve(bytes) {
    if (this.buffer === null) this.buffer = Buffer.allocUnsafeSlow(Math.max(INITIAL, bytes));
    else if (this.length + bytes > this.buffer.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.buffer.length, this.length + bytes));
      this.buffer.copy(larger, 0, 0, this.length);
      this.buffer = larger;
    }
  }

  _int16(value) {
    const { buffer } = this;
    buffer[this.length++] = value >>> 8;
    buffer[this.length++] = value;
  }

  _int32At(off, value) {
    const { buffer } = this;
    buffer[off] = value >>> 24;
    buffer[off + 1] = value >>> 16;
    buffer[off + 2] = value >>> 8;
    buffer[off + 3] = value;
  }

  /** Begins a message whose body takes at most `room` bytes. */
  _begin(type, room) {
    this._reserve(room + 5);
    const start = this.length;
    this.buffer[start] = type;
    this.length = start + 5;
    return start;
  }

  /** Ends the message begun at `start`: its length is known now. */
  _end(start) {
    const length = this.length - start - 1;
    if (length > LIMIT) {
      this.length = start;
      throw new RangeError(`a message of ${length} bytes: PostgreSQL takes less than 1 GiB`);
    }
    this._int32At(start + 1, length);
  }

  /** Any message whose body is a list of bytes. */
  message(type, body) {
    const start = this._begin(type, body.length);
    this.buffer.set(body, this.length);
    this.length += body.length;
    this._end(start);
  }

  /** Bytes of a message that was begun before. */
  raw(bytes) {
    this._reserve(bytes.length);
    this.buffer.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** A string with its terminator. */
  _string(text) {
    this.length += this.buffer.utf8Write(text, this.length, this.buffer.length - this.length);
    this.buffer[this.length++] = 0;
  }

  /**
   * Parse.
   * @param {string} name of the statement, '' for the unnamed one
   * @param {string} text
   * @param {number[]} paramTypes OIDs, may be fewer than there are parameters
   */
  parse(name, text, paramTypes) {
    const start = this._begin(80, Buffer.byteLength(text) + name.length + 4 + 4 * paramTypes.length);
    this._string(name);
    this._string(text);
    this._int16(paramTypes.length);
    for (const oid of paramTypes) {
      this._int32At(this.length, oid);
      this.length += 4;
    }
    this._end(start);
  }

  /** Describe, Close: `target` is 'S' for a statement, 'P' for a portal. */
  describe(target, name) { this._named(68, target, name); }
  close(target, name) { this._named(67, target, name); }

  _named(type, target, name) {
    const start = this._begin(type, 3 * name.length + 2);
    this.buffer[this.length++] = target.charCodeAt(0);
    this._string(name);
    this._end(start);
  }

  /**
   * Bind.
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
        if (value === null) continue;
        binary = true;
        if (value instanceof Uint8Array && value.length > LARGE) room += value.length + LARGE;
      } else if (typeof value === 'string' && value.length > LARGE) room += Buffer.byteLength(value) + LARGE;
    }
    const start = this._begin(66, names.length + 10 + room);
    let off = this.length;
    for (let i = 0; i < names.length; i++) this.buffer[off++] = names[i];
    this.length = off;
    if (row !== undefined) this._bindRow(row, values.dataFormat);
    else {
      this._int16(binary ? count : 0);
      if (binary) for (let i = 0; i < count; i++) this._int16(values[i] instanceof Uint8Array ? 1 : 0);
      this._int16(count);
      for (let i = 0; i < count; i++) this._value(values[i], i);
    }
    this._reserve(4);
    const { buffer } = this;
    off = this.length;
    buffer[off] = 0;
    buffer[off + 1] = 1;
    buffer[off + 2] = 0;
    buffer[off + 3] = format;
    this.length = off + 4;
    this._end(start);
    return binary;
  }

  /** A DataRow's body is laid out as Bind wants its values: count, then length and bytes of each. */
  _bindRow(row, format) {
    this._int16(1);
    this._int16(format);
    this.buffer.set(row.subarray(5), this.length);
    this.length += row.length - 5;
  }

  _value(value, index) {
    if (typeof value === 'string') this._text(value, index);
    else if (value === null || value === undefined) {
      this._reserve(4);
      this._int32At(this.length, -1);
      this.length += 4;
    } else if (value instanceof Uint8Array) {
      this._reserve(4 + value.length);
      this._int32At(this.length, value.length);
      this.buffer.set(value, this.length + 4);
      this.length += 4 + value.length;
    } else if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') {
      this._text(String(value), index);
    } else throw wrongValue(value, index);
  }

  _text(text, index) {
    const { length } = text;
    this._reserve(4 + (length > 1024 ? Buffer.byteLength(text) : 3 * length));
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
    this._int32At(start - 4, off - start);
    this.length = off;
  }

  /** Execute of the unnamed portal to its end, and Sync. */
  executeSync() {
    this._reserve(15);
    this.buffer.set(EXECUTE_SYNC, this.length);
    this.length += 15;
  }

  /** Execute of the unnamed portal to its end. */
  executeAll() {
    this._reserve(10);
    const { buffer } = this;
    let off = this.length;
    for (let i = 0; i < 10; i++) buffer[off++] = EXECUTE_SYNC[i];
    this.length = off;
  }

  /** Execute: at most `maxRows` rows, 0 for all. */
  execute(portal, maxRows) {
    const start = this._begin(69, portal.length + 5);
    this._string(portal);
    this._int32At(this.length, maxRows);
    this.length += 4;
    this._end(start);
  }

  /** Query: the simple query protocol. */
  query(text) {
    const start = this._begin(81, Buffer.byteLength(text) + 1);
    this._string(text);
    this._end(start);
  }

  /** Messages without a body. */
  _bare(type) { this._end(this._begin(type, 0)); }
  sync() { this._bare(83); }
  flush() { this._bare(72); }
  copyDone() { this._bare(99); }
  terminate() { this._bare(88); }

  /** CopyFail; `reason` is shown in the server's error. */
  copyFail(reason) {
    const start = this._begin(102, Buffer.byteLength(reason) + 1);
    this._string(reason);
    this._end(start);
  }
}

module.exports = { MessageWriter, snapshot, isStreamed, hasStreamed, checkEach, checkText, checkValues };

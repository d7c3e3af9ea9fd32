'use strict';

const { Transform } = require('node:stream');
const { checkText, kindOf, textOf } = require('../protocol');
const { checkNoMore, checkOptions } = require('../options');

const OPTIONS = new Set(['columns', 'format', 'types']);

/** The size of a piece: as many rows as fit. */
const PIECE = 65536;

const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);

/** PostgreSQL's epoch, in milliseconds of Unix time. */
const EPOCH = Date.UTC(2000, 0, 1);
const DAY = 86400000;

const ESCAPES = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function expect(condition, type, value) {
  if (!condition) throw new TypeError(`${kindOf(value)} cannot be sent as ${type}`);
}

function integer(type, size, low, high, write) {
  return (writer, value) => {
    expect(typeof value === 'number' ? Number.isInteger(value) : typeof value === 'bigint', type, value);
    if (value < low || value > high) throw new RangeError(`${value} is out of range for ${type}`);
    const at = writer.value(size);
    write.call(writer.buffer, size === 8 ? BigInt(value) : Number(value), at);
  };
}

function float(type, size, round, write) {
  return (writer, value) => {
    expect(typeof value === 'number' || typeof value === 'bigint', type, value);
    const sent = round(Number(value));
    const isRounded = value < sent || value > sent;
    if (isRounded && !(sent && Number.isFinite(sent))) throw new RangeError(`${value} is out of range for ${type}`);
    const at = writer.value(size);
    write.call(writer.buffer, sent, at);
  };
}

function time(type, size) {
  return (writer, value) => {
    expect(value instanceof Date && !Number.isNaN(value.getTime()), type, value);
    const count = value.getTime() - EPOCH;
    const at = writer.value(size);
    if (size === 4) writer.buffer.writeInt32BE(Math.floor(count / DAY), at);
    else writer.buffer.writeBigInt64BE(BigInt(count) * 1000n, at);
  };
}

/** An encoder of text, behind a prefix byte if there is one. */
function text(type, prefix) {
  return (writer, value) => {
    expect(typeof value === 'string', type, value);
    writer.text(value, prefix);
  };
}

function bool(writer, value) {
  expect(typeof value === 'boolean', 'bool', value);
  const at = writer.value(1);
  writer.buffer[at] = value ? 1 : 0;
}

function uuid(writer, value) {
  const digits = typeof value === 'string' ? value.replace(/-/g, '') : '';
  expect(/^[0-9a-f]{32}$/i.test(digits), 'uuid', value);
  const at = writer.value(16);
  writer.buffer.write(digits, at, 'hex');
}

/** Encodes values whose column type need not be known. */
function untyped(writer, value) {
  if (typeof value === 'string') return writer.text(value);
  if (typeof value === 'boolean') return bool(writer, value);
  throw new TypeError(`${kindOf(value)} needs the type of its column: give types`);
}

const { writeInt16BE, writeInt32BE, writeUInt32BE, writeBigInt64BE, writeFloatBE, writeDoubleBE } = Buffer.prototype;

/** OID and encoder by type name. https://www.postgresql.org/docs/current/datatype.html */
const TYPES = {
  bool: [16, bool],
  bytea: [17, (writer, value) => expect(false, 'bytea', value)],
  name: [19, text('name')],
  int8: [20, integer('int8', 8, -(2n ** 63n), 2n ** 63n - 1n, writeBigInt64BE)],
  int2: [21, integer('int2', 2, -32768, 32767, writeInt16BE)],
  int4: [23, integer('int4', 4, -2147483648, 2147483647, writeInt32BE)],
  text: [25, text('text')],
  oid: [26, integer('oid', 4, 0, 4294967295, writeUInt32BE)],
  json: [114, text('json')],
  xml: [142, text('xml')],
  float4: [700, float('float4', 4, Math.fround, writeFloatBE)],
  float8: [701, float('float8', 8, Number, writeDoubleBE)],
  bpchar: [1042, text('bpchar')],
  varchar: [1043, text('varchar')],
  date: [1082, time('date', 4)],
  timestamp: [1114, time('timestamp', 8)],
  timestamptz: [1184, time('timestamptz', 8)],
  uuid: [2950, uuid],
  jsonb: [3802, text('jsonb', 1)]
};
const BY_OID = new Map(Object.values(TYPES));

/** Writes fields of the binary format into one growing buffer. */
class FieldWriter {
  constructor() { this.take(); }

  /** @returns {Buffer} what was written; the caller owns the memory */
  take() {
    const { buffer, length } = this;
    this.buffer = Buffer.allocUnsafeSlow(PIECE + PIECE / 4);
    this.length = 0;
    return buffer && buffer.subarray(0, length);
  }

  reserve(bytes) {
    if (this.length + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.buffer.length, this.length + bytes));
    this.buffer.copy(larger, 0, 0, this.length);
    this.buffer = larger;
  }

  int16(value) {
    this.reserve(2);
    this.length = this.buffer.writeInt16BE(value, this.length);
  }

  /** Begins a field of `size` bytes. @returns {number} their offset */
  value(size) {
    this.reserve(4 + size);
    const at = this.buffer.writeInt32BE(size, this.length);
    this.length = at + Math.max(size, 0);
    return at;
  }

  bytes(value) {
    const at = this.value(value.length);
    this.buffer.set(value, at);
  }

  text(value, version) {
    const length = Buffer.byteLength(value);
    let at = this.value(version === undefined ? length : length + 1);
    if (version !== undefined) this.buffer[at++] = version;
    this.buffer.write(value, at);
  }
}

function fieldOf(value) {
  if (value === null || value === undefined) return '\\N';
  if (value instanceof Uint8Array) {
    return `\\\\x${Buffer.from(value.buffer, value.byteOffset, value.length).toString('hex')}`;
  }
  if (typeof value !== 'string') return textOf(value, 'the value');
  if (value.includes('\0')) checkText(value, 'the value');
  return /[\\\n\r\t]/.test(value) ? value.replace(/[\\\n\r\t]/g, character => ESCAPES[character]) : value;
}

/**
 * Makes COPY data of rows: arrays of values, rows of a result, or objects. In the binary format, a Uint8Array is sent as it is,
 * whatever the column's type.
 * https://www.postgresql.org/docs/current/sql-copy.html
 */
class CopyWriter extends Transform {
  #columns;
  #encoders;
  #fields;
  #text = '';

  constructor(options = {}) {
    super({ writableObjectMode: true });
    checkNoMore(arguments, 1, 'new CopyWriter({ columns, format, types })');
    checkOptions(options, OPTIONS, {});
    const { columns, format = 'text', types } = options;
    if (format !== 'text' && format !== 'binary') throw new TypeError("format must be 'text' or 'binary'");
    if (types !== undefined && !Array.isArray(types)) throw new TypeError('types must be an array');
    if (columns !== undefined && !(Array.isArray(columns) && columns.every(each => typeof each === 'string'))) {
      throw new TypeError('columns must be an array of strings');
    }
    if (types && columns && types.length !== columns.length) {
      throw new RangeError(`${types.length} types for ${columns.length} columns`);
    }
    this.#columns = columns?.slice();
    this.#encoders = types && types.map(type => {
      const encoder = typeof type === 'number' ? BY_OID.get(type) : Object.hasOwn(TYPES, type) && TYPES[type][1];
      if (!encoder) throw new TypeError(`type ${type} cannot be encoded; send Buffers, or use the text format`);
      return encoder;
    });
    /** Rows so far. */
    this.rowCount = 0;
    if (format === 'text') return;
    this.#fields = new FieldWriter();
    this.push(SIGNATURE);
  }

  _transform(row, encoding, callback) {
    let column = 0;
    try {
      const values = this.#valuesOf(row, place => { column = place; });
      const count = this.#columns?.length ?? this.#encoders?.length ?? values.length;
      if (count !== values.length) throw new RangeError(`${values.length} values for ${count} ${this.#columns ? 'columns' : 'types'}`);
      this.#fields?.int16(values.length);
      for (; column < values.length; column++) {
        if (this.#fields !== undefined) this.#field(values[column], column);
        else this.#text += column === 0 ? fieldOf(values[0]) : `\t${fieldOf(values[column])}`;
      }
    } catch (error) {
      error.message = `row ${this.rowCount}, column ${this.#columns?.[column] ?? column}: ${error.message}`;
      return callback(error);
    }
    this.rowCount++;
    if (this.#fields === undefined) this.#text += '\n';
    if ((this.#fields ?? this.#text).length >= PIECE) this.#pass();
    callback();
  }

  /** @returns {Array} the values of a row; throws a TypeError, after `at(column)` if it is about one column */
  #valuesOf(row, at) {
    if (Array.isArray(row)) return row;
    if (typeof row?.toArray === 'function') return row.toArray();
    if (typeof row !== 'object' || row === null) throw new TypeError(`a row must be an array or an object, not ${kindOf(row)}`);
    if (this.#columns === undefined) throw new TypeError(`a row is ${kindOf(row)}: name its keys by the option columns`);
    return this.#columns.map((name, index) => {
      if (Object.hasOwn(row, name)) return row[name];
      at(index);
      throw new TypeError('the object does not have this key: write null for NULL');
    });
  }

  #field(value, column) {
    if (value === null || value === undefined) this.#fields.value(-1);
    else if (value instanceof Uint8Array) this.#fields.bytes(value);
    else (this.#encoders?.[column] ?? untyped)(this.#fields, value);
  }

  #pass() {
    this.push(this.#fields?.take() ?? Buffer.from(this.#text));
    this.#text = '';
  }

  _flush(callback) {
    this.#pass();
    if (this.#fields !== undefined) this.push(TRAILER);
    callback();
  }
}

module.exports = { CopyWriter };

import { int32, text, uint16 } from './bytes.js';
import { ProtocolError } from './errors.js';

const BYTES = Symbol('bytes');
const OFFSET = Symbol('offset');
const DECODERS = Symbol('decoders');
const CURSOR = Symbol('cursor');

/** Checks a DataRow once and for all: nobody who reads a column later has to. */
function check(bytes, offset, count) {
  const end = offset + 1 + int32(bytes, offset + 1);
  let off = end > bytes.length || uint16(bytes, offset + 5) !== count ? end + 1 : offset + 7;
  for (let i = 0; i < count && off <= end; i++) {
    const length = int32(bytes, off);
    off += length < -1 ? end + 1 : length < 0 ? 4 : 4 + length;
  }
  if (off !== end) throw new ProtocolError('a DataRow that does not fit its RowDescription');
}

/** The value of one column. */
function value(row, index) {
  const bytes = row[BYTES];
  const cursor = row[CURSOR];
  // Columns are mostly read one after the other: the walk goes on where it stopped.
  if (cursor.row !== row || cursor.index > index) {
    cursor.row = row;
    cursor.index = 0;
    cursor.offset = row[OFFSET] + 7;
  }
  let off = cursor.offset;
  for (let i = cursor.index; i < index; i++) {
    const length = int32(bytes, off);
    off += length < 0 ? 4 : 4 + length;
  }
  cursor.index = index;
  cursor.offset = off;
  const length = int32(bytes, off);
  return length < 0 ? null : row[DECODERS][index](bytes, off + 4, off + 4 + length);
}

/** What every row has, whatever its columns; a column of the same name is reached by index and by get(). */
const methods = {
  /** @returns {Object<string, *>} own properties by column name; of several with one name the last counts */
  toObject() {
    const object = {};
    const { columnNames } = this.rowParser;
    for (let i = 0; i < columnNames.length; i++) {
      const name = columnNames[i];
      if (name === '__proto__') {
        Object.defineProperty(object, name, {
          value: value(this, i), writable: true, enumerable: true, configurable: true
        });
      } else object[name] = value(this, i);
    }
    return object;
  },

  /** @returns {Array} the values in column order */
  toArray() {
    const array = [];
    for (let i = 0; i < this.columnCount; i++) array.push(value(this, i));
    return array;
  },

  /**
   * @param {string|number} column its name (of several, the last) or its index from 0
   * @returns {*} undefined where there is no such column
   */
  get(column) {
    const index = typeof column === 'number' ? column : this.rowParser.columnNames.lastIndexOf(column);
    return this.rowColumns[index] && value(this, index);
  },

  /** The same as toObject(): what JSON.stringify sees. */
  toJSON() {
    return this.toObject();
  },

  /** The DataRow message itself, header and all: a view of the memory it arrived in. */
  get rowBuffer() {
    return this[BYTES].subarray(this[OFFSET], this[OFFSET] + 1 + int32(this[BYTES], this[OFFSET] + 1));
  },

  [Symbol.iterator]() {
    return this.toArray()[Symbol.iterator]();
  },

  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) {
    return inspect(this.toObject(), options);
  }
};

/** What a value is when nothing else is said, by its format: a string, or a view of its bytes. */
export const plainDecoders = [text, (bytes, start, end) => bytes.subarray(start, end)];

/**
 * Makes the class of a statement's rows: instances hold a place in memory, all else is in the prototype.
 * @param {RowParser} rowParser
 * @param {number} format 1 where columns are binary though their description does not say so
 * @param {function(object, number): (Decoder|undefined)} decoderOf a column in a format; what has no decoder
 *   is a string, or a Uint8Array if it is binary
 * @returns {function(new:Row, Uint8Array, number)}
 */
export function makeRowClass(rowParser, format, decoderOf) {
  const { columns } = rowParser;
  class Row {
    /**
     * @param {Uint8Array} bytes which hold a DataRow message
     * @param {number} [offset=0] of its first byte
     * @throws {ProtocolError} if it is malformed
     */
    constructor(bytes, offset = 0) {
      check(bytes, offset, columns.length);
      this[BYTES] = bytes;
      this[OFFSET] = offset;
    }
  }
  const fields = {
    rowParser,
    rowColumns: columns,
    columnCount: columns.length,
    dataFormat: format || +(columns.length > 0 && columns.every(column => column.binary === 1)),
    [CURSOR]: { row: undefined, index: 0, offset: 0 },
    [DECODERS]: columns.map(column => {
      const columnFormat = column.binary === 1 ? 1 : format;
      return decoderOf(column, columnFormat) || plainDecoders[columnFormat];
    })
  };
  const { prototype } = Row;
  Object.setPrototypeOf(Object.assign(prototype, fields), methods);
  const define = (name, index) => Object.defineProperty(prototype, name, {
    get() { return value(this, index); },
    configurable: true,
    enumerable: true
  });
  // Names first: where a column is called '0', row[0] is still the first column.
  columns.forEach(({ name }, index) =>
    Object.hasOwn(methods, name) || Object.hasOwn(fields, name) || define(name, index));
  columns.forEach((column, index) => define(index, index));
  return Row;
}

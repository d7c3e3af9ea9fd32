// DataRow messages: numbers and values in their bytes, and the classes of rows.

/** @returns {number} the signed 32-bit integer at `off`, most significant byte first */
export function int32(bytes, off) {
  return bytes[off] << 24 | bytes[off + 1] << 16 | bytes[off + 2] << 8 | bytes[off + 3];
}

/** @returns {number} the unsigned 16-bit integer at `off` */
export function uint16(bytes, off) {
  return bytes[off] << 8 | bytes[off + 1];
}

/** @returns {number} the signed 16-bit integer at `off` */
export const int16 = (bytes, off) => uint16(bytes, off) << 16 >> 16;

const CHUNK = Symbol();
const OFFSET = Symbol();

/** A string of fewer bytes is put together here: it costs less than a call into the runtime. */
const SHORT = 13;
/** A longer value is not looked at byte by byte to see whether it is ASCII. */
const LONG = 64;
/** When so many others have been read, a chunk of at most this size becomes a string: parts of it cost little. */
const READS = 64;
const LARGEST = 1e6;

/** DataRow or CopyData messages that follow one another in memory; rows point to it. */
export class Chunk {
  /**
   * @param {Uint8Array} bytes
   * @param {number} start where the first message begins in them
   * @param {number} end of the last message
   * @param {object|null} type of the rows, as RowDescription.type gives it; null for CopyData
   */
  constructor(bytes, start, end, type) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.type = type;
    /** @type {string|null} the bytes as characters, when enough values have been read */
    this.text = null;
    /** How many are to be read until then; 0 for never, where the bytes may change. */
    this.left = READS;
    /** @type {Chunk|null} the next one of the result */
    this.next = null;
    /** What rows have of it: printers of objects show the fields of an object, and of a function its name. */
    this.self = () => this;
  }
}

/** Makes the chunk's string, unless it is too long for that. */
export function makeText(chunk) {
  const { bytes, start, end, type: { platform } } = chunk;
  if (end - start <= LARGEST) chunk.text = platform.characters(bytes, start, end);
}

/**
 * @param {Chunk} chunk
 * @param {number} start
 * @param {number} end
 * @param {{at: function(Chunk, number, number, number): string}} [known] gives the string instead where the chunk has
 *   become one, by a hash of the value
 * @returns {string} the value in text format at [start, end)
 */
function textAt(chunk, start, end, known) {
  const { bytes, type: { platform } } = chunk;
  const length = end - start;
  if (length >= LONG) return platform.text(bytes, start, end);
  if (length >= SHORT && chunk.text === null && --chunk.left === 0) makeText(chunk);
  let bits = 0;
  let hash = 0;
  for (let i = start; i < end; i++) {
    bits |= bytes[i];
    hash = hash * 31 + bytes[i] | 0;
  }
  const { text } = chunk;
  if (bits > 127 || (text === null && length >= SHORT)) return platform.text(bytes, start, end);
  if (text !== null) {
    return known ? known.at(chunk, start, end, hash) : text.substring(start - chunk.start, end - chunk.start);
  }
  let string = '';
  let i = start;
  for (; i < end - 3; i += 4) string += String.fromCharCode(bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]);
  for (; i < end; i++) string += String.fromCharCode(bytes[i]);
  return string;
}

/** The length of the column whose length word is at `off`; never past the end of its message. */
export function columnLength(bytes, off, end, platform) {
  if (off + 4 > end) throw platform.error('DataRow with too few columns');
  const length = int32(bytes, off);
  if (length < -1 || off + 4 + length > end) throw platform.error('DataRow with a column longer than itself');
  return length;
}

/** Checks a whole DataRow. */
export function checkRow(bytes, off, { count, platform }) {
  const end = off + 1 + int32(bytes, off + 1);
  if (end < off + 7 || end > bytes.length) throw platform.error('DataRow of a wrong length');
  if (uint16(bytes, off + 5) !== count) throw platform.error('DataRow of a wrong column count');
  off += 7;
  for (let i = 0; i < count; i++) off += 4 + Math.max(0, columnLength(bytes, off, end, platform));
  if (off !== end) throw platform.error('DataRow of a wrong length');
}

/**
 * Reads a row.
 * @param {Chunk} chunk
 * @param {number} offset of the row
 * @param {number} first of the columns to be read
 * @param {Array|object|null} target to put the values into; null: the first is all that is wanted
 * @param {Known[]} [known] strings of the columns, for who keeps the values
 * @param {string[]} [names] of the values in the target
 * @returns {*} the target, or the value
 */
function read(chunk, offset, first, target, known, names) {
  const { bytes, type: { count, decoders, platform } } = chunk;
  const end = offset + 1 + int32(bytes, offset + 1);
  let off = offset + 7;
  for (let i = 0; i < count; i++) {
    const length = int32(bytes, off);
    const start = off + 4;
    off = length > 0 ? start + length : start;
    if (length < -1 || off > end) columnLength(bytes, start - 4, end, platform); // throws
    if (i < first) continue;
    const decoder = decoders[i];
    const value = length < 0 ? null : decoder !== undefined ? decoder(bytes, start, off)
    : textAt(chunk, start, off, known?.[i]);
    if (target === null) return value;
    if (names === undefined) target.push(value);
    else target[names[i]] = value;
  }
  return target;
}

/** @returns {Array} of the values of the row at `offset` */
export const arrayAt = (chunk, offset, known) => read(chunk, offset, 0, [], known);

/** @returns {object} of the columns of the row at `offset`: of several with one name the last counts */
export function objectAt(chunk, offset, known) {
  const { Shape, hasProto, names } = chunk.type;
  if (!hasProto) return read(chunk, offset, 0, new Shape(), known, names);
  return Object.fromEntries(arrayAt(chunk, offset, known).map((value, i) => [names[i], value]));
}

/** What every row has, whatever its columns; a column of the same name is reached by index and by get(). */
export class Members {
  /** @returns {Object<string, *>} own properties by column name; of several with one name the last counts */
  toObject() { return objectAt(this[CHUNK](), this[OFFSET]); }

  /** @returns {Array} the values in column order */
  toArray() { return arrayAt(this[CHUNK](), this[OFFSET]); }

  /**
   * @param {string|number} column its name (of several, the last) or its index from 0
   * @returns {*} undefined where there is no such column
   */
  get(column) {
    const index = typeof column === 'number' ? column : this.rowParser.columnNames.lastIndexOf(column);
    return this.rowColumns[index] && read(this[CHUNK](), this[OFFSET], index, null);
  }

  /** The same as toObject(): what JSON.stringify sees. */
  toJSON() { return this.toObject(); }

  /** The DataRow message itself, header and all: a view, not a copy. */
  get rowBuffer() {
    const { bytes } = this[CHUNK]();
    const offset = this[OFFSET];
    return bytes.subarray(offset, offset + 1 + int32(bytes, offset + 1));
  }

  get rowParser() { return this[CHUNK]().type.rowParser; }

  /** The columns' descriptions, as in RowParser. */
  get rowColumns() { return this.rowParser.columns; }

  get columnCount() { return this[CHUNK]().type.count; }

  /** 0 text, 1 binary. */
  get dataFormat() { return this[CHUNK]().type.format; }

  [Symbol.iterator]() { return this.toArray()[Symbol.iterator](); }
}
delete Members.prototype.constructor; // a column may be called so

/** Makes the class of the rows of a type: instances are a place in memory, all else is in the prototype. */
export function makeRowClass(type) {
  class Row {
    /**
     * @param {Uint8Array} bytes which hold a DataRow message
     * @param {number} [offset=0] of its first byte
     * @param {Chunk} [chunk] that it lies in, if its bytes never change
     * @throws {Error} the platform's, if it is malformed
     */
    constructor(bytes, offset = 0, chunk) {
      if (chunk === undefined) {
        checkRow(bytes, offset, type);
        chunk = new Chunk(bytes, 0, bytes.length, type);
        chunk.left = 0;
      }
      this[CHUNK] = chunk.self;
      this[OFFSET] = offset;
    }
  }
  const { prototype } = Row;
  Object.setPrototypeOf(prototype, Members.prototype);
  const define = (name, index, enumerable) => Object.defineProperty(prototype, name, {
    get() { return read(this[CHUNK](), this[OFFSET], index, null); },
    configurable: true,
    enumerable
  });
  // Names first: where a column is called '0', row[0] is still the first column.
  type.names.forEach((name, index) => Object.hasOwn(Members.prototype, name) || define(name, index, true));
  type.names.forEach((name, index) => define(index, index, false));
  return Row;
}

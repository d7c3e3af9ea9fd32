// DataRow messages: numbers and values in their bytes, and the classes of rows.

/** @returns {number} the signed 32-bit integer at `off`, most significant byte first */
export function int32(bytes, off) {
  return bytes[off] << 24 | bytes[off + 1] << 16 | bytes[off + 2] << 8 | bytes[off + 3];
}

/** @returns {number} the offset behind the message at `off` */
export const endOf = (bytes, off) => off + 1 + int32(bytes, off + 1);

/** @throws {Error} the platform's, for a message of this name */
export function check(ok, { error }, name, fault = 'of a wrong length') {
  if (!ok) throw error(`${name} ${fault}`);
}

/** @returns {number} the unsigned 16-bit integer at `off` */
export function uint16(bytes, off) {
  return bytes[off] << 8 | bytes[off + 1];
}

/** @returns {number} the signed 16-bit integer at `off` */
export const int16 = (bytes, off) => uint16(bytes, off) << 16 >> 16;

/** @returns {Uint8Array} over the same memory */
export const slice = (bytes, start, end) => bytes.subarray(start, end);

const CHUNK = Symbol();
const OFFSET = Symbol();

/** So many bytes of whole rows at most become one string, which each of its parts keeps alive. */
export const BLOCK = 4096;

/** DataRow or CopyData messages that follow one another in memory; rows point to it. */
export class Chunk {
  /**
   * @param {Uint8Array} bytes
   * @param {number} end of the last message
   * @param {object|null} type of the rows, as RowDescription.type gives it; null for CopyData
   */
  constructor(bytes, end, type) {
    this.bytes = bytes;
    this.end = end;
    this.type = type;
    /** @type {string|false} the rows in [from, to), a character for each byte; '' or false if they are not ASCII */
    this.text = '';
    // from, to, mixed: where that is, none at first; whether a block was not ASCII, so that each row is decoded by itself.
    /** What rows have of it: printers of objects show the fields of an object, and of a function its name. */
    this.self = this.valueOf.bind(this);
  }
}

/**
 * Decodes the row at `off`, and as many rows behind it as make a block, if it follows the rows that were decoded last.
 * Columns are parts of that text: one call into the runtime serves all of them.
 */
function decode(chunk, off) {
  const { bytes, end, type: { platform } } = chunk;
  const { scratch } = platform;
  const row = off + 1 + int32(bytes, off + 1);
  const most = Math.min(BLOCK, (off === chunk.to && !chunk.mixed ? end : row) - off);
  let to = 0;
  scratch.set(bytes.subarray(off, off + most));
  while (to < most - 4) {
    const next = to + 1 + int32(scratch, to + 1);
    if (next > most) break;
    // What is no text may have bytes that are not ASCII.
    scratch[to + 4] = scratch[to + 6] = 0;
    for (to += 7; to < next;) {
      const length = int32(scratch, to);
      scratch[to] = scratch[to + 1] = scratch[to + 2] = scratch[to + 3] = 0;
      to += length > 0 ? length + 4 : 4;
    }
    to = next;
  }
  const text = platform.text(scratch, 0, to);
  chunk.from = off;
  chunk.to = to ? off + to : row;
  // Each character takes at least a byte: as many characters as bytes means that each is one.
  chunk.text = text.length === to && text;
  if (chunk.to > row && !chunk.text) {
    chunk.mixed = true;
    decode(chunk, off);
  }
}

/** @returns {string} the value in text format at [start, end), in the row at `offset` */
function textAt(chunk, offset, start, end) {
  if (!(offset >= chunk.from && offset < chunk.to)) decode(chunk, offset);
  return chunk.text ? chunk.text.substring(start - chunk.from, end - chunk.from)
  : chunk.type.platform.text(chunk.bytes, start, end);
}

/** The length of the column whose length word is at `off`; never past the end of its message. */
export function columnLength(bytes, off, end, platform) {
  const length = int32(bytes, off);
  check(length > -2 && off + 4 + Math.max(0, length) <= end, platform, 'DataRow', 'shorter than its columns');
  return length;
}

/** Checks a whole DataRow. */
export function checkRow(chunk, off) {
  const { bytes, type: { count, platform } } = chunk;
  const end = endOf(bytes, off);
  check(end > off + 6 && end <= bytes.length && uint16(bytes, off + 5) === count, platform, 'DataRow');
  read(chunk, off, count);
}

/**
 * Reads a row.
 * @param {Chunk} chunk
 * @param {number} offset of the row
 * @param {number} first of the columns to be read
 * @param {Array|object|null} target to put the values into; null: the first is all that is wanted
 * @param {string[]} [names] of the values in the target
 * @returns {*} the target, or the value
 */
function read(chunk, offset, first, target, names) {
  const { bytes, type: { count, decoders, platform } } = chunk;
  const end = offset + 1 + int32(bytes, offset + 1);
  let off = offset + 7;
  for (let i = 0; i < count; i++) {
    const length = int32(bytes, off);
    const start = off + 4;
    off = length > 0 ? start + length : start;
    if (length < -1 || off > end) check(0, platform, 'DataRow', 'shorter than its columns');
    if (i < first) continue;
    const decoder = decoders[i];
    const value = length < 0 ? null : decoder ? decoder(bytes, start, off) : textAt(chunk, offset, start, off);
    if (!target) return value;
    if (names) target[names[i]] = value;
    else target.push(value);
  }
  if (off !== end) check(0, platform, 'DataRow');
  return target;
}

/** @returns {Array} of the values of the row at `offset` */
export const arrayAt = (chunk, offset) => read(chunk, offset, 0, []);

/** @returns {object} of the columns of the row at `offset`: of several with one name the last counts */
export function objectAt(chunk, offset) {
  const { Shape, names } = chunk.type;
  return Shape ? read(chunk, offset, 0, new Shape(), names)
  : Object.fromEntries(arrayAt(chunk, offset).map((value, i) => [names[i], value]));
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
    const index = typeof column === 'number' ? column : this[CHUNK]().type.names.lastIndexOf(column);
    return this.rowColumns[index] && read(this[CHUNK](), this[OFFSET], index, null);
  }

  /** The same as toObject(): what JSON.stringify sees. */
  toJSON() { return this.toObject(); }

  /** The DataRow message itself, header and all: a view, not a copy. */
  get rowBuffer() {
    const { bytes } = this[CHUNK]();
    return bytes.subarray(this[OFFSET], endOf(bytes, this[OFFSET]));
  }

  get rowParser() { return this[CHUNK]().type.rowParser; }

  /** The columns' descriptions, as in RowParser. */
  get rowColumns() { return this[CHUNK]().type.rowParser.columns; }

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
      if (!chunk) {
        chunk = new Chunk(bytes, bytes.length, type);
        chunk.from = 0;
        chunk.to = Infinity; // these bytes may change: each column is decoded by itself
        checkRow(chunk, offset);
      }
      this[CHUNK] = chunk.self;
      this[OFFSET] = offset;
    }
  }
  Object.setPrototypeOf(Row.prototype, Members.prototype);
  const define = (name, index, enumerable) => Object.defineProperty(Row.prototype, name, {
    get() { return read(this[CHUNK](), this[OFFSET], index, null); },
    configurable: true,
    enumerable
  });
  // Names first: where a column is called '0', row[0] is still the first column.
  type.names.forEach((name, index) => Object.hasOwn(Members.prototype, name) || define(name, index, true));
  type.names.forEach((name, index) => define(index, index, false));
  return Row;
}

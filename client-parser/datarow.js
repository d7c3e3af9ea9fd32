// DataRow messages, and the classes of rows.

/** @returns {number} the signed big-endian 32-bit integer at `off` */
export const int32 = (bytes, off) =>
  (bytes[off] << 24) | (bytes[off + 1] << 16) | (bytes[off + 2] << 8) | bytes[off + 3];

/** @returns {number} the offset behind the message at `off` */
export const endOf = (bytes, off) => off + 1 + int32(bytes, off + 1);

/** @throws {Error} the platform's, naming the message */
export function check(ok, { error }, name) {
  if (!ok) throw error(`${name} of a wrong length`);
}

export const uint32 = (bytes, off) => int32(bytes, off) >>> 0;

export const uint16 = (bytes, off) => (bytes[off] << 8) | bytes[off + 1];

export const int16 = (bytes, off) => (uint16(bytes, off) << 16) >> 16;

export const slice = (bytes, start, end) => bytes.subarray(start, end);

const CHUNK = Symbol();
const OFFSET = Symbol();

/** The most bytes of whole rows that become one string, which each of its parts keeps alive. */
export const BLOCK = 4096;

/** Adjacent DataRow or CopyData messages, which rows point to. */
export class Chunk {
  /**
   * @param {number} end of the last message
   * @param {object|null} type of the rows, see RowDescription.type; null for CopyData
   * @param {number} [start] of the first message, in Node.js
   */
  constructor(bytes, end, type, start) {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.type = type;
    /** The rows in [from, to), a character for each byte, of which only ASCII is right; '' if there are none. */
    this.text = '';
    // Not set at first are `from`, `to`, `last`: the offset of the last row that was read, and `ascii`: whether all is
    // ASCII.
    /** Rows refer to it by a function, of which printers show only the name. */
    this.self = this.valueOf.bind(this);
  }
}

/**
 * Decodes the row at `off` and, if it follows the rows decoded last, the rows behind it up to a block. One call into
 * the runtime serves all columns of ASCII, which are parts of the text. Any other column is decoded by itself, so that
 * it makes no other string wider: rows with one such column cost 1.2 × those of ASCII; with a string for each column,
 * 2.3 ×.
 * @returns {string} see Chunk
 */
function decode(chunk, off) {
  const {
    bytes,
    type: { platform }
  } = chunk;
  let to = endOf(bytes, off);
  const end = off === chunk.to ? Math.min(chunk.end, off + BLOCK) : to;
  for (let next; to + 5 < end && bytes[to] === 68 && (next = endOf(bytes, to)) > to && next <= end;) to = next; // D
  chunk.from = off;
  chunk.to = to;
  return (chunk.text = to - off > BLOCK ? '' : platform.block(chunk));
}

/**
 * A row is decoded when a second column of it is read, since a program may read one of each row.
 * @param {Array|object|null} target see read
 * @returns {string} the text at [start, end), in the row at `offset`
 */
function textAt(chunk, offset, start, end, target) {
  const { bytes } = chunk;
  const text =
    offset >= chunk.from && offset < chunk.to
      ? chunk.text
      : (target || chunk.last === (chunk.last = offset)) && decode(chunk, offset);
  if (text) {
    let i = chunk.ascii ? end : start;
    while (i < end && bytes[i] < 128) i++;
    if (i === end) return text.substring(start - chunk.from, end - chunk.from);
  }
  return chunk.type.platform.text(bytes, start, end);
}

/** The length of the column whose length word is at `off`; it never reaches past the end of its message. */
export function columnLength(bytes, off, end, platform) {
  const length = int32(bytes, off);
  check(length > -2 && off + 4 + Math.max(0, length) <= end, platform, 'DataRow');
  return length;
}

export const checkRow = (chunk, off) => read(chunk, off, chunk.type.count);

/**
 * Reads a row.
 * @param {number} first column to read
 * @param {Array|object|null} target of the values; null: only the first is wanted
 * @param {string[]} [names] of the values in the target
 * @returns {*} the target, or the value
 */
function read(chunk, offset, first, target, names) {
  const {
    bytes,
    type: { count, decoders, platform }
  } = chunk;
  const end = endOf(bytes, offset);
  let off = offset + 7;
  for (let i = 0; i < count; i++) {
    const length = int32(bytes, off);
    const start = off + 4;
    off = length > 0 ? start + length : start;
    if (length < -1 || off > end) check(0, platform, 'DataRow');
    if (i < first) continue;
    const decoder = decoders[i];
    const value = length < 0 ? null : decoder ? decoder(bytes, start, off) : textAt(chunk, offset, start, off, target);
    if (!target) return value;
    if (names) target[names[i]] = value;
    else target.push(value);
  }
  if (off !== end || end > bytes.length || uint16(bytes, offset + 5) !== count) check(0, platform, 'DataRow');
  return target;
}

export const arrayAt = (chunk, offset) => read(chunk, offset, 0, []);

/** Of several columns with one name, the last counts. */
export function objectAt(chunk, offset) {
  const { Shape, names } = chunk.type;
  return Shape
    ? read(chunk, offset, 0, new Shape(), names)
    : Object.fromEntries(arrayAt(chunk, offset).map((value, i) => [names[i], value]));
}

/** The members of every row. A column with a member's name is read by index and by get(). */
export class Members {
  /** @returns {Object<string, *>} a plain object */
  toObject() {
    return objectAt(this[CHUNK](), this[OFFSET]);
  }

  toArray() {
    return arrayAt(this[CHUNK](), this[OFFSET]);
  }

  /**
   * @param {string|number} column its name (of several, the last) or its index from 0
   * @returns {*} undefined if there is no such column
   */
  get(column) {
    const index = typeof column === 'number' ? column : this[CHUNK]().type.names.lastIndexOf(column);
    return this.rowColumns[index] && read(this[CHUNK](), this[OFFSET], index, null);
  }

  toJSON() {
    return this.toObject();
  }

  get rowBuffer() {
    const { bytes } = this[CHUNK]();
    return bytes.subarray(this[OFFSET], endOf(bytes, this[OFFSET]));
  }

  get rowParser() {
    return this[CHUNK]().type.rowParser;
  }

  get rowColumns() {
    return this[CHUNK]().type.rowParser.columns;
  }

  get columnCount() {
    return this[CHUNK]().type.count;
  }

  /** 0 text, 1 binary. */
  get dataFormat() {
    return this[CHUNK]().type.format;
  }

  [Symbol.iterator]() {
    return this.toArray()[Symbol.iterator]();
  }
}
delete Members.prototype.constructor; // a column may have this name

/**
 * The class of a type's rows, which is made when the first struct is: it costs more than the rest of the type. An
 * instance is a position in memory; everything else is in the prototype.
 */
export function rowClass(type) {
  if (type.Row) return type.Row;
  class Row {
    /**
     * @param {Uint8Array} bytes with a DataRow message at `offset`
     * @param {Chunk} [chunk] of the row, if its bytes never change
     * @throws {Error} the platform's, if it is malformed
     */
    constructor(bytes, offset = 0, chunk) {
      if (!chunk) {
        chunk = new Chunk(bytes, bytes.length, type);
        chunk.from = 0;
        chunk.to = Infinity; // the bytes may change, so each column is decoded by itself
        checkRow(chunk, offset);
      }
      this[CHUNK] = chunk.self;
      this[OFFSET] = offset;
    }
  }
  Object.setPrototypeOf(Row.prototype, Members.prototype);
  const define = (name, index, enumerable) =>
    Object.defineProperty(Row.prototype, name, {
      get() {
        return read(this[CHUNK](), this[OFFSET], index, null);
      },
      set() {
        throw TypeError('change toObject()');
      },
      configurable: true,
      enumerable
    });
  // Names first: row[0] is the first column, even if another column has the name '0'.
  type.names.forEach((name, index) => Object.hasOwn(Members.prototype, name) || define(name, index, true));
  type.names.forEach((name, index) => define(index, index, false));
  return (type.Row = Row);
}

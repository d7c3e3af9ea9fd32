'use strict';

const { Buffer } = require('#platform');
const { protocolError } = require('../protocol/errors');

const BUFFER = Symbol('buffer');
const OFFSET = Symbol('offset');
const ENDS = Symbol('ends');
const inspect = Symbol.for('nodejs.util.inspect.custom');

/** From this many columns on, a row remembers where its columns are instead of walking to them each time. */
const WIDE = 12;
const fromCharCode = String.fromCharCode;

/** A value shorter than this is looked at byte by byte, to see whether it is ASCII. */
const SHORT = 64;
/** Buffers of other sizes are not worth, or are too much for, a copy of all their bytes as a string. */
const SMALLEST_RUN = 8192;
const LARGEST_RUN = 1 << 20;
/** So many values are read one after the other from a buffer until the copy is made. */
const ENOUGH = 32;

// Where one value after the other is read from one buffer, a string of all its bytes pays: a part of a string
// costs a fraction of what a string from bytes does.
let run = null;
let runText = '';
let reading = null;
let reads = 0;

/** Whether runText has the bytes of this buffer, one a character. */
function inRun(buf) {
  if (buf === run) return true;
  if (buf !== reading) {
    reading = buf;
    reads = 0;
  }
  if (++reads < ENOUGH || buf.length < SMALLEST_RUN || buf.length > LARGEST_RUN) return false;
  run = buf;
  runText = buf.latin1Slice(0, buf.length);
  return true;
}

/** Decodes UTF-8; a call into the runtime costs more than reading a few ASCII bytes here. */
function utf8(buf, start, end) {
  switch (end - start) {
    case 0: return '';
    case 1: if (buf[start] < 128) return fromCharCode(buf[start]); break;
    case 2: if ((buf[start] | buf[start + 1]) < 128) return fromCharCode(buf[start], buf[start + 1]); break;
    case 3: {
      const a = buf[start], b = buf[start + 1], c = buf[start + 2];
      if ((a | b | c) < 128) return fromCharCode(a, b, c);
      break;
    }
    case 4: {
      const a = buf[start], b = buf[start + 1], c = buf[start + 2], d = buf[start + 3];
      if ((a | b | c | d) < 128) return fromCharCode(a, b, c, d);
      break;
    }
    case 5: {
      const a = buf[start], b = buf[start + 1], c = buf[start + 2], d = buf[start + 3], e = buf[start + 4];
      if ((a | b | c | d | e) < 128) return fromCharCode(a, b, c, d, e);
      break;
    }
    case 6: {
      const a = buf[start], b = buf[start + 1], c = buf[start + 2], d = buf[start + 3], e = buf[start + 4],
        f = buf[start + 5];
      if ((a | b | c | d | e | f) < 128) return fromCharCode(a, b, c, d, e, f);
    }
  }
  if (end - start < SHORT && inRun(buf)) {
    let bits = 0;
    for (let i = start; i < end; i++) bits |= buf[i];
    if (bits < 128) return runText.substring(start, end);
  }
  return buf.utf8Slice(start, end);
}

/** Texts of a column that are worth to be remembered are no longer than this. */
const REPEATED = 24;
/** Texts remembered for a column. */
const PLACES = 256;
/** After so many misses a column whose texts do not repeat is given up. */
const PATIENCE = 512;

/**
 * Reads the texts of one column, and remembers the last ones: many columns have few different values, and one that
 * is found need not be made, nor collected as garbage.
 */
class TextColumn {
  constructor() {
    this._texts = null;
    this._reads = 0;
    this._hits = 0;
    this._misses = 0;
  }

  read(buf, start, end) {
    const length = end - start;
    if (length < 2 || length > REPEATED || this._misses > this._hits + PATIENCE) return utf8(buf, start, end);
    if (this._texts === null) {
      if (++this._reads < ENOUGH) return utf8(buf, start, end);
      this._texts = new Array(PLACES).fill('');
    }
    let hash = length;
    let bits = 0;
    for (let i = start; i < end; i++) {
      bits |= buf[i];
      hash = (Math.imul(hash, 31) + buf[i]) | 0;
    }
    if (bits > 127) return buf.utf8Slice(start, end);
    const place = (hash ^ (hash >>> 8)) & (PLACES - 1);
    const text = this._texts[place];
    if (text.length === length) {
      let i = 0;
      while (i < length && text.charCodeAt(i) === buf[start + i]) i++;
      if (i === length) {
        this._hits++;
        return text;
      }
    }
    this._misses++;
    // Not a part of a run, which would stay in memory with it.
    return (this._texts[place] = length < 7 ? utf8(buf, start, end) : buf.latin1Slice(start, end));
  }
}

/** Reads the columns of rows in text format. */
function textColumns(count) {
  const columns = Array.from({ length: count }, () => new TextColumn());
  return (buf, start, end, index) => columns[index].read(buf, start, end);
}

function int32(buf, off) {
  return (buf[off] << 24) | (buf[off + 1] << 16) | (buf[off + 2] << 8) | buf[off + 3];
}

/** Offset after the DataRow message that starts at `off`. */
function messageEnd(buf, off) {
  const end = off + 1 + int32(buf, off + 1);
  if (end < off + 7 || end > buf.length) throw protocolError('DataRow of a wrong length');
  return end;
}

/** The length of the column whose length word is at `off`; never past the end of its message. */
function columnLength(buf, off, end) {
  if (off + 4 > end) throw protocolError('DataRow with too few columns');
  const length = int32(buf, off);
  if (length < -1 || off + 4 + length > end) throw protocolError('DataRow with a column longer than itself');
  return length;
}

/** Offsets of every column's end in a wide row; a NULL is marked by the negated offset. */
function columnEnds(row, count) {
  const buf = row[BUFFER];
  const end = messageEnd(buf, row[OFFSET]);
  const ends = new Array(count);
  for (let i = 0, off = row[OFFSET] + 7; i < count; i++) {
    const length = columnLength(buf, off, end);
    off += length < 0 ? 4 : 4 + length;
    ends[i] = length < 0 ? -off : off;
  }
  return (row[ENDS] = ends);
}

/** What every row has, whatever its columns; a column of the same name is reached by index and by get(). */
const rowMethods = {
  /** @returns {Object<string, *>} own properties by column name; of columns with one name the last one counts */
  toObject() {
    const object = {};
    const { columnNames: names, hasProto } = this.rowParser;
    const buf = this[BUFFER];
    const end = messageEnd(buf, this[OFFSET]);
    let off = this[OFFSET] + 7;
    for (let i = 0; i < names.length; i++) {
      const length = columnLength(buf, off, end);
      off += 4;
      const value = length < 0 ? null : this.parseColumn(buf, off, off + length, i);
      if (length > 0) off += length;
      if (hasProto && names[i] === '__proto__') {
        Object.defineProperty(object, '__proto__', { value, writable: true, enumerable: true, configurable: true });
      } else object[names[i]] = value;
    }
    return object;
  },

  /** @returns {Array} the values in column order */
  toArray() {
    const array = [];
    const count = this.columnCount;
    const buf = this[BUFFER];
    const end = messageEnd(buf, this[OFFSET]);
    let off = this[OFFSET] + 7;
    for (let i = 0; i < count; i++) {
      const length = columnLength(buf, off, end);
      off += 4;
      array.push(length < 0 ? null : this.parseColumn(buf, off, off + length, i));
      if (length > 0) off += length;
    }
    return array;
  },

  /**
   * @param {string|number} column its name (of several, the last) or its index from 0
   * @returns {string|Buffer|null|undefined} undefined where there is no such column
   */
  get(column) {
    const index = typeof column === 'number' ? column : this.rowParser.columnNames.lastIndexOf(column);
    const there = Number.isInteger(index) && index >= 0 && index < this.columnCount;
    return there ? columnAt(this, index) : undefined;
  },

  /** The same as toObject(): what JSON.stringify sees. */
  toJSON() { return this.toObject(); },

  /** The DataRow message itself, header and all: a view, not a copy. */
  get rowBuffer() {
    return this[BUFFER].subarray(this[OFFSET], messageEnd(this[BUFFER], this[OFFSET]));
  },

  /** The columns' descriptions, as in RowParser. */
  get rowColumns() { return this.rowParser.columns; },

  [Symbol.iterator]() { return this.toArray()[Symbol.iterator](); },
  [inspect](depth, options, inspector) { return inspector(this.toObject(), options); }
};
const RESERVED = new Set([...Object.keys(rowMethods), 'rowParser', 'columnCount', 'dataFormat', 'parseColumn']);

/** The value of one column: null, a string (text format) or a Buffer (binary format). */
function columnAt(row, index) {
  const buf = row[BUFFER];
  let start, length;
  if (row.columnCount >= WIDE) {
    const ends = row[ENDS] === undefined ? columnEnds(row, row.columnCount) : row[ENDS];
    if (ends[index] < 0) return null;
    start = (index === 0 ? row[OFFSET] + 7 : Math.abs(ends[index - 1])) + 4;
    length = ends[index] - start;
  } else {
    const end = messageEnd(buf, row[OFFSET]);
    start = row[OFFSET] + 7;
    for (let i = 0; i < index; i++) {
      const skipped = columnLength(buf, start, end);
      start += skipped < 0 ? 4 : 4 + skipped;
    }
    length = columnLength(buf, start, end);
    if (length < 0) return null;
    start += 4;
  }
  return row.parseColumn(buf, start, start + length, index);
}

const parseColumn = [
  (buf, start, end) => utf8(buf, start, end),
  (buf, start, end) => buf.subarray(start, end)
];

/** Gives an object members that for … in does not show: of a row it shows the columns, nothing else. */
function defineHidden(object, members) {
  for (const name of Reflect.ownKeys(members)) {
    Object.defineProperty(object, name, { ...Object.getOwnPropertyDescriptor(members, name), enumerable: false });
  }
  return object;
}

/** What all classes of rows inherit. */
const anyRow = defineHidden({ [ENDS]: undefined }, rowMethods);

/** Makes a class of rows: instances hold a place in a buffer, everything else is in the prototype. */
function makeRowClass(parser, format, parse) {
  class Row {
    /**
     * @param {Buffer} buffer holding a DataRow message
     * @param {number} [offset=0] of the message's type byte
     */
    constructor(buffer, offset = 0) {
      this[BUFFER] = buffer;
      this[OFFSET] = offset;
    }
  }
  const prototype = Object.setPrototypeOf(Row.prototype, anyRow);
  const columnCount = parser.columns.length;
  defineHidden(prototype, { rowParser: parser, columnCount, dataFormat: format, parseColumn: parse });
  const define = (name, index, enumerable) => Object.defineProperty(prototype, name, {
    get() { return columnAt(this, index); },
    configurable: true,
    enumerable
  });
  // Names first: where a column is called '0', row[0] is still the first column.
  parser.columns.forEach(({ name }, index) => RESERVED.has(name) || define(name, index, true));
  parser.columns.forEach((column, index) => define(index, index, false));
  return Row;
}

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[Client.STRING](dataRow)`,
 * `new parser[Client.BINARY](dataRow)`.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 */
class RowParser {
  /**
   * @param {Buffer} buf holding a RowDescription message; it is copied
   * @param {number} [start=0] offset of the message's type byte
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf, start = 0) {
    if (buf.length - start < 7) throw protocolError('RowDescription of a wrong length');
    const end = start + 1 + int32(buf, start + 1);
    if (end < start + 7 || end > buf.length) throw protocolError('RowDescription of a wrong length');
    /** The message; of a described statement, the formats are all text. */
    this.buffer = Buffer.from(buf.subarray(start, end));
    /** @type {Array<{name: string, tableOid: number, tableColumnIndex: number, typeOid: number,
     *    typeLen: number, typeModifier: number, binary: number}>} */
    this.columns = [];
    const count = this.buffer.readUInt16BE(5);
    let off = 7;
    for (let i = 0; i < count; i++) {
      const nameEnd = this.buffer.indexOf(0, off);
      if (nameEnd < 0 || nameEnd + 19 > this.buffer.length) throw protocolError('RowDescription cut short');
      const name = this.buffer.toString('utf8', off, nameEnd);
      off = nameEnd + 1;
      this.columns.push({
        name,
        tableOid: this.buffer.readUInt32BE(off),
        tableColumnIndex: this.buffer.readInt16BE(off + 4),
        typeOid: this.buffer.readUInt32BE(off + 6),
        typeLen: this.buffer.readInt16BE(off + 10),
        typeModifier: this.buffer.readInt32BE(off + 12),
        binary: this.buffer.readInt16BE(off + 16)
      });
      off += 18;
    }
    if (off !== this.buffer.length) throw protocolError('RowDescription of a wrong length');
    this.columnNames = this.columns.map(column => column.name);
    this.hasProto = this.columnNames.includes('__proto__');
    this._classes = [undefined, undefined];
    this._binary = undefined;
    this._forBinary = undefined;
    this._decoding = undefined;
  }

  /** The class of the rows in a format: the engine finds it by a method ten times faster than by a number. */
  _classOf(format) {
    if (this._classes[format] !== undefined) return this._classes[format];
    const parse = format === 0 ? textColumns(this.columns.length) : parseColumn[1];
    return (this._classes[format] = makeRowClass(this, format, parse));
  }

  /** Class of the rows in text format. */
  get 0() { return this._classOf(0); }

  /** Class of the rows in binary format. */
  get 1() { return this._classOf(1); }

  /**
   * The class of rows whose columns go through decoders.
   * @param {number} format 0 text, 1 binary
   * @param {Array<function|undefined>} decoders a decoder (bytes, start, end) or undefined for each column
   * @param {object} key of the cache: the map of decoders that the caller gave
   */
  decoding(format, decoders, key) {
    if (this._decoding === undefined) this._decoding = [new WeakMap(), new WeakMap()];
    let Row = this._decoding[format].get(key);
    if (Row === undefined) {
      const plain = parseColumn[format];
      Row = makeRowClass(this, format, (buf, start, end, index) => {
        const decoder = decoders[index];
        return decoder === undefined ? plain(buf, start, end) : decoder(buf, start, end);
      });
      this._decoding[format].set(key, Row);
    }
    return Row;
  }

  /**
   * The same description, its columns in the format of a result.
   * @param {number} format 0 text, 1 binary
   * @returns {RowParser}
   */
  forFormat(format) {
    if (format === 0 || this.columns.length === 0 || this.columns[0].binary === format) return this;
    if (this._forBinary === undefined) this._forBinary = new RowParser(this.description(1));
    return this._forBinary;
  }

  /**
   * The RowDescription message as a reader without earlier state needs it: with the format of the rows.
   * @param {number} format 0 text, 1 binary
   * @returns {Buffer}
   */
  description(format) {
    if (format === 0) return this.buffer;
    if (this._binary === undefined) {
      this._binary = Buffer.from(this.buffer);
      for (let off = 7, i = 0; i < this.columns.length; i++) {
        off = this._binary.indexOf(0, off) + 19;
        this._binary.writeInt16BE(1, off - 2);
      }
    }
    return this._binary;
  }
}

module.exports = { RowParser, utf8, int32, columnLength };

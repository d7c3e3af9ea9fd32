// RowDescription messages, and the classes of the rows that they describe.

import {
  Chunk, arrayAt, checkRow, columnLength, int16, int32, messageEnd, objectAt, skip, uint16, valueAt
} from './datarow.js';

const CHUNK = Symbol('chunk');
const OFFSET = Symbol('offset');
const STARTS = Symbol('starts');

/** From this many columns on, a row remembers where its columns are instead of walking to them each time. */
const WIDE = 12;

/** The value of one column of a row. */
function columnAt(row, index) {
  const chunk = row[CHUNK];
  const { bytes, type: { count, platform } } = chunk;
  const end = messageEnd(bytes, row[OFFSET], platform);
  const start = (count < WIDE ? skip(bytes, row[OFFSET], index, end, platform) : wideStart(row, index, end)) + 4;
  const length = columnLength(bytes, start - 4, end, platform);
  return length < 0 ? null : valueAt(chunk, start, start + length, index);
}

/** Where the length word of a column of many is. */
function wideStart(row, index, end) {
  const { bytes, text, type: { count, platform } } = row[CHUNK];
  if (text === undefined) return skip(bytes, row[OFFSET], index, end, platform);
  if (row[STARTS] === undefined) {
    const starts = (row[STARTS] = []);
    for (let off = row[OFFSET] + 7; starts.length < count;) {
      starts.push(off);
      off += 4 + Math.max(0, columnLength(bytes, off, end, platform));
    }
  }
  return row[STARTS][index];
}

/** What every row has, whatever its columns; a column of the same name is reached by index and by get(). */
const methods = {
  /** @returns {Object<string, *>} own properties by column name; of several with one name the last counts */
  toObject() { return objectAt(this[CHUNK], this[OFFSET]); },

  /** @returns {Array} the values in column order */
  toArray() { return arrayAt(this[CHUNK], this[OFFSET]); },

  /**
   * @param {string|number} column its name (of several, the last) or its index from 0
   * @returns {*} undefined where there is no such column
   */
  get(column) {
    const index = typeof column === 'number' ? column : this.rowParser.columnNames.lastIndexOf(column);
    return this.rowColumns[index] && columnAt(this, index);
  },

  /** The same as toObject(): what JSON.stringify sees. */
  toJSON() { return this.toObject(); },

  /** The DataRow message itself, header and all: a view, not a copy. */
  get rowBuffer() {
    const { bytes, type: { platform } } = this[CHUNK];
    return platform.slice(bytes, this[OFFSET], messageEnd(bytes, this[OFFSET], platform));
  },

  get rowParser() { return this[CHUNK].type.rowParser; },

  /** The columns' descriptions, as in RowParser. */
  get rowColumns() { return this.rowParser.columns; },

  get columnCount() { return this[CHUNK].type.count; },

  /** 0 text, 1 binary. */
  get dataFormat() { return this[CHUNK].type.format; },

  [Symbol.iterator]() { return this.toArray()[Symbol.iterator](); },
  [Symbol.for('nodejs.util.inspect.custom')](depth, options, inspect) { return inspect(this.toObject(), options); }
};

// Of a row, for … in shows the columns and nothing else.
for (const name of Reflect.ownKeys(methods)) Object.defineProperty(methods, name, { enumerable: false });

/** Makes the class of the rows of a type: instances are a place in memory, all else is in the prototype. */
function makeRowClass(type, columns) {
  class Row {
    /**
     * @param {Uint8Array} bytes which hold a DataRow message
     * @param {number} [offset=0] of its first byte
     * @param {Chunk} [chunk] that it lies in, if its bytes are never changed
     * @throws {Error} the platform's, if it is malformed
     */
    constructor(bytes, offset = 0, chunk) {
      if (!chunk) {
        // The bytes are the caller's, who may change them later.
        checkRow(bytes, offset, type);
        chunk = new Chunk(bytes, 0, bytes.length, type, false);
      }
      this[CHUNK] = chunk;
      this[OFFSET] = offset;
    }
  }
  const { prototype } = Row;
  Object.setPrototypeOf(prototype, methods);
  const define = (name, index, enumerable) => Object.defineProperty(prototype, name, {
    get() { return columnAt(this, index); },
    configurable: true,
    enumerable
  });
  // Names first: where a column is called '0', row[0] is still the first column.
  columns.forEach(({ name }, index) => Object.hasOwn(methods, name) || define(name, index, true));
  columns.forEach((column, index) => define(index, index, false));
  return Row;
}

/** What the rows of a description have in common that are in one format and read with one map of decoders. */
function makeType(rowParser, binary, decode) {
  const { columns, columnNames: names, platform } = rowParser;
  const formats = columns.map(column => binary || +(column.binary === 1));
  const decoders = columns.map((column, i) => rowParser.decoderOf(column, formats[i], decode));
  const type = {
    rowParser,
    platform,
    names,
    count: names.length,
    hasProto: names.includes('__proto__'),
    format: binary || +(names.length > 0 && !formats.includes(0)),
    /** A function of (bytes, start, end) for each column, undefined for plain text; null: all are plain text. */
    decoders: decoders.some(decoder => decoder) ? decoders : null,
    /** What the platform remembers of each column. */
    memory: [],
    Shape: makeShape(),
    Row: undefined
  };
  type.Row = makeRowClass(type, columns);
  return type;
}

/**
 * Makes the constructor of the objects of a type. The engine gives them room for as many properties as it sees
 * assignments here, and takes back what the first few leave unused; objects made by {} would get it in steps.
 */
function makeShape() {
  function Shape(never) {
    if (never) this.a = this.b = this.c = this.d = this.e = this.f = this.g = this.h = this.i = this.j = this.k = 0;
  }
  Shape.prototype = Object.prototype;
  return Shape;
}

const wrongDescription = platform => platform.error('RowDescription of a wrong length');

/** Offset after the RowDescription message at `start`. */
export function descriptionEnd(bytes, start, platform) {
  const end = start + 1 + int32(bytes, start + 1);
  if (end < start + 7 || end > bytes.length) throw wrongDescription(platform);
  return end;
}

/** So many descriptions are remembered. */
const MOST = 100;

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[0](dataRow)` where the columns
 * have the format that it says, `new parser[1](dataRow)` where all are binary.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 */
export class RowDescription {
  #types = [];
  #decoding = new WeakMap();

  /**
   * @param {Uint8Array} bytes which hold a RowDescription message
   * @param {number} start offset of its first byte
   * @param {object} platform what differs between Node and browsers:
   *   `text(bytes, start, end)` decodes UTF-8, `textAt(chunk, start, end, column)` does so for a value in a row,
   *   `characters(bytes, start, end)` makes each byte a character, `slice(bytes, start, end)` gives the bytes of a
   *   value or row, `error(message)` makes an error, `binary(column)` the decoder of a binary column where the caller
   *   has said nothing about decoding
   * @throws {Error} the platform's, if it is malformed
   */
  constructor(bytes, start, platform) {
    const end = descriptionEnd(bytes, start, platform);
    this.platform = platform;
    /** @type {Array<{name: string, tableOid: number, tableColumnIndex: number, typeOid: number,
     *    typeLen: number, typeModifier: number, binary: number}>} */
    this.columns = [];
    let off = start + 7;
    for (let count = uint16(bytes, start + 5); count > 0; count--) {
      const nameEnd = bytes.indexOf(0, off);
      if (nameEnd < off || nameEnd + 19 > end) throw wrongDescription(platform);
      this.columns.push({
        name: platform.text(bytes, off, nameEnd),
        tableOid: int32(bytes, nameEnd + 1) >>> 0,
        tableColumnIndex: int16(bytes, nameEnd + 5),
        typeOid: int32(bytes, nameEnd + 7) >>> 0,
        typeLen: int16(bytes, nameEnd + 11),
        typeModifier: int32(bytes, nameEnd + 13),
        binary: int16(bytes, nameEnd + 17)
      });
      off = nameEnd + 19;
    }
    if (off !== end) throw wrongDescription(platform);
    this.columnNames = this.columns.map(column => column.name);
  }

  /** Class of the rows in the format of the description. */
  get 0() { return this.type(0).Row; }

  /** Class of the rows in binary format. */
  get 1() { return this.type(1).Row; }

  /**
   * @param {number} binary 1 where columns are binary whatever the description says
   * @param {false|Map|Object<number, function|[Decoder, Decoder]>} [decode] decoders by type OID: a function of
   *   the column's string, or bytes where it is binary, and of its description; or a pair as in `decoders`.
   *   false: none; when not given, the platform's for binary columns
   * @returns {RowType} the same for the same
   */
  type(binary, decode) {
    let types = this.#types;
    if (decode) {
      types = this.#decoding.get(decode);
      if (!types) this.#decoding.set(decode, types = []);
    }
    return (types[decode === false ? binary + 2 : binary] ??= makeType(this, binary, decode));
  }

  /**
   * @param {object} column its description
   * @param {number} format 0 text, 1 binary
   * @param {false|object} [decode] as in `type`
   * @returns {Decoder|undefined} undefined for plain text
   */
  decoderOf(column, format, decode) {
    const { binary, slice, text } = this.platform;
    const plain = format ? slice : undefined;
    if (!decode) return plain && decode !== false && binary?.(column) || plain;
    const { typeOid } = column;
    const entry = decode instanceof Map ? decode.get(typeOid) : Object.hasOwn(decode, typeOid) && decode[typeOid];
    if (typeof entry === 'function') return (...place) => entry((plain || text)(...place), column);
    const decoder = entry?.[format] || plain;
    return decoder?.plain ? undefined : decoder;
  }
}

/**
 * The parser of a RowDescription: of the same bytes the same one, with the same classes of rows.
 * @param {Map<string, RowParser>} parsers that are remembered
 * @param {function(new:RowParser, Uint8Array, number)} Parser to be made
 * @param {object} platform
 */
export function parserOf(parsers, Parser, bytes, start, platform) {
  const end = descriptionEnd(bytes, start, platform);
  const key = platform.characters(bytes, start, end);
  if (!parsers.has(key)) {
    if (parsers.size === MOST) parsers.clear();
    parsers.set(key, new Parser(bytes, start));
  }
  return parsers.get(key);
}

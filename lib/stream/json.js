'use strict';

const { backend, protocolError } = require('../protocol');
const {
  Kind, MOST, PART, lengthAt, put, resolve, writeLiteral, writeString, writeTimestamp, writeValue, writeVerbatim
} = require('./json-values');

const { CommandComplete, EmptyQueryResponse } = backend;

const { ARRAY, BASE64, BOOL, FLOAT, HEX, INT8, STRING, TIMESTAMP, VERBATIM } = Kind;

/** OIDs of types, and of arrays of them; all others are strings, as are all arrays of others. */
const TYPES = [
  [16, 1000, BOOL], [17, 1001, HEX], [20, 1016, INT8], [21, 1005, VERBATIM], [23, 1007, VERBATIM], [26, 1028, VERBATIM],
  [28, 1011, VERBATIM], [114, 199, VERBATIM], [700, 1021, FLOAT], [701, 1022, FLOAT], [1114, 1115, TIMESTAMP],
  [1184, 1185, TIMESTAMP], [1700, 1231, STRING], [3802, 3807, VERBATIM]
];
const ARRAYS_OF_STRINGS = [
  143, 651, 775, 1002, 1003, 1009, 1014, 1015, 1040, 1041, 1182, 1183, 1187, 1270, 2287, 2951, 3905, 3907,
  3909, 3911, 3913, 3927, 6150, 6151, 6152, 6153, 6155, 6157
];

/** @returns {Object<number, number>} the kind of each type's values */
function kindsOf({ int8, numeric, bytea }) {
  const kinds = {};
  for (const typeOid of ARRAYS_OF_STRINGS) kinds[typeOid] = ARRAY + STRING;
  for (const [typeOid, arrayOid, usual] of TYPES) {
    let kind = usual;
    if (typeOid === 17 && bytea === 'base64') kind = BASE64;
    if (typeOid === 20 && int8 === 'string') kind = STRING;
    if (typeOid === 1700 && numeric === 'number') kind = FLOAT;
    kinds[typeOid] = kind;
    kinds[arrayOid] = ARRAY + kind;
  }
  return kinds;
}

/** How rows of a description are written. */
class Columns {
  /**
   * @param {RowParser} rowParser
   * @param {{as: string, int8: string, numeric: string, bytea: string}} options
   */
  constructor({ columns, columnNames }, options) {
    const kinds = kindsOf(options);
    const names = [...new Set(columnNames)];
    this.count = columns.length;
    /** Which column is written at a place: of several with one name the last, where the first was, as in objects. */
    this.order = names.map(name => columnNames.lastIndexOf(name));
    this.kinds = this.order.map(index => kinds[columns[index].typeOid] ?? STRING);
    /** What is before each value, and after the last. */
    const last = options.as === 'json' ? '}' : '}\n';
    const texts = [...names.map((name, i) => `${i > 0 ? ',' : ''}${JSON.stringify(name)}:`), last];
    texts[0] = `{${texts[0]}`;
    this.texts = texts.map(text => Buffer.from(text));
    /** Room for all of them. */
    this.room = this.texts.reduce((sum, { length }) => sum + length, 0);
    /** The same as words of four bytes: where those of each end, and its length in bytes. */
    this.words = [];
    this.ends = this.texts.map(text => {
      const padded = Buffer.concat([text, Buffer.alloc(3)]);
      for (let off = 0; off < text.length; off += 4) this.words.push(padded.readInt32BE(off));
      return this.words.length;
    });
    this.lengths = this.texts.map(text => text.length);
  }
}

/** @type {Map<string, {options: object, columns: WeakMap<RowParser, Columns>}>} by the options: there are 48 */
const forms = new Map();

function formOf(options) {
  const { as, int8, numeric, bytea } = options;
  const key = `${as},${int8},${numeric},${bytea}`;
  if (!forms.has(key)) forms.set(key, { options: { as, int8, numeric, bytea }, columns: new WeakMap() });
  return forms.get(key);
}

/** Makes JSON of rows, from their bytes and without JavaScript values: an array of objects, or an object a line. */
class Json {
  #columns;
  #lead; // the character before the next row, if any: [ or a comma
  #form;

  /** @param {{as: string, int8: string, numeric: string, bytea: string}} options as of queryTo */
  constructor(options) { this.#form = formOf(options); }

  start(out, rowParser) {
    const { options, columns } = this.#form;
    this.#lead = options.as === 'json' ? 91 : 0;
    this.#columns = rowParser && columns.get(rowParser);
    if (this.#columns === undefined) columns.set(rowParser, this.#columns = new Columns(rowParser, options));
  }

  message(out, buf, start) {
    if (this.#lead === 0 || (buf[start] !== CommandComplete && buf[start] !== EmptyQueryResponse)) return;
    if (this.#lead === 91) put(out, 91);
    put(out, 93);
  }

  /**
   * @param {StreamReceiver} out
   * @param {Buffer} buf with whole DataRow messages in [start, end)
   * @throws {ConnectionError} 08P01 for a row that is malformed
   */
  messages(out, buf, start, end) {
    if (this.#columns === null) throw protocolError('data of a COPY where rows were asked for');
    const from = new DataView(buf.buffer, buf.byteOffset, buf.length);
    const { count, order, room } = this.#columns;
    for (let pos = start; pos < end;) {
      const size = from.getInt32(pos + 1);
      const next = pos + 1 + size;
      if (size < 6 || from.getUint16(pos + 5) !== count) throw protocolError('DataRow of a wrong length');
      const fast = size <= PART && order.length === count;
      const block = out.reserve(fast ? room + MOST * size : 1);
      if (this.#lead !== 0) {
        block.bytes[block.used++] = this.#lead;
        this.#lead = 44;
      }
      if (fast) this.#row(out, block, from, pos + 7, next);
      else this.#longRow(out, from, pos + 7, next);
      pos = next;
    }
  }

  /** Writes a row for which the block has room: six bytes for each, also of the length words, hold NULL and quotes too. */
  #row(out, block, from, pos, end) {
    const { count, kinds, words, ends, lengths } = this.#columns;
    const to = block.view;
    let off = block.used;
    for (let i = 0, word = 0; i <= count; i++) {
      for (let at = off, last = ends[i]; word < last; word++, at += 4) to.setInt32(at, words[word]);
      off += lengths[i];
      if (i === count) break;
      const length = lengthAt(from, pos, end);
      pos += 4;
      const stop = length > 0 ? pos + length : pos;
      const kind = length < 0 ? Kind.NULL : resolve(kinds[i], from, pos, stop);
      if (kind === Kind.STRING || kind === Kind.TIMESTAMP) {
        to.setUint8(off, 34);
        off = (kind === Kind.STRING ? writeString : writeTimestamp)(from, pos, stop, to, off + 1);
        to.setUint8(off++, 34);
      } else if (kind === Kind.VERBATIM) off = writeVerbatim(from, pos, stop, to, off);
      else if (kind <= Kind.ZERO) off = writeLiteral(kind, to, off);
      else {
        block.used = off;
        writeValue(out, kind, from, pos, stop);
        off = block.used;
      }
      pos = stop;
    }
    block.used = off;
  }

  /** Writes a row that may be long, or of whose columns some have the same name. */
  #longRow(out, from, pos, end) {
    const { count, kinds, order, texts } = this.#columns;
    const starts = [];
    const stops = [];
    for (let i = 0; i < count; i++) {
      const length = lengthAt(from, pos, end);
      starts.push(pos += 4);
      stops.push(length < 0 ? -1 : pos += length);
    }
    for (let i = 0; i <= order.length; i++) {
      out.append(texts[i], 0, texts[i].length);
      const index = order[i];
      if (i < order.length) writeValue(out, stops[index] < 0 ? Kind.NULL : kinds[i], from, starts[index], stops[index]);
    }
  }
}

module.exports = { Json };

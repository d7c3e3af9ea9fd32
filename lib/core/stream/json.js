'use strict';

const {
  backend: { CommandComplete, EmptyQueryResponse },
  protocolError
} = require('../protocol');
const { decoders, oid, toCamel } = require('../rows');
const {
  Composite,
  Kind,
  MOST,
  PART,
  lengthAt,
  listOf,
  put,
  resolve,
  writeLiteral,
  writeString,
  writeTimestamp,
  writeValue,
  writeVerbatim
} = require('./json-values');

const { ARRAY, BASE64, BOOL, FLOAT, HEX, INT8, STRING, TIMESTAMP, VERBATIM } = Kind;

const [QUOTE, COMMA, OPEN_BRACKET, CLOSE_BRACKET] = Buffer.from('",[]');

/** The kind of values of each type, and of its arrays' elements, unless they are strings. */
const KINDS = {
  bool: BOOL,
  bytea: HEX,
  int8: INT8,
  int2: VERBATIM,
  int4: VERBATIM,
  oid: VERBATIM,
  xid: VERBATIM,
  json: VERBATIM,
  float4: FLOAT,
  float8: FLOAT,
  timestamp: TIMESTAMP,
  timestamptz: TIMESTAMP,
  jsonb: VERBATIM
};
/** @returns {Object<number, number>} kinds by type OID */
function kindsOf({ int8, numeric, bytea }) {
  const chosen = { ...KINDS };
  if (bytea === 'base64') chosen.bytea = BASE64;
  if (int8 === 'string') chosen.int8 = STRING;
  if (numeric === 'number') chosen.numeric = FLOAT;
  const kinds = {};
  for (const name of Object.keys(oid)) {
    const kind = chosen[name] ?? STRING;
    const array = oid[`_${name}`];
    if (chosen[name] !== undefined) kinds[oid[name]] = kind;
    if (array in decoders) kinds[array] = ARRAY + kind;
  }
  return kinds;
}

/**
 * @param {Object<number, Kind>} kinds by type OID
 * @param {Types} types that are not built in
 * @param {function(string): string} nameOf gives the name of a field's property
 * @returns {Kind} of a type
 */
function kindOf(typeOid, kinds, types, nameOf) {
  if (kinds[typeOid] !== undefined) return kinds[typeOid];
  const of = oid => kindOf(oid, kinds, types, nameOf);
  const { kind, base, element, fields } = types.of(typeOid) ?? {};
  kinds[typeOid] = STRING; // for a type that has itself inside, which no server has
  if (kind === 'd') kinds[typeOid] = of(base);
  else if (kind === 'c')
    kinds[typeOid] = new Composite(
      fields.map(([name]) => nameOf(name)),
      fields.map(([, field]) => of(field)),
      isSame => types.saw(typeOid, isSame)
    );
  else if (element !== undefined) kinds[typeOid] = listOf(of(element));
  return kinds[typeOid];
}

class Columns {
  constructor({ columns, columnNames }, options, types, isCamel) {
    const kinds = kindsOf(options);
    const nameOf = isCamel ? toCamel : name => name;
    const own = typeOid => (types === undefined ? STRING : kindOf(typeOid, kinds, types, nameOf));
    const names = [...new Set(columnNames)];
    this.count = columns.length;
    /**
     * The index of the column for each property. As in an object, the last of several columns with one name counts, at
     * the place of the first.
     */
    this.order = names.map(name => columnNames.lastIndexOf(name));
    this.kinds = this.order.map(index => kinds[columns[index].typeOid] ?? own(columns[index].typeOid));
    /** The bytes before each value and after the last one. */
    const last = options.as === 'json' ? '}' : '}\n';
    const texts = [...names.map((name, i) => `${i > 0 ? ',' : ''}${JSON.stringify(name)}:`), last];
    texts[0] = `{${texts[0]}`;
    this.texts = texts.map(text => Buffer.from(text));
    this.room = this.texts.reduce((sum, { length }) => sum + length, 0);
    /**
     * The same texts as words of four bytes, where each text ends, and its length in bytes: rows cost 0.87 × as much as
     * by bytes.
     */
    this.words = [];
    this.ends = this.texts.map(text => {
      const padded = Buffer.concat([text, Buffer.alloc(3)]);
      for (let off = 0; off < text.length; off += 4) this.words.push(padded.readInt32BE(off));
      return this.words.length;
    });
    this.lengths = this.texts.map(text => text.length);
  }
}

const ALONE = { decoding: { decode: false } };

/** @type {Object<string, WeakMap<RowParser, Columns>>} by the options, of which there are 48 combinations */
const forms = {};

/** Makes JSON of rows from their bytes, without JavaScript values: an array of objects, or an object a line. */
class Json {
  #columns;
  #lead; // the character before the next row: [ or a comma, 0 for none
  #options;
  #common;
  #rowParser;

  /** @param {Common} [common] see lib/core/requests; without it, only types that are built in are known */
  constructor(options, common = ALONE) {
    this.#options = options;
    this.#common = common;
  }

  /** What has to be known before the first row: all types. With `decode: false` none is. */
  get wants() {
    return this.#common.decoding.decode === false ? undefined : ['all'];
  }

  /** The types of columns that were made later: they are asked for behind the result, and strings in it. */
  get lacking() {
    return this.types?.lackingIn(this.#rowParser, undefined, 0, []);
  }

  /** See Receiver. */
  get types() {
    return this.#rowParser?.isOwn && this.wants !== undefined ? this.#common.types : undefined;
  }

  start(out, rowParser) {
    const { as, int8, numeric, bytea } = this.#options;
    this.#rowParser = rowParser;
    const { types } = this;
    const columns = ((types?.forms ?? forms)[`${as} ${int8} ${numeric} ${bytea}`] ??= new WeakMap());
    this.#lead = as === 'json' ? OPEN_BRACKET : 0;
    this.#columns = rowParser && columns.get(rowParser);
    const { isCamel } = this.#common.decoding;
    if (this.#columns === undefined)
      columns.set(rowParser, (this.#columns = new Columns(rowParser, this.#options, types, isCamel)));
  }

  message(out, buf, start) {
    if (this.#lead === 0 || (buf[start] !== CommandComplete && buf[start] !== EmptyQueryResponse)) return;
    if (this.#lead === OPEN_BRACKET) put(out, OPEN_BRACKET);
    put(out, CLOSE_BRACKET);
  }

  /**
   * Takes whole DataRow messages in buf[start, end).
   * @throws {ConnectionError} 08P01 for a malformed row
   */
  messages(out, buf, start, end) {
    if (this.#columns === null) throw protocolError('COPY data instead of rows');
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
        this.#lead = COMMA;
      }
      if (fast) this.#row(out, block, from, pos + 7, next);
      else this.#longRow(out, from, pos + 7, next);
      pos = next;
    }
  }

  /**
   * Writes a row that fits into the block: six bytes for each byte, length words included, leave room for NULL and
   * quotes. `#longRow` would cost 2.5 to 3 times as much.
   */
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
        to.setUint8(off, QUOTE);
        off = (kind === Kind.STRING ? writeString : writeTimestamp)(from, pos, stop, to, off + 1);
        to.setUint8(off++, QUOTE);
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

  /** Writes a row that may be long, or has several columns with one name. */
  #longRow(out, from, pos, end) {
    const { count, kinds, order, texts } = this.#columns;
    const starts = [];
    const stops = [];
    for (let i = 0; i < count; i++) {
      const length = lengthAt(from, pos, end);
      starts.push((pos += 4));
      stops.push(length < 0 ? -1 : (pos += length));
    }
    for (let i = 0; i <= order.length; i++) {
      out.append(texts[i], 0, texts[i].length);
      const index = order[i];
      if (i < order.length) writeValue(out, stops[index] < 0 ? Kind.NULL : kinds[i], from, starts[index], stops[index]);
    }
  }
}

module.exports = { Json };

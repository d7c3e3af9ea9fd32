// RowDescription messages, and how the rows that they describe are read.

import { int16, int32, makeRowClass, uint16 } from './datarow.js';

/** So many descriptions are remembered. */
const MOST = 100;

/**
 * Makes the constructor of the objects of a description. The engine gives them room for eight properties more than
 * it sees assignments here, and takes back what the first few leave unused; objects made by {} would get it in steps,
 * which costs those that are kept for long.
 */
function makeShape() {
  function Shape(never) {
    if (never) this.a = this.b = this.c = this.d = this.e = 0;
  }
  Shape.prototype = Object.prototype;
  return Shape;
}

const slice = (bytes, start, end) => bytes.subarray(start, end);

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[0](dataRow)` where the columns
 * have the format that it says, `new parser[1](dataRow)` where all are binary.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 *
 * A class that extends it has `known`, a Map for `of`, and `platform`, what differs between Node and browsers:
 * `text(bytes, start, end)` decodes UTF-8, `characters(bytes, start, end)` makes each byte a character,
 * `error(message)` makes an error, `binary(column)` the decoder of a binary column where the caller has said nothing
 * about decoding.
 */
export class RowDescription {
  #types = new WeakMap();

  /**
   * @param {Uint8Array} bytes which hold a RowDescription message
   * @param {number} [start=0] offset of its first byte
   * @throws {Error} the platform's, if it is malformed
   */
  constructor(bytes, start = 0) {
    const { platform } = this.constructor;
    const end = start + 1 + int32(bytes, start + 1);
    const check = ok => { if (!ok) throw platform.error('RowDescription of a wrong length'); };
    check(end >= start + 7 && end <= bytes.length);
    /** @type {Array<{name: string, tableOid: number, tableColumnIndex: number, typeOid: number,
     *    typeLen: number, typeModifier: number, binary: number}>} */
    this.columns = [];
    let off = start + 7;
    for (let count = uint16(bytes, start + 5); count > 0; count--) {
      const nameEnd = bytes.indexOf(0, off);
      check(nameEnd >= off && nameEnd + 19 <= end);
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
    check(off === end);
    this.columnNames = this.columns.map(column => column.name);
  }

  /** @returns {RowDescription} of the message at `start`: of the same bytes the same, as long as it is remembered */
  static of(bytes, start = 0) {
    const message = bytes.subarray(start, start + 1 + int32(bytes, start + 1));
    const key = this.platform.characters(message, 0, message.length);
    if (!this.known.has(key)) {
      if (this.known.size === MOST) this.known.clear();
      this.known.set(key, new this(message));
    }
    return this.known.get(key);
  }

  /** Class of the rows in the format of the description. */
  get 0() { return this.type(0).Row; }

  /** Class of the rows in binary format. */
  get 1() { return this.type(1).Row; }

  /**
   * What rows have in common that are in one format and read with one map of decoders.
   * @param {number} binary 1 where columns are binary whatever the description says
   * @param {Map|Object<number, function|[Decoder, Decoder]>} [decode] decoders by type OID: a function of the
   *   column's string, or bytes where it is binary, and of its description; or a pair as in `decoders`.
   *   When not given, the platform's for binary columns
   * @returns {object} the same for the same
   */
  type(binary, decode) {
    const key = decode ?? this;
    let types = this.#types.get(key);
    if (types === undefined) this.#types.set(key, types = []);
    return (types[binary] ??= this.#makeType(binary, decode));
  }

  #makeType(binary, decode) {
    const { columns, columnNames: names } = this;
    const type = {
      rowParser: this,
      platform: this.constructor.platform,
      names,
      count: names.length,
      format: binary || +(names.length > 0 && columns.every(column => column.binary)),
      /** A function of (bytes, start, end) for each column, undefined for plain text. */
      decoders: columns.map(column => this.#decoderOf(column, binary || column.binary, decode)),
      hasProto: names.includes('__proto__'),
      Shape: makeShape(),
      Row: undefined
    };
    type.Row = makeRowClass(type);
    return type;
  }

  #decoderOf(column, format, decode) {
    const { binary, text } = this.constructor.platform;
    const plain = format ? slice : undefined;
    if (decode === undefined) return plain && (binary?.(column) ?? plain);
    const { typeOid } = column;
    const entry = decode instanceof Map ? decode.get(typeOid) : Object.hasOwn(decode, typeOid) && decode[typeOid];
    if (typeof entry === 'function') return (...place) => entry((plain || text)(...place), column);
    const decoder = entry?.[format] || plain;
    return decoder?.plain ? undefined : decoder;
  }
}

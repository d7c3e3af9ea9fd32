// What the backend's messages say that a result has beside its rows. Each decoder is given the bytes, the offset of the
// message's type, the offset after its end, and the platform; none trusts a length or a terminator in them.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

import { check, endOf, int16, int32, makeRowClass, slice, uint16 } from './datarow.js';

// https://www.postgresql.org/docs/current/protocol-error-fields.html
export const FIELDS = {
  S: 'severity', V: 'severity', C: 'code', M: 'message', D: 'detail', H: 'hint', P: 'position',
  p: 'internalPosition', q: 'internalQuery', W: 'where', s: 'schema', t: 'table', c: 'column',
  d: 'dataType', n: 'constraint', F: 'file', L: 'line', R: 'routine'
};

/**
 * An ErrorResponse of the server, every field by its name; absent fields are undefined. `severity` is the
 * untranslated one (ERROR, FATAL, PANIC), `code` the SQLSTATE; `position`, `internalPosition` and `line` are numbers,
 * positions count the characters of the query from 1.
 */
export class PostgresError extends Error {
  /** @param {Object<string, string>} fields as `decodeFields` gives them */
  constructor(fields) {
    super(fields.message || 'the server reported an error without a message');
    for (const name in fields) {
      if (name !== 'message') this[name] = /osition|line/.test(name) ? +fields[name] : fields[name];
    }
  }
}
PostgresError.prototype.name = 'PostgresError';

/**
 * Decodes ErrorResponse and NoticeResponse: strings of a type and a text, and an empty one.
 * @returns {Object<string, string>} fields by name
 */
export function decodeFields(bytes, start, end, platform) {
  const strings = platform.text(bytes, start + 5, end).split('\0');
  check(!strings.pop() && strings.pop() === '' && !strings.includes(''), platform, 'ErrorResponse');
  const fields = {};
  for (const string of strings) {
    const name = FIELDS[string[0]];
    // V, the untranslated severity, comes after S and replaces it; servers before 9.6 send S alone.
    if (name) fields[name] = string.slice(1);
  }
  return fields;
}

/**
 * Decodes CommandComplete, whose tag is `SELECT 5`, `INSERT 0 1`, `CREATE TABLE`, ….
 * @returns {{cmd: string, oid: string|undefined, rowCount: number}} `cmd` is the tag without its numbers
 */
export function decodeCommandComplete(bytes, start, end, platform) {
  check(bytes.indexOf(0, start + 5) === end - 1, platform, 'CommandComplete');
  const [, cmd, oid, rowCount] = /^(.*?)(?: (\d+))??(?: (\d+))?$/s.exec(platform.text(bytes, start + 5, end - 1));
  return { cmd, oid, rowCount: Number(rowCount ?? 0) };
}

/**
 * Decodes CopyInResponse, CopyOutResponse and CopyBothResponse.
 * @returns {{format: number, columnCount: number, columnFormats: number[]}} formats: 0 text, 1 binary
 */
export function decodeCopyResponse(bytes, start, end, platform) {
  const columnCount = uint16(bytes, start + 6);
  check(end - start === 8 + 2 * columnCount, platform, 'CopyResponse');
  const columnFormats = Array.from({ length: columnCount }, (_, i) => uint16(bytes, start + 8 + 2 * i));
  return { format: bytes[start + 5], columnCount, columnFormats };
}

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[0](dataRow)` where the columns
 * have the format that it says, `new parser[1](dataRow)` where all are binary.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 *
 * A class that extends it has `known`, a Map for `of`, and `platform`, what differs between Node and browsers:
 * `text(bytes, start, end)` decodes UTF-8, `scratch` is memory of BLOCK bytes for what it decodes,
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
    const end = endOf(bytes, start);
    const valid = ok => check(ok, platform, 'RowDescription');
    valid(end > start + 6 && end <= bytes.length);
    /** @type {Array<{name: string, tableOid: number, tableColumnIndex: number, typeOid: number,
     *    typeLen: number, typeModifier: number, binary: number}>} */
    this.columns = [];
    let off = start + 7;
    while (off < end) {
      const nameEnd = bytes.indexOf(0, off);
      valid(nameEnd >= off && nameEnd + 19 <= end);
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
    valid(off === end && this.columns.length === uint16(bytes, start + 5));
    this.columnNames = this.columns.map(column => column.name);
  }

  /** @returns {RowDescription} of the message at `start`: of the same bytes the same, as long as it is remembered */
  static of(bytes, start = 0) {
    const message = bytes.subarray(start, endOf(bytes, start));
    const key = message.toString('latin1');
    if (!this.known.has(key)) {
      if (this.known.size > 99) this.known.clear();
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
    const { columns, columnNames: names, constructor: { platform } } = this;
    const key = decode ?? this;
    const types = this.#types.get(key) ?? [];
    this.#types.set(key, types);
    if (!types[binary]) {
      // The engine gives objects of a constructor room for eight properties more than it sees assignments here, and takes
      // back what the first few leave unused; objects made by {} would get it in steps, which costs those that are kept.
      function Shape(never) {
        if (never) this.a = this.b = this.c = this.d = 0;
      }
      Shape.prototype = Object.prototype;
      const type = types[binary] = {
        rowParser: this,
        platform,
        names,
        count: names.length,
        format: binary || +(names.length > 0 && columns.every(column => column.binary)),
        /** A function of (bytes, start, end) for each column, undefined for plain text. */
        decoders: columns.map(column => this.#decoderOf(column, binary || column.binary, decode)),
        /** Makes the objects; undefined if a column is called so that it cannot be assigned. */
        Shape: names.includes('__proto__') ? undefined : Shape
      };
      type.Row = makeRowClass(type);
    }
    return types[binary];
  }

  #decoderOf(column, format, decode) {
    const { binary, text } = this.constructor.platform;
    const plain = format ? slice : undefined;
    if (!decode) return binary && plain ? binary(column) : plain;
    const { typeLen, typeOid } = column;
    const entry = decode instanceof Map ? decode.get(typeOid) : Object.hasOwn(decode, typeOid) && decode[typeOid];
    if (typeof entry === 'function') return (...place) => entry((plain || text)(...place), column);
    const decoder = entry?.[format] || plain;
    // An enum, whose binary value is its label: a type that initdb has not made, of four bytes in the server.
    return decoder?.plain || (!entry && typeLen === 4 && typeOid > 16383) ? undefined : decoder;
  }
}

// Messages of a result beside its rows. Each decoder takes the bytes, the offset of the message's type, the offset
// behind its end, and the platform. It trusts no length and no terminator.
// https://www.postgresql.org/docs/current/protocol-message-formats.html

import { check, endOf, int16, int32, rowClass, slice, uint16, uint32 } from './datarow.js';
import { named } from './errors.js';
import { tagOf } from './text.js';

// https://www.postgresql.org/docs/current/protocol-error-fields.html
export const FIELDS = {
  S: 'severity',
  V: 'severity',
  C: 'code',
  M: 'message',
  D: 'detail',
  H: 'hint',
  P: 'position',
  p: 'internalPosition',
  q: 'internalQuery',
  W: 'where',
  s: 'schema',
  t: 'table',
  c: 'column',
  d: 'dataType',
  n: 'constraint',
  F: 'file',
  L: 'line',
  R: 'routine'
};

/**
 * An ErrorResponse; absent fields are undefined. `severity` is not translated; `position`, `internalPosition` and
 * `line` are numbers.
 */
export class PostgresError extends Error {
  /** @param {Object<string, string>} fields from `decodeFields` */
  constructor(fields) {
    super(fields.message || 'no message');
    for (const name in fields) {
      if (name !== 'message') this[name] = /osition|line/.test(name) ? +fields[name] : fields[name];
    }
  }
}
named(PostgresError, 'PostgresError');

/**
 * Decodes ErrorResponse and NoticeResponse.
 * @returns {Object<string, string>} fields by name
 */
export function decodeFields(bytes, start, end, platform) {
  const strings = platform.text(bytes, start + 5, end).split('\0');
  check(!strings.pop() && strings.pop() === '' && !strings.includes(''), platform, 'ErrorResponse');
  const fields = {};
  for (const string of strings) {
    const name = FIELDS[string[0]];
    // V, the untranslated severity, follows S and replaces it; servers before 9.6 send only S.
    if (name) fields[name] = string.slice(1);
  }
  return fields;
}

/**
 * Decodes a tag such as `SELECT 5`, `INSERT 0 1` or `CREATE TABLE`.
 * @returns {{cmd: string, oid: string|undefined, rowCount: number}} `cmd` is the tag without numbers
 */
export function decodeCommandComplete(bytes, start, end, platform) {
  check(bytes.indexOf(0, start + 5) === end - 1, platform, 'CommandComplete');
  const [, cmd, oid, rowCount] = /^(.*?)(?: (\d+))??(?: (\d+))?$/s.exec(platform.text(bytes, start + 5, end - 1));
  return { cmd, oid, rowCount: +(rowCount ?? 0) };
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
 * A RowDescription and the classes of its rows: `new parser[0](dataRow)` for columns in the format of the description,
 * `new parser[1](dataRow)` for binary ones.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 *
 * A subclass has `known`, a Map for `of`, and `platform`, with the differences between Node.js and browsers:
 * `text(bytes, start, end)` decodes UTF-8, `block(chunk)` gives the text of a chunk, `error(message)` makes an error,
 * `binary(column)` the default decoder of a binary column.
 */
export class RowDescription {
  #types = new WeakMap();

  /**
   * @param {Uint8Array} bytes with a RowDescription message at `start`
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
        tableOid: uint32(bytes, nameEnd + 1),
        tableColumnIndex: int16(bytes, nameEnd + 5),
        typeOid: uint32(bytes, nameEnd + 7),
        typeLen: int16(bytes, nameEnd + 11),
        typeModifier: int32(bytes, nameEnd + 13),
        binary: int16(bytes, nameEnd + 17)
      });
      off = nameEnd + 19;
    }
    valid(off === end && this.columns.length === uint16(bytes, start + 5));
    // V8's own string of a name: stores by any other one are looked up each time, which costs 2 to 3 times as much.
    this.columnNames = this.columns.map(({ name }) => Object.keys({ [name]: 0 })[0]);
  }

  /** @returns {RowDescription} the same one for the same bytes, as long as it is remembered */
  static of(bytes, start = 0) {
    const message = bytes.subarray(start, endOf(bytes, start));
    const key = message.toString('latin1');
    if (!this.known.has(key)) {
      if (this.known.size > 99) this.known.clear();
      this.known.set(key, new this(message));
    }
    return this.known.get(key);
  }

  get 0() {
    return rowClass(this.type(0));
  }

  get 1() {
    return rowClass(this.type(1));
  }

  /**
   * @param {number} binary 1 if the columns are binary, whatever the description says
   * @param {Map|Object<number, function|[Decoder, Decoder]>} [decode] decoders by type OID: functions of the column's
   *   string or bytes and its description, or pairs as in `decoders`; by default the platform's for binary columns
   * @returns {object} what rows of one format and one map share; the same object for the same arguments
   */
  type(binary, decode) {
    const {
      columns,
      columnNames: names,
      constructor: { platform }
    } = this;
    const key = decode ?? this;
    const types = this.#types.get(key) ?? [];
    this.#types.set(key, types);
    if (!types[binary]) {
      // V8 gives objects of a constructor room for eight more properties than it sees assigned here, and takes unused
      // room back after the first few. Objects made by {} grow in steps, which costs kept objects.
      function Shape(never) {
        if (never) this.a = this.b = this.c = this.d = 0;
      }
      Shape.prototype = Object.prototype;
      types[binary] = {
        rowParser: this,
        platform,
        names,
        count: names.length,
        format: binary || +(names.length > 0 && columns.every(column => column.binary)),
        /** Functions of (bytes, start, end); undefined for plain text. */
        decoders: columns.map(column => this.#decoderOf(column, binary || column.binary, decode)),
        /** undefined if a column's name cannot be assigned. */
        Shape: names.includes('__proto__') ? undefined : Shape,
        /** The class of structs, which costs more than all the rest: made by rowClass. */
        Row: undefined
      };
    }
    return types[binary];
  }

  #decoderOf(column, format, decode) {
    const { binary, text } = this.constructor.platform;
    const plain = format ? slice : undefined;
    if (!decode) return binary && plain ? binary(column) : plain;
    const { typeLen, typeOid } = column;
    const entry = tagOf(decode) === 'Map' ? decode.get(typeOid) : Object.hasOwn(decode, typeOid) && decode[typeOid];
    if (typeof entry === 'function') return (...place) => entry((plain || text)(...place), column);
    const decoder = entry?.[format] || plain;
    // An enum's binary value is its label. A type not made by initdb, with four bytes, is an enum.
    return decoder?.plain || (!entry && typeLen === 4 && typeOid > 16383) ? undefined : decoder;
  }
}

'use strict';

// What a database has told of types that are not built in: enums, domains, composite types, ranges, arrays, and types
// of extensions.

const { UsageError, protocolError, tagOf } = require('../protocol');
const { int32, slice } = require('../../../client-parser/datarow.js');
const { multirange, range } = require('../../../client-parser/nested.js');
const { arrayOf, decoders: builtIn, exact, text } = require('../../../client-parser/types.js');
const decoding = require('./decode');
const builtInOids = require('./oid');
const { OWN, toCamel } = require('./row-parser');

/** OIDs of bool, bytea, text, float4, float8 and text[]. */
const [BOOL, BYTEA, STRING, FLOAT4, FLOAT8, TEXTS] = [16, 17, 25, 700, 701, 1009];

/** Decoders of a value without a form of its own: a string, in binary format its bytes. */
const PLAIN = [text, slice];

/** Rows of a result that are searched for a composite type whose fields have changed. */
const SEARCHED = 10_000;

const [QUOTE, OPEN, CLOSE, COMMA, BACKSLASH] = Buffer.from('"(),\\');

/** @throws {ConnectionError} 08P01 unless a value has the form of its type */
function check(ok) {
  if (!ok) throw protocolError('malformed value');
}

/** @returns {string} a float as the server prints it, for the bounds of ranges */
function floatText(value, largest) {
  const [digits, exponent] = value.toExponential().split('e');
  // JavaScript has exponents below 1e-6 and from 1e21 on.
  if (exponent === undefined || (exponent >= -4 && exponent < largest))
    return Object.is(value, -0) ? '-0' : String(value);
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

/** Decoders of bounds of ranges whose text differs from that of JavaScript's values. */
const BOUNDS = {
  [BOOL]: (...place) => (builtIn[BOOL][1](...place) ? 't' : 'f'),
  [BYTEA]: (bytes, start, end) => `\\x${Buffer.from(bytes.subarray(start, end)).toString('hex')}`,
  [FLOAT4]: (...place) => floatText(builtIn[FLOAT4][1](...place), 6),
  [FLOAT8]: (...place) => floatText(builtIn[FLOAT8][1](...place), 15)
};

/** @returns {[Decoder, Decoder]} of an entry of a map, which may be a function of a column's string or bytes */
function pairOf(entry) {
  if (typeof entry === 'function')
    return [(...place) => entry(text(...place)), (bytes, start, end) => entry(slice(bytes, start, end))];
  return entry === undefined ? PLAIN : [entry[0] ?? text, entry[1] ?? slice];
}

/**
 * Calls back with each field of the text of a composite value, `(1,"a ""b""",)`, which PostgreSQL writes in
 * parentheses, NULL as nothing.
 * @param {function(Uint8Array, number, number): void} each gets a start of -1 for NULL
 * @throws {ConnectionError} 08P01 for any other text
 * https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX
 */
function eachField(bytes, start, end, each) {
  let pos = start + 1;
  const last = end - 1;
  check(last >= pos && bytes[start] === OPEN && bytes[last] === CLOSE);
  for (; ; pos++) {
    const isQuoted = bytes[pos] === QUOTE && pos < last;
    const from = isQuoted ? ++pos : pos;
    let escapes = 0;
    for (; pos < last; pos++) {
      const code = bytes[pos];
      if (isQuoted ? code === QUOTE && bytes[pos + 1] !== QUOTE : code === COMMA) break;
      if (code !== BACKSLASH && code !== QUOTE) continue;
      escapes++;
      pos++;
    }
    const to = pos;
    check(!isQuoted || (to < last && bytes[pos++] === QUOTE));
    if (escapes === 0) each(bytes, isQuoted || to > from ? from : -1, to);
    else {
      const plain = Buffer.allocUnsafe(to - from - escapes);
      let length = 0;
      for (let off = from; off < to; off++) {
        if (bytes[off] === BACKSLASH || bytes[off] === QUOTE) off++;
        plain[length++] = bytes[off];
      }
      each(plain, 0, length);
    }
    if (pos >= last) return;
    check(bytes[pos] === COMMA);
  }
}

/**
 * @param {string[]} names of the fields
 * @param {Array<[Decoder, Decoder]>} pairs of the fields
 * @param {number[]} oids of their types
 * @param {function(boolean): void} seen gets whether a value has as many fields
 * @returns {[Decoder, Decoder]} of a composite type to objects. A value with other fields stays as it is
 */
function composite(names, pairs, oids, seen) {
  const { length } = names;
  const objectOf = values => {
    const object = {};
    for (let i = 0; i < length; i++) {
      if (names[i] !== '__proto__') object[names[i]] = values[i];
      else
        Object.defineProperty(object, names[i], {
          value: values[i],
          enumerable: true,
          configurable: true,
          writable: true
        });
    }
    return object;
  };
  return [
    (bytes, start, end) => {
      const values = [];
      // A type without fields has the text of one with a field that is NULL.
      if (length > 0 || end - start !== 2)
        eachField(bytes, start, end, (from, off, to) => {
          const i = values.length;
          values.push(off < 0 || i >= length ? null : { from, off, to });
        });
      seen(values.length === length);
      if (values.length !== length) return text(bytes, start, end);
      return objectOf(values.map((field, i) => field && pairs[i][0](field.from, field.off, field.to)));
    },
    (bytes, start, end) => {
      let pos = start + 4;
      let isSame = end >= pos && int32(bytes, start) === length;
      const values = [];
      for (let i = 0; isSame && i < length; i++) {
        check(pos + 8 <= end);
        isSame = int32(bytes, pos) >>> 0 === oids[i];
        const size = int32(bytes, pos + 4);
        pos += 8;
        check(size >= -1 && pos + size <= end);
        if (isSame) values.push(size < 0 ? null : pairs[i][1](bytes, pos, pos + size));
        pos += Math.max(size, 0);
      }
      seen(isSame);
      check(!isSame || pos === end);
      return isSame ? objectOf(values) : slice(bytes, start, end);
    }
  ];
}

/** The decoders of a map and of the types that were told, which are made when a column needs them. */
class Decoders extends Map {
  #nameOf;
  #types;

  /** @param {function(string): string} nameOf gives the name of a field's property */
  constructor(types, entries, nameOf) {
    super(entries);
    this.#types = types;
    this.#nameOf = nameOf;
  }

  get(oid) {
    if (oid < OWN || super.has(oid)) return super.get(oid);
    const type = this.#types.of(oid);
    if (type === undefined) return undefined;
    this.set(oid, PLAIN); // for a type that has itself inside, which no server has
    const pair = this.#make(oid, type);
    this.set(oid, pair);
    return pair;
  }

  #make(oid, { kind, base, element, fields, isText, subtype }) {
    if (kind === 'd') return pairOf(this.get(base));
    if (kind === 'e' || (kind === 'b' && isText)) return builtIn[STRING];
    if (kind === 'c')
      return composite(
        fields.map(([name]) => this.#nameOf(name)),
        fields.map(([, field]) => pairOf(this.get(this.#types.baseOf(field)))),
        fields.map(([, field]) => field),
        isSame => this.#types.saw(oid, isSame)
      );
    if (kind === 'r' || kind === 'm') {
      const bound = this.#boundOf(this.#types.baseOf(kind === 'r' ? subtype : this.#types.of(base)?.subtype));
      if (bound !== undefined) return [text, kind === 'r' ? range(bound) : multirange(range(bound))];
    }
    return element === undefined ? PLAIN : arrayOf(pairOf(this.get(element)));
  }

  /** @returns {Decoder|undefined} of a binary bound to what its text is, if that is known */
  #boundOf(oid) {
    const { kind, isText } = this.#types.of(oid) ?? {};
    if (kind === 'e' || isText) return text;
    const decoder = BOUNDS[oid] ?? (exact[oid] ?? builtIn[oid])?.[1];
    return oid === 114 || oid === 3802 || decoder === slice ? undefined : decoder;
  }
}

/** The types of a client's database, or of a pool's. */
class Types {
  /** Whether the database was asked for all of its own types. */
  areAll = false;
  /** How JSON is made of rows with them, see Json. */
  forms = {};
  #decoders = new WeakMap(); // by map, then by the form of names
  #names = new Map(); // OIDs
  #seen = new Set(); // composite types of which a value was read
  #stale = new Set(); // composite types of which a value had other fields
  #types = new Map(); // by OID

  /**
   * @param {string[][]} told what the database answered, see TypesRequest
   * @param {Iterable<number>} [missing] OIDs that it does not have
   */
  take(told, missing = []) {
    for (const [oid, name, schema, isVisible, kind, base, element, subtype, isText, fields] of told) {
      const key = Number(oid);
      this.#names.set(`${schema}.${name}`, key);
      if (isVisible === 't') this.#names.set(name, key);
      this.#stale.delete(key);
      this.#types.set(key, {
        name,
        kind,
        base: Number(base),
        element: element === null ? undefined : Number(element),
        subtype: Number(subtype),
        isText: isText === 't',
        fields: JSON.parse(fields ?? '[]').map(([field, type]) => [field, Number(type)])
      });
    }
    for (const oid of missing) if (!this.#types.has(oid)) this.#types.set(oid, { kind: 'p' });
    this.#decoders = new WeakMap();
    this.forms = {};
  }

  /** @returns {{name: string, kind: string}|undefined} what was told of a type that is not built in */
  of(oid) {
    return this.#types.get(oid);
  }

  has(oid) {
    return oid < OWN || (this.#types.has(oid) && !this.#stale.has(oid));
  }

  /** @returns {number} the OID of the type that a domain is made of, through other domains; that of any other type */
  baseOf(oid) {
    let type = this.of(oid);
    for (let depth = 0; type?.kind === 'd' && depth < 100; depth++, type = this.of(oid)) oid = type.base;
    return oid;
  }

  /** @returns {boolean} whether the type is json or jsonb, or a domain of them */
  isJson(oid) {
    const base = this.baseOf(oid);
    return base === 114 || base === 3802;
  }

  /** A value of a composite type was read. @param {boolean} isSame whether it has the fields that were told */
  saw(oid, isSame) {
    if (isSame) this.#seen.add(oid);
    else this.#stale.add(oid);
  }

  /** @returns {number|undefined} the OID of the type with a name of a map */
  #named(name) {
    return Object.hasOwn(builtInOids, name) ? builtInOids[name] : this.#names.get(name);
  }

  /** @returns {string[]} the names of a map that the database was not asked for, or does not have */
  unknownIn(decode) {
    return decoding.namesIn(decode).filter(name => this.#named(name) === undefined);
  }

  /**
   * @param {true|Map|object} decode `true`, or a map of the caller's
   * @param {boolean} isCamel whether fields have names in camel case
   * @returns {Map|object} the map with OIDs in the place of names; and with decoders of these types, if it is `true` or
   *   has arrays of text
   * @throws {UsageError} for a name that the database does not have
   */
  decodersOf(decode, isCamel) {
    const key = decode === true ? this : decode;
    let made = this.#decoders.get(key);
    if (made === undefined) this.#decoders.set(key, (made = {}));
    return (made[isCamel] ??= this.#make(decode, isCamel));
  }

  #make(decode, isCamel) {
    const nameOf = isCamel ? toCamel : name => name;
    const given = decode === true ? decoding.texts : decode;
    const entries = [];
    for (const [key, decoder] of tagOf(given) === 'Map' ? given : Object.entries(given)) {
      const oid = decoding.isName(key) ? this.#named(key) : Number(key);
      if (oid === undefined)
        throw new UsageError(
          `decode has the name '${key}', which is no type of the database, or not in its search_path: ` +
            "write 'schema.name'",
          '42704'
        );
      entries.push([oid, decoder]);
    }
    const map = new Map(entries);
    return map.has(TEXTS) ? new Decoders(this, map, nameOf) : map;
  }

  /**
   * @param {RowParser} rowParser
   * @param {Map|object} decoders of its columns
   * @param {Iterable<[Buffer, number]>} rows of the result: a Buffer, and where a DataRow begins in it
   * @returns {number[]} the types of columns that are to be asked for
   */
  lackingIn({ columns }, decoders, format, rows) {
    const lacking = columns.map(({ typeOid }) => typeOid).filter(oid => !this.has(oid) && !decoders?.has?.(oid));
    if (lacking.length > 0) return lacking;
    const expected = new Set();
    for (const { typeOid } of columns) this.#collect(typeOid, expected);
    if (expected.size === 0) return lacking;
    this.#search(columns, format, rows, expected);
    return [...expected].filter(oid => this.#stale.has(oid));
  }

  /** Adds the composite types in a type. */
  #collect(oid, found) {
    const { kind, base, element, fields } = this.of(oid) ?? {};
    if (kind === 'd') this.#collect(base, found);
    if (element !== undefined) this.#collect(element, found);
    if (kind !== 'c' || found.has(oid)) return;
    found.add(oid);
    for (const [, field] of fields) this.#collect(field, found);
  }

  /** Reads values until one of each composite type was seen: all of a result have the same fields. */
  #search(columns, format, rows, expected) {
    const usual = this.decodersOf(true, false);
    const read = columns.map(({ binary, typeOid }) => {
      const found = new Set();
      this.#collect(typeOid, found);
      return found.size > 0 ? usual.get(typeOid)[format || binary] : undefined;
    });
    this.#seen.clear();
    let left = SEARCHED;
    for (const [bytes, start] of rows) {
      if (left-- === 0) return;
      const end = start + 1 + int32(bytes, start + 1);
      for (let i = 0, pos = start + 7; i < read.length && pos + 4 <= end; i++) {
        const length = int32(bytes, pos);
        pos += 4;
        try {
          if (length >= 0 && pos + length <= end) read[i]?.(bytes, pos, pos + length);
        } catch {
          /* whoever reads the row gets the error */
        }
        pos += Math.max(length, 0);
      }
      if ([...expected].every(oid => this.#seen.has(oid) || this.#stale.has(oid))) return;
    }
  }
}

module.exports = { Types, eachField };

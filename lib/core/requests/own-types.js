'use strict';

const { UsageError } = require('../protocol');
const rows = require('../rows');
const { QueryRequest } = require('../pipeline');

const { RowReader, hasNames, isName } = rows;

/**
 * Types with an array that are the database's own; an array of rows of a table is no use without their columns.
 * Elements of a domain may be arrays themselves. A new server process answers subqueries sooner than joins.
 */
const TEXT = `SELECT oid, typarray, typtype, typbasetype, typname,
    (SELECT nspname FROM pg_catalog.pg_namespace n WHERE n.oid = typnamespace),
    pg_catalog.pg_type_is_visible(oid), typdelim
  FROM pg_catalog.pg_type t
  WHERE typarray >= 16384
    AND (typtype <> 'c' OR (SELECT relkind FROM pg_catalog.pg_class c WHERE c.oid = typrelid) = 'c')`;

/** OIDs of text, record and text[]: their table in rows/oid.js is loaded only for names. */
const STRING = 25;
const RECORD = 2249;
const TEXTS = 1009;

/**
 * Arrays of a database's own types (enums, domains, types of extensions), which connections ask for until one has an
 * answer.
 */
class OwnTypes {
  isKnown = false;
  /** @type {Object<number, [Decoder, Decoder]>|undefined} for `decode: true`; undefined if there are no such types */
  decoders = undefined;
  /**
   * @type {Map<number, number>} the type of the elements, which is built in or one of these arrays, by the OID of the
   * array
   */
  elements = new Map();
  /** How JSON is made of them, see Json. */
  forms = undefined;
  #maps; // what `mapOf` gives
  #names; // the OIDs of types by name; undefined before they are known
  #types;

  /** @param {string[][]} rows of the query */
  take(all) {
    const { arrayOf, decoders } = rows;
    this.#maps = new WeakMap();
    this.#names = new Map();
    for (const [typeOid, , , , name, schema, isVisible] of all) {
      this.#names.set(`${schema}.${name}`, Number(typeOid));
      if (isVisible === 't') this.#names.set(name, Number(typeOid));
    }
    const own = all.filter(([, , kind, , , , , delimiter]) => kind !== 'c' && delimiter === ',');
    const types = (this.#types = new Map(own.map(([typeOid, ...type]) => [typeOid, type])));
    const arrays = new Set(own.map(([, array]) => array));
    const elementOf = typeOid => {
      const [, kind, base] = types.get(typeOid) ?? [];
      return kind === 'd'
        ? elementOf(base)
        : kind === 'e'
          ? STRING
          : typeOid in decoders || arrays.has(typeOid)
            ? Number(typeOid)
            : RECORD;
    };
    this.isKnown = true;
    this.elements = new Map(own.map(([typeOid, array]) => [Number(array), elementOf(typeOid)]));
    this.decoders = own.length === 0 ? undefined : { ...decoders };
    this.forms = own.length === 0 ? undefined : {};
    const decoderOf = typeOid => (this.decoders[typeOid] ??= arrayOf(decoderOf(this.elements.get(typeOid))));
    for (const array of this.elements.keys()) decoderOf(array);
  }

  /**
   * @param {Map|object} decode a map of the caller's
   * @returns {Map} with OIDs in place of names, and, if it has arrays of text, with arrays of these types
   * @throws {UsageError} for a name that the database does not have
   */
  mapOf(decode) {
    const isNamed = hasNames(decode);
    if (this.#names === undefined || (!isNamed && this.elements.size === 0)) {
      if (!isNamed) return decode;
      throw new UsageError('decode has names of types, which the database has not told', '42704');
    }
    let map = this.#maps.get(decode);
    if (map === undefined) this.#maps.set(decode, (map = this.#resolve(decode)));
    return map;
  }

  #resolve(decode) {
    const map = new Map();
    for (const [key, decoder] of decode instanceof Map ? decode : Object.entries(decode)) {
      const typeOid = !isName(key)
        ? Number(key)
        : (this.#names.get(key) ?? (Object.hasOwn(rows.oid, key) ? rows.oid[key] : undefined));
      if (typeOid === undefined)
        throw new UsageError(
          `decode has the name '${key}', which is no type of the database, or not in its search_path: ` +
            "write 'schema.name'",
          '42704'
        );
      map.set(typeOid, decoder);
    }
    if (!map.has(TEXTS)) return map;
    for (const [typeOid, [array]] of this.#types) {
      const own = map.get(Number(typeOid));
      if (!map.has(Number(array)))
        map.set(Number(array), own === undefined ? this.decoders[array] : rows.arrayOf(pairOf(own)));
    }
    return map;
  }
}

/** @returns {[Decoder, Decoder]} of a decoder, which may be a function of a column's string or bytes */
const pairOf = own =>
  typeof own !== 'function'
    ? own
    : [(...place) => own(rows.decoders[25][0](...place)), (bytes, start, end) => own(bytes.subarray(start, end))];

/** Asks for them. It is not the caller's, and nothing fails with it. */
class OwnTypesRequest extends QueryRequest {
  constructor(types) {
    super(TEXT, [], 0, false, undefined, new RowReader({ decode: false }));
    this.types = types;
  }

  ready() {
    if (this.error === undefined) this.types.take(this.receiver.arrays);
    else this.types.isKnown = true;
    this.settle(undefined);
  }
}

OwnTypesRequest.prototype.internal = OwnTypesRequest.prototype.traced = true;

module.exports = { OwnTypes, OwnTypesRequest };

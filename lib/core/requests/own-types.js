'use strict';

const { RowReader, arrayOf, decoders, oid } = require('../rows');
const { QueryRequest } = require('./query');

/**
 * Types with an array that are the database's own; an array of rows of a table is no use without their columns. Elements of a domain
 * may be arrays themselves.
 */
const TEXT = `SELECT oid, typarray, typtype, typbasetype FROM pg_catalog.pg_type
  WHERE typarray >= 16384 AND typtype <> 'c' AND typdelim = ','`;

/** Arrays of a database's own types (enums, domains, types of extensions), which connections ask for until one has an answer. */
class OwnTypes {
  isKnown = false;
  /** @type {Object<number, [Decoder, Decoder]>|undefined} for `decode: true`; undefined if there are no such types */
  decoders = undefined;
  /** @type {Map<number, number>} the type of the elements, which is built in or one of these arrays, by the OID of the array */
  elements = new Map();
  /** How JSON is made of them, see Json. */
  forms = undefined;

  /** @param {string[][]} rows of the query */
  take(rows) {
    const types = new Map(rows.map(([typeOid, ...type]) => [typeOid, type]));
    const arrays = new Set(rows.map(([, array]) => array));
    const elementOf = typeOid => {
      const [, kind, base] = types.get(typeOid) ?? [];
      return kind === 'd' ? elementOf(base) : kind === 'e' ? oid.text : typeOid in decoders || arrays.has(typeOid) ? Number(typeOid) : oid.record;
    };
    this.isKnown = true;
    this.elements = new Map(rows.map(([typeOid, array]) => [Number(array), elementOf(typeOid)]));
    this.decoders = rows.length === 0 ? undefined : { ...decoders };
    this.forms = rows.length === 0 ? undefined : {};
    const decoderOf = typeOid => (this.decoders[typeOid] ??= arrayOf(decoderOf(this.elements.get(typeOid))));
    for (const array of this.elements.keys()) decoderOf(array);
  }
}

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

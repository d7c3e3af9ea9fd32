'use strict';

const { RowReader, arrayOf, decoders, oid } = require('../rows');
const { QueryRequest } = require('./query');

/**
 * Types with an array that are the database's own; an array of rows of a table is no use without their columns. Elements that are
 * lists themselves, of a domain, are text, as those of an enum.
 */
const TEXT = `SELECT oid, typarray, CASE typcategory WHEN 'A' THEN 'e' ELSE typtype END, typbasetype FROM pg_catalog.pg_type
  WHERE typarray >= 16384 AND typtype <> 'c' AND typdelim = ','`;

/** Arrays of a database's own types (enums, domains, types of extensions), which connections ask for until one has an answer. */
class OwnTypes {
  isKnown = false;
  /** @type {Object<number, [Decoder, Decoder]>|undefined} for `decode: true`; undefined if there are no such types */
  decoders = undefined;
  /** @type {Map<number, number>} the built-in type of the elements by the OID of the array */
  elements = new Map();
  /** How JSON is made of them, see Json. */
  forms = undefined;

  /** @param {string[][]} rows of the query */
  take(rows) {
    const types = new Map(rows.map(([typeOid, ...type]) => [typeOid, type]));
    const elementOf = typeOid => {
      const [, kind, base] = types.get(typeOid) ?? [];
      return kind === 'd' ? elementOf(base) : kind === 'e' ? oid.text : typeOid in decoders ? Number(typeOid) : oid.record;
    };
    this.isKnown = true;
    this.elements = new Map(rows.map(([typeOid, array]) => [Number(array), elementOf(typeOid)]));
    this.decoders = rows.length === 0 ? undefined : { ...decoders };
    this.forms = rows.length === 0 ? undefined : {};
    for (const [array, element] of this.elements) this.decoders[array] = arrayOf(decoders[element]);
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

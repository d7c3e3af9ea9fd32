'use strict';

// How values of results become JavaScript's, by type OID and format: what node-postgres' `types` is.

const { Buffer } = require('#platform');
const { dates, decoders } = require('../..');

/** OIDs of PostgreSQL's basic types by their names in capitals. */
const builtins = {
  BOOL: 16, BYTEA: 17, CHAR: 18, INT8: 20, INT2: 21, INT4: 23, REGPROC: 24, TEXT: 25, OID: 26, TID: 27, XID: 28, CID: 29,
  JSON: 114, XML: 142, PG_NODE_TREE: 194, SMGR: 210, PATH: 602, POLYGON: 604, CIDR: 650, FLOAT4: 700, FLOAT8: 701,
  ABSTIME: 702, RELTIME: 703, TINTERVAL: 704, CIRCLE: 718, MACADDR8: 774, MONEY: 790, MACADDR: 829, INET: 869,
  ACLITEM: 1033, BPCHAR: 1042, VARCHAR: 1043, DATE: 1082, TIME: 1083, TIMESTAMP: 1114, TIMESTAMPTZ: 1184, INTERVAL: 1186,
  TIMETZ: 1266, BIT: 1560, VARBIT: 1562, NUMERIC: 1700, REFCURSOR: 1790, REGPROCEDURE: 2202, REGOPER: 2203,
  REGOPERATOR: 2204, REGCLASS: 2205, REGTYPE: 2206, UUID: 2950, TXID_SNAPSHOT: 2970, PG_LSN: 3220, PG_NDISTINCT: 3361,
  PG_DEPENDENCIES: 3402, TSVECTOR: 3614, TSQUERY: 3615, GTSVECTOR: 3642, REGCONFIG: 3734, REGDICTIONARY: 3769,
  JSONB: 3802, REGNAMESPACE: 4089, REGROLE: 4096
};

const INTERVAL = new RegExp('^(?:([+-]?\\d+) years?)? ?(?:([+-]?\\d+) mons?)? ?(?:([+-]?\\d+) days?)? ?' +
  '(?:([+-])?(\\d+):(\\d\\d):(\\d\\d)(\\.\\d+)?)?$');

/** An interval by its parts, of which those that are 0 are left out: `{ hours: 1, minutes: 30 }`. */
class PostgresInterval {
  /** @param {string} text an interval with IntervalStyle postgres */
  constructor(text) {
    const [, years, months, days, sign, hours, minutes, seconds, fraction] = INTERVAL.exec(text) ?? [];
    const time = { hours, minutes, seconds, milliseconds: Math.round(fraction * 1e6) / 1000 };
    if (sign === '-') for (const name in time) time[name] *= -1;
    const parts = { years, months, days, ...time };
    for (const name in parts) if (+parts[name]) this[name] = +parts[name];
  }

  #seconds() {
    const { seconds = 0, milliseconds = 0 } = this;
    return +(seconds + milliseconds / 1000).toFixed(6);
  }

  /** @returns {string} as PostgreSQL reads it */
  toPostgres() {
    const parts = ['minutes', 'hours', 'days', 'months', 'years'].map(name => [this[name], name]);
    return [[this.#seconds(), 'seconds'], ...parts].filter(([value]) => value).map(part => part.join(' ')).join(' ') || '0';
  }

  /** @returns {string} of ISO 8601 */
  toISOString() {
    const { years = 0, months = 0, days = 0, hours = 0, minutes = 0 } = this;
    return `P${years}Y${months}M${days}DT${hours}H${minutes}M${this.#seconds()}S`;
  }

  /** The same as toISOString. */
  toISO() { return this.toISOString(); }
}

const toInterval = text => new PostgresInterval(text);
const toBuffer = ({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length);

/** The same date and time of day in local time as this one has in UTC; Infinity stays. */
function toLocal(date) {
  if (typeof date === 'number') return date;
  const local = new Date(0);
  local.setFullYear(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate());
  local.setHours(date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds(), date.getUTCMilliseconds());
  return local;
}

/** Of `(1,2)` and `<(1,2),3>`. */
function toPoint(text) {
  const [x, y] = text.slice(1, -1).split(',').map(parseFloat);
  return { x, y };
}
const toCircle = text => ({ ...toPoint(text.slice(1)), radius: parseFloat(text.slice(text.lastIndexOf(',') + 1)) });

const mapAll = (value, convert) => Array.isArray(value) ? value.map(each => mapAll(each, convert))
  : value === null ? null : convert(value);

/** Parsers of each format by OID; what is in neither is a string. */
const parsers = { text: new Map(), binary: new Map() };
/** The decoders of bytes that parsers of ours are made of. */
const decoderOf = new Map();

/** Parsers of types by those of this library, and what makes node-postgres' values of theirs. */
function define(format, oids, convert, { from = decoders, as } = {}) {
  for (const oid of oids) {
    const read = from[as ?? oid][format === 'text' ? 0 : 1];
    const decode = convert === undefined ? read : (...place) => mapAll(read(...place), convert);
    const parse = value => decode(Buffer.from(value), 0, Buffer.byteLength(value));
    decoderOf.set(parse, decode);
    parsers[format].set(oid, parse);
  }
}
const [TEXT, TEXTS] = [{ as: 25 }, { as: 1009 }];
define('text', [16, 21, 23, 26, 114, 199, 700, 701, 1000, 1005, 1007, 1021, 1022, 1028, 3802, 3807]);
define('text', [651, 791, 1008, 1009, 1014, 1015, 1016, 1040, 1041, 1183, 1270, 2951, 3907], undefined, TEXTS);
define('text', [1231], undefined, { as: 1022 }); // numeric[] are numbers, though numeric is a string
define('text', [17, 1001], toBuffer);
define('text', [1184, 1185], undefined, { from: dates });
define('text', [1082, 1114, 1115, 1182], toLocal, { from: dates });
define('text', [600], toPoint, TEXT);
define('text', [718], toCircle, TEXT);
define('text', [1186], toInterval, TEXT);
define('text', [1017], toPoint, TEXTS);
define('text', [1187], toInterval, TEXTS);
define('binary', [16, 21, 23, 25, 26, 701, 1000, 1007, 1009]);
define('binary', [1008], undefined, TEXTS);
define('binary', [20], String);
define('binary', [700], Math.fround);
define('binary', [1016, 1700], Number);
define('binary', [1184], undefined, { from: dates });
define('binary', [1114], toLocal, { from: dates });

/** Parsers by type OID and format, which come before those of other types: what each Client has of its own. */
class TypeOverrides {
  #changes = 0;
  #decode;
  #own = { text: new Map(), binary: new Map() };
  #types;

  /** @param {{getTypeParser: function}} [types] asked for what is not set here; default: `types` */
  constructor(types = module.exports.types) { this.#types = types; }

  /**
   * Says how values of a type are read from now on.
   * @param {number} oid of the type
   * @param {string|function} [format='text'] or 'binary'
   * @param {function(string|Buffer): *} parse a text, or the bytes of a binary value
   */
  setTypeParser(oid, format, parse) {
    if (typeof format === 'function') [format, parse] = ['text', format];
    this.#own[format].set(oid, parse);
    this.#changes++;
  }

  /** @returns {function(string|Buffer): *} how values of a type are read in this format, 'text' by default */
  getTypeParser(oid, format = 'text') { return this.#own[format]?.get(oid) ?? this.#types.getTypeParser(oid, format); }

  /** @type {number} another one when parsers have been set */
  get version() { return this.#changes + (this.#types.version ?? 0); }

  /** @type {Map} the option `decode` of a query, which asks for each type when rows of a kind are read first */
  get decode() {
    const { version } = this;
    if (this.#decode?.version !== version) {
      this.#decode = Object.assign(new Map(), { version, get: oid => [this.#text(oid), this.#binary(oid)] });
    }
    return this.#decode;
  }

  #text(oid) {
    const parse = this.getTypeParser(oid, 'text');
    if (parse === String) return undefined;
    return decoderOf.get(parse) ?? ((bytes, start, end) => parse(bytes.toString('utf8', start, end)));
  }

  #binary(oid) {
    const parse = this.getTypeParser(oid, 'binary');
    return decoderOf.get(parse) ?? ((bytes, start, end) => parse(bytes.subarray(start, end)));
  }
}

/** How the values of all clients are read that have no parser of their own for a type. */
const types = new TypeOverrides({ getTypeParser: (oid, format) => parsers[format]?.get(oid) ?? String });
for (const name of ['getTypeParser', 'setTypeParser']) types[name] = types[name].bind(types);
types.builtins = builtins;
types.arrayParser = { create: (text, parse = String) => ({ parse: () => mapAll(types.getTypeParser(1009)(text), parse) }) };

module.exports = { TypeOverrides, types };

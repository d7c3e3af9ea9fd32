'use strict';

// node-postgres' `types`: how values become JavaScript's, by type OID and format.

const path = require('node:path');
const util = require('node:util');
const { decoders, exact, oid } = require('../..');

const INTERVAL = /^(?:(\S+) years? ?)?(?:(\S+) mons? ?)?(?:(\S+) days? ?)?(?:([+-])?(\d+):(\d\d):(\d\d)(\.\d+)?)?$/;

/** An interval without its parts that are 0: `{ hours: 1, minutes: 30 }`. */
class PostgresInterval {
  constructor(text) {
    const [, years, months, days, sign = '', hours, minutes, seconds, fraction] = INTERVAL.exec(text) ?? [];
    const time = { hours, minutes, seconds, milliseconds: Math.round(fraction * 1e6) / 1000 };
    for (const name of Object.keys(time)) time[name] = sign + time[name];
    const parts = { years, months, days, ...time };
    for (const name of Object.keys(parts)) if (+parts[name]) this[name] = +parts[name];
  }

  toISOString() {
    const { years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = this;
    return `P${years}Y${months}M${days}DT${hours}H${minutes}M${Number((seconds + milliseconds / 1000).toFixed(6))}S`;
  }

  toISO() {
    return this.toISOString();
  }
  toPostgres() {
    return this.toISOString();
  }
}

const bytesOf = view => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

/**
 * A Date; for a string that no Date can hold ±Infinity, an Invalid Date for what is out of its range, and null if
 * DateStyle is not ISO.
 */
function dateOf(value) {
  if (typeof value !== 'string') return value;
  if (value.endsWith('infinity')) return Number(value.replace('i', 'I'));
  return /^\d+-\d\d-\d\d(?: \d\d:|\+|(?: BC)?$)/.test(value) ? new Date(NaN) : null;
}

/** Takes the date and time of day in UTC for local time. */
function toLocal(value) {
  const date = dateOf(value);
  return util.types.isDate(date) ? new Date(date.toJSON()?.slice(0, -1) ?? NaN) : date;
}

/** Sequelize leaves the bounds of ranges quoted. */
const timestamptz = (bytes, start, end) =>
  bytes[start] === 34 ? timestamptz(bytes, start + 1, end - 1) : dateOf(decoders[1184][0](bytes, start, end));

/** Reads a date or a timestamp, to which a time and a zone are added. */
const localOf = text =>
  toLocal(
    instantOf(
      text.replace(
        /^(\d+-\d\d-\d\d)( [\d:.]+)?( BC)?$/,
        (all, day, time = ' 00:00:00', era = '') => `${day}${time}+00${era}`
      )
    )
  );
const instantOf = text => timestamptz(Buffer.from(text), 0, text.length);

/** Reads `(1,2)` and `<(1,2),3>`. */
const toPoint = (text, [x, y] = text.slice(1, -1).split(',').map(parseFloat)) => ({ x, y });
const toCircle = text => ({ ...toPoint(text.slice(1)), radius: parseFloat(text.slice(text.lastIndexOf(',') + 1)) });

const mapAll = (value, convert) =>
  Array.isArray(value) ? value.map(each => mapAll(each, convert)) : value === null ? null : convert(value);

/** The property of a parser of this library that has its decoder of bytes. */
const DECODE = Symbol('decode');

/** @returns a decoder of bytes for a parser of texts or bytes; nothing if the parser leaves texts unchanged */
function decoderOf(parse, format) {
  if (parse?.[DECODE] !== undefined) return parse[DECODE]; // custom types may have no parser for the other format
  if (format === 'binary') return (bytes, start, end) => parse(bytes.subarray(start, end));
  return parse === String ? undefined : (bytes, start, end) => parse(bytes.toString('utf8', start, end));
}

/** The option `decode` of a query, which looks parsers up when rows are first read. */
class Decode extends Map {
  constructor(types, below) {
    super();
    this.types = types;
    /** The option of the types behind these, whose parsers it knows. */
    this.below = below;
  }

  get(oid) {
    return ['text', 'binary'].map(format => {
      try {
        return decoderOf(this.types.getTypeParser(oid, format), format);
      } catch (error) {
        // It is the error of a query that reads such a column, not of the connection.
        return () => {
          throw error;
        };
      }
    });
  }
}

/** @type {WeakMap<TypeOverrides, Decode>} of each; a copy of a TypeOverrides gets another one */
const decoding = new WeakMap();

/** Parsers by type OID and format, in front of those of other types: each client has its own. */
class TypeOverrides {
  constructor(types = module.exports.types) {
    this._types = types;
    this.text = {};
    this.binary = {};
  }

  getOverrides(format) {
    return this[format] ?? {};
  }

  setTypeParser(oid, format, parse) {
    if (typeof format === 'function') [format, parse] = ['text', format];
    this[format][oid] = parse;
    decoding.delete(this);
  }

  getTypeParser(oid, format = 'text') {
    const own = this.getOverrides(format);
    return Object.hasOwn(own, oid) ? own[oid] : this._types.getTypeParser(oid, format);
  }

  /** @type {Decode} a new one after a parser was set */
  get decode() {
    const below = this._types.decode;
    let decode = decoding.get(this);
    if (decode === undefined || decode.below !== below) decoding.set(this, (decode = new Decode(this, below)));
    return decode;
  }
}

let foreign; // the module pg-types, if the program has loaded it

/** The parsers of all clients. */
const types = new TypeOverrides({
  getTypeParser(oid, format) {
    const parse = foreign?.getTypeParser(oid, format);
    return parse === undefined || isSame(parse, foreign.getTypeParser(-1, format)) ? String : parse;
  }
});
for (const name of ['getTypeParser', 'setTypeParser']) types[name] = types[name].bind(types);

/** OIDs by names in capitals. */
types.builtins = Object.fromEntries(
  Object.keys(oid)
    .filter(name => !name.startsWith('_'))
    .map(name => [name.toUpperCase(), oid[name]])
);

const {
  25: string,
  1009: strings,
  1022: [floats]
} = decoders;
/** Decoders of types that node-postgres reads in another way than this library. */
const READ = {
  ...decoders,
  600: string,
  718: string,
  791: strings,
  1008: strings,
  1017: strings,
  1231: [floats],
  1016: exact[1016],
  1082: string,
  1114: [string[0], decoders[1184][1]],
  1115: strings,
  1182: strings,
  1184: [timestamptz, (...place) => dateOf(decoders[1184][1](...place))]
};

/** Parsers by format, made of decoders and a conversion to node-postgres' values. */
for (const [format, convert, names] of [
  [
    'text',
    undefined,
    'bool bytea int2 int4 oid json _json _cidr float4 float8 _money _bool _bytea _int2 _int4 ' +
      '_regproc _text _bpchar _varchar _float4 _float8 _oid _macaddr _inet _time timestamptz _numeric ' +
      '_timetz _uuid jsonb _jsonb _numrange'
  ],
  ['text', toPoint, 'point _point'],
  ['text', toCircle, 'circle'],
  ['text', String, '_int8'],
  ['text', dateOf, '_timestamptz'],
  ['text', localOf, 'date timestamp _timestamp _date'],
  ['text', text => new PostgresInterval(text), 'interval _interval'],
  ['binary', undefined, 'bool int2 int4 text oid float8 _bool _int4 _regproc _text timestamptz'],
  ['binary', String, 'int8'],
  ['binary', Math.fround, 'float4'],
  ['binary', Number, '_int8 numeric'],
  ['binary', toLocal, 'timestamp']
]) {
  for (const name of names.split(' ')) {
    const read = READ[oid[name]][format === 'text' ? 0 : 1];
    const decode = convert === undefined ? read : (...place) => mapAll(read(...place), convert);
    const parse = value => (value === null ? null : decode(Buffer.from(value), 0, Buffer.byteLength(value)));
    types.setTypeParser(oid[name], format, Object.assign(parse, { [DECODE]: decode }));
  }
}

const parseStrings = types.getTypeParser(1009);
types.arrayParser = { create: (text, parse = String) => ({ parse: () => mapAll(parseStrings(text), parse) }) };

/** Whether a parser is pg-types' original; some are bound anew each time. */
const isSame = (one, other) => one === other || (one.name === other.name && `${one}` === `${other}`);

/**
 * Adopts parsers that the program has set in `pg-types` itself, which this library never loads: it looks for the loaded
 * module.
 */
function adoptTypes() {
  let loaded;
  try {
    loaded = require.cache;
  } catch {} // a bundle as an ES module has no `require`
  for (const file of Object.keys(loaded ?? {})) {
    if (!/[\\/]node_modules[\\/]pg-types[\\/]index\.js$/.test(file)) continue;
    const { getTypeParser } = (foreign = loaded[file].exports);
    for (const format of ['text', 'binary']) {
      loaded[path.join(file, '..', 'lib', `${format}Parsers.js`)].exports.init((oid, usual) => {
        const parse = getTypeParser(oid, format);
        if (!isSame(parse, usual) && types.getTypeParser(oid, format) !== parse)
          types.setTypeParser(oid, format, parse);
      });
    }
  }
}

/** @returns {Decode} for the `types` of a client or a query */
const decodeOf = types => (types instanceof TypeOverrides ? types.decode : new Decode(types));

module.exports = { TypeOverrides, adoptTypes, bytesOf, decodeOf, types };

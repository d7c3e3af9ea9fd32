'use strict';

const { isRecord, keysOf, kindOf, protocolError, tagOf } = require('../protocol');

/** Hexadecimal bytea is read in parts of so many digits, since V8 has no strings of more than 512 MB. */
const PART = 65536;

/** The OID of text[]. */
const TEXTS = 1009;

const checked = new WeakSet();

/** @type {WeakMap<Map|object, string[]>} the names of types in maps that have any */
const named = new WeakMap();
const isDecoder = value => value === undefined || typeof value === 'function';
const isOid = key => Number.isInteger(key) && key > 0 && key < 2 ** 32;

const isName = key => typeof key === 'string' && /^[^\0\d\s.+-][^\0]*$/.test(key);

/** @throws {TypeError} unless the key is the name of a type, or an OID: a number in a Map, its text in an object */
function checkKey(key, isMap) {
  if (isName(key) || (isOid(isMap ? key : Number(key)) && (isMap || String(Number(key)) === key))) return;
  throw new TypeError(
    `decode has the key ${
      typeof key === 'string' ? `'${key}'` : String(key)
    }, which is no type: write its name, or its OID, such as [oid.timestamptz], of the export oid`
  );
}

/** @returns {string[]} the names of types in a map that was checked */
const namesIn = decode => named.get(decode) ?? [];

/** @throws {TypeError} unless it is undefined, a boolean, or a map of types, by OID or name, to decoders */
function checkDecode(decode) {
  if (decode === undefined || typeof decode === 'boolean') return decode;
  const isMap = tagOf(decode) === 'Map';
  if (!isMap && !isRecord(decode))
    throw new TypeError(`decode must be a boolean or an object of decoders by type, not ${kindOf(decode)}`);
  if (checked.has(decode)) return decode;
  for (const [key, decoder] of isMap ? decode : Object.entries(decode)) {
    checkKey(key, isMap);
    if (isName(key)) named.set(decode, [...namesIn(decode), key]);
    if (!isDecoder(decoder) && !(Array.isArray(decoder) && decoder.every(isDecoder))) {
      throw new TypeError(`decode[${key}] must be a function, or a pair of them`);
    }
  }
  checked.add(decode);
  return decode;
}

/** The options of a reader, among those of a query. */
const readingOf = ({ decode, names }) => ({ decode, names });

const READING = ['decode', 'names'];

/** @throws {TypeError} unless these are options of a reader */
function checkReading(options) {
  if (!isRecord(options)) throw new TypeError(`options must be an object, not ${kindOf(options)}`);
  const wrong = keysOf(options, READING).find(name => !READING.includes(name));
  if (wrong !== undefined)
    throw new TypeError(`there is no option ${wrong} here; the options are ${READING.join(', ')}`);
  const { decode, names } = options;
  checkDecode(decode);
  if (names !== undefined && names !== 'camel') throw new TypeError(`names must be 'camel', not ${kindOf(names)}`);
}

/**
 * What the readers of a connection do by default.
 * @param {boolean} asObjects whether `rows` are plain objects, as in a pool
 */
const decodingOf = (config, asObjects) => ({
  decode: config?.decode ?? true,
  isCamel: config?.names === 'camel',
  asObjects
});

/** Loaded late, since most programs never decode. */
const types = () => require('../../../client-parser/types.js');

const { latin1Slice } = Buffer.prototype;

const [BACKSLASH, x] = Buffer.from('\\x');

/** Decoders of bytea to Buffers of their own. */
function byteaDecoders([asText]) {
  return [
    (bytes, start, end) => {
      if (end - start < 2 || bytes[start] !== BACKSLASH || bytes[start + 1] !== x) {
        // bytea_output is escape
        return Buffer.from(asText(bytes, start, end).buffer);
      }
      const value = Buffer.allocUnsafe((end - start - 2) >> 1);
      let length = 0;
      for (let from = start + 2; from < end; from += PART) {
        length += value.write(latin1Slice.call(bytes, from, Math.min(end, from + PART)), length, 'hex');
      }
      if (length * 2 !== end - start - 2) throw protocolError('malformed value');
      return value;
    },
    (bytes, start, end) => Buffer.from(bytes.subarray(start, end))
  ];
}

/** @returns {Object<number, [Decoder, Decoder]>} client-parser's decoders, with Node.js's own for bytea */
function makeTexts() {
  const { arrayOf, decoders } = types();
  const bytea = byteaDecoders(decoders[17]);
  return { ...decoders, 17: bytea, 1001: arrayOf(bytea) };
}

/** Whether the text of many rows is made at a time: those that have no column of plain text. */
const isWritten = ({ decoders }) =>
  decoders.some(decoder => decoder?.write !== undefined) && !decoders.includes(undefined);

let texts;
let decoders;

module.exports = {
  /** @returns {Array|undefined} what has to be known of types for a map, see Receiver */
  wantsOf: decode => (named.has(decode) ? [decode] : undefined),
  checkDecode,
  checkReading,
  decodingOf,
  isName,
  isWritten,
  readingOf,
  hasNames: decode => named.has(decode),
  namesIn,
  /** Whether a map has decoders of text[], as those have that extend `decoders`. */
  hasTexts: decode => (tagOf(decode) === 'Map' ? decode.has(TEXTS) : Object.hasOwn(decode, TEXTS)),
  /** What text format needs of `decoders`, without the file of the others. */
  get texts() {
    return (texts ??= makeTexts());
  },
  /** For `decode: true`. */
  get decoders() {
    return (decoders ??= { ...this.texts, ...require('./binary').writing(this.texts) });
  },
  get exact() {
    return types().exact;
  }
};

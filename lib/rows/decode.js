'use strict';

const checked = new WeakSet();
const isDecoder = value => value === undefined || typeof value === 'function';

/**
 * @param {boolean|Map|Object<number, function|[Decoder, Decoder]>|undefined} decode
 * @returns the same
 * @throws {TypeError} where it is neither a boolean nor a map of type OIDs to decoders
 */
function checkDecode(decode) {
  if (decode === undefined || typeof decode === 'boolean') return decode;
  if (typeof decode !== 'object' || decode === null) {
    throw new TypeError('decode must be a boolean or an object of decoders by type OID');
  }
  if (checked.has(decode)) return decode;
  for (const [oid, decoder] of decode instanceof Map ? decode : Object.entries(decode)) {
    if (!isDecoder(decoder) && !(Array.isArray(decoder) && decoder.every(isDecoder))) {
      throw new TypeError(`decode[${oid}] must be a function, or a pair of them`);
    }
  }
  checked.add(decode);
  return decode;
}

/** Loaded when they are needed: most programs never decode. */
const types = () => require('../../client-parser/types.js');

/**
 * `decoders`, but with what JSON.stringify takes: int8 and arrays of it are numbers where these are exact, else strings;
 * bytea and arrays of it are strings as the server prints them, `\x00ff`.
 * @returns {Object<number, [Decoder, Decoder]>}
 */
function makeJsonDecoders() {
  const { arrayOf, decoders } = types();
  const int8 = decoders[20].map(decode => (...place) => {
    const value = decode(...place);
    const number = Number(value);
    return Number.isSafeInteger(number) ? number : String(value);
  });
  const bytea = decoders[17].map(decode => (...place) => `\\x${Buffer.from(decode(...place)).toString('hex')}`);
  return { ...decoders, 17: bytea, 1001: arrayOf(bytea), 20: int8, 1016: arrayOf(int8) };
}

module.exports = { checkDecode, makeJsonDecoders, types };

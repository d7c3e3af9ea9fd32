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
      throw new TypeError(`decode[${oid}] is neither a function nor a pair`);
    }
  }
  checked.add(decode);
  return decode;
}

/** Loaded when they are needed: most programs never decode. */
const types = () => require('../../client-parser/types.js');

module.exports = { checkDecode, types };

'use strict';

let builtIn; // the map of type OID to decoder; undefined until it has been loaded
let loading;

const checked = new WeakSet();
const isDecoder = value => value === undefined || typeof value === 'function';

/** @throws {TypeError} where `decode` is neither a boolean nor a map of type OIDs to decoders */
function checkDecode(decode) {
  if (decode === undefined || typeof decode === 'boolean') return;
  if (typeof decode !== 'object' || decode === null) {
    throw new TypeError('decode must be a boolean or an object of decoders by type OID');
  }
  if (checked.has(decode)) return;
  for (const [oid, decoder] of decode instanceof Map ? decode : Object.entries(decode)) {
    if (!isDecoder(decoder) && !(Array.isArray(decoder) && decoder.every(isDecoder))) {
      throw new TypeError(`decode[${oid}] is neither a function nor a pair`);
    }
  }
  checked.add(decode);
}

/**
 * Makes a receiver decode its rows' columns.
 * @param {RowReader} receiver
 * @param {boolean|Map|Object<number, function>} decode true: the decoders of client-parser; a map: its
 *   functions get the column's string (text format) or Buffer (binary format), and its description; or pairs of
 *   functions of (bytes, start, end) for text and binary, as client-parser's `decoders` and `dates` have
 * @param {Promise} promise of the result
 * @returns {Promise} the same, when the decoders are there
 */
function loadDecoders(receiver, decode, promise) {
  receiver.decode = decode;
  if (decode !== true || builtIn !== undefined) return promise;
  if (loading === undefined) loading = import('../../client-parser/types.js').then(module => { builtIn = module; });
  return promise.then(result => loading.then(() => result));
}

/**
 * The class of rows that decode.
 * @param {RowParser} rowParser
 * @param {number} format
 * @param {boolean|Object<number, function>} decode
 */
function decodingClass(rowParser, format, decode) {
  const map = decode === true ? builtIn : decode;
  const decoders = rowParser.columns.map(column => {
    if (decode === true) return builtIn.decoder(column.typeOid, format);
    const decoder = map instanceof Map ? map.get(column.typeOid)
    : Object.hasOwn(map, column.typeOid) ? map[column.typeOid] : undefined;
    if (decoder === undefined || Array.isArray(decoder)) return decoder && decoder[format]; // as of client-parser
    return (buf, start, end) => decoder(format === 0 ? buf.utf8Slice(start, end) : buf.subarray(start, end), column);
  });
  return rowParser.decoding(format, decoders, map);
}

module.exports = { checkDecode, loadDecoders, decodingClass };

// The decoders of all types. A value without an exact equivalent in JavaScript is the string that the server prints,
// which can be sent back as a parameter.

import { slice } from './datarow.js';
import { text } from './text.js';
import * as at from './datetime.js';
import { arrayOf, multirange, range } from './nested.js';
import * as is from './scalars.js';

export { arrayOf, text };

/**
 * Decoders by type OID: `decoders[oid][format](bytes, start, end)`. A decoder throws a ProtocolError for malformed
 * bytes, and never reads outside of its bytes. README.md lists types and values.
 * @type {Object<number, [Decoder, Decoder]>}
 */
export const decoders = {};

/**
 * Exact decoders: int8 to bigint, timestamptz to a string with all digits, and their arrays.
 * @type {Object<number, [Decoder, Decoder]>}
 */
export const exact = {};

function define(map, typeOid, arrayOid, pair) {
  map[typeOid] = pair;
  map[arrayOid ?? typeOid + 1] = arrayOf(pair);
}

// OIDs as in pg_type.dat: type; its array, by default the next OID; decoders of binary values and of text, by default
// the text.
[
  [16, 1000, is.bool, is.boolText],
  [17, 1001, slice, is.byteaText],
  [18, 1002, is.char],
  [19, 1003], // name
  [20, 1016, is.int8, is.int8Text],
  [21, 1005, is.int2, is.intText],
  [23, 1007, is.int4, is.intText],
  [25, 1009], // text
  [26, 1028, is.oid, is.intText],
  [28, 1011, is.oid, is.intText], // xid
  [114, 199, is.json, is.json],
  [142], // xml
  [650, , is.inet], // cidr
  [700, 1021, is.float4, is.floatText],
  [701, 1022, is.float8, is.floatText],
  [705, 1009], // unknown and void have no arrays: text's again
  [774, , is.macaddr], // macaddr8
  [829, 1040, is.macaddr],
  [869, 1041, is.inet],
  [1042, 1014], // bpchar
  [1043, 1015], // varchar
  [1082, 1182, at.date],
  [1083, 1183, at.time],
  [1114, , at.timestamp],
  [1184, , at.instant, at.instantText],
  [1186, , at.interval],
  [1266, 1270, at.timetz],
  [1700, 1231, is.numeric],
  [2249, 2287, slice], // record: the bytes of a binary value, like those of a composite type
  [2278, 1009], // void
  [2950, , is.uuid],
  [3802, 3807, is.jsonb, is.json]
].forEach(([typeOid, arrayOid, binary = text, string = text]) => define(decoders, typeOid, arrayOid, [string, binary]));

define(exact, 20, 1016, [is.bigintText, is.bigint]);
define(exact, 1184, 1185, [text, at.timestamptz]);

// OIDs of the bounds, range, multirange, array of multiranges.
[
  [23, 3904, 4451, 6150],
  [20, 3926, 4536, 6157],
  [1700, 3906, 4532, 6151],
  [1114, 3908, 4533, 6152],
  [1184, 3910, 4534, 6153],
  [1082, 3912, 4535, 6155]
].forEach(([boundOid, rangeOid, multirangeOid, multirangesOid]) => {
  const decode = range((exact[boundOid] ?? decoders[boundOid])[1]);
  define(decoders, rangeOid, undefined, [text, decode]);
  define(decoders, multirangeOid, multirangesOid, [text, multirange(decode)]);
});

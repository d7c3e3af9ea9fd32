'use strict';

// The rows of results. client-parser implements them; this folder adapts them to Node's Buffers.

const datarow = require('../../../client-parser/datarow.js');
const decode = require('./decode');
const { OWN, RowParser, toCamel } = require('./row-parser');
const { Memory, RowReader } = require('./row-reader');

/** The length of the column whose length word is at `off`; it never reaches past the end of its message. */
const columnLength = (buf, off, end) => datarow.columnLength(buf, off, end, RowParser.platform);

/** @returns {RowReader|undefined} undefined for one that is made when its result begins, see QueryRequest */
const readerOf = options =>
  options.decode === undefined && options.names === undefined ? undefined : new RowReader(decode.readingOf(options));

module.exports = {
  OWN,
  RowReader,
  RowParser,
  toCamel,
  Memory,
  checkDecode: decode.checkDecode,
  decodingOf: decode.decodingOf,
  hasNames: decode.hasNames,
  wantsOf: decode.wantsOf,
  isName: decode.isName,
  namesIn: decode.namesIn,
  readerOf,
  readingOf: decode.readingOf,
  columnLength,
  int32: datarow.int32,
  get decoders() {
    return decode.decoders;
  },
  get exact() {
    return decode.exact;
  },
  get arrayOf() {
    return require('../../../client-parser/types.js').arrayOf;
  },
  /** @type {function(new: Types)} loaded by the first result that needs it */
  get Types() {
    return require('./types').Types;
  },
  get eachField() {
    return require('./types').eachField;
  },
  get oid() {
    return require('./oid');
  }
};

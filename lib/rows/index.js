'use strict';

// The rows of results. What they are is in client-parser, which this folder gives Node's Buffers.

const datarow = require('../../client-parser/datarow.js');
const { checkDecode, makeJsonDecoders, types } = require('./decode');
const { RowParser } = require('./row-parser');
const { Memory, RowReader } = require('./row-reader');

/** The length of the column whose length word is at `off`; never past the end of its message. */
const columnLength = (buf, off, end) => datarow.columnLength(buf, off, end, RowParser.platform);

let json;

module.exports = {
  RowReader, RowParser, Memory, checkDecode, columnLength, int32: datarow.int32,
  get decoders() { return types().decoders; },
  get jsonDecoders() { return (json ??= makeJsonDecoders()); },
  get dates() { return types().dates; },
  get oid() { return require('./oid'); }
};

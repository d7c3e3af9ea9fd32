'use strict';

// The rows of results. What they are is in client-parser, which this folder gives Node's Buffers.

const { int32 } = require('../../client-parser/datarow.js');
const { checkDecode, types } = require('./decode');
const { Memory } = require('./memory');
const { RowParser, columnLength, platform } = require('./row-parser');
const { RowReader } = require('./row-reader');

module.exports = {
  RowReader, RowParser, Memory, checkDecode, columnLength, int32, platform,
  get decoders() { return types().decoders; },
  get jsonDecoders() { return types().jsonDecoders; },
  get dates() { return types().dates; },
  get arrayOf() { return types().arrayOf; }
};

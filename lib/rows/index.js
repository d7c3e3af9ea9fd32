'use strict';

const { RowReader: Old } = require('./result');
const { RowParser, columnLength, int32 } = require('./row-parser');
const { checkDecode } = require('./decode');
class RowReader extends Old {
  constructor(d) { super(); if (d !== undefined) this.decode = d && typeof d === 'object' && 'decode' in d ? d.decode : d; }
}
module.exports = { RowReader, RowParser, checkDecode, columnLength, int32 };

'use strict';

const { checkDecode } = require('./decode');

const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});

/** @throws {TypeError} where an option of a query is wrong */
function checkOptions({ format = 0, paramTypes, decode }) {
  if (format !== 0 && format !== 1) throw new TypeError('format must be Client.STRING (0) or Client.BINARY (1)');
  const isOid = oid => Number.isInteger(oid) && oid >= 0 && oid <= 0xffffffff;
  if (paramTypes !== undefined && !(Array.isArray(paramTypes) && paramTypes.length < 65536 && paramTypes.every(isOid))) {
    throw new TypeError('paramTypes must be an array of type OIDs');
  }
  checkDecode(decode);
}

module.exports = { checkOptions, NO_OPTIONS, NO_VALUES };

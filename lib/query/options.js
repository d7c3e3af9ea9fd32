'use strict';

const { checkDecode } = require('../rows/decode');

const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});

const STATEMENT = ['format', 'cache', 'paramTypes'];
const ABORTABLE = ['signal', 'statement_timeout'];

/** The options that there are, by what takes them. */
const NAMES = {
  abortable: new Set(ABORTABLE),
  batched: new Set([...STATEMENT, 'decode', 'stream']),
  copy: new Set(['signal', 'highWaterMark']),
  cursor: new Set([...STATEMENT, 'batchSize', 'decode', 'signal']),
  listen: new Set(['signal']),
  query: new Set([...STATEMENT, 'decode', 'stream', ...ABORTABLE]),
  queryTo: new Set(['as', 'separator', 'end', ...STATEMENT, ...ABORTABLE]),
  transaction: new Set(['isolation', 'readOnly', 'deferrable'])
};

/**
 * @param {object} [options]
 * @param {Set<string>} names
 * @throws {TypeError} for an option that there is not: a misspelt one would do nothing, and nobody would know
 */
function checkNames(options, names) {
  for (const name in options) {
    if (!names.has(name)) throw new TypeError(`there is no option ${name} here; there are ${[...names].join(', ')}`);
  }
}

/** @throws {TypeError} where an option of a query is wrong, or none of these names */
function checkOptions(options, names) {
  const { format = 0, paramTypes, decode } = options;
  if (names !== undefined) checkNames(options, names);
  if (format !== 0 && format !== 1) throw new TypeError('format must be Client.STRING (0) or Client.BINARY (1)');
  const isOid = oid => Number.isInteger(oid) && oid >= 0 && oid <= 0xffffffff;
  if (paramTypes !== undefined && !(Array.isArray(paramTypes) && paramTypes.length < 65536 && paramTypes.every(isOid))) {
    throw new TypeError('paramTypes must be an array of type OIDs');
  }
  checkDecode(decode);
}

module.exports = { checkNames, checkOptions, NAMES, NO_OPTIONS, NO_VALUES };

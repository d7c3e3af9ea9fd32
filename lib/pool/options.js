'use strict';

const { NAMES, checkCount, checkNames } = require('../query');

const DEFAULTS = { size: 4, reserved: 1, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000 };
const OPTIONS = new Set([...Object.keys(DEFAULTS), 'patient', 'replicas', 'max_lag']);

const beside = (names, ...own) => new Set([...names, ...own]);

/** The options that there are, by the methods of a pool that take them. */
const TAKEN = {
  ...NAMES,
  batch: beside(NAMES.batch, 'readOnly', 'retry'),
  connection: new Set(['readOnly', 'reset', 'retry', 'signal']),
  copyTo: beside(NAMES.copyTo, 'readOnly'),
  cursor: beside(NAMES.cursor, 'readOnly'),
  query: beside(NAMES.query, 'readOnly', 'retry'),
  queryTo: beside(NAMES.queryTo, 'readOnly', 'retry'),
  simpleQuery: beside(NAMES.simpleQuery, 'readOnly', 'retry'),
  transaction: beside(NAMES.transaction, 'retry', 'signal')
};

/**
 * @param {object} options of a Pool
 * @returns {object} all of them, but `replicas`
 * @throws {TypeError}
 */
function optionsOf(options) {
  checkNames(options, OPTIONS);
  const { patient = true, max_lag } = options;
  const all = { patient, max_lag };
  for (const name in DEFAULTS) all[name] = checkCount(options[name] ?? DEFAULTS[name], name, name === 'size' ? 1 : 0);
  for (const name of ['acquire_timeout', 'idle_timeout', 'max_lifetime']) all[name] ||= Infinity;
  if (max_lag !== undefined) checkCount(max_lag, 'max_lag', 1);
  return all;
}

module.exports = { TAKEN, optionsOf };

'use strict';

const { NAMES, checkCount, checkNames } = require('../query');

const DEFAULTS = { size: 4, reserved: 1, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000 };
const OPTIONS = new Set([...Object.keys(DEFAULTS), 'patient', 'replicas', 'max_lag']);

/** The options that there are, by the methods of a pool that take them: those of a client's, and others. */
const TAKEN = { ...NAMES, connection: ['reset', 'signal'], transaction: [...NAMES.transaction, 'signal'] };
const READING = ['copyTo', 'cursor'];
const REPEATING = ['batch', 'connection', 'query', 'queryTo', 'simpleQuery', 'transaction'];
for (const name of [...READING, ...REPEATING]) TAKEN[name] = new Set([...TAKEN[name], 'readOnly']);
for (const name of REPEATING) TAKEN[name].add('retry');

/**
 * @param {object} options of a Pool
 * @returns {object} all of them, but `replicas`
 * @throws {TypeError}
 */
function optionsOf(options) {
  checkNames(options, OPTIONS);
  const { patient = true, max_lag } = options;
  const all = { patient, max_lag };
  for (const name of Object.keys(DEFAULTS)) all[name] = checkCount(options[name] ?? DEFAULTS[name], name, name === 'size' ? 1 : 0);
  for (const name of ['acquire_timeout', 'idle_timeout', 'max_lifetime']) all[name] ||= Infinity;
  if (max_lag !== undefined) checkCount(max_lag, 'max_lag', 1);
  return all;
}

module.exports = { TAKEN, optionsOf };

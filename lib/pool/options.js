'use strict';

const { checkCount, checkNames } = require('../query');

const DEFAULTS = {
  size: 4, reserved: 1, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000, silence_timeout: 2000,
  min: 0
};
const OPTIONS = new Set([...Object.keys(DEFAULTS), 'patient']);

/** What a pool has no more: which of two places answers is said by which of two pools is asked. */
const OF_REPLICAS = ['replicas', 'max_lag', 'readOnly'];

/** The options of `connection`. `shared`: others may be sent before and behind. */
const OF_CONNECTION = new Set(['reset', 'signal', 'retry', 'shared']);

/**
 * @param {object} options of a Pool
 * @returns {object} all of them
 * @throws {TypeError}
 */
function optionsOf(options) {
  for (const name of OF_REPLICAS) {
    if (options?.[name] === undefined) continue;
    throw new TypeError(`a pool has no option ${name}: make two pools, one of the primary and one of the replicas`);
  }
  checkNames(options, OPTIONS);
  const { patient = true } = options;
  if (typeof patient !== 'boolean') throw new TypeError('patient must be a boolean');
  const all = { patient };
  for (const name of Object.keys(DEFAULTS)) all[name] = checkCount(options[name] ?? DEFAULTS[name], name, name === 'size' ? 1 : 0);
  for (const name of ['acquire_timeout', 'idle_timeout', 'max_lifetime', 'silence_timeout']) all[name] ||= Infinity;
  return all;
}

module.exports = { OF_CONNECTION, optionsOf };

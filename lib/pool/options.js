'use strict';

const { KnownTexts } = require('./known-texts');
const { checkCount, checkOptions } = require('../core/options');

const DEFAULTS = { size: 10, reserved: 1, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000, silence_timeout: 2000, min: 0 };
const FLAGS = ['patient', 'exit_on_idle'];
const OPTIONS = new Set([...Object.keys(DEFAULTS), ...FLAGS]);

const OF_CONNECTION = new Set(['reset', 'signal', 'retry']);

/**
 * @returns {object} the options with their defaults, a time of 0 as Infinity, and what the connections have in common, see Pipeline
 */
function optionsOf(options) {
  checkOptions(options, OPTIONS);
  const all = { common: { isPooled: false, knownTexts: new KnownTexts(), silent: new Map() } };
  for (const name of FLAGS) all[name] = options[name] ?? true;
  for (const name of Object.keys(DEFAULTS)) {
    const what = name.includes('_') ? `${name}, in milliseconds,` : name;
    all[name] = checkCount(options[name] ?? DEFAULTS[name], what, name === 'size' ? 1 : 0);
    if (name.includes('_')) all[name] ||= Infinity;
  }
  return all;
}

module.exports = { OF_CONNECTION, optionsOf };

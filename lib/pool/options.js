'use strict';

const { checkCount, checkOptions } = require('../core/options');

const DEFAULTS = { size: 10, acquire_timeout: 30000, idle_timeout: 30000, max_lifetime: 1800000 };
const OPTIONS = new Set(Object.keys(DEFAULTS));

const OF_CONNECTION = new Set(['reset', 'signal', 'idempotent']);

/**
 * What no option changes. quickgres/pg has other values.
 * @property {number} reserved how many connections owners leave to queries
 * @property {number} least how many unused connections idle_timeout does not close
 * @property {number} silence milliseconds for which a connection may be silent after a request on it was given up
 * @property {boolean} exitsOnIdle whether the program may end while connections are unused
 * @property {boolean} isPatient whether requests wait during an outage
 */
const POLICY = { reserved: 1, least: 0, silence: 2000, exitsOnIdle: true, isPatient: true };

/**
 * @returns {object} the options with their defaults, a time of 0 as Infinity; `policy`; and what the connections have
 *   in common, see Pipeline
 */
function optionsOf(options) {
  checkOptions(options, OPTIONS);
  const all = { common: { isPooled: false, silent: new Map() }, policy: { ...POLICY } };
  for (const name of OPTIONS) {
    const what = name.includes('_') ? `${name}, in milliseconds,` : name;
    const { [name]: value = DEFAULTS[name] } = options;
    checkCount(name === 'size' ? 1 : 0)(value, what);
    all[name] = name.includes('_') ? value || Infinity : value;
  }
  return all;
}

module.exports = { OF_CONNECTION, optionsOf };

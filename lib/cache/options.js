'use strict';

const { NAMES } = require('../core/options');

/** Options of a query that only a cache has. */
const OWN = ['tags', 'max_age', 'stale_while_revalidate'];

const OF_CACHE = new Set(['max_bytes', 'max_answer_bytes', 'max_age', 'stale_while_revalidate', 'now']);
const OF_QUERY = new Set([...NAMES.query, ...OWN].filter(name => name !== 'stream' && name !== 'buffer'));
const OF_KEY = new Set([...NAMES.query, ...NAMES.queryTo, ...OWN]);
const OF_QUERY_TO = new Set([...NAMES.queryTo, ...OWN]);

/** @throws {TypeError} unless the option is a number from 0 */
function checkNumber(value, name) {
  if (typeof value === 'number' && value >= 0) return value;
  throw new TypeError(`${name} must be a number, 0 or more, not ${typeof value === 'number' ? value : typeof value}`);
}

module.exports = { OF_CACHE, OF_KEY, OF_QUERY, OF_QUERY_TO, checkNumber };

'use strict';

// A program whose test replaces the clock, and its pool: thirty days go by, then all timers that are left.

const CLOCK = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'];

const DAYS = 30 * 24 * 60 * 60 * 1000;

const POOLS = { 'quickgres/pool': require('../../../lib/pool').Pool, 'quickgres/pg': require('../../../lib/pg').Pool };

/**
 * @param {string} name of POOLS
 * @param {{tick: function(number), runAll: function(), count: function(): number}} clock replaced
 * @returns {Promise<number[]>} how many timers wait after a query, after the days, and at the end
 */
async function work(name, config, { tick, runAll, count }) {
  const pool = new POOLS[name](config);
  await pool.query('SELECT 1');
  const counts = [count()];
  tick(DAYS);
  counts.push(count());
  runAll();
  await pool.query('SELECT 1');
  await pool.end();
  runAll();
  return [...counts, count()];
}

module.exports = { CLOCK, POOLS, work };

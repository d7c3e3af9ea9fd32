'use strict';

// What the tests of the pool share: pools that are ended after their test.

const { Pool } = require('../../lib/pool');
const { afterTest, endAfterTest } = require('../hooks');
const { connected, sharedServer } = require('../support');

/**
 * A pool of the shared server, which is ended after the test.
 * @param {object} [options] of the pool
 * @param {object} [config] beside the server's, or in place of it
 * @returns {Promise<Pool>}
 */
async function opened(options, config) {
  return endAfterTest(new Pool({ ...(await sharedServer()).config, ...config }, options));
}

let keys = 0;

/**
 * A query that runs until it is told to end.
 * @returns {Promise<{call: string, release: function(): Promise}>} call: of a function that waits, for a SELECT
 */
async function held() {
  const holder = await connected();
  const key = ++keys;
  await holder.query('SELECT pg_advisory_lock(30, $1)', [key]);
  return { call: `pg_advisory_xact_lock_shared(30, ${key})`, release: () => holder.query('SELECT pg_advisory_unlock(30, $1)', [key]) };
}

/** Lets a time pass that the pool measures, but its timers do not. */
function pass(time) {
  const { now } = performance;
  performance.now = () => now.call(performance) + time;
  afterTest(() => { performance.now = now; });
}

/** Waits until a condition holds. */
async function until(condition) {
  while (!await condition()) await new Promise(resolve => setTimeout(resolve, 10));
}

module.exports = { held, opened, pass, until };

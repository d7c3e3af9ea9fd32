'use strict';

// What the tests of the pool share: pools that are ended after their test.

const { LEASE } = require('../../lib/core/internal');
const { Pool } = require('../../lib/pool');
const { afterTest, endAfterTest } = require('../support/hooks');
const { sharedServer } = require('../support');
const { until } = require('../support/kit');

/**
 * A pool of the shared server. It is ended after the test.
 * @param {object} [options] of the pool
 * @param {object} [config] beside the server's, or in place of it
 * @param {object} [policy] what no option changes
 * @returns {Promise<Pool>}
 */
async function opened(options, config, policy) {
  const pool = endAfterTest(new Pool({ ...(await sharedServer()).config, ...config }, options));
  Object.assign(pool[LEASE].policy, policy);
  return pool;
}

/** Lets a time pass that the pool measures, but its timers do not. */
function pass(time) {
  const { now } = performance;
  performance.now = () => now.call(performance) + time;
  afterTest(() => {
    performance.now = now;
  });
}

/**
 * Loads files anew, in which globals are those of the test while they are loaded.
 * @returns {Object<string, object>} what they export, by file
 */
function freshly(files, globals) {
  const saved = Object.getOwnPropertyDescriptors(globalThis);
  const loaded = files.map(file => [file, require.cache[file]]);
  const put = descriptors => {
    for (const name of Object.keys(globals)) Object.defineProperty(globalThis, name, descriptors[name]);
  };
  put(Object.fromEntries(Object.entries(globals).map(([name, value]) => [name, { value, configurable: true }])));
  try {
    for (const file of files) delete require.cache[file];
    return Object.fromEntries(files.map(file => [file, require(file)]));
  } finally {
    put(saved);
    for (const [file, before] of loaded) {
      delete require.cache[file];
      if (before !== undefined) require.cache[file] = before;
    }
  }
}

/** Replaces setTimeout and clearTimeout. @returns {object[]} the timers that are set */
function heldTimers() {
  const set = [];
  const { clearTimeout: clear, setInterval: repeat, setTimeout: make } = global;
  global.setTimeout = (callback, delay, ...args) => {
    const timer = {
      callback: () => callback(...args),
      delay,
      ref() {},
      unref() {
        timer.isUnreferenced = true;
      }
    };
    set.push(timer);
    return timer;
  };
  global.setInterval = global.setTimeout;
  global.clearTimeout = timer => {
    if (set.includes(timer)) set.splice(set.indexOf(timer), 1);
    else clear(timer);
  };
  set.restore = () => Object.assign(global, { clearTimeout: clear, setInterval: repeat, setTimeout: make });
  afterTest(set.restore);
  return set;
}

module.exports = { freshly, heldTimers, opened, pass, until };

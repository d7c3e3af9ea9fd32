'use strict';

const { AsyncResource } = require('node:async_hooks');

/**
 * @param {number} free how many may be asked for at once
 * @returns {function({ask: function(): Promise})} lets a result be asked for at its turn; its promise does not reject
 */
function turns(free) {
  const waiting = new Set();
  const next = () => {
    for (const result of waiting) {
      if (free === 0) return;
      free--;
      waiting.delete(result);
      result.ask().then(() => {
        free++;
        next();
      });
    }
  };
  // A query waits for no transaction in whose function something was said to have changed.
  return AsyncResource.bind(result => {
    waiting.add(result);
    next();
  });
}

module.exports = { turns };

'use strict';

const { throwIfAborted, tooLong, watchLimits } = require('../query');

/**
 * Ends the waiting for an answer, by a signal, a time limit or `fail`; the answer itself is still fetched.
 * @param {object} options checked
 * @param {AbortSignal} [options.signal]
 * @param {number} [options.statement_timeout] milliseconds
 * @returns {{race: function(*): Promise, fail: function(Error), release: function()}} `race` gives the promise of the
 *   same, which rejects when the waiting has ended; `release` is for when it is over
 * @throws {AbortError}
 */
function limitOf(options) {
  throwIfAborted(options);
  let fail;
  const reached = new Promise((resolve, reject) => { fail = reject; });
  reached.catch(() => {});
  const release = watchLimits(options, fail, tooLong('query'));
  return { race: promise => Promise.race([reached, promise]), fail, release };
}

/** The limit of a query that has none: each promise for it to wait for costs more than to find the answer. */
const UNLIMITED = { race: promise => promise, release() {} };

module.exports = { UNLIMITED, limitOf };

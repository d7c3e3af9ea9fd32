'use strict';

const { throwIfAborted, tooLong, watchLimits } = require('../query');

/**
 * Ends the wait for an answer by a signal, a time limit or `fail`. The answer itself is still fetched.
 * @returns {{race: function(*): Promise, fail: function(Error), release: function()}} `race` rejects when the wait ends
 */
function limitOf(options) {
  throwIfAborted(options);
  let fail;
  const reached = new Promise((resolve, reject) => { fail = reject; });
  reached.catch(() => {});
  const release = watchLimits(options, fail, tooLong('query'));
  return { race: promise => Promise.race([reached, promise]), fail, release };
}

/** Without a limit there is no promise to race: each one costs more than finding the answer. */
const UNLIMITED = { race: promise => promise, release() {} };

module.exports = { UNLIMITED, limitOf };

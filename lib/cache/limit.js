'use strict';

const { throwIfAborted, tooLong, watchLimits } = require('../core/pipeline');

/**
 * Ends the wait for an answer by a signal, a time limit or `fail`.
 * @returns {{isLimited: boolean, race: function(*): Promise, reached: Promise, fail: function(Error), release:
 *   function()}} `race` rejects when the wait ends, as `reached` does
 */
function limitOf(options) {
  throwIfAborted(options);
  let fail;
  const reached = new Promise((resolve, reject) => {
    fail = reject;
  });
  reached.catch(() => {});
  const release = watchLimits(options, fail, tooLong('query'));
  const isLimited = options.signal !== undefined || options.statement_timeout !== undefined;
  return { isLimited, race: promise => Promise.race([reached, promise]), reached, fail, release };
}

/** Without a limit there is no promise to race: each one costs more than finding the answer. */
const UNLIMITED = { isLimited: false, race: promise => promise, release() {} };

module.exports = { UNLIMITED, limitOf };

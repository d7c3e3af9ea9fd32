'use strict';

const { UsageError } = require('../protocol');
const { checkLimits, throwIfAborted, watchSignal } = require('../query');

/**
 * Ends the wait for an answer by a signal, a time limit or `fail`. The answer itself is still fetched.
 * @param {{signal?: AbortSignal, statement_timeout?: number}} options
 * @returns {{race: function(*): Promise, fail: function(Error), release: function()}} `race` rejects when the wait ends
 * @throws {TypeError|AbortError}
 */
function limitOf(options) {
  checkLimits(options);
  throwIfAborted(options);
  const { signal, statement_timeout: time } = options;
  let fail;
  const reached = new Promise((resolve, reject) => { fail = reject; });
  reached.catch(() => {});
  const unwatch = signal && watchSignal(signal, fail);
  const tooLong = () => fail(new UsageError(`the query took longer than its statement_timeout of ${time} ms`, '57014'));
  const timer = time && setTimeout(tooLong, time);
  const release = () => {
    clearTimeout(timer);
    unwatch?.();
  };
  return { race: promise => Promise.race([reached, promise]), fail, release };
}

/** Without a limit there is no promise to race: each one costs more than finding the answer. */
const UNLIMITED = { race: promise => promise, release() {} };

module.exports = { UNLIMITED, limitOf };

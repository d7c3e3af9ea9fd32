'use strict';

const { submit } = require('./limits');
const { channel, traceCall, traceWait } = require('./tracing');

/** What a query needs: with `alone` nothing is sent behind it. */
const needOf = ({ alone }) => (alone ? 'owned' : 'shared');

/**
 * Sends a request in a scope of a lease, see Session.#run.
 * @param {function(Error): boolean} [mayRepeat] see Scope.run
 */
function send(lease, need, options, make, text, mayRepeat) {
  if (lease.scope !== null) return submit(make(), lease.scope, options);
  const run = next =>
    lease.run(need, options, (scope, client, limits) => submit(next(), scope, limits), mayRepeat, text);
  return channel.hasSubscribers ? traceCall(make, run) : run(make);
}

/**
 * Runs what sends several requests, see Scope.run.
 * @param {string} text of the first one, which is published if there is no connection for it
 */
function own(lease, options, text, work, mayRepeat) {
  if (lease.scope !== null || !channel.hasSubscribers) return lease.run('owned', options, work, mayRepeat);
  return traceWait(text, found =>
    lease.run(
      'owned',
      options,
      (...given) => {
        found();
        return work(...given);
      },
      mayRepeat
    )
  );
}

module.exports = { needOf, own, send };

'use strict';

const { State } = require('../protocol');
const { giveUp } = require('./give-up');
const { throwIfAborted, tooLong, watchLimits } = require('./limits');
const { channel, traceCall, traceWait } = require('./tracing');

const IN_FRONT =
  ': it waited for a request that nothing may be sent behind: a COPY, one with `alone`, or one that was given up';

/**
 * Submits a request, see Pipeline.submit.
 * @param {object} [options] `settings`, `alone`, and the limits `signal` and `statement_timeout`
 */
function submitIn(request, scope, options) {
  if (options?.settings !== undefined) request.settings = options.settings;
  if (options?.alone) request.holdUntilOver();
  if (options === undefined || (options.signal === undefined && options.statement_timeout === undefined))
    return scope.pipeline.submit(request, scope);
  throwIfAborted(options);
  const {
    pipeline,
    pipeline: { scopes }
  } = scope;
  const promise = pipeline.submit(request, scope);
  if (!request.pending) return promise;
  const isSent = () => request.state !== State.Waiting;
  const reason = () =>
    isSent() ? '' : scopes.active !== scope ? `: it waited for ${scopes.active.name}` : pipeline.holds ? IN_FRONT : '';
  request.unwatch = watchLimits(options, error => giveUp(request, error), tooLong('query', reason), isSent);
  return promise;
}

/** What a query needs: with `alone` nothing is sent behind it. */
const needOf = ({ alone }) => (alone ? 'owned' : 'shared');

/**
 * Sends a request in a scope of a session's lease.
 * @param {string} need see Scope.run
 * @param {function(): Flight} make makes the request, again after a loss
 * @param {string} [text] see PoolLease.run
 * @param {function(Error): boolean} [mayRepeat] see Scope.run
 */
function send(lease, need, options, make, text, mayRepeat) {
  if (lease.sendsIn !== null) return submitIn(make(), lease.sendsIn, options);
  const run = next => lease.run(need, options, (scope, client, left) => submitIn(next(), scope, left), mayRepeat, text);
  return channel.hasSubscribers ? traceCall(make, run) : run(make);
}

/**
 * Runs what sends several requests, see Scope.run.
 * @param {string} text of the first one, which is published if there is no connection for it
 */
function sendSeveral(lease, options, text, work, mayRepeat) {
  if (lease.sendsIn !== null || !channel.hasSubscribers) return lease.run('owned', options, work, mayRepeat);
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

module.exports = { needOf, send, sendSeveral, submitIn };

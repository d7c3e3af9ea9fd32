'use strict';

const { submit } = require('./limits');

/**
 * Sends a request in a scope of a lease, see Scope.run.
 * @param {object} options the caller's; with `alone` nothing is sent behind the request
 * @param {function(): Request} make makes the request, again after a loss
 * @param {string} [need] see Scope.run
 * @param {function(Error): boolean} [mayRepeat] see Scope.run
 * @param {string} [text] see PoolLease.run
 */
function send(
  lease,
  options,
  make,
  need = options.alone ? 'owned' : 'shared',
  mayRepeat = undefined,
  text = undefined
) {
  if (lease.scope !== null) return submit(make(), lease.scope, options);
  return lease.run(need, options, (scope, client, limits) => submit(make(), scope, limits), mayRepeat, text);
}

module.exports = { send };

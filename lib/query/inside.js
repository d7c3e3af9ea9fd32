'use strict';

/*
 * Which transaction the running code belongs to. In the function of `transaction`, a request to the outer client
 * would wait for the transaction, and the function for the request: it is refused at once.
 */

let storage; // made by the first transaction

/**
 * Runs the function of a transaction.
 * @param {Scope} scope of the transaction
 * @param {function(): *} work
 */
function runInside(scope, work) {
  storage ??= new (require('node:async_hooks').AsyncLocalStorage)();
  return storage.run({ scope, outer: storage.getStore() }, work);
}

/**
 * @param {Scope} scope
 * @returns {boolean} whether the running code belongs to a transaction that a request in this scope would wait for
 */
function waitsForItself(scope) {
  for (let context = storage?.getStore(); context !== undefined; context = context.outer) {
    if (!context.scope.left && context.scope.isInside(scope)) return true;
  }
  return false;
}

module.exports = { runInside, waitsForItself };

'use strict';

/*
 * Tells which transaction the running code belongs to. Inside `transaction`, a request to the outer client would wait for the
 * transaction, which waits for its function: it is rejected at once.
 */

let storage; // made by the first transaction

/** Runs the function of a transaction. */
function runInside(scope, work) {
  storage ??= new (require('node:async_hooks').AsyncLocalStorage)();
  const context = { scope, outer: storage.getStore() };
  // A job may begin its next run inside for ever.
  for (let each = context; each !== undefined; each = each.outer) while (each.outer?.scope.ended) each.outer = each.outer.outer;
  return storage.run(context, work);
}

/** @returns {boolean} whether the running code belongs to a transaction that a request in this scope would wait for */
function waitsForItself(scope) {
  for (let context = storage?.getStore(); context !== undefined; context = context.outer) {
    if (!context.scope.ended && context.scope.isInside(scope)) return true;
  }
  return false;
}

module.exports = { runInside, waitsForItself };

'use strict';

/*
 * Tells which transaction the running code belongs to. Inside `transaction`, a request to the outer client would wait
 * for the transaction, which waits for its function: it is rejected at once.
 */

let storage; // made by the first transaction
let running = 0; // functions
let timer;

/**
 * Milliseconds for which the storage stays on behind the last transaction, since turning it on and off costs as much as
 * a query.
 */
const LINGER = 100;

/**
 * To be called when the function is over: on Node.js 20, a storage that is on makes every promise of the program
 * dearer.
 */
function leftInside() {
  if (--running > 0 || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    if (running === 0) storage.disable();
  }, LINGER);
  timer.unref?.();
}

/** Runs the function of a transaction, see `leftInside`. */
function runInside(scope, work) {
  running++;
  storage ??= new (require('node:async_hooks').AsyncLocalStorage)();
  const context = { scope, outer: storage.getStore() };
  // A job may begin its next run inside for ever.
  for (let each = context; each !== undefined; each = each.outer)
    while (each.outer?.scope.isOver) each.outer = each.outer.outer;
  return storage.run(context, work);
}

/**
 * @param {Scope} [scope] of a request
 * @returns {boolean} whether the running code belongs to a transaction that the request would wait for; without a
 *   scope, to any transaction
 */
function waitsForItself(scope) {
  for (let context = storage?.getStore(); context !== undefined; context = context.outer) {
    if (!context.scope.isOver && (scope === undefined || context.scope.isInside(scope))) return true;
  }
  return false;
}

module.exports = { leftInside, runInside, waitsForItself };

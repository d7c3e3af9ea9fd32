'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { UsageError } = require('./errors');

/*
 * Requests of an outer scope wait until an inner one is over. Code that runs on behalf of the inner one, such as
 * the function of a transaction, and awaits such a request would wait for itself. Who runs on whose behalf is
 * followed by the platform's asynchronous context, which costs nothing while there is no such code.
 */
const storage = new AsyncLocalStorage();
let users = 0;

function release() {
  if (--users === 0) storage.disable();
}

/**
 * Runs a function on behalf of a scope.
 * @param {Scope} scope
 * @param {function(): *} work
 * @returns {Promise} of its result
 */
async function runInside(scope, work) {
  users++;
  try {
    return await storage.run({ scope, outer: storage.getStore() }, work);
  } finally {
    release();
  }
}

/** From here on, the code that called runs on behalf of the scope, until the scope is left. */
function goInside(scope) {
  if (scope.onleave === undefined) {
    users++;
    scope.onleave = release;
  }
  const outer = storage.getStore();
  if (outer === undefined || outer.scope !== scope) storage.enterWith({ scope, outer });
}

/** Whether the code that calls runs on behalf of a scope that requests of this one wait for. */
function waitsForItself(scope) {
  for (let context = storage.getStore(); context !== undefined; context = context.outer) {
    if (context.scope.left) continue;
    for (let outer = context.scope.parent; outer !== null; outer = outer.parent) {
      if (outer === scope) return context.scope;
    }
  }
  return undefined;
}

/** A promise that rejects when code awaits it that it waits for. */
class OutsidePromise extends Promise {
  static get [Symbol.species]() { return Promise; }

  then(onFulfilled, onRejected) {
    const inner = onFulfilled && this.scope !== undefined && waitsForItself(this.scope);
    if (inner) {
      this.refuse(new UsageError(`deadlock: this request waits until ${inner.name} is over, and is awaited by ` +
        'the very code that has to end it', '40P01'));
    }
    return super.then(onFulfilled, onRejected);
  }
}

/**
 * Guards the promise of a waiting request.
 * @param {Promise} promise
 * @param {Scope} scope that the request waits in
 * @param {function(Error)} refuse rejects the promise
 * @returns {Promise} the same, or one in its place
 */
function guard(promise, scope, refuse) {
  if (users === 0 || waitsForItself(scope) === undefined) return promise;
  const outside = new OutsidePromise((resolve, reject) => { promise.then(resolve, reject); });
  outside.scope = scope;
  outside.refuse = refuse;
  return outside;
}

module.exports = { runInside, goInside, guard };

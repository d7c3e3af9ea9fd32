'use strict';

const { AsyncLocalStorage } = require('#platform').async_hooks;
const { UsageError } = require('../protocol/errors');
const { callerOf, showCaller } = require('./request');
const { isWorkerd } = require('#platform');

/*
 * Requests of an outer scope wait until an inner one is over. Code that runs on behalf of the inner one, such as
 * the function of a transaction, and awaits such a request would wait for itself. Who runs on whose behalf is
 * followed by the platform's asynchronous context, which costs nothing while there is no such code.
 */
const storage = new AsyncLocalStorage();
/**
 * Workers (workerd) follow what a function calls, as that of a transaction, but cannot change the context of code
 * that runs already: the loop of a cursor is not followed there.
 */
const canEnter = !isWorkerd;
let users = 0;
let orders = 0;
let segment; // the scope that the code which runs now has got to, see InsidePromise

/** @returns {number} the place of a scope or of a request in the order in which they came */
function order() { return ++orders; }

function release() {
  if (--users === 0 && canEnter) storage.disable();
}

/** On whose behalf the code that calls runs. Scopes that are over are let go of, or loops would pile them up. */
function current() {
  let context = storage.getStore();
  while (context !== undefined && context.scope.left) context = context.outer;
  return context;
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
    // What it returns is awaited inside, too.
    return await storage.run({ scope, outer: current() }, async () => await work());
  } finally {
    release();
  }
}

/**
 * Lets code go inside a scope later. To be called before that code awaits what brings it there: a context that
 * was made before is not its own.
 */
function watch(scope) {
  if (!canEnter || scope.left || scope.onleave !== undefined) return;
  scope.onleave = release;
  if (users++ === 0) storage.enterWith(undefined);
}

/** From here on, the code that called runs on behalf of a scope that is watched, until the scope is left. */
function goInside(scope) {
  if (!canEnter || scope === undefined || scope.left) return;
  const outer = current();
  if (outer === undefined || outer.scope !== scope) storage.enterWith({ scope, outer });
}

/** Code that has just got inside a scope calls: from here on, it runs on its behalf. */
function stayInside() { goInside(segment); }

/** A promise whose awaiting code goes on inside a scope. */
class InsidePromise extends Promise {
  static get [Symbol.species]() { return Promise; }

  then(onFulfilled, onRejected) {
    const { scope } = this;
    if (typeof onFulfilled !== 'function') return super.then(onFulfilled, onRejected);
    return super.then(value => {
      const inside = () => { segment = scope; };
      const outside = () => { segment = undefined; };
      if (isNative(onFulfilled)) { // what awaits goes on in a microtask that this call makes
        queueMicrotask(inside);
        onFulfilled(value);
        return void queueMicrotask(outside);
      }
      inside();
      try {
        return onFulfilled(value);
      } finally {
        outside();
      }
    }, onRejected);
  }
}

/** @returns {Promise} the same as a promise; who awaits it goes on inside the scope */
function leadInside(promise, scope) {
  const inside = new InsidePromise((resolve, reject) => { promise.then(resolve, reject); });
  inside.scope = scope;
  return inside;
}

/**
 * Whether the code that calls runs on behalf of a scope that a request waits for.
 * @param {Scope} scope of the request
 * @param {number} place the request's in the order
 * @returns {Scope|undefined} the one it waits for
 */
function waitsFor(scope, place) {
  for (let context = current(); context !== undefined; context = context.outer) {
    if (context.scope.left) continue;
    // Where the ways from the root to both part, what came later waits.
    for (let inner = context.scope; inner.parent !== null; inner = inner.parent) {
      let entry = { order: place, parent: scope };
      while (entry !== null && entry.parent !== inner.parent) entry = entry.parent;
      if (entry === null) continue;
      if (entry !== inner && entry.order > inner.order) return context.scope;
      break;
    }
  }
  return undefined;
}

/** Whether a function is the engine's: `await` and Promise.all give such ones to `then`, callers give their own. */
function isNative(callback) {
  return typeof callback === 'function' && /\[native code\]\s*\}$/.test(Function.prototype.toString.call(callback));
}

/**
 * A promise that rejects when code awaits it that it waits for. Who only gives it callbacks awaits nothing; but
 * the promise of these callbacks is such a promise, too.
 */
class OutsidePromise extends Promise {
  then(onFulfilled, onRejected) {
    const { wait } = this;
    const inner = wait !== undefined && isNative(onFulfilled) ? waitsFor(wait.scope, wait.place) : undefined;
    if (inner !== undefined && !inner.endsItself()) {
      wait.refuse(showCaller(new UsageError(`deadlock: this waits until ${inner.name} is over, and is awaited by ` +
        'the very code that has to end it', '40P01'), wait.caller));
    }
    const promise = super.then(onFulfilled, onRejected);
    promise.wait = wait;
    return promise;
  }

  finally(work) {
    if (typeof work !== 'function') return this.then(work, work);
    return this.then(async value => {
      await work();
      return value;
    }, async error => {
      await work();
      throw error;
    });
  }
}

/**
 * Guards the promise of something that waits.
 * @param {Promise} promise
 * @param {Scope} scope that it waits in
 * @param {function(Error)} [refuse] called when it would wait for itself, before its promise rejects
 * @returns {Promise} the same, or one in its place
 */
function guard(promise, scope, refuse) {
  if (users === 0) return promise;
  stayInside();
  const place = order();
  if (waitsFor(scope, place) === undefined) return promise;
  let wait;
  const outside = new OutsidePromise((resolve, reject) => {
    promise.then(resolve, reject);
    wait = {
      scope,
      place,
      caller: callerOf(guard),
      refuse(error) {
        if (refuse !== undefined) refuse(error);
        reject(error);
      }
    };
  });
  outside.wait = wait;
  return outside;
}

module.exports = { runInside, watch, goInside, stayInside, leadInside, guard, order };

'use strict';

const { List } = require('../list');
const { AbortError, TimeoutError } = require('../protocol');
const { after, setImmediate } = require('../timer');

/** @type {WeakMap<AbortSignal, List>} the callbacks of a signal, which has one listener for all requests */
const watchers = new WeakMap();

/**
 * Calls back when a signal aborts. Node warns of more than ten listeners of one signal.
 * @param {AbortSignal} signal not aborted
 */
function watchSignal(signal, callback) {
  const callbacks = watchers.get(signal) ?? new List();
  if (callbacks.size === 0) {
    callbacks.tell = () => {
      for (const each of callbacks.values()) each(abortedBy(signal));
    }; // not every signal passes an event
    watchers.set(signal, callbacks);
    signal.addEventListener('abort', callbacks.tell);
  }
  const link = callbacks.add(callback);
  return () => {
    if (!callbacks.delete(link) || callbacks.size > 0) return;
    watchers.delete(signal);
    signal.removeEventListener('abort', callbacks.tell);
  };
}

const abortedBy = ({ reason }) => new AbortError('the query was aborted', reason);

/** @param {boolean} [sent] whether the request may have been sent */
function throwIfAborted({ signal }, sent = false) {
  if (signal?.aborted) throw Object.assign(abortedBy(signal), { sent });
}

/** @returns {function(number): TimeoutError} for a time limit in milliseconds */
const tooLong =
  (what, reason = () => '') =>
  time =>
    new TimeoutError(`the ${what} took longer than its statement_timeout of ${time} ms${reason()}`, { code: '57014' });

/**
 * Calls back when a signal aborts or a time limit passes.
 * @param {function(number): Error} makeError the one of a time limit
 * @param {function(): boolean} [isSent] whether the server may have executed the request
 */
function watchLimits({ signal, statement_timeout: time = Infinity, waited = 0 }, callback, makeError, isSent) {
  const end = error => callback(isSent === undefined ? error : Object.assign(error, { sent: isSent() }));
  const unwatch = signal === undefined ? undefined : watchSignal(signal, end);
  const stop = time < Infinity ? after(time, () => end(makeError(time)), waited) : undefined;
  return () => {
    unwatch?.();
    stop?.();
  };
}

/** @param {string} [why] beside the time */
const tookNothing = (time, why = 'stall_timeout') =>
  new TimeoutError(`the target took nothing for ${time} ms (${why})`, { code: '57014', sent: true });

/**
 * Calls back once, with the time that has passed, when a reader has taken nothing between two looks, one every `time`
 * milliseconds.
 * @param {function(): number} left what it has not taken; NaN while it need not take anything
 * @param {function(): number} [allowed] how many looks in a row may find nothing taken
 * @returns {function} ends the watch
 */
function watchStall(time, left, stalled, allowed = () => 1) {
  let before = left();
  let looks = 0;
  let isOver = false;
  const timer = setInterval(setImmediate, time, () => {
    if (isOver) return;
    const now = left();
    looks = now >= before ? looks + 1 : 0;
    before = now;
    if (looks === 0 || looks < allowed()) return;
    stop();
    stalled(looks * time);
  });
  const stop = () => {
    isOver = true;
    clearInterval(timer);
  };
  return stop;
}

module.exports = { throwIfAborted, tookNothing, tooLong, watchLimits, watchSignal, watchStall };

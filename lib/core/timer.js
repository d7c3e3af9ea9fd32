'use strict';

/*
 * The one place that says when a limit has passed. A program that was busy finds its timers due before its sockets are
 * read, so what has arrived is read first. Steps that several answers need, such as those of connecting, get the time
 * once more in which the program was busy.
 */

// Jest's jsdom has no global ones, and fake timers replace these.
const { clearImmediate, setImmediate } = require('node:timers');

/** Milliseconds by which a timer is late if the program was busy. */
const BUSY = 50;

/**
 * Calls back when a time has passed, by which the program could read what has arrived.
 * @param {number} time in milliseconds
 * @param {function()} callback
 * @param {number} [passed=0] how much of the time has passed, perhaps more than all
 * @param {boolean} [isReferenced=true] whether it keeps the program alive
 * @returns {function()} ends the wait
 */
function after(time, callback, passed = 0, isReferenced = true) {
  const due = performance.now() + time - passed;
  let stop;
  const set = (look, ms) => {
    const timer = setTimeout(look, ms);
    if (!isReferenced) timer.unref?.();
    stop = () => clearTimeout(timer);
  };
  const read = () => {
    const turn = setImmediate(callback); // referenced: the event loop would not come back for another one
    stop = () => clearImmediate(turn);
  };
  const look = () => {
    const delay = Math.min(performance.now() - due, time);
    if (delay > BUSY) set(read, delay);
    else read();
  };
  set(look, Math.max(0, time - passed)); // Node warns of negative ones
  return () => stop();
}

module.exports = { after, clearImmediate, setImmediate };

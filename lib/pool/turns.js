'use strict';

const { setImmediate } = require('../core/timer');

const { performance } = globalThis; // fake timers replace it later

/** Milliseconds for which the event loop has waited for events; 0 in runtimes that do not tell. */
const idleTime = () => performance.nodeTiming?.idleTime ?? 0;

/**
 * Tells how long answers took to arrive, without the time in which the program was busy and could not read them. An
 * answer that a turn of the event loop reads had not arrived when the turn before looked for it.
 */
class Turns {
  #earlier = { at: 0, idle: 0 };
  #last = { at: 0, idle: 0 };
  #isCounting = false;

  /** Looks at each turn of the event loop while `isNeeded()`, without keeping the loop awake or the program alive. */
  count(isNeeded) {
    if (this.#isCounting) return;
    this.#isCounting = true;
    const look = () => {
      this.#earlier = this.#last;
      this.#last = { at: performance.now(), idle: idleTime() };
      this.#isCounting = isNeeded();
      if (this.#isCounting) setImmediate(look).unref?.();
    };
    setImmediate(look).unref?.();
  }

  /**
   * @param {number} from a time
   * @param {number} idle the idle time then
   * @returns {number} milliseconds from then to the arrival of what is read now
   */
  since(from, idle, now) {
    const idleNow = idleTime();
    if (idleNow === 0) return now - from;
    const { at, idle: then } = this.#earlier;
    return Math.min(now - from, at > from ? at - from + idleNow - then : idleNow - idle);
  }
}

module.exports = { Turns, idleTime };

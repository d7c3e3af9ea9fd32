'use strict';

/** Says when results are asked for: each at most once an interval, and only so many at once. */
class Schedule {
  #ask;
  #concurrency;
  #interval;
  #running = 0;
  #timers = new Map(); // by result
  #waiting = new Set();

  /**
   * @param {{interval: number, concurrency: number}} options
   * @param {function(Result): Promise} ask never rejects
   */
  constructor({ interval, concurrency }, ask) {
    this.#interval = interval;
    this.#concurrency = concurrency;
    this.#ask = ask;
  }

  /** @param {number} [pause] milliseconds, at least */
  add(result, pause = 0) {
    if (result.isAsked || this.#waiting.has(result) || this.#timers.has(result)) return;
    const wait = Math.max(result.asked + this.#interval - performance.now(), pause);
    if (wait <= 0) return this.#put(result);
    this.#timers.set(result, setTimeout(() => {
      this.#timers.delete(result);
      this.#put(result);
    }, wait).unref());
  }

  remove(result) {
    clearTimeout(this.#timers.get(result));
    this.#timers.delete(result);
    this.#waiting.delete(result);
  }

  #put(result) {
    this.#waiting.add(result);
    this.#next();
  }

  #next() {
    for (const result of this.#waiting) {
      if (this.#running >= this.#concurrency) return;
      this.#waiting.delete(result);
      this.#running++;
      this.#ask(result).finally(() => {
        this.#running--;
        this.#next();
      });
    }
  }
}

module.exports = { Schedule };

'use strict';

/** The longest delay of a timer, in milliseconds. */
const LONGEST = 2 ** 31 - 1;

/** One one-shot timer to the next deadline, which does not keep the program alive. */
class Alarm {
  #due = Infinity;
  #ring;
  #timer;

  /** @param {function(number)} ring gets the time: the deadline if a mocked timer fires before the clock shows it */
  constructor(ring) {
    this.#ring = ring;
  }

  /** Sets the timer, unless it is set to an earlier deadline. */
  setTo(due) {
    if (due >= this.#due) return;
    this.stop();
    const now = performance.now(); // rather than a time that was rung: timers fire early, so each would fire earlier than the one before
    this.#due = Math.min(due, now + LONGEST);
    this.#timer = setTimeout(() => this.#fire(), Math.min(Math.max(0, due - now), LONGEST)); // Node warns of other ones
    this.#timer.unref?.();
  }

  #fire() {
    const due = this.#due;
    this.#due = Infinity;
    this.#ring(Math.max(due, performance.now()));
  }

  stop() {
    clearTimeout(this.#timer);
    this.#due = Infinity;
  }
}

module.exports = { Alarm, LONGEST };

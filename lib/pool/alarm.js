'use strict';

const { after } = require('../core/timer');

/** One one-shot timer to the next deadline, see lib/core/timer.js, which does not keep the program alive. */
class Alarm {
  #due = Infinity;
  #ring;
  #stop;

  /** @param {function(number)} ring gets the time: the deadline if a mocked timer fires before the clock shows it */
  constructor(ring) {
    this.#ring = ring;
  }

  /** Sets the timer, unless it is set to an earlier deadline. */
  setTo(due) {
    if (due >= this.#due) return;
    this.stop();
    this.#due = due;
    // By the clock: timers fire early, so by the time that was rung each would fire earlier than the one before.
    this.#stop = after(Math.max(0, due - performance.now()), () => this.#fire(), 0, false);
  }

  #fire() {
    const due = this.#due;
    this.#due = Infinity;
    this.#ring(Math.max(due, performance.now()));
  }

  stop() {
    this.#stop?.();
    this.#due = Infinity;
  }
}

module.exports = { Alarm };

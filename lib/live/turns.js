'use strict';

/** Lets results be asked for, so many at once, in the order of their adding. */
class Turns {
  #free;
  #waiting = new Set();

  constructor(most) { this.#free = most; }

  /** @param {{ask: function(): Promise}} result whose promise does not reject */
  add(result) {
    this.#waiting.add(result);
    this.#next();
  }

  #next() {
    for (const result of this.#waiting) {
      if (this.#free === 0) return;
      this.#free--;
      this.#waiting.delete(result);
      result.ask().then(() => {
        this.#free++;
        this.#next();
      });
    }
  }
}

module.exports = { Turns };

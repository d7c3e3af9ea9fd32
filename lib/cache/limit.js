'use strict';

const { UsageError } = require('../protocol');
const { checkLimits, watchSignal } = require('../query');

/** Ends the waiting of one who asks, by his signal, his time limit or `fail`; what he waits for goes on. */
class Limit {
  #reached;
  #timer;
  #unwatch;

  /**
   * @param {object} options
   * @param {AbortSignal} [options.signal]
   * @param {number} [options.statement_timeout] milliseconds
   * @throws {TypeError|AbortError}
   */
  constructor(options) {
    checkLimits(options);
    const { signal, statement_timeout: time } = options;
    /** Ends the waiting with an error. @type {function(Error)} */
    this.fail = undefined;
    this.#reached = new Promise((resolve, reject) => { this.fail = reject; });
    this.#reached.catch(() => {});
    this.#unwatch = signal && watchSignal(signal, this.fail);
    this.#timer = time && setTimeout(() => {
      this.fail(new UsageError(`the query took longer than its statement_timeout of ${time} ms`, '57014'));
    }, time);
  }

  /** @returns {Promise} of the same; rejects when the waiting has ended */
  race(promise) { return Promise.race([this.#reached, promise]); }

  /** Nobody waits any more. */
  release() {
    clearTimeout(this.#timer);
    this.#unwatch?.();
  }
}

module.exports = { Limit };

'use strict';

const { setMaxListeners } = require('#platform').events;
const { AbortError, UsageError } = require('../protocol');

/** Ends the waiting of one who asks, by his signal, his time limit or `fail`; what he waits for goes on. */
class Limit {
  #reached;
  #timer;
  #signal;
  #onabort = () => this.fail(new AbortError('the query was aborted', this.#signal.reason));

  /**
   * @param {object} options
   * @param {AbortSignal} [options.signal]
   * @param {number} [options.statement_timeout] milliseconds
   * @throws {TypeError}
   */
  constructor({ signal, statement_timeout: time }) {
    if (signal !== undefined && typeof signal?.addEventListener !== 'function') {
      throw new TypeError('signal must be an AbortSignal');
    }
    if (time !== undefined && !(typeof time === 'number' && time > 0 && time <= 0x7fffffff)) {
      throw new TypeError(`statement_timeout must be a number of milliseconds above 0, not ${String(time)}`);
    }
    /** Ends the waiting with an error. @type {function(Error)} */
    this.fail = undefined;
    this.#reached = new Promise((resolve, reject) => { this.fail = reject; });
    this.#reached.catch(() => {});
    const timedOut = () => this.fail(new UsageError(`the query took longer than its statement_timeout of ${time} ms`, '57014'));
    if (time !== undefined) this.#timer = setTimeout(timedOut, time);
    this.#signal = signal;
    if (signal?.aborted) this.#onabort();
    else if (signal !== undefined) {
      setMaxListeners(0, signal); // many queries may have the same
      signal.addEventListener('abort', this.#onabort);
    }
  }

  /** @returns {Promise} of the same; rejects when the waiting has ended */
  race(promise) { return Promise.race([this.#reached, promise]); }

  /** Nobody waits any more. */
  release() {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onabort);
  }
}

module.exports = { Limit };

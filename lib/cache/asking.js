'use strict';

/**
 * Milliseconds for which the second query for an answer, if it is late too, has no successor. The next ones have twice
 * the time.
 */
const GRACE = 1000;

/**
 * What becomes of a query. OPEN: a request without a limit waits, so nothing aborts it. COUNTED: only requests with
 * limits wait, and the last one whose limit is reached aborts it. CLOSED: no other request may wait: it was aborted, or
 * has a time limit of its own.
 */
const State = { OPEN: 'open', COUNTED: 'counted', CLOSED: 'closed' };

const isTimeout = error => error.name === 'TimeoutError' || error.cause?.name === 'TimeoutError';

/** The query that is under way for the answer of a key. */
class Asking {
  #controller;
  #isLate = false; // a time limit has ended a wait: its connection may be silent
  // Milliseconds for which it has no successor although it is late: a slow database must not get a query for each wait.
  #grace;
  #state = State.OPEN;
  #waits = 0; // requests with limits

  /**
   * @param {number} time of its beginning
   * @param {Asking} [before] the earlier query for the same key, which is late
   */
  constructor(time, before) {
    this.time = time;
    this.#grace = before === undefined ? 0 : Math.max(GRACE, 2 * (time - before.time));
    /** @type {Promise<object>} the answer */
    this.promise = undefined;
    /** @type {object|undefined} options of the query */
    this.limits = undefined;
  }

  /** For a request with a limit. */
  counted() {
    this.#state = State.COUNTED;
    this.#controller = new AbortController();
    this.limits = { signal: this.#controller.signal };
    return this;
  }

  /** For the renewal of a stale answer, for which no request waits. */
  within(statement_timeout) {
    if (statement_timeout === undefined) return this;
    this.#state = State.CLOSED;
    this.limits = { statement_timeout };
    return this;
  }

  /** Whether a request may wait for the answer, instead of asking for another one. */
  mayJoin(now, maxAge) {
    return this.#state !== State.CLOSED && now - this.time < (this.#isLate ? Math.min(this.#grace, maxAge) : maxAge);
  }

  /** @returns {Promise<object>} the answer, for one more request */
  join({ isLimited, reached }) {
    if (isLimited) this.#wait(reached);
    else this.#state = State.OPEN;
    return this.promise;
  }

  #wait(reached) {
    this.#waits++;
    reached.catch(error => {
      this.#isLate ||= isTimeout(error);
      if (--this.#waits > 0 || this.#state !== State.COUNTED) return;
      this.#state = State.CLOSED;
      this.#controller.abort();
    });
  }
}

module.exports = { Asking };

'use strict';

const { Held } = require('./held');
const { NO_DATA } = require('./state');

/** What the page's part accepts, by which it asks for a live result. */
const TYPE = 'application/x-postgresql-live';

/**
 * Where a reader is. QUEUED: its turn has not come. EMPTY: it has got nothing; until then the response is the
 * handler's. READY: it has taken everything. BUSY: it has not. OVER: it has left, or is sent away.
 */
const PLACE = { QUEUED: 'queued', EMPTY: 'empty', READY: 'ready', BUSY: 'busy', OVER: 'over' };

/** An HTTP client that reads a live result. It gets the newest state when it has taken the last one. */
class Reader {
  #held;
  #keeping; // timer of the next keepalive
  #leaving; // timer of the end
  #newest; // state
  #place = PLACE.QUEUED;
  #settle; // resolve and reject of `left`
  #state; // that it has
  #target;
  #untaken; // what it has not taken

  /**
   * @param {Target} target of its response
   * @param {{keepalive: number, max_lifetime: number, held: Held}} options
   */
  constructor(target, { keepalive, max_lifetime: lifetime, held = new Held() }) {
    this.#target = target;
    this.#held = held;
    this.bytes = 0;
    /** @type {Promise<void>} resolves when it has left; rejects if it left before the first byte, with the reason */
    this.left = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.#keeping = setInterval(() => {
      if (this.#place === PLACE.READY) this.#write(NO_DATA);
    }, keepalive).unref();
    // Readers that came together do not leave together.
    if (lifetime > 0) this.#leaving = setTimeout(() => this.end(), lifetime * (0.9 + Math.random() / 10)).unref();
    target.watch(() => this.#leave());
    Promise.resolve(target.untilFirst()).then(
      () => this.#move(PLACE.QUEUED, PLACE.EMPTY),
      () => this.#leave()
    );
  }

  #move(from, to) {
    if (this.#place !== from) return; // it has left
    this.#place = to;
    this.#take();
    if (this.#newest !== undefined) this.show(this.#newest);
  }

  /** @param {State} state the newest one */
  show(state) {
    this.#newest = state;
    if (this.#state === state || (this.#place !== PLACE.EMPTY && this.#place !== PLACE.READY)) return;
    const before = this.#state;
    this.#state = state;
    this.#write(state.from(before));
  }

  #begin() {
    const { given } = this.#target;
    given.setHeader('content-type', TYPE); // whatever the handler has set for others
    given.setHeader('cache-control', 'no-store, no-transform');
    given.setHeader('x-accel-buffering', 'no'); // of nginx
  }

  #write(bytes) {
    if (this.#target.gone) return;
    try {
      if (this.#place === PLACE.EMPTY) this.#begin();
      this.bytes += bytes.length;
      this.#keeping.refresh();
      this.#place = this.#target.write(bytes) ? PLACE.READY : PLACE.BUSY;
      if (this.#place === PLACE.READY) return;
      this.#held.hold((this.#untaken = bytes));
      this.#target.wait(() => this.#move(PLACE.BUSY, PLACE.READY));
    } catch (error) {
      this.#leave(error); // other code has written to the response
    }
  }

  #take() {
    if (this.#untaken !== undefined) this.#held.release(this.#untaken);
    this.#untaken = undefined;
  }

  /** Cuts it off if it waits for rows of an older state, which are kept for it alone. */
  cutIfBehind() {
    if (this.#untaken !== undefined && this.#state.bytes === undefined) this.#cut();
  }

  #cut() {
    this.#take();
    this.#target.destroy(this.#held.error);
  }

  /**
   * Sends it away; its page connects again.
   * @param {Error} [error] for the handler, whose the response still is if nothing was written
   */
  end(error) {
    if (this.#place === PLACE.OVER) return;
    const isUnwritten = this.#place === PLACE.QUEUED || this.#place === PLACE.EMPTY;
    if (error !== undefined && isUnwritten) return void this.#leave(error);
    if (error === this.#held.error && this.#untaken !== undefined) return void this.#cut();
    this.#place = PLACE.OVER;
    // A response to which other code has written throws.
    new Promise(resolve => {
      resolve(this.#target.end());
    })
      .catch(() => {})
      .finally(() => this.#leave());
  }

  #leave(error) {
    this.#place = PLACE.OVER;
    clearInterval(this.#keeping);
    clearTimeout(this.#leaving);
    this.#take();
    if (error === undefined) this.#settle.resolve();
    else this.#settle.reject(error);
  }
}

module.exports = { Reader };

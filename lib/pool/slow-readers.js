'use strict';

const { TimeoutError } = require('../..');

/** Bytes a second that a reader has to take while requests wait for its connection. */
const LEAST = 256 * 1024;

/**
 * For how long requests wait for readers that take less, in milliseconds: a sixth of acquire_timeout within these. A
 * system's socket shows progress only when a third of what it holds has left.
 */
const SHORTEST = 400;
const LONGEST = 2000;

const tooSlow = () =>
  new TimeoutError('the target took less than 256 kB a second, and requests waited for its connection', {
    code: '57014',
    sent: true
  });

/** Measures the readers whose long results hold connections, and cuts the slowest ones off. */
class SlowReaders {
  #looks = new WeakMap(); // what a reader had taken, and when

  /** @param {number} limit milliseconds for which a request may wait for a connection */
  constructor(limit) {
    /** Milliseconds for which a reader is measured. */
    this.allowance = Math.min(LONGEST, Math.max(SHORTEST, limit / 6));
  }

  /** Milliseconds between two looks. */
  get pause() {
    return this.allowance / 4;
  }

  /** Bytes a second that a reader takes; Infinity while that is not known. */
  #rateOf(reader, now) {
    const { bytes, target } = reader;
    const taken = bytes - target.unsent;
    const before = this.#looks.get(reader);
    const time = now - before?.at;
    if (time < this.allowance) return Infinity;
    const rate = before === undefined ? Infinity : ((taken - before.taken) / time) * 1000;
    if (rate >= LEAST) this.#looks.set(reader, { at: now, taken });
    return rate;
  }

  /**
   * @param {Sink[]} readers that hold connections
   * @param {number} count of connections that requests wait for
   */
  cutOff(readers, count, now) {
    const slow = readers
      .map(reader => ({ reader, rate: this.#rateOf(reader, now) }))
      .filter(({ rate }) => rate < LEAST);
    slow.sort((a, b) => a.rate - b.rate);
    for (const { reader } of slow.slice(0, Math.max(0, count))) reader.target.giveUp(tooSlow());
  }
}

module.exports = { SlowReaders };

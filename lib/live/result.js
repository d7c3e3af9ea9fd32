'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { UsageError, backend } = require('../protocol');
const { Answer } = require('./answer');
const { State } = require('./state');

/** Milliseconds until a result is asked for again after an outage. */
const PAUSE = 1000;

const isOutage = ({ name, code }) => /^(?:ConnectionError|TimeoutError)$/.test(name) || /^(?:08|53|57P)/.test(code);

/** A result that readers share: that of a text, values, settings and options. */
class Result {
  #isRunning = false;
  #isStale = true; // something has changed since it was asked for
  #live;
  #query;
  #tags;
  #time = -Infinity; // when it was asked for

  /**
   * @param {{session: Session, text: string, values: Array, options: object}} query
   * @param {string[]} tags of what it depends on; without tags, it depends on everything
   * @param {{interval: number, max_bytes: number, max_rows: number, run: function, report: function}} live what all results share
   */
  constructor(query, tags, live) {
    this.#query = query;
    this.#tags = tags;
    this.#live = live;
    this.readers = new Set();
    /** @type {State|undefined} the newest one */
    this.state = undefined;
  }

  add(reader) {
    this.readers.add(reader);
    if (this.state === undefined) this.#run();
    else reader.show(this.state);
  }

  /** @param {string} [tag] of what has changed */
  changed(tag) {
    if (tag !== undefined && this.#tags.length > 0 && !this.#tags.includes(tag)) return;
    this.#isStale = true;
    this.#run();
  }

  /** Asks for states until the last one is the newest, at most once in each interval. */
  async #run() {
    if (this.#isRunning) return;
    this.#isRunning = true;
    for (let pause = 0; this.#isStale && this.readers.size > 0;) {
      const wait = Math.max(pause, this.#time + this.#live.interval - performance.now());
      if (wait > 0) await sleep(wait, undefined, { ref: false });
      pause = await this.#live.run(() => this.#next());
    }
    this.#isRunning = false;
  }

  /** Shows the next state to all readers, if it differs. @returns {Promise<number>} milliseconds until the next attempt, at least */
  async #next() {
    if (this.readers.size === 0) return 0;
    const { session, text, values, options } = this.#query;
    this.#isStale = false;
    this.#time = performance.now();
    try {
      const answer = new Answer(this.#live, this.state?.bytes);
      const { cmd } = await session.queryTo(answer, text, values, { ...options, as: answer });
      const { bytes } = answer;
      if (!/^(?:SELECT|SHOW)$/.test(cmd) || bytes[0] !== backend.RowDescription) {
        throw new UsageError(`a live result is that of a SELECT, not of ${cmd}`, '0A000');
      }
      if (bytes === this.state?.bytes) return 0;
      this.state = new State(bytes, this.state);
      for (const reader of this.readers) reader.show(this.state);
      return 0;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Readers keep their state if another attempt may bring the next one. Otherwise they are sent away, and the next reader begins anew. */
  #fail(error) {
    this.#isStale = true;
    if (this.state !== undefined) {
      this.#live.report(error, { text: this.#query.text, tags: this.#tags });
      if (isOutage(error)) return PAUSE;
    }
    for (const reader of this.readers) reader.end(error);
    this.readers.clear();
    this.state = undefined;
    return 0;
  }
}

module.exports = { Result };

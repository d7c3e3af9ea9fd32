'use strict';

const { UsageError, backend } = require('../protocol');
const { Answer } = require('./answer');
const { State } = require('./state');

/** Milliseconds until a result is asked for again after an outage. */
const PAUSE = 1000;

const isOutage = ({ name, code }) => /^(?:ConnectionError|TimeoutError)$/.test(name) || /^(?:08|53|57P)/.test(code);

/** A result that readers share: that of a text, values, settings and options. */
class Result {
  #about;
  #ask;
  #isBusy = false; // it is asked for, or rests
  #isStale = false; // something has changed since it was asked for
  #live;
  #rest; // timer of its end

  /**
   * @param {function(Answer): Promise} ask runs its query
   * @param {{text: string, tags: string[]}} about what it is, for errors, and what it depends on: without tags, on everything
   * @param {{interval: number, max_bytes: number, max_rows: number, run: function, report: function}} live what all results share
   */
  constructor(ask, about, live) {
    this.#ask = ask;
    this.#about = about;
    this.#live = live;
    this.readers = new Set();
    /** @type {State|undefined} the newest one */
    this.state = undefined;
  }

  add(reader) {
    this.readers.add(reader);
    if (this.state !== undefined) reader.show(this.state);
    else if (this.readers.size === 1) this.changed();
  }

  remove(reader) {
    this.readers.delete(reader);
    if (this.readers.size === 0) clearTimeout(this.#rest);
  }

  /** @param {string} [tag] of what has changed */
  changed(tag) {
    const { tags } = this.#about;
    if (tag !== undefined && tags.length > 0 && !tags.includes(tag)) return;
    this.#isStale = true;
    this.#wake();
  }

  #wake() {
    if (this.#isBusy || !this.#isStale) return;
    this.#isBusy = true;
    this.#live.turns.add(this);
  }

  /** Asks for the newest state at its turn, then rests: a first change is seen at once, others not before the end of the interval. */
  async ask() {
    const pause = this.readers.size > 0 ? await this.#next() : 0;
    this.#isBusy = this.readers.size > 0;
    if (!this.#isBusy) return;
    this.#rest = setTimeout(() => {
      this.#isBusy = false;
      this.#wake();
    }, Math.max(pause, this.#live.interval)).unref();
  }

  /** Shows the next state to all readers, if it differs. @returns {Promise<number>} milliseconds until the next attempt, at least */
  async #next() {
    this.#isStale = false;
    try {
      const before = this.state?.bytes;
      const answer = new Answer(this.#live, before);
      await this.#ask(answer);
      const { bytes, cmd } = answer;
      if (bytes === before) return 0;
      if (!/^(?:SELECT|SHOW)$/.test(cmd) || bytes[0] !== backend.RowDescription) {
        throw new UsageError(`a live result is that of a SELECT, not of ${cmd}`, '0A000');
      }
      this.state = new State(bytes, this.state);
      for (const reader of this.readers) reader.show(this.state);
      return 0;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Readers keep their state if another attempt may bring the next one. Otherwise they are sent away, and the next reader begins anew. */
  #fail(error) {
    if (this.state !== undefined) {
      this.#live.report(error, this.#about);
      this.#isStale = isOutage(error);
      if (this.#isStale) return PAUSE;
    }
    for (const reader of this.readers) reader.end(error);
    this.readers.clear();
    this.state = undefined;
    return 0;
  }
}

module.exports = { Result };

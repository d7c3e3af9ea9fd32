'use strict';

const { LEASE } = require('../core/internal');
const { AbortError, UsageError, backend } = require('../core/protocol');
const { needOf, send } = require('../core/pipeline');
const { Answer } = require('./answer');
const { State } = require('./state');

/** Milliseconds until a result is asked for again after a failure that does not last. */
const PAUSE = 1000;

/** Whether the connection was lost, or a conflict, a limit or an administrator has stopped the query. */
const mayPass = ({ name, code }) => /^(?:ConnectionError|TimeoutError)$/.test(name) || /^(?:08|40|53|55|57)/.test(code);

/** A result that readers share: that of a text, values, settings and options. */
class Result {
  #answer; // while it is asked for
  #isBusy = false; // it waits for its turn, is asked for, or rests
  #isStale = false; // something has changed since it was asked for
  #live;
  #query;
  #rest; // timer of its end

  /**
   * @param {{session: Session, text: string, values: Array, cache: boolean, paramTypes: number[], limits: object}}
   *   query
   * @param {string[]} tags of what it depends on; without tags, it depends on everything
   * @param {{interval: number, max_bytes: number, max_rows: number, held: Held, turn: function, report: function,
   *   relieve: function, doubt: function}} live what all results share
   */
  constructor(query, tags, live) {
    this.#query = query;
    this.#live = live;
    this.readers = new Set();
    /** @type {State|undefined} the newest one */
    this.state = undefined;
    this.tags = tags;
  }

  add(reader) {
    this.readers.add(reader);
    if (this.state !== undefined) reader.show(this.state);
    else if (this.readers.size === 1) this.changed();
  }

  remove(reader) {
    this.readers.delete(reader);
    if (this.readers.size > 0) return;
    clearTimeout(this.#rest);
    this.#forget();
    this.#answer?.giveUp(new AbortError('the readers of the live result have left'));
  }

  #forget() {
    this.state?.forget();
    this.state = undefined;
  }

  changed() {
    this.#isStale = true;
    if (this.#isBusy) return;
    this.#isBusy = true;
    this.#live.turn(this);
  }

  /**
   * Asks for the newest state, then rests: a first change is seen at once, others not before the end of the interval.
   */
  async ask() {
    const pause = this.readers.size > 0 ? await this.#next() : 0;
    this.#answer = undefined;
    this.#isBusy = this.readers.size > 0;
    if (!this.#isBusy) return;
    this.#rest = setTimeout(
      () => {
        this.#isBusy = false;
        if (this.#isStale) this.changed();
      },
      Math.max(pause, this.#live.interval)
    ).unref();
  }

  /**
   * Shows the next state to all readers, if it differs. @returns {Promise<number>} milliseconds until the next attempt,
   * at least
   */
  async #next() {
    const { session, text, limits } = this.#query;
    const before = this.state?.bytes;
    const answer = (this.#answer = new Answer(this.#live, before));
    this.#isStale = false;
    try {
      await send(session[LEASE], needOf(limits), limits, () => answer.request(this.#query), text);
      const { bytes, cmd } = answer;
      if (bytes === before || this.readers.size === 0) return 0;
      if (!/^(?:SELECT|SHOW)$/.test(cmd) || bytes[0] !== backend.RowDescription) {
        throw new UsageError(
          `a live result is that of a SELECT that returns rows, not of ${cmd ?? 'an empty text'}`,
          '0A000'
        );
      }
      const { held } = this.#live;
      this.state = new State(bytes, this.state, held);
      if (held.isFull) this.#live.relieve();
      if (held.isFull) return this.#drop(held.error);
      for (const reader of this.readers) reader.show(this.state);
      return 0;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /**
   * Readers keep their state if another attempt may bring the next one. Otherwise they are sent away, and the next
   * reader begins anew.
   */
  #fail(error) {
    if (error.name === 'TimeoutError') this.#live.doubt();
    if (this.state !== undefined && this.readers.size > 0) {
      this.#live.report(error, { text: this.#query.text, tags: this.tags });
      this.#isStale = mayPass(error);
      if (this.#isStale) return PAUSE;
    }
    return this.#drop(error);
  }

  #drop(error) {
    for (const reader of this.readers) reader.end(error);
    this.readers.clear();
    this.#forget();
    return 0;
  }
}

module.exports = { Result };

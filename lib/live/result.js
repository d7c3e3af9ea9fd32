'use strict';

const { Writable } = require('node:stream');
const { UsageError } = require('../protocol');
const { State } = require('./state');

const NOTHING = Buffer.alloc(0);

/** Takes an answer up to a limit, and keeps nothing as long as it is as before. */
class Collector extends Writable {
  #before;
  #chunks = [];
  #isSame = true;
  #limit;
  length = 0;

  constructor(limit, before = NOTHING) {
    super();
    this.#before = before;
    this.#limit = limit;
  }

  get isTooLarge() { return this.length > this.#limit; }

  _write(chunk, encoding, callback) {
    const start = this.length;
    this.length += chunk.length;
    if (this.isTooLarge) return void this.destroy();
    if (this.#isSame && !(this.#isSame = chunk.equals(this.#before.subarray(start, this.length)))) this.#chunks.push(this.#before.subarray(0, start));
    if (!this.#isSame) this.#chunks.push(chunk);
    callback();
  }

  /** @returns {Buffer} the answer: that from before, if it is the same */
  take() {
    if (!this.#isSame) return Buffer.concat(this.#chunks, this.length);
    return this.length === this.#before.length ? this.#before : Buffer.from(this.#before.subarray(0, this.length));
  }
}

/** A result that readers share: that of a text, values, settings and options. */
class Result {
  #ask;
  #begin; // resolve and reject of `begun`
  #limits;
  readers = new Set();
  /** @type {State|undefined} the newest one */
  state = undefined;
  /** When it was asked for, in milliseconds of performance.now(). */
  asked = -Infinity;
  /** Whether the answer is under way. */
  isAsked = false;
  /** Whether something has changed since it was asked for. */
  isStale = false;

  /**
   * @param {function(Writable): Promise<{cmd: string}>} ask writes the answer
   * @param {{text: string, tags: string[]}} about the tags of what it depends on; without tags, it depends on everything
   * @param {{max_bytes: number, max_rows: number}} limits
   */
  constructor(ask, about, limits) {
    this.#ask = ask;
    this.about = about;
    this.#limits = limits;
    /** @type {Promise<void>} resolves with the first state */
    this.begun = new Promise((resolve, reject) => { this.#begin = { resolve, reject }; });
    this.begun.catch(() => {});
  }

  dependsOn(tag) {
    const { tags } = this.about;
    return tag === undefined || tags.length === 0 || tags.includes(tag);
  }

  /** Asks for the next state, and shows it to all readers if it differs. Rejects as the query. */
  async ask() {
    this.asked = performance.now();
    this.isAsked = true;
    this.isStale = false;
    try {
      const body = await this.#fetch();
      if (this.state?.body === body) return;
      this.state = new State(body, this.state);
    } finally {
      this.isAsked = false;
    }
    this.#begin.resolve();
    for (const reader of this.readers) reader.show(this.state);
  }

  async #fetch() {
    const { max_bytes: bytes, max_rows: rows } = this.#limits;
    const collector = new Collector(bytes, this.state?.body);
    const { cmd, rowCount } = await this.#ask(collector).catch(error => {
      throw collector.isTooLarge ? new UsageError(`the result has more than ${bytes} bytes (max_bytes)`, '54000') : error;
    });
    if (cmd !== 'SELECT' && cmd !== 'SHOW') throw new UsageError(`a live result is that of a SELECT, not of ${cmd}`, '0A000');
    if (rowCount > rows) throw new UsageError(`the result has ${rowCount} rows, more than ${rows} (max_rows)`, '54000');
    return collector.take();
  }

  /** Rejects the requests that wait for the first state, and sends readers away. */
  fail(error) {
    this.#begin.reject(error);
    if (this.state !== undefined) for (const reader of this.readers) reader.end();
  }
}

module.exports = { Result };

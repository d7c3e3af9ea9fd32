'use strict';

/** The most texts that are remembered. */
const MOST = 256;

/** Texts of queries whose last result was longer than its buffer. They are sent alone. */
class LongTexts {
  #texts = new Set();

  has(text) { return this.#texts.size > 0 && this.#texts.has(text); }

  add(text) {
    if (typeof text !== 'string') return;
    this.#texts.delete(text);
    this.#texts.add(text);
    if (this.#texts.size > MOST) this.#texts.delete(this.#texts.values().next().value);
  }

  delete(text) { if (this.#texts.size > 0) this.#texts.delete(text); }
}

module.exports = { LongTexts };

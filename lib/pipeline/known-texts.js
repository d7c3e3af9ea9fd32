'use strict';

/** The most texts that are remembered. */
const MOST = 256;

/** After a late answer, a text is quick again when so many in a row were in time. */
const RELIABLE = 64;

/**
 * After so many in a row, one late answer may be due to a busy server. After so many new texts in a row, those not seen yet
 * count as quick: their values are written into them.
 */
const MANY = 1000;

/** What is known about the texts of queries: whether the last result was longer than its buffer, and whether answers are late. */
class KnownTexts {
  #texts = new Map(); // `{ isLong, inTime }`: how many answers in a row were, undefined if none has come
  #newInTime = 0; // new texts in a row whose answer was in time

  #of(text) {
    let known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.#texts.set(text, known = { isLong: false, inTime: undefined });
    if (this.#texts.size > MOST) this.#texts.delete(this.#texts.keys().next().value);
    return known;
  }

  isLong(text) { return this.#texts.get(text)?.isLong === true; }

  /** @param {string|undefined} text */
  setLong(text, isLong) { if (text !== undefined && this.isLong(text) !== isLong) this.#of(text).isLong = isLong; }

  /** Whether other queries may be sent behind one with this text. */
  isQuick(text) { return (this.#texts.get(text)?.inTime ?? (this.#newInTime >= MANY ? RELIABLE : 0)) >= RELIABLE; }

  answered(text, isLate) {
    const known = this.#of(text);
    if (known.inTime === undefined) this.#newInTime = isLate ? 0 : this.#newInTime + 1;
    if (isLate) known.inTime = known.inTime >= MANY ? RELIABLE : 0;
    else known.inTime = known.inTime === undefined ? RELIABLE : known.inTime + 1;
  }
}

module.exports = { KnownTexts };

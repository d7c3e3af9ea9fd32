'use strict';

/** The most texts that are remembered. */
const MOST = 256;

/** The most characters of a text that is remembered. */
const LONGEST = 1 << 16;

/** After a slow answer, a text is quick again when so many in a row were. */
const RELIABLE = 128;

/** Slow answers within so many milliseconds count once: a machine that is busy for a moment delays several. */
const MOMENT = 20;

/** After so many in a row, one slow answer may be due to a busy machine. */
const FORGIVING = 256;

/** After so many, it counts as never slow. */
const STEADY = 1024;

/** After so many quick new texts in a row, those not seen yet count as quick: their values are written into them. */
const MANY = 1000;

/** What is known about the texts of queries: whether the last result was longer than its buffer, and whether they are quick. */
class KnownTexts {
  #texts = new Map(); // `{ isLong, quick, slowAt }`: how many answers in a row were quick, undefined if none has come
  #quickNew = 0; // new texts in a row whose first answer was quick

  #of(text) {
    let known = this.#texts.get(text);
    if (known !== undefined) return known;
    known = { isLong: false, quick: undefined, slowAt: -Infinity };
    if (text.length <= LONGEST) this.#texts.set(text, known);
    if (this.#texts.size > MOST) this.#texts.delete(this.#texts.keys().next().value);
    return known;
  }

  isLong(text) { return this.#texts.get(text)?.isLong === true; }

  /** @param {string|undefined} text */
  setLong(text, isLong) { if (text !== undefined && this.isLong(text) !== isLong) this.#of(text).isLong = isLong; }

  /** Whether other queries may be sent behind one with this text. */
  isQuick(text) { return (this.#texts.get(text)?.quick ?? (this.#quickNew >= MANY ? RELIABLE : 0)) >= RELIABLE; }

  /** Whether no recent answer was slow. @param {string|undefined} text */
  isSteady(text) {
    const known = this.#texts.get(text);
    return known === undefined || known.slowAt === -Infinity || known.quick >= STEADY;
  }

  /** @param {number} now when the answer came */
  answered(text, isSlow, now) {
    const known = this.#of(text);
    if (isSlow && now < known.slowAt + MOMENT) return;
    if (known.quick === undefined) this.#quickNew = isSlow ? 0 : this.#quickNew + 1;
    if (isSlow) Object.assign(known, { quick: known.quick >= FORGIVING ? RELIABLE : 0, slowAt: now });
    else known.quick = known.quick === undefined ? RELIABLE : known.quick + 1;
  }
}

module.exports = { KnownTexts };

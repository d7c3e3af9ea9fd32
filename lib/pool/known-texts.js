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

/** What is known about a text: whether it is quick. */
class KnownText {
  #quick; // how many answers in a row were quick; undefined if none has come
  #slowAt = -Infinity;
  #texts;

  constructor(texts) { this.#texts = texts; }

  /** Whether other queries may be sent behind one with this text. */
  get isQuick() { return this.#quick === undefined ? this.#texts.quickNew >= MANY : this.#quick >= RELIABLE; }

  /** Whether no recent answer was slow. */
  get isSteady() { return this.#slowAt === -Infinity || this.#quick >= STEADY; }

  /** @param {number} now when the answer came */
  answered(isSlow, now) {
    if (isSlow && now < this.#slowAt + MOMENT) return;
    if (this.#quick === undefined) this.#texts.quickNew = isSlow ? 0 : this.#texts.quickNew + 1;
    if (isSlow) {
      this.#quick = this.#quick >= FORGIVING ? RELIABLE : 0;
      this.#slowAt = now;
    } else this.#quick = this.#quick === undefined ? RELIABLE : this.#quick + 1;
  }
}

/** The texts that are known. */
class KnownTexts {
  #texts = new Map();

  /** New texts in a row whose first answer was quick. */
  quickNew = 0;

  /** @returns {KnownText} a new one, if nothing is known */
  of(text) {
    let known = this.#texts.get(text);
    if (known !== undefined) return known;
    known = new KnownText(this);
    if (text.length <= LONGEST) this.#texts.set(text, known);
    if (this.#texts.size > MOST) this.#texts.delete(this.#texts.keys().next().value);
    return known;
  }
}

module.exports = { KnownTexts };

'use strict';

const { firstWord, withoutHidden } = require('../core/pipeline');

/** The most texts that are remembered. */
const MOST = 256;

/** The most characters of a text that is remembered. */
const LONGEST = 1 << 16;

/** The least weight of an execution in the averages. The first ones, which are often slow, lose theirs sooner. */
const WEIGHT = 1 / 64;

/** The average of a text that was never executed, in milliseconds: more than any time. */
const UNKNOWN = 1e9;

/** Statements that wait for no lock of a row. */
const READS = /^(?:select|values|table|show|with)$/;
const LOCKS = /\bfor\s+(?:no\s+key\s+|key\s+)?(?:update|share)\b|\b(?:insert|update|delete|merge)\b|\bpg_advisory_/i;

/** What may stand between two words; what hides one needs no look before that. */
const COMMENT = /--|\/\*/;

/** Whether a text may wait for the lock of a row: few are scanned for that. */
const mayLock = text => (LOCKS.test(text) || COMMENT.test(text)) && LOCKS.test(withoutHidden(text));

/** What is known about a text: how long the server needs for it. */
class KnownText {
  /** Milliseconds that the server needs on average, and how much the times differ from it. */
  average = UNKNOWN;
  difference = 0;
  executions = 0;

  constructor(text) {
    /** Whether it waits for no lock of a row, as far as the text shows. */
    this.isRead = text.length <= LONGEST && READS.test(firstWord(text)) && !mayLock(text);
  }

  /** @param {number} time that the server has needed, in milliseconds */
  answered(time) {
    const off = this.executions === 0 ? 0 : Math.abs(time - this.average);
    const weight = Math.max(3 / (++this.executions + 2), WEIGHT);
    this.average += (time - this.average) * weight;
    this.difference += (off - this.difference) * weight;
  }
}

/** The texts that are known. */
class KnownTexts {
  #texts = new Map();

  /** @returns {KnownText} a new one, if nothing is known */
  of(text) {
    let known = this.#texts.get(text);
    if (known !== undefined) return known;
    known = new KnownText(text);
    if (text.length <= LONGEST) this.#texts.set(text, known);
    if (this.#texts.size > MOST) this.#texts.delete(this.#texts.keys().next().value);
    return known;
  }
}

module.exports = { KnownTexts, UNKNOWN };

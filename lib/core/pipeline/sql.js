'use strict';

/*
 * Reads the first word of an SQL text, and the direction of a COPY, in linear time. The server tells everything else:
 * command tags, the transaction status and ParameterStatus.
 */

const { late } = require('../late');

/** Few texts are read further than to their first word. */
const later = late({ scanner: () => require('../scanner') });

/** Most texts begin with a letter from d to z, so they are no COPY. */
const [D, Z] = Buffer.from('dz');
/** The bit that makes an ASCII letter small. */
const LOWER_CASE = 0x20;

/** What most texts begin with. */
const FIRST_WORD = /^[ \t\n\r\f\v;(]*([A-Z]{0,20})/i;

const COPYING = /\b(from|to)\s+std(?:in|out)\b/gi; // the server does not distinguish STDIN and STDOUT

const ROLLBACK_TO = /\brollback\s+(?:(?:work|transaction)\s+)?to\b/gi;

/**
 * @returns {string} the first word in lower case, behind white space, comments, semicolons and parentheses; '' if there
 * is none
 */
function firstWord(text) {
  let [all, word] = FIRST_WORD.exec(text);
  if (word === '' && /[-/]/.test(text[all.length]))
    [, word] = FIRST_WORD.exec(text.slice(later.scanner.firstWordAt(text)));
  return word.toLowerCase();
}

const withoutHidden = text => later.scanner.withoutHidden(text);

/** @returns {string|undefined} 'in' for COPY … FROM STDIN, 'out' for COPY … TO STDOUT; undefined for any other text */
function copyDirection(text) {
  const letter = text.charCodeAt(0) | LOWER_CASE;
  if ((letter >= D && letter <= Z) || firstWord(text) !== 'copy') return undefined;
  const last = [...withoutHidden(text).matchAll(COPYING)].at(-1);
  return last && (/^f/i.test(last[1]) ? 'in' : 'out');
}

/** @returns {number} how often a text says ROLLBACK TO, whose command tag is that of ROLLBACK */
const rollbacksTo = text => withoutHidden(text).match(ROLLBACK_TO)?.length ?? 0;

/** A SET that ends with its transaction; SET local.x sets a setting of that name. */
const SET_LOCAL = /^[\s(]*set\s+(?:local|transaction|constraints)\s+[^\s.=]/i;

/** @returns {string[]} the statements of a text, see withoutHidden */
const statementsOf = text => withoutHidden(text).split(';');

/** Whether a SET ends with its transaction. @param {string} statement see statementsOf */
const isLocalSet = statement => SET_LOCAL.test(statement);

/** The most characters of a text that are shown. */
const SHOWN = 100;

/** @returns {string} at most so many characters from the beginning of a text, without literals, for errors and logs */
function beginningOf(text) {
  const shown = later.scanner.withoutLiterals(text.slice(0, SHOWN), "'…'", '…');
  return text.length > SHOWN || shown.length > SHOWN ? `${shown.slice(0, SHOWN)}…` : shown;
}

module.exports = {
  D,
  LOWER_CASE,
  Z,
  beginningOf,
  copyDirection,
  firstWord,
  isLocalSet,
  rollbacksTo,
  statementsOf,
  withoutHidden
};

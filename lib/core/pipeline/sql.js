'use strict';

/*
 * Reads the first word of an SQL text, and the direction of a COPY, in linear time. The server tells everything else: command
 * tags, the transaction status and ParameterStatus.
 */

/** Most texts begin with a letter from d to z, so they are no COPY. */
const [D, Z] = Buffer.from('dz');
/** The bit that makes an ASCII letter small. */
const LOWER_CASE = 0x20;

/** What may stand before the first word. */
const BLANK = /[\s;(]+|--[^\n\r]*|\/\*[^]*?\*\//y;
/** What hides words: literals, quoted names, comments. No group repeats, which would take stack. */
const HIDING = /'[^']*'|"[^"]*"|--[^\n\r]*|\/\*[^]*?(?:\*\/|$)/g;
const COPYING = /\b(from|to)\s+std(?:in|out)\b/gi; // the server does not distinguish STDIN and STDOUT

const ROLLBACK_TO = /\brollback\s+(?:(?:work|transaction)\s+)?to\b/gi;

/** @returns {string} the first word in lower case, behind white space, comments, semicolons and parentheses; '' if there is none */
function firstWord(text) {
  let off = 0;
  for (BLANK.lastIndex = 0; BLANK.test(text);) off = BLANK.lastIndex;
  return /^[A-Z]*/i.exec(text.slice(off, off + 20))[0].toLowerCase();
}

/** @returns {string|undefined} 'in' for COPY … FROM STDIN, 'out' for COPY … TO STDOUT; undefined for any other text */
function copyDirection(text) {
  const letter = text.charCodeAt(0) | LOWER_CASE;
  if ((letter >= D && letter <= Z) || firstWord(text) !== 'copy') return undefined;
  const last = [...text.replace(HIDING, ' ').matchAll(COPYING)].at(-1);
  return last && (/^f/i.test(last[1]) ? 'in' : 'out');
}

/** @returns {number} how often a text says ROLLBACK TO, whose command tag is that of ROLLBACK */
const rollbacksTo = text => text.replace(HIDING, ' ').match(ROLLBACK_TO)?.length ?? 0;

/** A SET that ends with its transaction; SET local.x sets a setting of that name. */
const SET_LOCAL = /^[\s(]*set\s+(?:local|transaction|constraints)\s+[^\s.=]/i;

/** @returns {string[]} the statements of a text, without literals and comments, and with "" in the place of quoted names */
const statementsOf = text => text.replace(HIDING, ([first]) => (first === '"' ? '""' : ' ')).split(';');

/** Whether a SET ends with its transaction. @param {string} statement see statementsOf */
const isLocalSet = statement => SET_LOCAL.test(statement);

/** A value of the literals of a text. */
const LITERAL = /'(?:[^'\\]|\\[^])*'?|\$(?:[a-z_]\w*)?\$[^]*/gi;

/** The most characters of a text that are shown. */
const SHOWN = 100;

/** @returns {string} the beginning of a text, without literals, for errors and logs */
const beginningOf = text => text.slice(0, SHOWN).replace(LITERAL, "'…'") + (text.length > SHOWN ? '…' : '');

module.exports = { D, LOWER_CASE, Z, beginningOf, copyDirection, firstWord, isLocalSet, rollbacksTo, statementsOf };

'use strict';

/*
 * Reads the first word of an SQL text, and the direction of a COPY, in linear time. The server tells everything else:
 * command tags, the transaction status and ParameterStatus.
 */

/** Most texts begin with a letter from d to z, so they are no COPY. */
const [D, Z] = Buffer.from('dz');
/** The bit that makes an ASCII letter small. */
const LOWER_CASE = 0x20;

/** What may stand before the first word. */
const BLANK = /[\s;(]+|--[^\n\r]*|\/\*/y;
/** How what hides words begins: literals, quoted names, comments. A name may have $ in it. */
const HIDING = /(?<![\w$\x80-\uffff])(?:e'|\$(?:[a-z_\x80-\uffff][\w\x80-\uffff]*)?\$)|['"]|--|\/\*/gi;
/** What counts on the way to the end of a comment, a line and a literal with escapes. */
const NESTED = /\/\*|\*\//g;
const LINE_END = /[\n\r]/g;
const ESCAPED = /\\[^]|''?/g;
const COPYING = /\b(from|to)\s+std(?:in|out)\b/gi; // the server does not distinguish STDIN and STDOUT

const ROLLBACK_TO = /\brollback\s+(?:(?:work|transaction)\s+)?to\b/gi;

/**
 * @returns {number} where what hides words is over; without its end that is the end of the text, which the server
 * refuses
 */
function endOf(opening, text, from) {
  const marks = { '/*': NESTED, '--': LINE_END, "e'": ESCAPED, "E'": ESCAPED }[opening];
  if (marks === undefined) {
    const at = text.indexOf(opening, from);
    return at < 0 ? text.length : at + opening.length;
  }
  let depth = 1;
  marks.lastIndex = from;
  for (let found; (found = marks.exec(text));) {
    const [mark] = found;
    if (mark === '/*') depth++;
    else if ((mark.length === 1 || mark === '*/') && --depth === 0) return marks.lastIndex;
  }
  return text.length;
}

/** @returns {string} the text without literals and comments, and with "" in the place of quoted names */
function withoutHidden(text) {
  let visible = '';
  let off = 0;
  HIDING.lastIndex = 0;
  for (let found; (found = HIDING.exec(text));) {
    const [opening] = found;
    visible += text.slice(off, found.index) + (opening === '"' ? '""' : ' ');
    HIDING.lastIndex = off = endOf(opening, text, HIDING.lastIndex);
  }
  return visible + text.slice(off);
}

/**
 * @returns {string} the first word in lower case, behind white space, comments, semicolons and parentheses; '' if there
 * is none
 */
function firstWord(text) {
  let off = 0;
  BLANK.lastIndex = 0;
  for (let found; (found = BLANK.exec(text));)
    BLANK.lastIndex = off = found[0] === '/*' ? endOf('/*', text, BLANK.lastIndex) : BLANK.lastIndex;
  return /^[A-Z]*/i.exec(text.slice(off, off + 20))[0].toLowerCase();
}

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

/** A value of the literals of a text. */
const LITERAL = /'(?:[^'\\]|\\[^])*'?|\$(?:[a-z_]\w*)?\$[^]*/gi;

/** The most characters of a text that are shown. */
const SHOWN = 100;

/** @returns {string} the beginning of a text, without literals, for errors and logs */
const beginningOf = text => text.slice(0, SHOWN).replace(LITERAL, "'…'") + (text.length > SHOWN ? '…' : '');

module.exports = { D, LOWER_CASE, Z, beginningOf, copyDirection, firstWord, isLocalSet, rollbacksTo, statementsOf };

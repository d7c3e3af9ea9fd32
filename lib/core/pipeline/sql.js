'use strict';

/*
 * Reads the first word of an SQL text, and the direction of a COPY, in linear time. The server tells everything else: command
 * tags, the transaction status and ParameterStatus.
 */

/* No group repeats in these expressions: each repetition takes stack, and a literal may have 30 million characters. */
const TOKEN = /\s+|--[^\n\r]*|'[^']*'|"[^"]*"|[A-Za-z_][\w$]*|[^]/y; // a doubled quote: two adjacent literals
const ESCAPE_MARK = /['\\]/g;
/** Most texts begin with a letter from d to z, so they are no COPY. */
const [D, Z] = Buffer.from('dz');
/** The bit that makes an ASCII letter small. */
const LOWER_CASE = 0x20;
/** Allowed before the first word. */
const BLANK = /^(?:[\s;(]|--)/;
/** Allowed behind the last statement. */
const BETWEEN = /^(?:[\s;]|--)/;
const COMMENT_MARK = /\/\*|\*\//g;
const DOLLAR_QUOTE = /\$(?:[A-Za-z_]\w*)?\$/y;

/** @returns {number} the offset behind the block comment at `off`, which may nest */
function afterComment(text, off) {
  let depth = 0;
  COMMENT_MARK.lastIndex = off;
  do {
    const mark = COMMENT_MARK.exec(text);
    if (mark === null) return text.length;
    depth += mark[0] === '/*' ? 1 : -1;
  } while (depth > 0);
  return COMMENT_MARK.lastIndex;
}

/** @returns {number} the offset behind the literal E'…' whose first character is at `off` */
function afterEscapes(text, off) {
  ESCAPE_MARK.lastIndex = off;
  for (let mark; (mark = ESCAPE_MARK.exec(text)) !== null && mark[0] === '\\';) ESCAPE_MARK.lastIndex++;
  return ESCAPE_MARK.lastIndex || text.length;
}

/** Yields words, literals, white space and single characters, without block comments and dollar-quoted text. */
function* tokens(text) {
  for (let off = 0; off < text.length;) {
    DOLLAR_QUOTE.lastIndex = TOKEN.lastIndex = off;
    if (text.startsWith('/*', off)) off = afterComment(text, off);
    else if (text[off] === '$' && DOLLAR_QUOTE.test(text)) {
      const end = text.indexOf(text.slice(off, DOLLAR_QUOTE.lastIndex), DOLLAR_QUOTE.lastIndex);
      off = end < 0 ? text.length : end + DOLLAR_QUOTE.lastIndex - off;
    } else if (/[Ee]/.test(text[off]) && text[off + 1] === "'") {
      off = afterEscapes(text, off + 2);
      yield "''";
    } else {
      const [token] = TOKEN.exec(text);
      off = TOKEN.lastIndex;
      yield token;
    }
  }
}

/** @returns {string} the first word in lower case, behind white space, comments, semicolons and parentheses; '' if there is none */
function firstWord(text) {
  for (const token of tokens(text)) if (!BLANK.test(token)) return /^[A-Za-z]*/.exec(token)[0].toLowerCase();
  return '';
}

/**
 * @returns {string|undefined} 'in' for COPY … FROM STDIN, 'out' for COPY … TO STDOUT; undefined for any other text, for example
 *   a COPY of a server's file, or several statements
 */
function copyDirection(text) {
  const letter = text.charCodeAt(0) | LOWER_CASE;
  if ((letter >= D && letter <= Z) || firstWord(text) !== 'copy') return undefined;
  let depth = 0;
  let direction, last;
  let isOver = false; // a semicolon has ended it
  for (const token of tokens(text)) {
    if (isOver && !BETWEEN.test(token)) return undefined;
    if (token === ';' && last !== undefined) isOver = true;
    else if (token === '(') depth++;
    else if (token === ')') depth--;
    else if (depth === 0 && /^\w/.test(token)) {
      const word = token.toLowerCase();
      // The server does not distinguish STDIN and STDOUT.
      const copies = word === 'stdin' || word === 'stdout';
      if (copies && last === 'from') direction ??= 'in';
      if (copies && last === 'to') direction ??= 'out';
      last = word;
    }
  }
  return direction;
}

/** @returns {number} how often a text says ROLLBACK TO, whose command tag is that of ROLLBACK */
function rollbacksTo(text) {
  let count = 0;
  let isRollback = false;
  for (const token of tokens(text)) {
    if (BETWEEN.test(token) && token !== ';') continue;
    const word = token.toLowerCase();
    if (isRollback && word === 'to') count++;
    isRollback = word === 'rollback' || (isRollback && (word === 'work' || word === 'transaction'));
  }
  return count;
}

module.exports = { D, LOWER_CASE, Z, copyDirection, firstWord, rollbacksTo };

'use strict';

/*
 * What is read of an SQL text: its first word and, of COPY, where it copies. All of it in linear time. Everything
 * else the server tells, by command tags, the transaction status and ParameterStatus.
 */

/* No group repeats in these: the engine needs stack for each repetition, and a literal may have 30 million characters. */
const TOKEN = /\s+|--[^\n]*|'[^']*'|"[^"]*"|[A-Za-z_][\w$]*|[^]/y; // a doubled quote: one text behind another
const ESCAPE_MARK = /['\\]/g;
/** What may come before the first word. */
const BLANK = /^(?:[\s;(]|--)/;
/** What may come behind the last statement. */
const BETWEEN = /^(?:[\s;]|--)/;
const COMMENT_MARK = /\/\*|\*\//g;
const DOLLAR_QUOTE = /\$(?:[A-Za-z_]\w*)?\$/y;

/** @returns {number} offset after the block comment at `off`; comments nest */
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

/** @returns {number} offset after the text E'…' whose first character is at `off` */
function afterEscapes(text, off) {
  ESCAPE_MARK.lastIndex = off;
  for (let mark; (mark = ESCAPE_MARK.exec(text)) !== null && mark[0] === '\\';) ESCAPE_MARK.lastIndex++;
  return ESCAPE_MARK.lastIndex || text.length;
}

/** Words, quoted texts, white space and single characters; not what is in block comments and between dollars. */
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

/**
 * @param {string} text
 * @returns {string} the first word, in lower case: behind white space, comments, semicolons and parentheses; '' where
 *   the text does not begin with one
 */
function firstWord(text) {
  for (const token of tokens(text)) if (!BLANK.test(token)) return /^[A-Za-z]*/.exec(token)[0].toLowerCase();
  return '';
}

/**
 * @param {string} text
 * @returns {string|undefined} 'in' for COPY … FROM STDIN, 'out' for COPY … TO STDOUT; undefined for anything else,
 *   also for a COPY of a file of the server, and where another statement follows
 */
function copyDirection(text) {
  const letter = text.charCodeAt(0) | 32;
  if ((letter > 99 && letter < 123) || firstWord(text) !== 'copy') return undefined; // from d to z is what most begin with
  let depth = 0;
  let direction, last;
  let over = false; // a semicolon has ended it
  for (const token of tokens(text)) {
    if (over && !BETWEEN.test(token)) return undefined;
    if (token === ';' && last !== undefined) over = true;
    else if (token === '(') depth++;
    else if (token === ')') depth--;
    else if (depth === 0 && /^\w/.test(token)) {
      const word = token.toLowerCase();
      // STDIN and STDOUT mean the same to the server.
      const copies = word === 'stdin' || word === 'stdout';
      if (copies && last === 'from') direction ??= 'in';
      if (copies && last === 'to') direction ??= 'out';
      last = word;
    }
  }
  return direction;
}

module.exports = { copyDirection, firstWord };

'use strict';

/*
 * What is read of an SQL text: its first word and, of COPY, where it copies. All of it in linear time. Everything
 * else the server tells, by command tags, the transaction status and ParameterStatus.
 */

const WORD = /[A-Za-z]+/y;
/** What most texts begin with, and COPY does not. */
const OTHER_WORD = /^[d-z]/i;
const COPY_TOKEN = /\s+|--[^\n]*|[Ee]'(?:[^'\\]|\\[^]|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][\w$]*|[^]/y;
const BLANK = /[\s;(]+|--[^\n]*/y;
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

/** @returns {number} offset of the first word: behind white space, comments, semicolons and parentheses */
function start(text) {
  for (let off = 0; ;) {
    BLANK.lastIndex = off;
    if (BLANK.test(text)) off = BLANK.lastIndex;
    else if (text.startsWith('/*', off)) off = afterComment(text, off);
    else return off;
  }
}

/**
 * @param {string} text
 * @returns {string} the first word, in lower case; '' where the text does not begin with one
 */
function firstWord(text) {
  WORD.lastIndex = start(text);
  const found = WORD.exec(text);
  return found === null ? '' : found[0].toLowerCase();
}

/** The words of a COPY outside parentheses, quotes and comments, in lower case. */
function* copyWords(text) {
  let depth = 0;
  for (let off = start(text); off < text.length;) {
    DOLLAR_QUOTE.lastIndex = off;
    if (text.startsWith('/*', off)) off = afterComment(text, off);
    else if (text[off] === '$' && DOLLAR_QUOTE.test(text)) {
      const end = text.indexOf(text.slice(off, DOLLAR_QUOTE.lastIndex), DOLLAR_QUOTE.lastIndex);
      off = end < 0 ? text.length : end + DOLLAR_QUOTE.lastIndex - off;
    } else {
      COPY_TOKEN.lastIndex = off;
      const [token] = COPY_TOKEN.exec(text);
      off = COPY_TOKEN.lastIndex;
      if (token === '(') depth++;
      else if (token === ')') depth--;
      else if (depth === 0 && /^\w/.test(token)) yield token.toLowerCase();
    }
  }
}

/**
 * @param {string} text
 * @returns {string|undefined} 'in' for COPY … FROM STDIN, 'out' for COPY … TO STDOUT; undefined for anything else,
 *   also for a COPY of a file of the server
 */
function copyDirection(text) {
  if (OTHER_WORD.test(text) || firstWord(text) !== 'copy') return undefined;
  let last;
  for (const word of copyWords(text)) {
    // STDIN and STDOUT mean the same to the server.
    if (word === 'stdin' || word === 'stdout') {
      if (last === 'from') return 'in';
      if (last === 'to') return 'out';
    }
    last = word;
  }
  return undefined;
}

module.exports = { firstWord, copyDirection };

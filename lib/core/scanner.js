'use strict';

/*
 * The tokens of an SQL text, by the rules of PostgreSQL's scan.l with `standard_conforming_strings`, in linear time. An
 * partial token ends with the text, which the server refuses.
 */

/** Tokens by their kind, or the openings of comments, strings and quoted names. A name may have $ in it. */
const TOKENS = {
  space: /[ \t\n\r\f\v]+/,
  comment: /--[^\n\r]*|\/\*/,
  string: /[benx]?'|u&'|\$(?:[a-z_\x80-\uffff][\w\x80-\uffff]*)?\$/,
  quoted: /(?:u&)?"/,
  word: /[a-z_\x80-\uffff][\w$\x80-\uffff]*/,
  parameter: /\$\d+/,
  number:
    /0x(?:_?[\da-f])+|0o(?:_?[0-7])+|0b(?:_?[01])+|(?:\d(?:_?\d)*(?:\.(?!\.)(?:\d(?:_?\d)*)?)?|\.\d(?:_?\d)*)(?:e[-+]?\d(?:_?\d)*)?/,
  mark: /\.\.|[^]/
};
const KINDS = Object.keys(TOKENS);
const TOKEN = new RegExp(KINDS.map(kind => `(${TOKENS[kind].source})`).join('|'), 'iy');

/** What counts on the way to the end of a token, by its opening: one character is the end, more are not. */
const PLAIN = /''?/g;
const ESCAPED = /\\[^]|''?/g;
const QUOTED = /""?/g;
const NESTED = /\/\*|\*\//g;

/** @returns {number} where a comment ends, in which comments nest */
function commentEnd(text, from) {
  let depth = 1;
  NESTED.lastIndex = from;
  for (let found; (found = NESTED.exec(text));) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return NESTED.lastIndex;
  }
  return text.length;
}

/** @returns {number} where a string or a quoted name ends */
function quoteEnd(text, from, marks) {
  marks.lastIndex = from;
  for (let found; (found = marks.exec(text));) if (found[0].length === 1) return marks.lastIndex;
  return text.length;
}

function dollarEnd(text, from, opening) {
  const at = text.indexOf(opening, from);
  return at < 0 ? text.length : at + opening.length;
}

/**
 * @typedef {object} Token
 * @property {'space'|'comment'|'string'|'quoted'|'word'|'parameter'|'number'|'mark'} kind `string` is a literal of any
 *   kind, with its prefix; `quoted` a name in quotes; `word` a name or keyword; `parameter` $1; `mark` one character of
 *   anything else, or `..`
 * @property {number} start
 * @property {number} end behind it
 */

/**
 * @param {string} text
 * @yields {Token} the next one; together they are the whole text
 */
function* tokensOf(text) {
  let mayContinue = false; // a string on a later line continues E'…' if only space and -- are in between
  let isLater = false;
  for (let start = 0, end; start < text.length; start = end) {
    TOKEN.lastIndex = start; // a caller may scan another text in between
    const found = TOKEN.exec(text);
    const [opening] = found;
    end = start + opening.length;
    const kind = KINDS[found.indexOf(opening, 1) - 1];

    if (kind === 'space') isLater ||= /[\n\r]/.test(opening);
    else if (opening === '/*') end = commentEnd(text, end);
    else if (kind === 'quoted') end = quoteEnd(text, end, QUOTED);
    else if (opening[0] === '$' && kind === 'string') end = dollarEnd(text, end, opening);
    const isEscaped = opening === "E'" || opening === "e'" || (opening === "'" && mayContinue && isLater);
    if (kind === 'string' && opening[0] !== '$') end = quoteEnd(text, end, isEscaped ? ESCAPED : PLAIN);
    if (kind !== 'space' && (kind !== 'comment' || opening === '/*')) {
      mayContinue = isEscaped;
      isLater = false;
    }
    yield { kind, start, end };
  }
}

/**
 * @param {function(Token): (string|undefined)} replace
 * @returns {string} the text with other tokens in the place of some
 */
function replaced(text, replace) {
  let result = '';
  let from = 0;
  for (const token of tokensOf(text)) {
    const other = replace(token);
    if (other === undefined) continue;
    result += text.slice(from, token.start) + other;
    from = token.end;
  }
  return result + text.slice(from);
}

const HIDDEN = { string: ' ', comment: ' ', quoted: '""' };

/** @returns {string} the text without strings and comments, and with "" in the place of quoted names */
const withoutHidden = text => replaced(text, ({ kind }) => HIDDEN[kind]);

/**
 * @param {string} [string] in the place of strings
 * @param {string} [number] in the place of numbers
 * @returns {string} the text without values: names, comments and parameters stay
 */
const withoutLiterals = (text, string = '?', number = string) =>
  replaced(text, ({ kind }) => (kind === 'string' ? string : kind === 'number' ? number : undefined));

/** @returns {number} where the first word is, behind white space, comments, semicolons and parentheses */
function firstWordAt(text) {
  for (const { kind, start } of tokensOf(text)) {
    if (kind !== 'space' && kind !== 'comment' && text[start] !== ';' && text[start] !== '(') return start;
  }
  return text.length;
}

module.exports = { firstWordAt, tokensOf, withoutHidden, withoutLiterals };

'use strict';

// Divides a file of SQL into its statements, as psql does.

const { copyDirection } = require('../core/pipeline');
const { tokensOf } = require('../core/scanner');

const ROUTINE = /^create (?:or replace )?(?:function|procedure) /;
/** Commands of psql in the files of pg_dump, which mean nothing to the server. */
const OF_DUMPS = /^\\(?:un)?restrict[ \t]+\w+[ \t\r]*$/;

/** What changes the server or another database, drops roles, and what would keep this one from being dropped. */
const BEYOND = [
  /^((?:create|alter|drop) (?:database|tablespace|subscription)) /,
  /^(drop (?:group|role|user(?! mapping ))|(?:drop|reassign) owned|alter system|prepare transaction) /,
  /^(?:grant|revoke|comment|security label) .*\b(on (?:database|parameter|tablespace|subscription)) (?!to |from |[,.])/,
  /^alter (?:role|user) .*(in database) /,
  /^(?:delete from|(?:insert|merge) into|update) (?:only )?(?:pg_catalog \. )?(pg_(?:auth|database|db_role|table)\w*) /,
  /^copy .*(to ''|(?:from|to) program) /
];

/** What makes strings end elsewhere than here. */
const BACKSLASHES = /^set (?:local |session )?standard_conforming_strings (?!(?:=|to) (?:on|true|yes|1) )/;

/**
 * @typedef {object} Statement
 * @property {string} text
 * @property {number} line of its first character in the file, from 1
 * @property {string} [wrong] why it must not be run
 */

/** @returns {string|undefined} why a statement must not be run */
function wrongIn(text, words) {
  if (text[0] === '\\') return `${text.trim()} is a command of psql: leave it out`;
  if (copyDirection(text) === 'in') return 'COPY … FROM STDIN has data: leave it out, as pg_dump --schema-only does';
  if (BACKSLASHES.test(words)) return "strings would end elsewhere: write E'…' for those with backslashes";
  const beyond = BEYOND.map(each => each.exec(words)?.[1]).find(Boolean);
  return beyond && `${beyond.toUpperCase()} reaches beyond the database: leave it out`;
}

/** @returns {string} what a token is in the words of a statement */
const wordOf = (kind, text) => (kind === 'string' ? "''" : kind === 'quoted' ? '""' : text.toLowerCase());

/**
 * A semicolon ends a statement unless it is in parentheses (of CREATE RULE), or in a routine's BEGIN ATOMIC … END.
 * @param {string} text linear in which is the time
 * @returns {Statement[]}
 */
function statementsOf(text) {
  const found = [];
  let line = 1;
  let newline = text.indexOf('\n'); // the end of this line
  let from; // where the statement begins; undefined in front of one
  let words, depth, blocks, previous;

  const add = end => {
    for (; newline !== -1 && newline < from; newline = text.indexOf('\n', newline + 1)) line++;
    const statement = text.slice(from, end);
    found.push({ text: statement, line, wrong: wrongIn(statement, words) });
    from = undefined;
  };

  let skipped = 0; // to the end of a command of psql
  for (const { kind, start, end } of tokensOf(text)) {
    if (start < skipped || kind === 'space' || kind === 'comment') continue;
    const value = wordOf(kind, text.slice(start, end));
    if (from === undefined) {
      if (value === ';') continue;
      [from, words, depth, blocks, previous] = [start, '', 0, 0, undefined];
      if (value === '\\') {
        skipped = (text.indexOf('\n', start) + 1 || text.length + 1) - 1;
        if (OF_DUMPS.test(text.slice(start, skipped))) from = undefined;
        else add(skipped);
        continue;
      }
    }
    if (value === ';' && depth === 0 && blocks === 0) {
      add(start);
      continue;
    }
    if (depth === 0 && words.length < 2000) words += `${value} `;
    if (value === '(') depth++;
    else if (value === ')') depth = Math.max(0, depth - 1);
    else if (kind === 'word' && depth === 0 && previous !== 'as' && previous !== '.' && ROUTINE.test(words)) {
      if (value === 'atomic' && previous === 'begin') blocks++;
      else if (value === 'case' && blocks > 0) blocks++;
      else if (value === 'end' && blocks > 0) blocks--;
    }
    previous = value;
  }
  if (from !== undefined) add(text.length);
  return found;
}

module.exports = { statementsOf };

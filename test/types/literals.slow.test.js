'use strict';

const assert = require('node:assert/strict');
const { literalsOf } = require('../../lib/types/literals');
const { statementsOf } = require('../../lib/types/statements');

const PIECES = [
  "'",
  "'\\",
  "\\'",
  '"\\\n',
  '`',
  '`${',
  '/',
  '(/[',
  '/[/',
  '/*',
  '/* */',
  '//',
  '//\n',
  '(',
  ')',
  '((]',
  '{',
  '}',
  '[',
  '<',
  'a<',
  ' ',
  '\n',
  "\\\n'",
  'a',
  '\\',
  '\u2028',
  '\ud800',
  '${',
  '=> ',
  "'a'+",
  '`a${b}`',
  '/*quickgres-ignore*/',
  '.query(',
  '.query<',
  ".query('a',",
  '.query([',
  '.batch([[',
  ".batch(['a',",
  '.respond(',
  '.respond(a,',
  '.queryTo(a.',
  "const a = 'b';",
  'const a = `${a}${a}` as const;',
  "const a = 'b';.query(a);",
  ".query(`${a}`);const a = 'b';",
  "sql<'a'>`${b}`",
  'sql<',
  '.query(sql<'
];

describe('A source of 300,000 characters', function () {
  this.timeout(20_000); // none takes a second where the time is linear; with the square of it, minutes

  for (const piece of PIECES) {
    it(`is read once, if all of it is ${JSON.stringify(piece)}`, () => {
      const { texts } = literalsOf(
        new Map([
          ['a.tsx', piece.repeat(3e5 / piece.length)],
          ['b.ts', "pool.query('SELECT 1')"]
        ])
      );
      assert.equal(texts.at(-1).text, 'SELECT 1');
    });
  }
});

describe('A file of SQL with 300,000 characters', () => {
  for (const piece of [
    ';',
    "'",
    "';",
    '"',
    '$$',
    '$a$;',
    '$a',
    '/*',
    '/* */',
    '--',
    '--\n',
    '\\',
    '\\restrict a\n',
    '(',
    ')',
    'a;',
    'a ',
    'a.',
    'copy ',
    'copy a from stdin;',
    'create function begin atomic ',
    'create function x() begin atomic case;end;end;'
  ]) {
    it(`is divided in linear time, if all of it is ${JSON.stringify(piece)}`, () => {
      assert.ok(statementsOf(piece.repeat(3e5 / piece.length)).length <= 3e5);
    });
  }
});

'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { text: readAll } = require('node:stream/consumers');
const { copyDirection, firstWord, rollbacksTo, statementsOf } = require('../../../lib/core/pipeline/sql');
const { connected } = require('../../support');

describe('firstWord', () => {
  it('is the first word behind white space, comments, semicolons and parentheses, in lower case', () => {
    for (const [text, word] of [
      ['SELECT 1', 'select'],
      [' \n\t;( Insert INTO', 'insert'],
      ['-- a\n--b\nupdate', 'update'],
      ['/* a */ /* b */with', 'with'],
      ['', ''],
      ['--', ''],
      ['/*', ''],
      ['/* select', ''],
      ['/* a /* b */ set */ select', 'select'],
      ['/*/**/*/select', 'select'],
      ['-- select', ''],
      ['"select" 1', ''],
      ['$1', ''],
      ['select', 'select'],
      ['begin;', 'begin'],
      ['a1', 'a'],
      ['- select', ''],
      ['/select', '']
    ])
      assert.equal(firstWord(text), word, text);
  });
});

describe('statementsOf', () => {
  it('has neither literals nor comments, and "" in the place of quoted names', () => {
    for (const [text, statements] of [
      ['a;b', ['a', 'b']],
      ["a';''b;'c", ['a c']],
      ["e'\\'; a' b;E'''\\\\';c", ['  b', ' ', 'c']],
      ["name'\\'; b", ['name ', ' b']],
      ['"a;""b" c', ['"" c']],
      ['/* ; /* ; */ ; */ a', ['  a']],
      ['-- ;\na;-- b\r;c', [' \na', ' \r', 'c']],
      ['$$;$a$;$$ a', ['  a']],
      ["$a$ ' $b$ $$ ; $a$;b", [' ', 'b']],
      ['$é1$;$é1$', [' ']],
      ['a$b$;c$b$', ['a$b$', 'c$b$']],
      ['$1;$1$;$1$', ['$1', '$1$', '$1$']],
      ["a '; b", ['a  ']],
      ['a $$ ; b', ['a  ']],
      ['a /* ; b', ['a  ']],
      ["a E'; b\\", ['a  ']]
    ])
      assert.deepEqual(statementsOf(text), statements, text);
  });
});

describe('rollbacksTo', () => {
  it('counts what has the tag of ROLLBACK and keeps the block, in any spelling', () => {
    for (const [text, count] of [
      ['ROLLBACK TO a', 1],
      ['rollback work to savepoint a', 1],
      ['Rollback/**/Transaction -- x\n TO "a"; ROLLBACK TO b', 2],
      ['', 0],
      ['ROLLBACK', 0],
      ['ROLLBACK; SET a TO b', 0],
      ['ROLLBACK AND CHAIN -- to a', 0],
      ['SELECT \'rollback to a\', "rollback to"', 0],
      ['ROLLBACK WORK AND CHAIN', 0],
      ['work to', 0],
      ['x rollback to', 1]
    ])
      assert.equal(rollbacksTo(text), count, text);
  });
});

describe('copyDirection', () => {
  it('knows a COPY FROM STDIN in any spelling', () => {
    for (const text of [
      'COPY t FROM STDIN',
      'COPY t FROM STDOUT',
      'copy t(a, b) from stdin',
      ' \n\tCoPy t\nFROM\nSTDIN (FORMAT csv)',
      '-- why\nCOPY t FROM STDIN',
      '/* a */ /* b */ COPY t FROM STDIN',
      '/**/--\n/* x */copy t from stdin;',
      'COPY "from" FROM STDIN WITH (FORMAT binary)',
      'COPY t FROM /* x */ STDIN',
      'COPY t FROM--\nSTDIN',
      ';COPY t FROM STDIN',
      '; /* x */ ; COPY t FROM STDIN',
      '/* a /* nested */ one */ COPY t FROM STDIN',
      "COPY t FROM STDIN WHERE a <> $$ to stdout $$ AND b <> E'\\' to stdout'",
      "COPY t FROM STDIN (DELIMITER ')', NULL 'TO STDOUT')",
      'COPY "to stdout" FROM STDIN',
      'COPY t (a, "b)") FROM STDIN',
      'COPY stdin FROM STDIN',
      'COPY stdout FROM STDIN',
      "COPY t FROM STDIN (NULL ';') ; -- over\n; /* and over */"
    ])
      assert.equal(copyDirection(text), 'in', text);
  });

  it('knows a COPY TO STDOUT in any spelling, also of a query with FROM', () => {
    for (const text of [
      'COPY t TO STDOUT',
      '/* x */ copy (SELECT 1)\nto stdout (FORMAT csv)',
      '--\n COPY t TO STDOUT',
      'COPY t TO STDIN',
      'COPY (SELECT a FROM t) TO STDOUT',
      "COPY (SELECT ') FROM STDIN' FROM t) TO STDOUT",
      'COPY (SELECT $$) FROM STDIN$$ FROM t) TO STDOUT',
      "COPY (SELECT E'\\') FROM STDIN' FROM t) TO STDOUT",
      'COPY (SELECT * FROM stdin) TO STDOUT',
      'COPY (SELECT $a$ $$ ) FROM STDIN $a$) TO STDOUT',
      'COPY (SELECT 1 -- ) FROM STDIN\n) TO STDOUT',
      'COPY "from stdin" TO STDOUT',
      'COPY stdin TO STDOUT',
      'COPY stdout TO STDOUT'
    ])
      assert.equal(copyDirection(text), 'out', text);
  });

  it('takes nothing else for one', () => {
    for (const text of [
      "COPY t FROM '/file'",
      "COPY t TO '/file'",
      "COPY t TO PROGRAM 'stdout'",
      "SELECT 'COPY t FROM STDIN'",
      '',
      '--',
      '/*',
      '/* COPY',
      '-- COPY t FROM STDIN',
      '/* COPY t FROM STDIN */ SELECT 1',
      'COPYING t FROM STDIN',
      'INSERT INTO copy SELECT * FROM stdin',
      'COPY (SELECT a FROM stdins',
      'COPY t FROM "STDIN"',
      "COPY t FROM 'STDIN'",
      'COPY',
      "COPY stdin FROM '/file'",
      "COPY stdin TO '/file'",
      "COPY stdout TO PROGRAM 'x'",
      'COPY stdin'
    ])
      assert.equal(copyDirection(text), undefined, text);
  });

  it('leaves it to the server to refuse several statements', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int)');
    const refused = { code: '42601', message: /multiple commands/ };
    await assert.rejects(client.query('COPY t FROM STDIN; DROP TABLE t'), refused);
    await assert.rejects(client.query("COPY t FROM STDIN WHERE '' <> $$'$$; DROP TABLE t; --'"), refused);
    await assert.rejects(readAll(client.copyTo('COPY t TO STDOUT; DROP TABLE t')), refused);
    assert.equal(await readAll(client.copyTo("COPY (SELECT 1, 2) TO STDOUT (DELIMITER ';')")), '1;2\n');
    assert.equal((await client.query('SELECT count(*) AS left FROM t')).rows[0].left, 0);
  });

  it('lets COPY (SELECT … FROM …) TO STDOUT through everything that runs a query', async () => {
    const client = await connected();
    const text = 'COPY (SELECT i FROM (VALUES (1), (2)) t(i)) TO STDOUT';
    assert.deepEqual((await client.query(text)).rows.map(String), ['1\n', '2\n']);
    assert.deepEqual((await client.batch([text, 'SELECT 1']))[0].rows.map(String), ['1\n', '2\n']);
    assert.equal(await readAll(client.copyTo(text)), '1\n2\n');
    const target = new PassThrough();
    const read = readAll(target);
    assert.deepEqual(await client.queryTo(target, text, [], { as: 'values' }), { cmd: 'COPY', rowCount: 2, bytes: 4 });
    assert.equal(await read, '1\n2\n');
    client.startQuery(text);
    assert.deepEqual((await client.getResults(1)).rows.map(String), ['1\n', '2\n'], 'COPY knows no limit of rows');
    const rows = [];
    for await (const row of client.cursor(text)) rows.push(String(row));
    assert.deepEqual(rows, ['1\n', '2\n']);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });
});

describe('Whatever looks at SQL', () => {
  const { array, decodeCommandComplete } = require('../../../lib/core/protocol');
  const { SimpleQueryRequest } = require('../../../lib/core/requests');
  const LENGTH = 3e4; // at which quadratic work takes half a second

  it('takes a literal of 9 million characters, at which the stack of a group that repeats overflows', () => {
    for (const quote of ["'", "E'", '"']) {
      const literal = quote + 'a'.repeat(9e6) + quote.at(-1);
      assert.equal(copyDirection(`COPY (SELECT ${literal}) TO STDOUT`), 'out', quote);
      assert.equal(firstWord(`${literal}; SELECT 1`), quote === "E'" ? 'e' : '', quote);
    }
  });

  it('takes time that is linear in the text, whatever it is made of', () => {
    for (const piece of [
      ' ',
      '/*a',
      '*/',
      '/* ',
      'copy ',
      'copy(',
      '(',
      ')',
      "'",
      "''",
      "E'\\",
      "\\'",
      '"',
      '""',
      '$',
      '$$',
      '$a',
      '$a$',
      '$1$',
      '$a$ $b$',
      '--',
      '--\n',
      ';',
      '\n',
      '\t\n',
      'copy stdin ',
      'rollback ',
      'rollback work ',
      'from ',
      "E'",
      'e',
      '_',
      '\\',
      'ä',
      '/',
      '-',
      'std',
      '\u2028'
    ]) {
      const hostile = piece.repeat(LENGTH / piece.length);
      for (const before of ['', 'copy ', 'rollback ', "copy E'", 'copy (', 'update']) {
        for (const text of [before + hostile, `${before + hostile}!`]) {
          const begun = process.cpuUsage();
          firstWord(text);
          copyDirection(text);
          rollbacksTo(text);
          assert.ok(new SimpleQueryRequest(text, {}));
          const { user, system } = process.cpuUsage(begun);
          assert.ok(
            user + system < 2e5,
            `${JSON.stringify(before)} and ${JSON.stringify(piece)}: ${(user + system) / 1000} ms`
          );
        }
      }
    }
  });

  it('is as quick at command tags and array literals', () => {
    for (const piece of ['1', ' ', ' 1', '1 ', 'a', 'A 1 ', '\n', '"', '\\']) {
      const hostile = piece.repeat(LENGTH / piece.length);
      const begun = process.cpuUsage();
      for (const tail of ['', ' ', 'x', ' 1 x']) {
        const message = Buffer.from(`C\0\0\0\0${hostile}${tail}\0`);
        decodeCommandComplete(message, 0, message.length);
      }
      array([hostile]);
      const { user, system } = process.cpuUsage(begun);
      assert.ok(user + system < 2e5, `${JSON.stringify(piece)}: ${(user + system) / 1000} ms`);
    }
  });
});

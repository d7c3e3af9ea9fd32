'use strict';

const assert = require('node:assert/strict');
const { statementsOf } = require('../../lib/types/statements');

/** @returns {string[]} the statements of a text, as `line: text` */
const divided = text => statementsOf(text).map(each => `${each.line}: ${each.text}`);
const wrongIn = text => statementsOf(text).map(({ wrong }) => wrong);

const BODY = `CREATE FUNCTION f(a int) RETURNS int
BEGIN ATOMIC
  SELECT CASE WHEN a > 0 THEN 1 ELSE 2 END;
  SELECT (CASE a WHEN 1 THEN 2 END), a.end, 1 AS case;
END`;

/** Statements that have a semicolon inside. */
const WHOLE = {
  strings: String.raw`SELECT ';', 'it''s;', '\', E'\';', e'\\', U&'d\0061;', B'1', N';'`,
  'a string that goes on in the next line': "SELECT E'a'\n'\\';b'",
  'dollar quotes': 'SELECT $$;$$, $a$ $$; $b$ $a$, $ä$;$ä$, a$b$, $1',
  'quoted names': 'SELECT 1 AS ";", 2 AS "a"";", 3 AS U&"d\\0061;"',
  comments: 'SELECT 1 -- ;\n, 2 /* ; /* ; */ ; */ + 3',
  'a function in a string': 'CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$BEGIN RETURN 1; END;$$',
  'BEGIN ATOMIC': BODY,
  'BEGIN ATOMIC of OR REPLACE, in small letters': BODY.replace('CREATE', 'create or /* ; */ replace').toLowerCase(),
  'BEGIN ATOMIC of a procedure': BODY.replace('FUNCTION', 'PROCEDURE').replace(' RETURNS int', ''),
  rules: 'CREATE RULE r AS ON INSERT TO t DO ALSO (DELETE FROM u; INSERT INTO u VALUES ((1)); NOTIFY x)',
  'operators with marks of comments': "SELECT 1 - -1, 2*/**/3, '{}'::jsonb #>> '{;}'"
};

describe('The statements of a file', () => {
  for (const [name, text] of Object.entries(WHOLE)) {
    it(`are whole with ${name}`, () => {
      assert.deepEqual(divided(`SELECT 1;\n${text};SELECT 2`), [
        '1: SELECT 1',
        `2: ${text}`,
        `${text.split('\n').length + 1}: SELECT 2`
      ]);
    });
  }

  it('end at a semicolon, and have the line of their first word', () => {
    assert.deepEqual(
      divided(
        ';;\n-- a; b\n\n  BEGIN;\r\nCREATE TABLE "begin" (a int);/* c;\n*/ COMMIT ; ;\n-- the end\nSELECT 1 -- x'
      ),
      ['4: BEGIN', '5: CREATE TABLE "begin" (a int)', '6: COMMIT ', '8: SELECT 1 -- x']
    );
    assert.deepEqual(divided('-- nothing\n;'), []);
    assert.deepEqual(divided('SELECT begin FROM atomic; CREATE TABLE begin (atomic int); SELECT case, 1'), [
      '1: SELECT begin FROM atomic',
      '1: CREATE TABLE begin (atomic int)',
      '1: SELECT case, 1'
    ]);
  });

  it('are without what pg_dump writes for psql', () => {
    assert.deepEqual(divided('\\restrict aB1\nSELECT 1;\n\n\\unrestrict aB1\n'), ['2: SELECT 1']);
    assert.deepEqual(divided('\\restrict 1b'), []);
    assert.deepEqual(divided("SELECT '\n\\restrict aB1\n'"), ["1: SELECT '\n\\restrict aB1\n'"]);
  });

  it('must not be commands of psql, nor have data, nor reach beyond the database', () => {
    assert.deepEqual(wrongIn("\\connect shop\nSELECT 1;\n\\echo it's"), [
      '\\connect shop is a command of psql: leave it out',
      undefined,
      "\\echo it's is a command of psql: leave it out"
    ]);
    const [copy] = wrongIn(`COPY t (${'column, '.repeat(100)}a) FROM stdin;\n1\t2\n\\.\n`);
    assert.match(copy, /^COPY … FROM STDIN has data: leave it out/);
    for (const [text, what] of Object.entries({
      'drop /* a */ database\nshop': 'DROP DATABASE',
      'CREATE DATABASE shop': 'CREATE DATABASE',
      'ALTER DATABASE shop SET search_path = x': 'ALTER DATABASE',
      'ALTER SYSTEM SET work_mem = 1': 'ALTER SYSTEM',
      "COMMENT ON DATABASE shop IS 'a'": 'ON DATABASE',
      'REVOKE ALL ON DATABASE shop FROM PUBLIC': 'ON DATABASE',
      'GRANT CONNECT, TEMP ON DATABASE shop TO a': 'ON DATABASE',
      "CREATE TABLESPACE x LOCATION '/x'": 'CREATE TABLESPACE',
      "CREATE SUBSCRIPTION x CONNECTION '' PUBLICATION y": 'CREATE SUBSCRIPTION',
      "PREPARE TRANSACTION 'x'": 'PREPARE TRANSACTION',
      'REASSIGN OWNED BY a TO b': 'REASSIGN OWNED',
      'DROP OWNED BY a': 'DROP OWNED',
      'DROP ROLE IF EXISTS a': 'DROP ROLE',
      'GRANT SET ON PARAMETER work_mem TO a': 'ON PARAMETER',
      [`GRANT ${'CONNECT, '.repeat(100)}TEMP ON DATABASE shop TO a`]: 'ON DATABASE',
      "ALTER ROLE a IN DATABASE shop SET search_path = ''": 'IN DATABASE',
      'ALTER USER ALL IN DATABASE shop RESET ALL': 'IN DATABASE',
      "UPDATE pg_database SET datistemplate = true WHERE datname = 'shop'": 'PG_DATABASE',
      'DELETE FROM ONLY pg_catalog.pg_authid': 'PG_AUTHID',
      'INSERT INTO pg_catalog . pg_db_role_setting VALUES (1)': 'PG_DB_ROLE_SETTING',
      "COPY t TO '/t'": "TO ''",
      [`COPY (SELECT ${'a, '.repeat(100)} b) TO E'/t' WITH (FORMAT csv)`]: "TO ''",
      'COPY t (a) TO PROGRAM $$cat$$ CSV': 'TO PROGRAM',
      "copy t from program 'cat'": 'FROM PROGRAM'
    }))
      assert.deepEqual(wrongIn(`${text};`), [`${what} reaches beyond the database: leave it out`]);
    for (const value of ['= off', "TO 'off'", '= DEFAULT', 'TO 0'])
      assert.match(
        wrongIn(`SET LOCAL standard_conforming_strings ${value}; SELECT 1`)[0],
        /^strings would end elsewhere/
      );
    for (const text of [
      'SET standard_conforming_strings = on;',
      'SET SESSION standard_conforming_strings TO true',
      'CREATE TABLE database (tablespace int)',
      'GRANT SELECT ON TABLE database TO PUBLIC',
      'GRANT SELECT ON database TO a',
      'REVOKE ALL ON parameter, b FROM a',
      'GRANT ALL ON database.b TO a',
      'DROP USER MAPPING FOR a SERVER b',
      "COMMENT ON TABLE a IS 'on database x'",
      'COPY t TO STDOUT',
      "COPY (SELECT 1 FROM program) TO STDOUT (NULL 'x')",
      "COPY program FROM '/t'",
      'UPDATE pg_class_notes SET a = 1',
      'UPDATE a.pg_database SET a = 1',
      'ALTER ROLE a SET search_path = x',
      "DO $$BEGIN EXECUTE 'DROP DATABASE x'; END$$",
      'ALTER TABLE a SET TABLESPACE b'
    ])
      assert.deepEqual(wrongIn(text), [undefined]);
  });
});

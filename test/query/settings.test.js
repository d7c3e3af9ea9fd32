'use strict';

const assert = require('node:assert/strict');
const { effectOf, effectsOf, ANYTHING, BLOCK } = require('../../lib/query/settings');

describe('The effect of a statement on later answers', () => {
  for (const [effect, texts] of [
    [undefined, ['SELECT 1', 'INSERT INTO t VALUES (1)', 'WITH a AS (SELECT 1) SELECT * FROM a', 'CREATE TABLE t (a int)', 'COMMIT', '',
      'SET LOCAL search_path = a', 'SET TRANSACTION READ ONLY', 'SET CONSTRAINTS ALL DEFERRED', 'UPDATE t SET a = 1', '-- set\nSELECT 1',
      'CREATE TRIGGER a AFTER INSERT ON b EXECUTE FUNCTION c()', 'EXPLAIN SELECT 1', "SELECT 'execute it'", 'SELECT * FROM pg_settings']],
    ['search_path', ['SET search_path = a', 'set  SEARCH_PATH to a, b', 'SET SESSION search_path = a', 'RESET search_path', ';; SET search_path = a',
      '/* a /* b */ */ SET search_path = a', '-- why\n  SET search_path = a', 'SET "search_path" = a']],
    ['timezone', ["SET TIME ZONE 'UTC'", "SET SESSION TIME ZONE 'UTC'", "SET TimeZone = 'UTC'", 'RESET TIME ZONE']],
    ['role', ['SET ROLE a', 'RESET ROLE', 'SET SESSION ROLE a']],
    ['session', ['SET SESSION AUTHORIZATION a', 'RESET SESSION AUTHORIZATION']],
    ['my.own', ["SET my.own = 'a'"]],
    ['all', ['RESET ALL']],
    [ANYTHING, ["SELECT set_config('a', 'b', false)", 'DO $$ BEGIN END $$', 'CALL p()', 'DISCARD ALL', 'DISCARD TEMP',
      'CREATE TEMP TABLE t (a int)', 'create or replace temporary view v AS SELECT 1', 'CREATE TABLE pg_temp.t (a int)',
      'SELECT 1 INTO TEMP t', 'WITH a AS (SELECT 1) SELECT * INTO LOCAL TEMPORARY t FROM a',
      'EXECUTE p', '-- x\nexecute p(1)', 'EXPLAIN ANALYZE EXECUTE p', 'CREATE TABLE a AS EXECUTE p', 'CREATE TABLE a AS EXECUTE"P"',
      "UPDATE pg_settings SET setting = 1 WHERE name = 'a'", 'update only pg_catalog . "pg_settings" set setting = 1',
      'WITH a AS (UPDATE pg_settings SET setting = 1 RETURNING 1) SELECT * FROM a',
      'SELECT 1 INTO pg_temp.t', 'SELECT * FROM pg_temp.t', 'SELECT 1 INTO/**/TEMP t', 'UPDATE --\n pg_settings SET setting = 1',
      'SELECT U&"set\\005Fconfig"(\'a\', \'b\', false)', "SELECT '--', 1 INTO TEMP t"]],
    [BLOCK, ['BEGIN', 'begin isolation level serializable', 'START TRANSACTION', ' /* x */ BEGIN']]
  ]) {
    it(`is ${effect === undefined ? 'none' : effect === BLOCK ? 'a block' : effect === ANYTHING ? 'anything' : effect}`, () => {
      for (const text of texts) assert.equal(effectOf(text), effect, text);
    });
  }

  it('is that of each of several in one text', () => {
    assert.deepEqual(effectsOf('SELECT 1; SET search_path = a; BEGIN; SELECT 2'), ['search_path', BLOCK]);
    assert.deepEqual(effectsOf('SELECT 1; SELECT 2'), []);
    assert.deepEqual(effectsOf("SELECT ';SET a = 1'"), ['a'], 'rather one too many than one too few');
  });

  it('is anything where comments may hide it', () => {
    assert.deepEqual(effectsOf('SELECT 1; -- a\nSET search_path = a'), [ANYTHING]);
    assert.deepEqual(effectsOf('SELECT 1; -- x\nEXECUTE p'), [ANYTHING]);
    assert.deepEqual(effectsOf('SELECT 1 /* one */; SELECT 2'), []);
  });
});

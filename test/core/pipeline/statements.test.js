'use strict';

const assert = require('node:assert/strict');
const { Statement, Statements } = require('../../../lib/core/pipeline/statements');
const { RowParser } = require('../../../lib/core/rows');
const { rowDescription } = require('../../support');

/** A statement whose Parse was sent and answered. */
function parsed(statements, text, paramTypes) {
  const statement = statements.get(text, paramTypes);
  statement.sent = true;
  statement.describe(RowParser.of(rowDescription('a')));
  return statement;
}

describe('Statements', () => {
  it('give one named statement for one text', () => {
    const statements = new Statements(10);
    const first = parsed(statements, 'SELECT 1');
    assert.equal(first.name, 's1');
    assert.equal(first.text, 'SELECT 1');
    assert.deepEqual(first.paramTypes, []);
    assert.equal(statements.get('SELECT 1'), first);
    assert.equal(statements.get('SELECT 2').name, 's2');
  });

  it('give another statement for other types of parameters', () => {
    const statements = new Statements(10);
    const [plain, int, text] = [undefined, [23], [25]].map(types => parsed(statements, 'SELECT $1', types));
    assert.equal(new Set([plain, int, text]).size, 3);
    assert.equal(statements.get('SELECT $1', [23]), int);
    assert.equal(statements.get('SELECT $1', []), plain);
    assert.deepEqual(int.paramTypes, [23]);
  });

  it('never take types of parameters for a part of the text', () => {
    const statements = new Statements(10);
    const texts = [
      ['select 23', []],
      ['select', [23]],
      ['select', [2, 3]],
      ['select', [23, 23]],
      ['select,23', []]
    ];
    assert.equal(new Set(texts.map(([text, types]) => parsed(statements, text, types).name)).size, 5);
  });

  it('give the unnamed statement, a new one each time, for what is not to be cached', () => {
    const statements = new Statements(10);
    const unnamed = statements.get('SELECT 1', undefined, false);
    assert.equal(unnamed.name, '');
    assert.notEqual(statements.get('SELECT 1', undefined, false), unnamed);
    assert.equal(statements.get('SELECT 1').name, 's1');
  });

  it('give only the unnamed statement where the limit is 0', () => {
    const statements = new Statements(0);
    assert.equal(statements.get('SELECT 1').name, '');
  });

  it('give a name only to what the server plans', () => {
    const statements = new Statements(20);
    for (const text of [
      'FETCH ALL FROM c',
      ' execute p(1)',
      '-- x\nFETCH c',
      '/* x */;EXECUTE p',
      'fetcher',
      'SET a = b',
      'BEGIN',
      ''
    ]) {
      assert.equal(statements.get(text).name, '', text);
    }
    for (const text of [
      '-- FETCH\nSELECT 1',
      "(select 'EXECUTE')",
      'WITH a AS (SELECT 1) TABLE a',
      'VALUES (1)',
      'TABLE t',
      'INSERT INTO t VALUES (1)',
      'update t set a = 1',
      'DELETE FROM t',
      'MERGE INTO t'
    ]) {
      assert.notEqual(statements.get(text).name, '', text);
    }
  });

  it('know what may drop statements or change the columns of their results', () => {
    const disturbing = text => new Statement('', text, [], '', text.split(' ')[0].toLowerCase()).disturbs;
    for (const text of [
      'DISCARD ALL',
      'ALTER TABLE',
      'CREATE TABLE',
      'SET search_path',
      'DO',
      'CALL',
      'ROLLBACK',
      'EXECUTE',
      ''
    ]) {
      assert.equal(disturbing(text), true, text);
    }
    for (const text of ['SELECT 1', 'INSERT INTO', 'BEGIN', 'COMMIT', 'COPY', 'SHOW x'])
      assert.equal(disturbing(text), false, text);
  });

  it('know what only reads, so that it may be repeated: WITH may write', () => {
    const isRead = text => new Statements(10).get(text).isRead;
    for (const text of ['SELECT 1', '(TABLE t)', 'values (1)', 'SHOW x']) assert.equal(isRead(text), true, text);
    for (const text of [
      'WITH a AS (INSERT INTO t VALUES (1) RETURNING *) SELECT * FROM a',
      'INSERT INTO t VALUES (1)',
      'UPDATE t SET a = 1',
      'DELETE FROM t',
      'MERGE INTO t',
      'EXPLAIN ANALYZE DELETE FROM t',
      'COPY t FROM STDIN',
      'CALL p()',
      'DO',
      'BEGIN',
      ''
    ]) {
      assert.equal(isRead(text), false, text);
    }
  });

  it('rely on a Parse under way only in a run of one text, and in the batch that carries it', () => {
    const statements = new Statements(10);
    const batch = {};
    const statement = statements.get('SELECT 1', undefined, true, batch);
    Object.assign(statement, { sent: true, batch });
    assert.equal(statements.get('SELECT 1').name, '', 'something else is in between');
    statements.lastParsed = statement;
    assert.equal(statements.get('SELECT 1'), statement);
    statements.lastParsed = undefined;
    assert.equal(statements.get('SELECT 1', undefined, true, batch), statement);
    assert.equal(statements.get('SELECT 1', undefined, true, {}).name, '', 'another batch');
    statement.describe(null);
    assert.equal(statements.get('SELECT 1'), statement);
  });

  it('give the unnamed statement while something is under way that may drop statements', () => {
    const statements = new Statements(10);
    const statement = parsed(statements, 'SELECT 1');
    statements.disturbing = {};
    assert.equal(statements.get('SELECT 1').name, '');
    statements.disturbing = undefined;
    assert.equal(statements.get('SELECT 1'), statement);
  });

  it('give up the least recently used one when there is one too many', () => {
    const statements = new Statements(2);
    const a = parsed(statements, 'SELECT a');
    parsed(statements, 'SELECT b');
    assert.deepEqual(statements.closing, []);
    statements.get('SELECT a');
    assert.deepEqual(parsed(statements, 'SELECT c').closes, ['s2'], 'the next Parse closes it');
    assert.deepEqual(statements.closing, []);
    assert.equal(statements.get('SELECT a'), a);
    assert.equal(statements.get('SELECT b').name, 's4');
  });

  it('close with another Parse what one was to close that was not sent, or has failed', () => {
    const statements = new Statements(1);
    parsed(statements, 'SELECT a');
    statements.unsent(statements.get('SELECT b'));
    assert.deepEqual(statements.closing, ['s1']);
    assert.deepEqual(parsed(statements, 'SELECT c').closes, ['s1']);
  });

  it('forget one statement, close one, or forget all of them', () => {
    const statements = new Statements(10);
    const a = parsed(statements, 'SELECT a');
    statements.forget(a);
    assert.deepEqual(statements.closing, []);
    const again = parsed(statements, 'SELECT a');
    assert.notEqual(again.name, a.name, 'a name is never used twice');
    statements.forget(a); // which is not the cached one any more
    statements.close(a);
    assert.equal(statements.get('SELECT a'), again);
    statements.close(again);
    assert.deepEqual(statements.closing, [again.name]);
    const last = parsed(statements, 'SELECT a');
    statements.afterCommand('DISCARD ALL');
    assert.deepEqual(statements.closing, []);
    assert.notEqual(statements.get('SELECT a'), last);
  });

  it('doubt one by its error: of types, and at Bind of a value', () => {
    for (const [code, bound, closes] of [
      ['42883', false, true],
      ['26000', false, true],
      ['0A000', false, true],
      ['XX000', false, true],
      ['22P02', false, true],
      ['23514', false, true],
      ['25P02', false, false],
      ['57014', false, false],
      ['40001', false, false],
      ['42P01', true, true],
      ['XX000', true, true],
      ['22012', true, false],
      ['23505', true, false],
      ['0A000', true, true]
    ]) {
      const statements = new Statements(10);
      statements.failed(parsed(statements, 'SELECT a'), { code }, false, bound);
      assert.equal(statements.closing.length, closes ? 1 : 0, `${code} ${bound}`);
    }
  });
});

describe('Statement', () => {
  it('has the beginning of its Bind: the unnamed portal and its name', () => {
    assert.equal(new Statement('s12', 'SELECT 1', [], '', 'select').bindNames.toString('latin1'), '\0s12\0');
    assert.equal(new Statement('', 'SELECT 1', [], '', 'select').bindNames.toString('latin1'), '\0\0');
  });

  it('has the RowParser of its description, or is one without rows', () => {
    const statement = new Statement('s1', 'SELECT 1', [], '', 'select');
    assert.equal(statement.rowParser, undefined);
    statement.describe(RowParser.of(rowDescription('a')));
    assert.deepEqual(statement.rowParser.columnNames, ['a']);
    statement.describe(null);
    assert.equal(statement.rowParser, null);
  });

  it('give no names any more when the server has lost a statement that was prepared and not closed, and warn once', async () => {
    const warnings = [];
    const listen = warning => warnings.push(warning);
    Statements.hasWarned = false;
    process.on('warning', listen);
    try {
      const [one, other] = [new Statements(10), new Statements(10)]; // of one pool
      other.common = one.common;
      const unknown = { code: '26000' };
      const sent = one.get('SELECT 1');
      sent.sent = true;
      one.failed(sent, unknown, false, false); // its Parse was not answered
      const closed = parsed(one, 'SELECT 2');
      one.close(closed);
      one.failed(closed, unknown, false, false);
      assert.equal(unknown.hint, undefined);
      assert.notEqual(other.get('SELECT 3').name, '');
      const lost = [parsed(one, 'SELECT 4'), parsed(one, 'SELECT 5')];
      for (const statement of lost) {
        const error = { code: '26000' };
        one.failed(statement, error, false, false);
        assert.match(error.hint, /statement_cache: 0/);
      }
      assert.deepEqual(
        [one, other].map(each => each.get('SELECT 4').name),
        ['', '']
      );
      await new Promise(setImmediate);
      assert.deepEqual(
        warnings.map(({ message }) => /set statement_cache: 0/.test(message)),
        [true]
      );
    } finally {
      process.off('warning', listen);
    }
  });
});

'use strict';

const assert = require('node:assert/strict');
const { Statement, Statements, isCopyIn, isCopyOut } = require('../../lib/query/statements');
const { rowDescription } = require('../support');

describe('Statements', () => {
  it('give one named statement for one text', () => {
    const statements = new Statements(10);
    const first = statements.get('SELECT 1');
    assert.equal(first.name, 's1');
    assert.equal(first.text, 'SELECT 1');
    assert.deepEqual(first.paramTypes, []);
    assert.equal(first.sent, false);
    assert.equal(statements.get('SELECT 1'), first);
    assert.equal(statements.get('SELECT 2').name, 's2');
  });

  it('give another statement for other types of parameters', () => {
    const statements = new Statements(10);
    const [plain, int, text] = [undefined, [23], [25]].map(types => statements.get('SELECT $1', types));
    assert.equal(new Set([plain, int, text]).size, 3);
    assert.equal(statements.get('SELECT $1', [23]), int);
    assert.equal(statements.get('SELECT $1', []), plain);
    assert.deepEqual(int.paramTypes, [23]);
  });

  it('never take types of parameters for a part of the text', () => {
    const statements = new Statements(10);
    assert.notEqual(statements.get('23'), statements.get('', [23]));
    assert.notEqual(statements.get('23SELECT'), statements.get('SELECT', [23]));
    assert.notEqual(statements.get(',23'), statements.get('', [23, 23]));
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
    assert.equal(statements.evict(), undefined);
  });

  it('give only the unnamed statement to FETCH and EXECUTE', () => {
    const statements = new Statements(10);
    for (const text of ['FETCH ALL FROM c', ' execute p(1)', '-- x\nFETCH c', '/* x */;EXECUTE p']) {
      assert.equal(statements.get(text).name, '', text);
    }
    for (const text of ['-- FETCH\nSELECT 1', 'fetcher',
      "SELECT 'EXECUTE'"]) assert.notEqual(statements.get(text).name, '', text);
  });

  it('give up the least recently used statement when there is one too many', () => {
    const statements = new Statements(2);
    const [a, b] = ['a', 'b'].map(text => Object.assign(statements.get(text), { sent: true }));
    assert.equal(statements.evict(), undefined);
    statements.get('a');
    statements.get('c');
    assert.equal(statements.evict(), b);
    assert.equal(statements.evict(), undefined);
    assert.equal(statements.get('a'), a);
    assert.notEqual(statements.get('b'), b);
  });

  it('need not close on the server what was never sent', () => {
    const statements = new Statements(1);
    statements.get('a');
    statements.get('b');
    assert.equal(statements.evict(), undefined);
  });

  it('forget one statement, or all of them', () => {
    const statements = new Statements(10);
    const a = statements.get('a');
    const b = statements.get('b');
    statements.delete(a);
    const again = statements.get('a');
    assert.notEqual(again, a);
    assert.notEqual(again.name, a.name, 'a name is never used twice');
    statements.delete(a); // which is not the cached one any more
    assert.equal(statements.get('a'), again);
    statements.clear();
    assert.notEqual(statements.get('a'), again);
    assert.notEqual(statements.get('b'), b);
  });
});

describe('Statement', () => {
  it('has the beginning of its Bind: the unnamed portal and its name', () => {
    assert.equal(new Statement('s12', 'SELECT 1', [], '').bindNames.toString('latin1'), '\0s12\0');
    assert.equal(new Statement('', 'SELECT 1', [], '').bindNames.toString('latin1'), '\0\0');
  });

  it('is described by a RowDescription, or as one without rows', () => {
    const statement = new Statement('s1', 'SELECT 1', [], '');
    assert.deepEqual([statement.described, statement.rowParser], [false, null]);
    statement.describe(rowDescription('a'), 0);
    assert.deepEqual([statement.described, statement.rowParser.columnNames], [true, ['a']]);
    statement.describe(null);
    assert.equal(statement.rowParser, null);
  });

  it('knows whether it makes the server forget all statements', () => {
    for (const [text, forgets] of [
      ['DISCARD ALL', true], ['deallocate all', true], [' DEALLOCATE  PREPARE ALL;', true],
      ['/* c */ discard\nall', true], ['-- c\nDEALLOCATE ALL', true], ['DISCARD PLANS', false],
      ['DEALLOCATE s1', false], ['DELETE FROM all_things', false], ["SELECT 'DISCARD ALL'", false],
      ['; DISCARD ALL', true], ['DISCARD ALLOWANCE', false], ['-- DISCARD ALL', false], ['', false]
    ]) assert.equal(new Statement('', text, [], '').forgetsAll, forgets, text);
  });
});

describe('isCopyOut', () => {
  it('knows a COPY TO STDOUT in any spelling, and nothing else', () => {
    for (const text of ['COPY t TO STDOUT', '/* x */ copy (SELECT 1)\nto stdout (FORMAT csv)',
      '--\n COPY t TO STDOUT', 'COPY t TO STDIN']) {
      assert.equal(isCopyOut(text), true, text);
    }
    for (const text of ["COPY t TO '/file'", 'COPY t FROM STDIN', "SELECT 'COPY t TO STDOUT'", '', '--', 5,
      null, undefined]) {
      assert.equal(isCopyOut(text), false, String(text));
    }
  });
});

describe('isCopyIn', () => {
  it('knows a COPY FROM STDIN in any spelling', () => {
    for (const text of [
      'COPY t FROM STDIN', 'COPY t FROM STDOUT', 'copy t(a, b) from stdin', ' \n\tCoPy t\nFROM\nSTDIN (FORMAT csv)',
      '-- why\nCOPY t FROM STDIN', '/* a /* nested */ one */ COPY t FROM STDIN',
      '/**/--\n/* x */copy t from stdin;', 'COPY "from" FROM STDIN WITH (FORMAT binary)',
      'COPY t FROM /* x */ STDIN',
      ';COPY t FROM STDIN', '; /* x */ ; COPY t FROM STDIN'
    ]) assert.equal(isCopyIn(text), true, text);
  });

  it('takes nothing else for one', () => {
    for (const text of [
      'COPY t TO STDOUT', "COPY t FROM '/file'", 'COPY (SELECT 1) TO STDOUT', "SELECT 'COPY t FROM STDIN'",
      '',
      '--', '/*', '/* COPY', '-- COPY t FROM STDIN', '/* COPY t FROM STDIN */ SELECT 1',
      'COPYING t FROM STDIN',
      'INSERT INTO copy SELECT * FROM stdin'
    ]) assert.equal(isCopyIn(text), false, text);
  });
});

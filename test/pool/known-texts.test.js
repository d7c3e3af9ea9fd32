'use strict';

const assert = require('node:assert/strict');
const { KnownTexts, UNKNOWN } = require('../../lib/pool/known-texts');

const times = (count, work) => {
  for (let i = 0; i < count; i++) work(i);
};

const expected = ({ average, difference }) => average + 2 * difference;

describe('KnownTexts', () => {
  it('remembers 256 texts', () => {
    const texts = new KnownTexts();
    times(257, i => texts.of(`${i}`).answered(1));
    assert.deepEqual(
      ['256', '1', '0'].map(text => texts.of(text).average),
      [1, 1, UNKNOWN]
    );
  });

  it('remembers no text of more than 65,536 characters, which may be data', () => {
    const texts = new KnownTexts();
    for (const length of [65536, 65537]) {
      const text = 'x'.repeat(length);
      texts.of(text).answered(1);
      assert.equal(texts.of(text).average, length === 65536 ? 1 : UNKNOWN);
    }
  });

  it('expects the average time of a text, and twice how much the times differ from it', () => {
    const known = new KnownTexts().of('SELECT 1');
    assert.equal(expected(known), UNKNOWN);
    times(200, () => {
      known.answered(20);
      assert.equal(expected(known), 20);
    });
    known.answered(84);
    assert.equal(expected(known), 21 + 2);
  });

  it('forgets what it expected after ten slow first executions within sixty quick ones', () => {
    const known = new KnownTexts().of('SELECT 1');
    times(10, () => known.answered(100));
    assert.equal(expected(known), 100);
    times(30, () => known.answered(0));
    assert.ok(expected(known) < 20, `${expected(known)}`);
    times(30, () => known.answered(0));
    assert.ok(expected(known) < 5, `${expected(known)}`);
  });

  it('expects less than a millisecond of a text whose first execution was slow after 64 quick ones, and of one that was slow once', () => {
    const texts = new KnownTexts();
    for (const first of [30, 0.05]) {
      const known = texts.of(`SELECT ${first}`);
      known.answered(first);
      times(500, () => known.answered(0.05));
      known.answered(20);
      assert.ok(expected(known) < 1, `${expected(known)}`);
    }
  });

  it('expects more than three milliseconds of a text that takes 250 once in twenty executions, and then ten', () => {
    const known = new KnownTexts().of('SELECT 1');
    let least = Infinity;
    const execute = i => {
      known.answered(i % 20 === 0 ? 250 : 0);
      least = Math.min(least, expected(known));
    };
    times(40, execute);
    assert.ok(least > 3, `${least}`);
    least = Infinity;
    times(2000, execute);
    assert.ok(least > 10, `${least}`);
  });

  it('takes as reads what waits for no lock of a row, as far as the text shows', () => {
    const texts = new KnownTexts();
    const READS = [
      'SELECT 1',
      ' /* x */ -- y\n(select 1)',
      'VALUES (1)',
      'TABLE t',
      'SHOW x',
      'WITH x AS (SELECT 1) TABLE x',
      "SELECT 'x' FOR",
      "SELECT 1 -- FOR UPDATE\n, 'delete', E'\\' for update', $a$ merge $a$, 1 AS \"update\" /* insert */"
    ];
    const OTHERS = [
      'UPDATE t SET a = 1',
      'SELECT 1 FROM t FOR UPDATE',
      'SELECT 1 for  no key\nupdate',
      'SELECT 1 FROM t FOR/**/UPDATE',
      'SELECT 1 FROM t FOR -- what follows\nSHARE',
      'TABLE t FOR KEY SHARE',
      'WITH x AS (DELETE FROM t) TABLE x',
      'SELECT pg_advisory_lock(1)',
      'DO $$ $$',
      'CALL p()',
      '',
      'describe SELECT 1',
      `SELECT '${'x'.repeat(65536)}'`
    ];
    assert.deepEqual(
      READS.filter(text => !texts.of(text).isRead),
      []
    );
    assert.deepEqual(
      OTHERS.filter(text => texts.of(text).isRead),
      []
    );
  });
});

'use strict';

const assert = require('node:assert/strict');
const { formatLsn, parseLsn } = require('../../lib/replication');
const { readTime, writeNow } = require('../../lib/replication/wal');

describe('Log sequence numbers', () => {
  for (const [text, lsn] of [
    ['0/0', 0n],
    ['16/B374D848', 0x16b374d848n],
    ['FFFFFFFF/FFFFFFFF', 2n ** 64n - 1n],
    ['1/5', 0x100000005n]
  ]) {
    it(`are written and read: ${text}`, () => {
      assert.equal(formatLsn(lsn), text);
      assert.equal(parseLsn(text), lsn);
      assert.equal(parseLsn(text.toLowerCase()), lsn);
    });
  }

  it('are not taken for what they are not', () => {
    for (const text of [
      '',
      '0',
      '1/',
      '/1',
      '1/123456789',
      '123456789/1',
      '0x1/1',
      ' 1/1',
      '1/1\n',
      5,
      5n,
      null,
      undefined,
      Symbol('a')
    ]) {
      assert.throws(() => parseLsn(text), TypeError);
    }
  });

  for (const [lsn, name] of [
    [5, 'TypeError'],
    ['0/5', 'TypeError'],
    [undefined, 'TypeError'],
    [-1n, 'RangeError'],
    [2n ** 64n, 'RangeError']
  ])
    it(`are not written of ${typeof lsn} ${lsn}`, () => assert.throws(() => formatLsn(lsn), { name }));
});

describe('Times of the log', () => {
  it('count microseconds from the year 2000', () => {
    assert.deepEqual(readTime(Buffer.from('00ffffffffffffd8f0', 'hex'), 1), new Date('1999-12-31T23:59:59.990Z'));
    const buf = Buffer.alloc(9);
    const before = Date.now();
    writeNow(buf, 1);
    assert.ok(readTime(buf, 1) >= before && readTime(buf, 1) <= Date.now());
  });
});

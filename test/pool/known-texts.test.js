'use strict';

const assert = require('node:assert/strict');
const { KnownTexts } = require('../../lib/pool/known-texts');

const times = (count, work) => { for (let i = 0; i < count; i++) work(i); };

describe('KnownTexts', () => {
  it('remembers 256 texts', () => {
    const texts = new KnownTexts();
    times(257, i => texts.of(`${i}`).answered(false, Infinity));
    assert.deepEqual(['256', '1', '0'].map(text => texts.of(text).isQuick), [true, true, false]);
  });

  it('remembers no text of more than 65,536 characters, which may be data', () => {
    const texts = new KnownTexts();
    for (const length of [65536, 65537]) {
      const text = 'x'.repeat(length);
      texts.of(text).answered(false, Infinity);
      assert.equal(texts.of(text).isQuick, length === 65536);
    }
  });

  it('takes a text as quick whose first answer was, and after a slow one only when 128 in a row were', () => {
    const texts = new KnownTexts();
    assert.equal(texts.of('a').isQuick, false);
    texts.of('a').answered(false, Infinity);
    assert.equal(texts.of('a').isQuick, true);
    texts.of('a').answered(true, Infinity);
    times(127, () => texts.of('a').answered(false, Infinity));
    assert.equal(texts.of('a').isQuick, false);
    texts.of('a').answered(false, Infinity);
    assert.equal(texts.of('a').isQuick, true);
  });

  it('forgives one slow answer after 256 quick ones, and no second one but at the same moment', () => {
    const texts = new KnownTexts();
    times(256, () => texts.of('a').answered(false, Infinity));
    texts.of('a').answered(true, 1000);
    times(3, i => texts.of('a').answered(true, 1001 + i));
    assert.equal(texts.of('a').isQuick, true);
    texts.of('a').answered(true, 1030);
    assert.equal(texts.of('a').isQuick, false);
  });

  it('takes new texts as quick after a thousand of them, until one is slow', () => {
    const texts = new KnownTexts();
    times(999, i => texts.of(`SELECT ${i}`).answered(false, Infinity));
    assert.equal(texts.of('SELECT -1').isQuick, false);
    texts.of('SELECT 999').answered(false, Infinity);
    assert.equal(texts.of('SELECT -1').isQuick, true);
    texts.of('SELECT -1').answered(true, Infinity);
    assert.equal(texts.of('SELECT -2').isQuick, false);
  });
});

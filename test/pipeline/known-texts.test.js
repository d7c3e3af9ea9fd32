'use strict';

const assert = require('node:assert/strict');
const { KnownTexts } = require('../../lib/pipeline');

const times = (count, work) => { for (let i = 0; i < count; i++) work(i); };

describe('KnownTexts', () => {
  it('remembers whose last result was long', () => {
    const texts = new KnownTexts();
    assert.equal(texts.isLong('a'), false);
    texts.setLong('a', true);
    texts.setLong('b', true);
    texts.setLong('b', false);
    texts.setLong('c', false);
    assert.deepEqual(['a', 'b', 'c'].map(text => texts.isLong(text)), [true, false, false]);
    texts.setLong(undefined, true);
    assert.equal(texts.isLong(undefined), false);
  });

  it('remembers 256 texts', () => {
    const texts = new KnownTexts();
    times(257, i => texts.setLong(`${i}`, true));
    assert.deepEqual(['0', '1', '256'].map(text => texts.isLong(text)), [false, true, true]);
  });

  it('takes a text as quick whose first answer was in time, and after a late one only when 64 in a row were', () => {
    const texts = new KnownTexts();
    assert.equal(texts.isQuick('a'), false);
    texts.answered('a', false);
    assert.equal(texts.isQuick('a'), true);
    texts.answered('a', true);
    times(63, () => texts.answered('a', false));
    assert.equal(texts.isQuick('a'), false);
    texts.answered('a', false);
    assert.equal(texts.isQuick('a'), true);
  });

  it('forgives one late answer after a thousand in time, and no second one', () => {
    const texts = new KnownTexts();
    times(1000, () => texts.answered('a', false));
    texts.answered('a', true);
    assert.equal(texts.isQuick('a'), true);
    texts.answered('a', true);
    assert.equal(texts.isQuick('a'), false);
  });

  it('takes new texts as quick after a thousand of them, until one is late', () => {
    const texts = new KnownTexts();
    times(999, i => texts.answered(`SELECT ${i}`, false));
    assert.equal(texts.isQuick('SELECT -1'), false);
    texts.answered('SELECT 999', false);
    assert.equal(texts.isQuick('SELECT -1'), true);
    texts.answered('SELECT -1', true);
    assert.equal(texts.isQuick('SELECT -2'), false);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { LongTexts } = require('../../lib/pipeline');

describe('LongTexts', () => {
  it('remembers texts until they are deleted, and the latest 256 of them', () => {
    const texts = new LongTexts();
    assert.equal(texts.has('a'), false);
    texts.add('a');
    texts.add('b');
    texts.delete('b');
    texts.delete('c');
    assert.deepEqual(['a', 'b', 'c'].map(text => texts.has(text)), [true, false, false]);
    for (let i = 0; i < 255; i++) texts.add(`${i}`);
    texts.add('a'); // now the latest
    for (let i = 255; i < 510; i++) texts.add(`${i}`);
    assert.deepEqual(['a', '0', '254', '255', '509'].map(text => texts.has(text)), [true, false, false, true, true]);
    texts.add(undefined);
    assert.equal(texts.has(undefined), false);
  });
});

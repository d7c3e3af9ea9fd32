'use strict';

const assert = require('node:assert/strict');
const { Held } = require('../../lib/live/held');

describe('What live results hold', () => {
  it('counts a piece once, however many hold it, until the last one releases it', () => {
    const held = new Held();
    const pieces = { a: Buffer.alloc(4), b: Buffer.alloc(10) };
    for (const [step, piece, bytes] of [
      ['hold', 'a', 4],
      ['hold', 'a', 4],
      ['hold', 'a', 4],
      ['hold', 'b', 14],
      ['release', 'a', 14],
      ['release', 'a', 14],
      ['release', 'a', 10],
      ['hold', 'a', 14],
      ['release', 'a', 10],
      ['release', 'b', 0]
    ]) {
      held[step](pieces[piece]);
      assert.equal(held.bytes, bytes, `${step} ${piece}`);
    }
    assert.equal(held.isFull, false);
  });

  it('is full at its limit, which its error names', () => {
    const held = new Held(4);
    held.hold(Buffer.alloc(3));
    assert.equal(held.isFull, false);
    held.hold(Buffer.alloc(1));
    assert.equal(held.isFull, true);
    const { name, message, code, sent } = held.error;
    assert.deepEqual(
      [name, message, code, sent],
      ['ConnectionError', 'the live results have 4 bytes (max_total_bytes)', '53300', false]
    );
  });
});

'use strict';

const assert = require('node:assert/strict');
const { frame } = require('../../lib/connection/frame');

describe('A message that is sent while connecting', () => {
  it('has its type, its length and its parts, of which a number takes four bytes', () => {
    assert.deepEqual(frame(0x70, 'ab', 3, Buffer.from('c')), Buffer.from('p\0\0\0\x0bab\0\0\0\x03c'));
  });

  it('has no type when it is the first of the connection', () => {
    assert.deepEqual(frame(null, 80877103), Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]));
  });
});

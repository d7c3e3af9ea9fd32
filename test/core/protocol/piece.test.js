'use strict';

const assert = require('node:assert/strict');
const { isPiece, nodeOf, pieceOf } = require('../../../lib/core/protocol');

describe('A piece', () => {
  const node = {};
  const made = pieceOf(['SELECT 1', []], node);

  it('is an array that has a node', () => {
    assert.deepEqual(
      [Array.isArray(made), made[0], nodeOf(made) === node, isPiece(made)],
      [true, 'SELECT 1', true, true]
    );
  });

  it('is nothing that only looks like it: a copy, a descendant, JSON', () => {
    const copies = [
      [...made],
      Object.create(made),
      structuredClone(made),
      JSON.parse(JSON.stringify(made)),
      JSON.parse(`{"0":"SELECT 1","1":[],"length":2,"Symbol(quickgres.piece)":{},"quickgres.piece":{}}`)
    ];
    for (const value of [...copies, [], {}, null, undefined, 'SELECT 1', 5, () => {}]) {
      assert.deepEqual([isPiece(value), nodeOf(value)], [false, undefined]);
    }
  });
});

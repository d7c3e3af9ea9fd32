'use strict';

const assert = require('node:assert/strict');
const { Piece, isPiece } = require('../../../lib/core/protocol');

describe('A piece', () => {
  const node = {};
  const made = new Piece(['SELECT 1', []], node);

  it('is an array that has a node', () => {
    assert.deepEqual(
      [Array.isArray(made), made[0], Piece.node(made) === node, isPiece(made)],
      [true, 'SELECT 1', true, true]
    );
  });

  it('is nothing that only looks like it: a copy, a descendant, a proxy, JSON', () => {
    const copies = [
      [...made],
      Object.create(made),
      new Proxy(made, {}),
      structuredClone(made),
      JSON.parse(JSON.stringify(made)),
      Object.assign([], made)
    ];
    for (const value of [...copies, [], {}, null, undefined, 'SELECT 1', 5, () => {}]) {
      assert.deepEqual([isPiece(value), Piece.node(value)], [false, undefined]);
    }
  });
});

'use strict';

/** Marks an array as a piece of SQL by a private field, which nothing else can have or copy. A WeakMap is slower. */
class Piece extends function (object) {
  return object;
} {
  #node;

  /** @param {object} node what `sql` makes the text of */
  constructor(array, node) {
    super(array).#node = node;
  }

  /** @returns {object|undefined} the node of a piece */
  static node(value) {
    return typeof value === 'object' && value !== null && #node in value ? value.#node : undefined;
  }
}

/** Whether `sql` has made a value, so that its first element may be sent as SQL. */
const isPiece = value => Piece.node(value) !== undefined;

module.exports = { Piece, isPiece };

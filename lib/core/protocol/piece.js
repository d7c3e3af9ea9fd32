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

  /**
   * @param {boolean} isCamel whether names of columns are in camel case: the piece has those of the server
   * @returns {Array} text and values
   */
  static statement(piece, isCamel) {
    return (isCamel && piece.#node.renamed?.()) || piece;
  }

  /** @returns {object|undefined} the node of a piece */
  static node(value) {
    return typeof value === 'object' && value !== null && #node in value ? value.#node : undefined;
  }
}

/** Whether `sql` has made a value, so that its first element may be sent as SQL. */
const isPiece = value => Piece.node(value) !== undefined;

module.exports = { Piece, isPiece };

'use strict';

/**
 * The property of the toJSON of pieces with what knows them. Each copy of the library has this symbol, JSON has none.
 */
const NODE_OF = Symbol.for('quickgres.piece');

/** Marks an array as a piece of SQL by a private field, which nothing else can have or copy. A WeakMap is slower. */
class Piece extends function (object) {
  return object;
} {
  #node;

  /** @param {object} node what `sql` makes the text of */
  constructor(array, node) {
    super(array).#node = node;
  }

  /** @returns {object|undefined} the node of a piece, of this copy of the library or of another one */
  static node(value) {
    if (typeof value !== 'object' || value === null) return undefined;
    if (#node in value) return value.#node;
    return Array.isArray(value) ? value.toJSON?.[NODE_OF]?.(value) : undefined;
  }

  /**
   * @param {boolean} isCamel whether names of columns are in camel case: the piece has those of the server
   * @returns {Array} text and values
   */
  static statement(piece, isCamel) {
    return (isCamel && Piece.node(piece).renamed?.()) || piece;
  }

  /** Lets other copies of the library know the pieces with this toJSON. */
  static share(toJSON) {
    toJSON[NODE_OF] = value => (#node in value ? value.#node : undefined);
  }
}

/** Whether `sql` has made a value, so that its first element may be sent as SQL. */
const isPiece = value => Piece.node(value) !== undefined;

module.exports = { Piece, isPiece };

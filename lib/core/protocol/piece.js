'use strict';

/** The property of a piece of SQL with its node. Each copy of the library has this symbol, and JSON can make none. */
const NODE = Symbol.for('quickgres.piece');

/** Makes an array a piece of SQL. @param {object} node what `sql` makes the text of */
function pieceOf(array, node) {
  node.piece = array; // so that no Proxy is one
  return Object.defineProperty(array, NODE, { value: node });
}

/** @returns {object|undefined} the node of a piece */
function nodeOf(value) {
  const node = Array.isArray(value) ? value[NODE] : undefined;
  return node?.piece === value ? node : undefined;
}

/** Whether `sql` has made a value, so that its first element may be sent as SQL. */
const isPiece = value => nodeOf(value) !== undefined;

module.exports = { isPiece, nodeOf, pieceOf };

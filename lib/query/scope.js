'use strict';

/**
 * Requests that wait in the client, in order, because the connection belongs to somebody else. A scope that was
 * entered owns the connection: a transaction, an open portal, a COPY FROM STDIN, end(). The scopes form a stack,
 * of which only the innermost one sends.
 */
class Scope {
  /**
   * @param {Pipeline} pipeline
   * @param {Scope|null} parent
   * @param {string} name of what owns the connection, for errors
   * @param {object} [options]
   * @param {boolean} [options.alone=false] it is entered only when all that was sent has been answered
   * @param {boolean} [options.block=false] it is a transaction block: it is entered when no block is open, and no
   *   request in it may end the block but one that `controls` it
   * @param {function()} [options.entered] called when the scope owns the connection
   * @param {function(Error)} [options.lost] called when it is over without having been left
   */
  constructor(pipeline, parent, name, { alone = false, block = false, entered = () => {}, lost = () => {} } = {}) {
    this.pipeline = pipeline;
    this.parent = parent;
    this.name = name;
    this.alone = alone;
    this.block = block;
    this.entered = entered;
    this.lost = lost;
    /** @type {Error|null} what new requests are rejected with; what waits goes on unless the scope was left */
    this.refused = null;
    this.left = false;
    /** The first and the last of the requests and scopes that wait in it. */
    this.first = null;
    this.last = null;
    this.next = null;
  }

  push(entry) {
    if (this.last === null) this.first = entry;
    else this.last.next = entry;
    this.last = entry;
  }

  shift() {
    const entry = this.first;
    this.first = entry.next;
    if (this.first === null) this.last = null;
    entry.next = null;
    return entry;
  }

  /** Whether it lies inside another scope. */
  isInside(scope) { return this.parent === scope || (this.parent !== null && this.parent.isInside(scope)); }
}

module.exports = { Scope };

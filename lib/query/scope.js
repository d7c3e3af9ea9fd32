'use strict';

const { order } = require('./deadlock');

/**
 * Requests that wait in the client, in order, because the connection is somebody else's. A scope that is
 * entered owns the connection: a transaction, an open portal, a COPY FROM STDIN. The scopes form a stack, and
 * only the innermost one sends.
 */
class Scope {
  /**
   * @param {Scope|null} parent
   * @param {string} name of what owns the connection, for errors
   */
  constructor(parent, name) {
    this.parent = parent;
    this.name = name;
    /** Requests, and scopes waiting to be entered. */
    this.first = null;
    this.last = null;
    this.next = null;
    this.order = order();
    /** Entered only when all that was sent has been answered. */
    this.alone = false;
    /** Entered only when no transaction block is open; till then others go on. */
    this.idle = false;
    this.left = false;
    /** @type {function(): boolean} whether it is over soon, whatever the code inside it does */
    this.endsItself = () => false;
    /** @type {(function|undefined)} called when the scope has been entered */
    this.onenter = undefined;
    /** @type {(function|undefined)} called when it is over */
    this.onleave = undefined;
    /** @type {(function|undefined)} called with the error when the connection is lost */
    this.onlost = undefined;
  }

  end() {
    this.left = true;
    if (this.onleave !== undefined) this.onleave();
  }

  push(entry) {
    if (this.last === null) this.first = entry;
    else this.last.next = entry;
    this.last = entry;
  }

  /** Puts a request before all others. */
  unshift(request) {
    request.next = this.first;
    this.first = request;
    if (this.last === null) this.last = request;
  }

  shift() {
    const entry = this.first;
    this.first = entry.next;
    if (this.first === null) this.last = null;
    entry.next = null;
    return entry;
  }
}

module.exports = { Scope };

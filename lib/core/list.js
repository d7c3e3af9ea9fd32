'use strict';

/**
 * A ring of the links of values, in their order, from which any can be taken. Not a Set: V8 links the tables that a Set
 * leaves behind, so that what was in them outlives the collections of the new space.
 */
class List {
  size = 0;
  next = this; // the first link, if there is one
  before = this;

  /**
   * @param {object} [next] the link in front of which it comes; without it, it is the last one
   * @returns {object} the value's link, to delete it by
   */
  add(value, next = this) {
    this.size++;
    return (next.before = next.before.next = { value, before: next.before, next });
  }

  /** @returns {boolean} whether the link was there */
  delete(link) {
    const { before, next } = link;
    if (!next) return false;
    this.size--;
    before.next = next;
    next.before = before;
    link.before = link.next = undefined; // in the old space it would keep what comes behind it
    return true;
  }

  /** Takes the first value out. */
  shift() {
    const { next } = this;
    this.delete(next);
    return next.value;
  }

  values() {
    const all = [];
    for (let { next } = this; next !== this; next = next.next) all.push(next.value);
    return all;
  }
}

module.exports = { List };

'use strict';

/**
 * Why a request needs a connection, or waits for one: it owns one until it is over; its text is not known to be quick, so it has
 * one to itself; it is quick and shares one.
 */
const Kind = Object.freeze({ OWNER: 'owner', UNPROVEN: 'unproven', QUICK: 'quick' });

/** The requests that wait for a connection, in a queue for each kind. */
class Waiting {
  owner = new Set();
  unproven = new Set();
  quick = new Set();

  get size() { return this.owner.size + this.unproven.size + this.quick.size; }

  /** How many wait, by kind. */
  get why() { return { owner: this.owner.size, unproven: this.unproven.size, quick: this.quick.size }; }

  /** @returns {number} since when the first of a kind waits; Infinity if there is none */
  since(kind) { return this[kind].values().next().value?.since ?? Infinity; }

  /**
   * @param {object} use see PoolLease.run
   * @returns {{promise: Promise, reject: function(Error)}} the promise resolves to a connection
   */
  add(use) {
    const entry = { use, since: use.since };
    entry.promise = new Promise((resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = error => this[use.kind].delete(entry) && reject(error);
    });
    this[use.kind].add(entry);
    return entry;
  }

  /**
   * Serves the queues, the one first whose head has waited longest.
   * @param {function(object): object|undefined} find gives a use its connection, if there is one
   * @param {function(string): string} kindOf a known text: an answer may have shown that it is of another kind
   */
  serve(find, kindOf) {
    for (const kind of Object.values(Kind).sort((a, b) => this.since(a) - this.since(b))) {
      const queue = this[kind];
      for (const entry of queue) {
        const { use } = entry;
        if (kind !== Kind.OWNER) use.kind = kindOf(use.known);
        const connection = find(use);
        if (connection === undefined && use.kind === kind) break;
        queue.delete(entry);
        if (connection === undefined) this[use.kind].add(entry);
        else entry.resolve(connection);
      }
    }
  }

  refuse(error) { for (const kind of Object.values(Kind)) for (const entry of this[kind]) entry.reject(error); }
}

module.exports = { Kind, Waiting };

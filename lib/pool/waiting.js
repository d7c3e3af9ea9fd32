'use strict';

/** Why a request waits for a connection: it owns one until it is over, or it is a query, which may share one. */
const Kind = Object.freeze({ OWNER: 'owner', QUERY: 'query' });

/** The requests that wait for a connection, in a queue for each kind. */
class Waiting {
  owner = new Set();
  query = new Set();

  get size() {
    return this.owner.size + this.query.size;
  }

  /** @returns {number} since when the first of a kind waits; Infinity if there is none */
  since(kind) {
    return this[kind].values().next().value?.since ?? Infinity;
  }

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
   */
  serve(find) {
    const kinds =
      this.since(Kind.OWNER) <= this.since(Kind.QUERY) ? [Kind.OWNER, Kind.QUERY] : [Kind.QUERY, Kind.OWNER];
    for (const kind of kinds) {
      for (const entry of this[kind]) {
        const connection = find(entry.use);
        if (connection === undefined) break;
        this[kind].delete(entry);
        entry.resolve(connection);
      }
    }
  }

  /** @param {function(object): Error|undefined} errorOf a waiting request, if it is to wait no longer */
  refuse(errorOf) {
    for (const kind of Object.values(Kind)) {
      for (const entry of this[kind]) {
        const error = errorOf(entry);
        if (error !== undefined) entry.reject(error);
      }
    }
  }
}

module.exports = { Kind, Waiting };

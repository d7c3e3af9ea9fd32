'use strict';

/** Since when the first of a queue waits; Infinity if there is none. */
const since = queue => queue.values().next().value?.use.since ?? Infinity;

/**
 * The requests that wait for a connection: those that own one until they are over, and queries, which may share one.
 */
class Waiting {
  owner = new Set();
  query = new Set();

  get size() {
    return this.owner.size + this.query.size;
  }

  /** The two queues, the one first whose head has waited longest. */
  get #queues() {
    const { owner, query } = this;
    return since(owner) <= since(query) ? [owner, query] : [query, owner];
  }

  /** @returns {number} since when the first one waits; Infinity if there is none */
  get since() {
    return since(this.#queues[0]);
  }

  /**
   * @param {object} use see PoolLease.run
   * @returns {{promise: Promise, reject: function(Error)}} the promise resolves to a connection
   */
  add(use) {
    const queue = this[use.kind];
    const entry = { use };
    entry.promise = new Promise((resolve, reject) => {
      entry.resolve = resolve;
      entry.reject = error => queue.delete(entry) && reject(error);
    });
    queue.add(entry);
    return entry;
  }

  /** @param {function(object): object|undefined} find gives a use its connection, if there is one */
  serve(find) {
    for (const queue of this.#queues) {
      for (const entry of queue) {
        const connection = find(entry.use);
        if (connection === undefined) break;
        queue.delete(entry);
        entry.resolve(connection);
      }
    }
  }

  /** @param {function(object): Error|undefined} errorOf a waiting use, if it is to wait no longer */
  refuse(errorOf) {
    for (const { use, reject } of [...this.owner, ...this.query]) {
      const error = errorOf(use);
      if (error !== undefined) reject(error);
    }
  }
}

module.exports = { Waiting };

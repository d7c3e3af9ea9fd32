'use strict';

const { List } = require('../core/list');
const { waitsForItself } = require('../core/pipeline');

/** What one attempt of a request has of a connection: a place among its users, and before that one in a queue. */
class Use {
  /** Since when it waits; later since when it has the connection. */
  since = performance.now();
  /** Whether it is asked inside the function of a transaction, for which a request in front of it may wait. */
  isInside = waitsForItself();
  /** Whether it was answered without an error, so that its time tells what its text needs. */
  isAnswered = false;
  /** What it was expected to need, as the connection counts it. */
  average = 0;
  variance = 0;

  /**
   * `early`: the connection with whose start it was sent. Such a one has `submitted`, to be called when it was
   * submitted, and `error` if its connection could not be made and there will be no other.
   * `link`: its place in a queue.
   * @param {'owner'|'query'} kind an owner has the connection to itself
   * @param {KnownText} [known] of a query
   */
  constructor(kind, known) {
    this.kind = kind;
    this.known = known;
  }
}

/** Since when the first of a queue waits; Infinity if there is none. */
const since = queue => queue.next.value?.since ?? Infinity;

/**
 * The requests that wait for a connection: those that own one until they are over, and queries, which may share one.
 */
class Waiting {
  owner = new List();
  query = new List();

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

  /** @returns {Promise<Connection>} rejects with what `use.reject` gets */
  add(use) {
    const queue = this[use.kind];
    use.link = queue.add(use);
    return new Promise((resolve, reject) => {
      Object.assign(use, { resolve, reject: error => queue.delete(use.link) && reject(error) });
    });
  }

  /** @param {function(Use): Connection|undefined} find gives a use its connection, if there is one */
  serve(find) {
    for (const queue of this.#queues) {
      while (queue.size > 0) {
        const use = queue.shift(); // before a listener of the pool asks more, aborts it or ends all
        const connection = find(use);
        if (!connection) {
          use.link = queue.add(use, queue.next);
          break;
        }
        use.resolve(connection);
      }
    }
  }

  /** @param {function(Use): Error|false|undefined} errorOf a waiting use, if it is to wait no longer */
  reject(errorOf) {
    for (const use of [...this.owner.values(), ...this.query.values()]) {
      const error = errorOf(use);
      if (error) use.reject(error);
    }
  }
}

module.exports = { Use, Waiting };

'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

/** Milliseconds until a commit that is not visible yet is looked for again. */
const PAUSE = 5;

/**
 * Finds the tags in what an iterable gives: notifications, whose payload is a tag, changes of replication, whose tag is the
 * table's name, and strings. The server streams a commit before other sessions see it, so tags of changes wait for that.
 */
class Follower {
  #commits = []; // `{ xid, tags }` that may not be visible yet
  #current; // the transaction that is being read
  #changed;
  #session;

  /** @param {function(string|undefined)} changed gets each tag, or undefined for all of them */
  constructor(session, changed) {
    this.#session = session;
    this.#changed = changed;
  }

  take(each) {
    const { type, xid, relation, relations = [relation], payload, missed } = each;
    if (typeof each === 'string') this.#changed(each);
    else if (type === undefined || type === 'missed') this.#changed(missed || !payload ? undefined : payload);
    else if (type === 'begin') this.#current = { xid, tags: new Set() };
    else if (type === 'commit') this.#commit();
    else for (const { name } of relations) this.#current.tags.add(name);
  }

  #commit() {
    if (this.#commits.push(this.#current) === 1) this.#see().catch(() => this.#changed()).finally(() => { this.#commits = []; });
  }

  /** Waits until the commits are visible. */
  async #see() {
    while (this.#commits.length > 0) {
      const { rows } = await this.#session.query('SELECT txid_current_snapshot()::text AS seen', [], { decode: false });
      const [, next, running] = rows[0].seen.split(':');
      const low = number => Number(BigInt.asUintN(32, BigInt(number)));
      const unseen = new Set(running.split(',').map(low));
      const isVisible = ({ xid }) => (low(next) - xid | 0) > 0 && !unseen.has(xid);
      const visible = this.#commits.filter(isVisible);
      this.#commits = this.#commits.filter(each => !isVisible(each));
      for (const tag of new Set(visible.flatMap(({ tags }) => [...tags]))) this.#changed(tag);
      if (this.#commits.length > 0) await sleep(PAUSE);
    }
  }
}

module.exports = { Follower };

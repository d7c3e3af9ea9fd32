'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

/** Milliseconds until a commit that is not visible yet is looked for again. */
const PAUSE = 5;

/** The lower half of a transaction id, which changes tell. */
const low = text => Number(BigInt.asUintN(32, BigInt(text)));

/**
 * Finds the tags in what an iterable gives: notifications, whose payload is a tag, changes of replication, whose tag is
 * the table's name, and strings. The server streams a commit before other sessions see it, so tags of changes wait for
 * that.
 * @param {function(string|undefined)} changed gets each tag, or undefined for all of them
 * @returns {function(*)} takes what the iterable gives
 */
function follower(session, changed) {
  let commits = []; // `{ xid, tags }` that may not be visible yet
  let current; // the transaction that is being read

  /** Waits until the commits are visible. */
  async function see() {
    while (commits.length > 0) {
      const { rows } = await session.query('SELECT txid_current_snapshot()::text AS seen', [], { decode: false });
      const [, next, running] = rows[0].seen.split(':');
      const unseen = new Set(running.split(',').map(low));
      const isVisible = ({ xid }) => ((low(next) - xid) | 0) > 0 && !unseen.has(xid);
      const visible = commits.filter(isVisible);
      commits = commits.filter(each => !isVisible(each));
      for (const tag of new Set(visible.flatMap(({ tags }) => [...tags]))) changed(tag);
      if (commits.length > 0) await sleep(PAUSE);
    }
  }

  return each => {
    const { type, xid, relation, relations = [relation], payload, missed } = each;
    if (typeof each === 'string') changed(each);
    else if (type === undefined || type === 'missed') changed(missed || !payload ? undefined : payload);
    else if (type === 'begin') current = { xid, tags: new Set() };
    else if (type !== 'commit') for (const { name } of relations) current.tags.add(name);
    else if (commits.push(current) === 1)
      see().catch(() => {
        commits = [];
        changed();
      });
  };
}

module.exports = { follower };

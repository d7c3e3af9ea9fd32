'use strict';

const { setTimeout: sleep } = require('node:timers/promises');

/** Milliseconds until a commit that is not visible yet is looked for again. */
const PAUSE = 5;

/**
 * Which transactions are visible, and by the OID of each changed table the names of all tables whose rows have changed
 * with it: the table, what it is a partition of or inherits from, and what a partitioned table consists of, as a
 * publication with publish_via_partition_root does not tell in which partition a row is. The same snapshot sees both,
 * so a partition is attached at the latest when its rows are visible.
 */
const LOOK = `WITH RECURSIVE
  parts(changed, part) AS (
    SELECT oid, oid FROM unnest($1::oid[]) AS oid
    UNION SELECT changed, inhrelid
    FROM parts JOIN pg_partitioned_table ON partrelid = part JOIN pg_inherits ON inhparent = part),
  tables(changed, id) AS (
    SELECT changed, part FROM parts
    UNION SELECT changed, inhparent FROM tables JOIN pg_inherits ON inhrelid = id)
SELECT txid_current_snapshot()::text AS seen, changed::text, relname::text AS name
FROM (SELECT) AS once LEFT JOIN (tables JOIN pg_class ON oid = id) ON true`;

/** The lower half of a transaction id, which changes tell. */
const low = text => Number(BigInt.asUintN(32, BigInt(text)));

/**
 * Finds the tags in what an iterable gives: notifications, whose payload is a tag, changes of replication, whose tags
 * are the names of tables, and strings. The server streams a commit before other sessions see it, so tags of changes
 * wait for that.
 * @param {function(string|undefined)} changed gets each tag, or undefined for all of them
 * @param {{statement_timeout: number, doubt: function}} live what all results share
 * @returns {function(*)} takes what the iterable gives
 */
function follower(session, changed, { statement_timeout, doubt }) {
  let commits = []; // `{ xid, tables }` that may not be visible yet, tables: names by their OIDs
  let current; // the transaction that is being read

  /** Waits until the commits are visible. */
  async function see() {
    while (commits.length > 0) {
      const asked = [...commits]; // more come meanwhile
      const oids = new Set(asked.flatMap(({ tables }) => [...tables.keys()]));
      const { rows } = await session.query(LOOK, [[...oids]], { decode: false, statement_timeout });
      const [, next, running] = rows[0].seen.split(':');
      const unseen = new Set(running.split(',').map(low));
      const isVisible = ({ xid }) => ((low(next) - xid) | 0) > 0 && !unseen.has(xid);
      const visible = new Set(asked.filter(isVisible));
      commits = commits.filter(each => !visible.has(each));
      const tables = new Map(Array.from(visible).flatMap(commit => [...commit.tables]));
      const names = rows.filter(row => tables.has(Number(row.changed))).map(({ name }) => name);
      for (const tag of new Set([...tables.values(), ...names])) changed(tag); // a table may have gone
      if (commits.length > 0) await sleep(PAUSE);
    }
  }

  return each => {
    const { type, xid, relation, relations = [relation], payload, missed } = each;
    if (typeof each === 'string') changed(each);
    else if (type === 'missed') {
      doubt();
      changed();
    } else if (type === undefined) changed(missed || !payload ? undefined : payload);
    else if (type === 'begin') current = { xid, tables: new Map() };
    else if (type !== 'commit') for (const { oid, name } of relations) current.tables.set(oid, name);
    else if (commits.push(current) === 1)
      see().catch(error => {
        if (error.name === 'TimeoutError') doubt();
        commits = [];
        changed();
      });
  };
}

module.exports = { follower };

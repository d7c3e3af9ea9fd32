'use strict';

/** How far a standby is behind, in milliseconds; one that has all that its primary has sent is not. */
const LAG = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
  WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
  ELSE coalesce(1000 * extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 'Infinity')
  END::float8::text AS lag`;

/** @type {WeakMap<Client, {time: number, lag: Promise<number>}>} what clients were last asked, and when */
const asked = new WeakMap();

/**
 * Asks a standby, once in `most` milliseconds; it may fall behind as fast as time goes by.
 * @param {Client} client
 * @param {number} most milliseconds
 * @returns {Promise<boolean>} whether it is at most so far behind; false where it does not say
 */
async function isFresh(client, most) {
  let known = asked.get(client);
  if (known === undefined || performance.now() - known.time > most) {
    const lag = client.query(LAG).then(({ rows: [row] }) => Number(row.lag), () => Infinity);
    asked.set(client, known = { time: performance.now(), lag });
  }
  return await known.lag + performance.now() - known.time <= most;
}

module.exports = { isFresh };

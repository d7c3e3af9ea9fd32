'use strict';

/** How far a standby is behind, in milliseconds; one that has all that its primary has sent is not. */
const LAG = `SELECT CASE WHEN NOT pg_is_in_recovery() THEN 0
  WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN 0
  ELSE coalesce(1000 * extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 'Infinity')
  END::float8::text AS lag`;

/** @type {WeakMap<Client, {time: number, asking: Promise}>} when a client's server was known to be up to date */
const known = new WeakMap();

/**
 * Asks a standby, as often as needed.
 * @param {Client} client
 * @param {number} most milliseconds
 * @returns {Promise<boolean>} whether it is at most so far behind
 */
async function isFresh(client, most) {
  const state = known.get(client) ?? { time: -Infinity, asking: undefined };
  known.set(client, state);
  const now = performance.now();
  if (now - state.time > most) {
    state.asking ??= client.query(LAG).finally(() => { state.asking = undefined; });
    const { rows: [{ lag }] } = await state.asking;
    state.time = Math.max(state.time, now - Number(lag));
  }
  return performance.now() - state.time <= most;
}

module.exports = { isFresh };

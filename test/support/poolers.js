'use strict';

// Poolers in front of the shared server, as `stranger` takes them.

const net = require('node:net');
const { startPgBouncer } = require('pg-test-fixtures');
const { sharedServer } = require('.');
const { startTransactionPooler } = require('./transaction-pooler');

const NOT_KEPT = /listen on the direct URL/;
const REFUSED = /unsupported startup parameter.*ALTER ROLE/;
const NO_BLOCKS = /transaction blocks not allowed|EPIPE|ECONNRESET/; // PgBouncer closes the connection, which a write may meet first
const startBouncer = mode => async () => startPgBouncer({ target: await sharedServer(), mode, poolSize: 10 });

const PGBOUNCER = {
  session: {
    name: 'PgBouncer in session mode',
    needs: 'pgbouncer',
    start: startBouncer('session'),
    listen: { session: true },
    lacks: { 'settings in the config': REFUSED }
  },
  transaction: {
    name: 'PgBouncer in transaction mode',
    needs: 'pgbouncer',
    start: startBouncer('transaction'),
    options: { statement_cache: 0 },
    lacks: { listen: NOT_KEPT, 'settings in the config': REFUSED }
  },
  statement: {
    name: 'PgBouncer in statement mode',
    needs: 'pgbouncer',
    start: startBouncer('statement'),
    options: { statement_cache: 0 },
    lacks: {
      transaction: NO_BLOCKS,
      'transactions at once': NO_BLOCKS,
      savepoint: NO_BLOCKS,
      cursor: NO_BLOCKS,
      'a cursor in a transaction': NO_BLOCKS,
      'COPY FROM in a transaction that is rolled back': NO_BLOCKS,
      'connection() of a pool': NO_BLOCKS,
      listen: NOT_KEPT,
      'settings in the config': REFUSED
    }
  }
};

/** The URL that Supabase prints, with the way to a stand-in. */
const standIn = (name, drops) => ({
  name,
  async start() {
    const target = await sharedServer();
    const { port, stop } = await startTransactionPooler({ target, size: 3, drops });
    const connectionString = `postgresql://${target.user}@aws-0-eu-central-1.pooler.supabase.com:6543/${target.database}`;
    return { config: { connectionString, socket: () => net.connect(port, '127.0.0.1') }, stop };
  },
  lacks: { listen: NOT_KEPT, 'settings in the config': /'"\$user", public'/ }
});

const STAND_INS = [
  standIn('a pooler that gives the server away at the first ReadyForQuery'),
  standIn('a pooler that drops what was pipelined', true)
];

module.exports = { PGBOUNCER, STAND_INS, REFUSED };

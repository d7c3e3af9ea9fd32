'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const pg = require('../../lib/pg');
const { endAfterTest } = require('../support/hooks');
const { sharedServer } = require('../support');
const { startTransactionPooler } = require('../support/transaction-pooler');

/** The URL that Supabase prints. */
const urlOf = ({ user, database }) => `postgresql://${user}@aws-0-eu-central-1.pooler.supabase.com:6543/${database}`;

/** Queries that say which client asks, 20 at once. @returns {Promise<number>} how many were answered */
async function ask(query, client, count) {
  let answered = 0;
  for (let n = 0; n < count; n += 20) {
    await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const { rows } = await query('SELECT $1::text AS client, $2::text AS n', [client, n + i].map(String));
        assert.deepEqual({ ...(rows[0].toObject?.() ?? rows[0]) }, { client: String(client), n: String(n + i) });
        answered++;
      })
    );
  }
  return answered;
}

const sum = numbers => numbers.reduce((total, each) => total + each, 0);

for (const drops of [false, true]) {
  describe(`A pooler that takes the server away at the first ReadyForQuery, and ${drops ? 'drops what was pipelined' : 'gives later answers to another client'}`, () => {
    let pooler, connectionString, socket;

    before(async () => {
      const server = await sharedServer();
      pooler = await startTransactionPooler({ target: server, drops });
      connectionString = urlOf(server);
      socket = () => net.connect(pooler.port, pooler.host);
    });

    after(() => pooler?.stop());

    it('gives each of 40 clients its own rows in 1,600 queries, with the URL that Supabase prints', async () => {
      const clients = Array.from({ length: 40 }, () => endAfterTest(new Client({ connectionString, socket })));
      await Promise.all(clients.map(client => client.connect()));
      const answered = await Promise.all(clients.map((client, n) => ask((...query) => client.query(...query), n, 40)));
      assert.equal(sum(answered), 1600);
    });

    it('gives each of two pools its own rows, and those of transactions', async () => {
      const pools = [1, 2].map(() => endAfterTest(new Pool({ connectionString, socket })));
      const answered = await Promise.all(
        pools.map(async (pool, n) => {
          const [queries] = await Promise.all([
            ask((...query) => pool.query(...query), n, 300),
            ...Array.from({ length: 20 }, () => pool.transaction(tx => ask((...query) => tx.query(...query), n, 20)))
          ]);
          return queries;
        })
      );
      assert.equal(sum(answered), 600);
    });

    it('gives each of two pools of quickgres/pg its own rows', async () => {
      // node-postgres calls the method `connect` of its `stream`.
      const stream = () =>
        Object.assign(new net.Socket(), {
          connect() {
            net.Socket.prototype.connect.call(this, pooler.port, pooler.host);
          }
        });
      const pools = [1, 2].map(() => new pg.Pool({ connectionString, stream }));
      const answered = await Promise.all(pools.map((pool, n) => ask((...query) => pool.query(...query), n, 300)));
      assert.equal(sum(answered), 600);
      await Promise.all(pools.map(pool => pool.end()));
    });
  });
}

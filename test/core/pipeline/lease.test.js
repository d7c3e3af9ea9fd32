'use strict';

const assert = require('node:assert/strict');
const { Pool } = require('../../../lib/pool');
const { connected, sharedServer } = require('../../support');

describe('A request on a lease', () => {
  it('is sent in the same call by a client and a transaction, and by a pool with an open connection', async () => {
    const client = await connected();
    client.simpleQuery('SELECT 1').catch(() => {});
    assert.equal(client.pending, 1);
    await client.transaction(async tx => {
      tx.batch([['SELECT 1']]).catch(() => {});
      assert.ok(client.pending > 0);
    });
    const pool = new Pool((await sharedServer()).config, { size: 1 });
    await pool.query('SELECT 1');
    const asked = pool.simpleQuery('SELECT 2 AS two');
    assert.equal(pool.stats.pending, 1);
    assert.equal((await asked)[0].rows[0].two, 2);
    await pool.end();
  });

  it('lets nothing be sent behind it with `alone`', async () => {
    const client = await connected();
    let isOver = false;
    client.batch([['SELECT pg_sleep(0.05)']], { alone: true }).then(() => {
      isOver = true;
    });
    await client.query('SELECT 1');
    assert.ok(isOver);
  });
});

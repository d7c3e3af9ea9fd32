'use strict';

const assert = require('node:assert/strict');
const { startPgBouncer, skipUnless } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { seeded } = require('../../support/kit');
const { sharedServer } = require('../../support');
const { mix } = require('../../support/mixing');

describe('Signals that are aborted', function () {
  this.timeout(120000);

  it('do so through PgBouncer in transaction mode, where other clients use the same sessions', async function () {
    skipUnless(this, 'pgbouncer');
    const bouncer = await startPgBouncer({ target: await sharedServer(), mode: 'transaction', poolSize: 2 });
    const clients = [1, 2, 3].map(() => new Client({ ...bouncer.config, statement_cache: 0 }));
    try {
      await Promise.all(clients.map(client => client.connect()));
      const counts = await Promise.all([
        mix(clients[0], seeded(1)),
        mix(clients[1], seeded(2), 3000, 100),
        mix(clients[2], seeded(3), 3000, 0)
      ]);
      assert.ok(counts[0].aborted > 50);
    } finally {
      await Promise.all(clients.map(client => client.end()));
      await bouncer.stop();
    }
  });
});

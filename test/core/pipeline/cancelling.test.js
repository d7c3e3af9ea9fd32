'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { AbortError } = require('../../..');
const { seeded } = require('../../support/kit');
const { connected } = require('../../support');
const { ABORTED, QUERIES, mix } = require('../../support/mixing');

describe('Signals that are aborted', function () {
  this.timeout(120000);

  it('at random moments reject their own queries and no other', async () => {
    const client = await connected();
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { aborted, spared } = await mix(client, seeded(seed), QUERIES / 5, ABORTED / 5).catch(error => {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    });
    assert.ok(aborted > 20, `${aborted} of ${ABORTED / 5} were aborted`);
    assert.ok(spared > 0, `${spared} of ${ABORTED / 5} were over before`);
    await client.sync();
    assert.equal(client.pending, 0);
  });

  it('end what runs, and what comes next is answered at once', async () => {
    const client = await connected();
    for (let i = 0; i < 5; i++) {
      const abort = new AbortController();
      const begun = Date.now();
      const slow = client.query('SELECT pg_sleep(30)', [], { signal: abort.signal });
      setTimeout(() => abort.abort(), 20);
      await assert.rejects(slow, AbortError);
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.ok(Date.now() - begun < 10000);
    }
    await sleep(0);
    assert.equal(client.pending, 0);
  });
});

'use strict';

const assert = require('node:assert/strict');
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
});

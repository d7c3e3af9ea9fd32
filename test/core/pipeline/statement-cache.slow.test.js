'use strict';

const assert = require('node:assert/strict');
const { skipBefore } = require('pg-test-fixtures');
const { connected } = require('../../support');
const { soak, growth } = require('../../whole/soak');

describe('The statement cache', () => {
  it('keeps memory flat on both sides, however many texts there are', async function () {
    skipBefore(this, 14, 'pg_backend_memory_contexts');
    this.timeout(60000);
    const client = await connected({ statement_cache: 100 });
    const samples = await soak(client, { queries: 50000, texts: 2000 });
    const { heap, external, server } = growth(samples);
    assert.ok(heap < 1e6 && external < 1e6 && server < 1e6, JSON.stringify(samples));
    assert.ok(samples.every(({ statements }) => statements <= 100));
  });
});

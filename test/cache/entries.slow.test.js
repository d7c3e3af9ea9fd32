'use strict';

const assert = require('node:assert/strict');
const { Entries } = require('../../lib/cache/entries');
const { gc } = require('../support/gc');

const answerOf = length => ({ body: Buffer.allocUnsafeSlow(length) });

describe('Entries', () => {
  it('stay below the bound under 1,000,000 keys, in truth as by their own count', async function () {
    this.timeout(120000);
    const maxBytes = 1 << 24;
    const entries = new Entries(maxBytes);
    let most = 0;
    for (let i = 0; i < 1000000; i++) {
      entries.keep(entries.use(`key ${i} of ${i}`, [`tag ${i % 1000}`]), answerOf(100));
      most = Math.max(most, entries.bytes);
    }
    assert.ok(most <= maxBytes, `${most} bytes`);
    assert.equal(entries.size + entries.evictions, 1000000);
    const used = async () => {
      for (let i = 0; i < 3; i++) {
        gc();
        await new Promise(setImmediate); // buffers are freed by other threads
      }
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const full = await used();
    entries.clear();
    assert.equal(entries.bytes, 0);
    const taken = full - (await used());
    assert.ok(taken > maxBytes / 8 && taken < maxBytes, `${taken} bytes in truth`);
  });
});

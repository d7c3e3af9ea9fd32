'use strict';

const assert = require('node:assert/strict');
const { FLAT, watchAlone } = require('../../support/slow-reader');
const { connected, sharedServer } = require('../../support');

describe('copyTo', () => {
  it('gives a row of 100 MB, which is in memory no more than twice', async () => {
    const client = await connected();
    const before = process.memoryUsage.rss();
    let length = 0;
    for await (const chunk of client.copyTo("COPY (SELECT repeat('x', 100000000)) TO STDOUT")) {
      length += chunk.length;
      assert.ok(process.memoryUsage.rss() - before < 2e8);
    }
    assert.equal(length, 100000001);
  });

  it('keeps memory flat while its reader takes 1 MB/s of half a gigabyte, and after', async () => {
    const { length, most } = await watchAlone((await sharedServer()).url, 'copyTo', 2);
    assert.ok(length > 5e8);
    assert.ok(most < FLAT, `${most} MB`);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { sharedServer } = require('../support');
const { FLAT, watchAlone } = require('../support/slow-reader');

describe('A cursor as a stream', () => {
  describe('of Node', () => {
    it('keeps memory flat while its reader takes 1 MB/s of half a gigabyte, and after', async () => {
      const { length, most } = await watchAlone((await sharedServer()).url, 'cursor', 1);
      assert.ok(length > 5e8);
      assert.ok(most < FLAT, `${most} MB`);
    });

    it('gives 500,000 rows in flat memory', async () => {
      const { length, most } = await watchAlone((await sharedServer()).url, 'readable', 1);
      assert.ok(length > 5e8);
      assert.ok(most < FLAT, `${most} MB`);
    });
  });
});

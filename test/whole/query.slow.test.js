'use strict';

const assert = require('node:assert/strict');
const { Client } = require('../..');
const { connected } = require('../support');

describe('query', () => {
  it('gives values of 100 MB, both ways', async function () {
    this.timeout(60_000);
    const client = await connected();
    const size = 100_000_000;
    const {
      rows: [[text]]
    } = await client.query("SELECT repeat('0123456789', 10000000)");
    assert.equal(text.length, size);
    assert.equal(text.slice(-10), '0123456789');
    const bytes = Buffer.alloc(size, 'abc');
    const {
      rows: [row]
    } = await client.query('SELECT $1::bytea AS same, 1', [bytes], Client.BINARY);
    assert.equal(Buffer.compare(row.same, bytes), 0);
    assert.equal(row[1], 1);
  });
});

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

describe('Pipelined queries', () => {
  it('of one loop are a million, and come back in order with the right rows', async function () {
    this.timeout(120_000);
    const client = await connected();
    const count = 1_000_000;
    let next = 0;
    let wrong = 0;
    await new Promise((resolve, reject) => {
      for (let i = 0; i < count; i++) {
        client.query('SELECT $1::int4', [i]).then(({ rows }) => {
          if (rows.length !== 1 || rows[0][0] !== i || i !== next) wrong++;
          if (++next === count) resolve();
        }, reject);
      }
      assert.equal(client.pending, count);
    });
    assert.equal(wrong, 0);
    assert.equal(client.pending, 0);
  });
});

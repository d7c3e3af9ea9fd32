'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { sharedServer } = require('../support');

/** Heap and buffers of a pending query, in bytes; some 600 are usual, of which 90 are the messages. */
const MOST = 1000;

/** Runs pending.js, which measures, in a process of its own. */
async function measure(queries, where) {
  const { config } = await sharedServer();
  const args = [path.join(__dirname, 'pending.js'), queries, where, JSON.stringify(config)];
  return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
}

describe('Very many pending queries', function () {
  this.timeout(180000);

  for (const [where, name, count] of [
    ['wire', 'on the wire', 1000000],
    ['client', 'in the client', 200000]
  ]) {
    it(`are answered in order, and take little memory while they wait ${name}`, async () => {
      const many = await measure(count, where);
      assert.equal(many.waiting, count + 1);
      assert.ok(many.heap + many.buffers < MOST, JSON.stringify(many));
      assert.ok(many.left < 150e6, `${many.left} bytes are left`);
    });
  }
});

'use strict';

// What the tests of copyTo and copyFrom share.

const assert = require('node:assert/strict');
const { activity } = require('.');

/** Whether the server process of a client has nothing to do. */
const isIdle = async client => (await activity(client)) === 'idle';

/** All that a readable gives. */
async function collect(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** That the connection goes on. */
async function goesOn(client) {
  assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
}

module.exports = { collect, goesOn, isIdle };

'use strict';

// Queries of which some are given up, all on one connection.

const assert = require('node:assert/strict');
const { AbortError } = require('../..');

const QUERIES = 10000;
const ABORTED = 500;
/** Queries that are waited for together: so many wait in the client and on the wire at a time. */
const WINDOW = 400;

/**
 * Runs queries of which some have signals that are aborted at random moments: before they are sent, while others are
 * answered, while they run, when they are over.
 * @returns {Promise<{aborted: number, spared: number}>} how many rejected, and how many were over by then
 */
async function mix(client, random, queries = QUERIES, aborts = ABORTED) {
  const chosen = new Set();
  while (chosen.size < aborts) chosen.add(random.below(queries));
  const count = { aborted: 0, spared: 0 };
  const one = async index => {
    const slow = random.chance(chosen.has(index) ? 0.5 : 0.01);
    const text = slow ? 'SELECT $1::int AS i, pg_sleep(0.02)' : 'SELECT $1::int AS i';
    const abort = chosen.has(index) ? new AbortController() : undefined;
    const promise = client.query(text, [index], abort && { signal: abort.signal });
    if (abort) {
      const delay = random.pick([-1, 0, random.below(5), random.below(30), random.below(100)]);
      if (delay < 0) abort.abort();
      else if (delay === 0) setImmediate(() => abort.abort());
      else setTimeout(() => abort.abort(), delay);
    }
    try {
      const { rows } = await promise;
      assert.deepEqual([rows.length, rows[0].i], [1, String(index)]);
      if (abort) count.spared++;
    } catch (error) {
      assert.ok(abort, `query ${index} had no signal: ${error.stack}`);
      assert.ok(error instanceof AbortError || error.code === '57014', error.stack);
      count.aborted++;
    }
  };
  for (let index = 0; index < queries;) {
    const works = [];
    while (works.length < WINDOW && index < queries) works.push(one(index++));
    await Promise.all(works);
  }
  assert.equal(count.aborted + count.spared, aborts);
  return count;
}

module.exports = { ABORTED, mix };

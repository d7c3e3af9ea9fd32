'use strict';

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { startPgBouncer, skipUnless } = require('pg-test-fixtures');
const { Client, AbortError } = require('../..');
const { Random } = require('../model');
const { sharedServer, connected } = require('../support');

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

describe('Signals that are aborted', function () {
  this.timeout(120000);

  it('at random moments reject their own queries and no other', async () => {
    const client = await connected();
    const seed = Math.floor(Math.random() * 2 ** 32);
    const { aborted, spared } = await mix(client, new Random(seed)).catch(error => {
      error.message = `seed ${seed}: ${error.message}`;
      throw error;
    });
    assert.ok(aborted > 50, `${aborted} of ${ABORTED} were aborted`);
    assert.ok(spared > 5, `${spared} of ${ABORTED} were over before`);
    await client.sync();
    assert.equal(client.pending, 0);
  });

  it('do so through PgBouncer in transaction mode, where other clients use the same sessions', async function () {
    skipUnless(this, 'pgbouncer');
    const bouncer = await startPgBouncer({ target: await sharedServer(), mode: 'transaction', poolSize: 2 });
    const clients = [1, 2, 3].map(() => new Client({ ...bouncer.config, statement_cache: 0 }));
    try {
      await Promise.all(clients.map(client => client.connect()));
      const counts = await Promise.all([
        mix(clients[0], new Random(1)), mix(clients[1], new Random(2), 3000, 100), mix(clients[2], new Random(3), 3000, 0)
      ]);
      assert.ok(counts[0].aborted > 50);
    } finally {
      await Promise.all(clients.map(client => client.end()));
      await bouncer.stop();
    }
  });

  it('end what runs, and what comes next is answered at once', async () => {
    const client = await connected();
    for (let i = 0; i < 5; i++) {
      const abort = new AbortController();
      const begun = Date.now();
      const slow = client.query('SELECT pg_sleep(30)', [], { signal: abort.signal });
      setTimeout(() => abort.abort(), 20);
      await assert.rejects(slow, AbortError);
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, '1');
      assert.ok(Date.now() - begun < 10000);
    }
    await sleep(0);
    assert.equal(client.pending, 0);
  });
});

'use strict';

// Queries of which some are given up, all on one connection. As a script it goes on for long, on a client and on a pool,
// and on sessions of both with settings, whose rows have to show the settings of their own session:
//   node test/support/mixing.js [seconds=1200] [seed]

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { setTimeout: sleep } = require('node:timers/promises');
const { startServer } = require('pg-test-fixtures');
const { AbortError, Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { seeded } = require('./kit');

const QUERIES = 10000;
const ABORTED = 500;
const SETTING = 'mix.tenant';
const TENANTS = ['one', 'two', 'three'];
/** Queries that are waited for together: so many wait in the client and on the wire at a time. */
const WINDOW = 400;

/**
 * Runs queries of which some have signals that are aborted at random moments: before they are sent, while others are
 * answered, while they run, when they are over.
 * @param {string[]} [tenants] sessions of the client with this setting take some of the queries
 * @returns {Promise<{aborted: number, spared: number}>} how many rejected, and how many were over by then
 */
async function mix(client, random, queries = QUERIES, aborts = ABORTED, tenants = []) {
  const chosen = new Set();
  while (chosen.size < aborts) chosen.add(random.below(queries));
  const count = { aborted: 0, spared: 0 };
  const sessions = [[client, undefined], ...tenants.map(tenant => [client.with({ [SETTING]: tenant }), tenant])];
  const one = async index => {
    const slow = random.chance(chosen.has(index) ? 0.5 : 0.01);
    const text = `SELECT $1::int AS i, current_setting('${SETTING}', true) AS tenant${slow ? ', pg_sleep(0.02)' : ''}`;
    const [session, tenant] = random.pick(sessions);
    const abort = chosen.has(index) ? new AbortController() : undefined;
    const promise = session.query(text, [index], abort && { signal: abort.signal });
    if (abort) {
      const delay = random.pick([-1, 0, random.below(5), random.below(30), random.below(100), Infinity]);
      if (delay < 0) abort.abort();
      else if (delay === Infinity) promise.finally(() => abort.abort()).catch(() => {});
      else if (delay === 0) setImmediate(() => abort.abort());
      else setTimeout(() => abort.abort(), delay);
    }
    try {
      const { rows } = await promise;
      // A setting that ended with its request is an empty string for the next ones.
      assert.deepEqual([rows.length, rows[0].i, rows[0].tenant || undefined], [1, index, tenant]);
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

/** Requests that take for ever. */
const LONG = 'SELECT pg_sleep(600)';
const ENDLESS = {
  query: (on, limits) => on.query(LONG, [], limits),
  'uncached query': (on, limits) => on.query(LONG, [], { ...limits, cache: false }),
  'last of a batch': (on, limits) => on.batch([['SELECT 1'], [LONG]], limits),
  'first of a batch': (on, limits) => on.batch([[LONG], ['SELECT 1']], limits),
  simpleQuery: (on, { alone, ...limits }) => on.simpleQuery(`SELECT 1; ${LONG}; SELECT 2`, limits),
  queryTo: (on, limits) => on.queryTo(new PassThrough().resume(), LONG, [], limits),
  transaction: (on, { alone, ...limits }) => on.transaction(tx => tx.query(LONG), limits),
  'query in a transaction': (on, limits) =>
    on.transaction(async tx => {
      await tx.query('SELECT 1', [], limits);
      await Promise.all([tx.query(LONG, [], limits), tx.query(LONG, [], limits)]);
    }),
  'query in a savepoint': (on, limits) => on.transaction(tx => tx.transaction(inner => inner.query(LONG, [], limits))),
  cursor: async (on, { signal }) => {
    for await (const row of on.cursor(LONG, [], { signal })) assert.ok(row);
  },
  copyTo: async (on, { signal }) => {
    for await (const piece of on.copyTo(`COPY (${LONG}) TO STDOUT`, { signal })) assert.ok(piece);
  }
};

const OF_TENANTS = Object.keys(ENDLESS).filter(kind => kind !== 'simpleQuery');

/** What is asked behind requests that were given up has to be answered within so many milliseconds. */
const HANGS = 20000;

/** Gives up several endless requests, each at a random moment, before which others may be; then one is asked that lives. */
async function giveUp(on, random, all = Object.keys(ENDLESS)) {
  const kinds = Array.from({ length: 1 + random.below(4) }, () => random.pick(all));
  const before = random.chance(0.5) ? on.query('SELECT pg_sleep($1)', [random.below(30) / 1000]) : undefined;
  const works = kinds.map(kind => {
    const abort = new AbortController();
    const delay = random.pick([0, 1, 2, random.below(10), random.below(60)]);
    const isTimed = random.chance(0.3) && !['cursor', 'copyTo'].includes(kind);
    const limits = {
      alone: random.chance(0.3),
      ...(isTimed ? { statement_timeout: delay + 1 } : { signal: abort.signal })
    };
    if (delay === 0) setImmediate(() => abort.abort());
    else setTimeout(() => abort.abort(), delay);
    const kept = Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== false));
    return assert.rejects(ENDLESS[kind](on, kept), error => error.name === 'AbortError' || error.code === '57014');
  });
  const over = new AbortController();
  const late = sleep(HANGS, undefined, { signal: over.signal }).then(() => assert.fail(`behind ${kinds.join(', ')}`));
  late.catch(() => {});
  const answered = async () => {
    await before;
    await Promise.all(works);
    assert.equal((await on.query('SELECT 1 AS one')).rows[0].one, 1);
  };
  await Promise.race([answered(), late]).finally(() => over.abort());
  return kinds.length;
}

async function main(seconds = 1200, seed = Math.floor(Math.random() * 2 ** 32)) {
  console.log(`seed ${seed}`);
  const random = seeded(Number(seed));
  const server = await startServer({ external: false });
  const client = new Client(server.config);
  await client.connect();
  const pool = new Pool(server.config, { size: 3 });
  const counts = { mixed: 0, aborted: 0, spared: 0, endless: 0 };
  for (const until = Date.now() + seconds * 1000; Date.now() < until;) {
    for (const on of [client, pool]) {
      const { aborted, spared } = await mix(on, random.fork(), 1200, 60, TENANTS);
      counts.mixed += 1200;
      counts.aborted += aborted;
      counts.spared += spared;
      for (let i = 0; i < 20; i++) {
        const given = random.chance(0.5)
          ? [on, random.fork()]
          : [on.with({ [SETTING]: random.pick(TENANTS) }), random.fork(), OF_TENANTS];
        counts.endless += await giveUp(...given);
      }
    }
  }
  await Promise.all([client.end(), pool.end()]);
  await server.stop();
  console.log(JSON.stringify(counts));
}

if (require.main === module) main(...process.argv.slice(2));
module.exports = { ABORTED, QUERIES, giveUp, mix };

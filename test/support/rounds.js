'use strict';

// Rounds of the model: some operations at once, and what has come of them.

const assert = require('node:assert/strict');
const { setTimeout: sleep } = require('node:timers/promises');
const { startProxy } = require('pg-test-fixtures');
const { Client, ConnectionError } = require('../..');
const { seeded } = require('./kit');
const { Model, operations } = require('./model');
const { sharedServer } = require('.');

/** A round that takes longer hangs, in milliseconds. */
const ROUND = 120000;

/** The client's connection: those of CancelRequests, which may be younger, never get an answer. */
function current({ connections }) {
  return connections.findLast(({ stats }) => stats.bytes.toClient > 0);
}

/** Some operations at once, some of them a little later, on one connection; sometimes it breaks. */
async function round(client, proxy, model, random) {
  const { wire } = model;
  // Single bytes would take minutes on a busy machine.
  wire.fragment(random.chance(0.5) ? { seed: random.below(1000), min: 1, max: 16 << random.below(12) } : null);
  wire.fragment(random.chance(0.2) ? { seed: random.below(1000), min: 1, max: 1000 } : null, 'toServer');
  const breaks = random.chance(0.05);
  const names = [];
  const works = [];
  for (let i = 1 + random.below(25); i > 0; i--) {
    const name = random.pick(Object.keys(operations));
    names.push(name);
    works.push(operations[name](client, random.fork(), model.named(name)));
    const over = model.unsettled.delete.bind(model.unsettled, works.length);
    model.unsettled.set(works.length, name);
    works.at(-1).then(over, over); // it is looked at later
    if (random.chance(0.2)) await sleep(random.below(5));
  }
  if (breaks) setTimeout(() => (random.chance(0.5) ? wire.cut() : wire.reset()), random.below(20));
  const results = await Promise.allSettled(works);
  results.forEach(({ reason }, index) => {
    // What was lost with a DISCARD ALL or changed by DDL is not sent again where something behind it was carried out.
    const stale = reason && ['26000', '0A000'].includes(reason.code);
    if (reason && !stale && !(breaks && reason instanceof ConnectionError)) {
      reason.message = `${names[index]}: ${reason.message} (of ${names.join(', ')})`;
      throw reason;
    }
  });
  if (breaks) {
    await client.closed;
    await client.connect();
    model.wire = current(proxy);
  }
  await client.sync();
  assert.equal(client.pending, 0);
  assert.equal(client.bufferedBytes, 0);
}

/** Whether the table has the rows that it must have. */
async function reconcile(server, model) {
  const there = new Set((await server.sql('SELECT id FROM model')).map(({ id }) => Number(id)));
  for (const [id, { there: must, name }] of model.rows) {
    if (must !== undefined) assert.equal(there.has(id), must, `row ${id} of ${name}`);
  }
  model.rows.clear();
  await server.sql('DELETE FROM model WHERE id > 0');
}

/**
 * Runs rounds on one connection until the time is over; throws what goes wrong, with the seed of its round.
 * @param {number} seconds
 * @param {number} first seed of the first round
 */
async function runRounds(seconds, first) {
  const server = await sharedServer();
  await server.sql('DROP TABLE IF EXISTS model, changing');
  await server.sql("CREATE TABLE model (id int PRIMARY KEY, v text DEFAULT current_setting('model.tenant', true))");
  await server.sql("INSERT INTO model VALUES (0, 'zero')");
  await server.sql('CREATE TABLE changing AS SELECT 1 AS a');
  const proxy = await startProxy({ target: server });
  const client = new Client({ ...server.config, host: proxy.host, port: proxy.port, statement_cache: 40 });
  await client.connect();
  const model = new Model();
  model.wire = current(proxy);
  let seed = first;
  try {
    for (const until = Date.now() + seconds * 1000; Date.now() < until; seed++) {
      let timer;
      const late = new Promise((resolve, reject) => {
        timer = setTimeout(() => {
          const list = [...model.unsettled.values()].join(', ');
          reject(
            new Error(
              `a round hangs: ${client.pending} requests are pending, the client is ${client.state}, ` +
                `not settled: ${list || 'none'}`
            )
          );
        }, ROUND);
      });
      await Promise.race([round(client, proxy, model, seeded(seed)), late]).finally(() => clearTimeout(timer));
      if (seed % 10 === 0) await reconcile(server, model);
    }
    await reconcile(server, model);
    await client.end();
  } catch (error) {
    error.message = `MODEL_SEED=${seed}: ${error.message}`;
    client.destroy();
    throw error;
  } finally {
    await proxy.stop();
  }
  console.log(`      ${seed - first} rounds from MODEL_SEED=${first}`);
}

module.exports = { runRounds };

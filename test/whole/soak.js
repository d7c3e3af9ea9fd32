'use strict';

// Runs very many queries with very many texts on one connection, and watches the memory of both sides:
//   node test/whole/soak.js [queries=10000000] [texts=100000] [statement_cache]
// Prints a line now and then, and fails when memory grows.

const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { gc } = require('../support/gc');

/** Queries that are pending at a time. */
const WINDOW = 1000;

/**
 * @param {Client} client connected
 * @param {object} options
 * @param {number} options.queries
 * @param {number} options.texts
 * @param {number} [options.samples=10] how often memory is looked at
 * @param {function(object)} [options.report] called with each sample
 * @returns {Promise<Array<{queries: number, heap: number, external: number, rss: number, server: number,
 *   statements: number}>>} memory in bytes: JavaScript's heap, Buffers, the process, the backend
 */
async function soak(client, { queries, texts, samples = 10, report = () => {} }) {
  const all = [];
  let done = 0;
  const sample = async () => {
    const {
      rows: [row]
    } = await client.query(
      `SELECT (SELECT sum(total_bytes) FROM pg_backend_memory_contexts) AS bytes,
      (SELECT count(*) FROM pg_prepared_statements) AS statements`,
      [],
      { cache: false }
    );
    gc();
    const { heapUsed: heap, external, rss } = process.memoryUsage();
    const each = { queries: done, heap, external, rss, server: Number(row.bytes), statements: Number(row.statements) };
    all.push(each);
    report(each);
  };
  let state = 1;
  for (let part = 0; part < samples; part++) {
    const until = Math.round((queries * (part + 1)) / samples);
    while (done < until) {
      const works = [];
      for (let i = 0; i < WINDOW && done < until; i++, done++) {
        state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
        const text = (state >>> 8) % texts;
        works.push(client.query(`SELECT $1::int AS i, ${text} AS t`, [i]));
      }
      const results = await Promise.all(works);
      results.forEach(({ rows: [row] }, i) => {
        if (row.i !== i) throw new Error(`query ${i} has answered ${row.i}`);
      });
    }
    await sample();
  }
  return all;
}

/**
 * @returns {object} by how much memory has grown from the third sample to the last, in bytes: so often as much as between
 *   two samples at the median, since a leak is in each, and what else the process does is in one
 */
function growth(samples) {
  const grown = name => {
    const steps = samples.slice(3).map((sample, i) => sample[name] - samples[i + 2][name]);
    return steps.length * steps.sort((a, b) => a - b)[steps.length >> 1];
  };
  return { heap: grown('heap'), external: grown('external'), server: grown('server') };
}

async function main([queries = 10000000, texts = 100000, statement_cache]) {
  const server = await startServer({ external: false });
  const client = new Client({ ...server.config, ...(statement_cache && { statement_cache: Number(statement_cache) }) });
  await client.connect();
  const begun = Date.now();
  const mebibytes = bytes => `${(bytes / 1048576).toFixed(1)} MiB`;
  const samples = await soak(client, {
    queries: Number(queries),
    texts: Number(texts),
    samples: 20,
    report: ({ queries: done, heap, external, rss, server: backend, statements }) =>
      console.log(
        `${done} queries in ${((Date.now() - begun) / 1000).toFixed(0)} s: heap ${mebibytes(heap)}, buffers ${mebibytes(external)}, ` +
          `process ${mebibytes(rss)}, backend ${mebibytes(backend)}, ${statements} statements`
      )
  });
  await client.end();
  await server.stop();
  const { heap, external, server: backend } = growth(samples);
  if (heap > 2e6 || external > 2e6 || backend > 2e6) {
    console.log('memory has grown');
    process.exitCode = 1;
  }
}

if (require.main === module) main(process.argv.slice(2));
module.exports = { soak, growth };

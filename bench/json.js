'use strict';

// JSON of a result into a Writable that takes everything: as protocol bytes, for comparison; made of the row's bytes; and
// by JSON.stringify of decoded objects:
//
//     node json.js [rounds]         a Markdown table of the CPU of this process, in turns, medians

const { startServer } = require('pg-test-fixtures');
const { Client } = require('..');
const { nullWritable } = require('./streams');

const TEXT = `SELECT i AS id, 'User ' || i AS name, 'user' || i || '@example.com' AS email, i % 2 = 0 AS active,
  timestamptz '2024-01-01 12:34:56.789012+00' + i * interval '1 second' AS created, i / 7.0::float8 AS score
  FROM generate_series(1, $1::int) AS i`;

/** How many rows, and how often in a round. */
const SIZES = [[1000, 200], [300000, 2]];

const WAYS = {
  protocol: (client, rows) => client.queryTo(nullWritable(), TEXT, [rows]),
  json: (client, rows) => client.queryTo(nullWritable(), TEXT, [rows], { as: 'json' }),
  ndjson: (client, rows) => client.queryTo(nullWritable(), TEXT, [rows], { as: 'ndjson' }),
  'JSON.stringify': async (client, rows) => {
    const result = await client.query(TEXT, [rows], { decode: true });
    nullWritable().end(JSON.stringify(result.rows));
  }
};

/** @returns {Promise<number>} microseconds of CPU a call */
async function measure(work, times) {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

async function main(rounds) {
  const server = await startServer();
  const client = new Client(server.config);
  try {
    await client.connect();
    console.log('| rows | way | µs of CPU | of protocol | of JSON.stringify |\n|---|---|---|---|---|');
    for (const [rows, times] of SIZES) {
      const all = Object.fromEntries(Object.keys(WAYS).map(way => [way, []]));
      for (let round = -1; round < rounds; round++) {
        for (const way in WAYS) {
          const cpu = await measure(() => WAYS[way](client, rows), times);
          if (round >= 0) all[way].push(cpu); // the first round warms up
        }
      }
      const median = way => all[way].sort((a, b) => a - b)[rounds >> 1];
      for (const way in WAYS) {
        const of = other => (median(way) / median(other)).toFixed(2);
        console.log(`| ${rows} | ${way} | ${median(way).toFixed(0)} | ${of('protocol')} | ${of('JSON.stringify')} |`);
      }
    }
  } finally {
    await client.end();
    await server.stop();
  }
}

main(Number(process.argv[2] ?? 7)).catch(error => {
  console.error(error);
  process.exitCode = 1;
});

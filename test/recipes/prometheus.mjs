// Metrics of a pool and its queries in Prometheus' text format, without a package: GET /metrics.
import { tracingChannel } from 'node:diagnostics_channel';
import http from 'node:http';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });

const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5]; // seconds
const buckets = BOUNDS.map(() => 0);
const seen = { count: 0, seconds: 0, waited: 0 };
/** @type {Map<string, number>} by SQLSTATE, or by the error's name */
const errors = new Map();

tracingChannel('quickgres:query').asyncEnd.subscribe((/** @type {any} */ { duration, waited = 0, error }) => {
  seen.count++;
  seen.seconds += duration / 1000;
  seen.waited += waited / 1000;
  BOUNDS.forEach((bound, i) => void (duration / 1000 <= bound && buckets[i]++));
  if (error !== undefined) {
    const code = error.code ?? error.name;
    errors.set(code, (errors.get(code) ?? 0) + 1);
  }
});

function metrics() {
  const { size, connected, idle, owned, waiting } = pool.stats;
  return [
    '# TYPE db_pool_connections gauge',
    ...Object.entries({ size, connected, idle, owned }).map(
      ([state, n]) => `db_pool_connections{state="${state}"} ${n}`
    ),
    '# TYPE db_pool_waiting gauge',
    `db_pool_waiting ${waiting}`,
    '# TYPE db_query_seconds histogram',
    ...BOUNDS.map((bound, i) => `db_query_seconds_bucket{le="${bound}"} ${buckets[i]}`),
    `db_query_seconds_bucket{le="+Inf"} ${seen.count}`,
    `db_query_seconds_sum ${seen.seconds}`,
    `db_query_seconds_count ${seen.count}`,
    '# TYPE db_query_waited_seconds counter',
    `db_query_waited_seconds ${seen.waited}`,
    '# TYPE db_query_errors counter',
    ...Array.from(errors, ([code, n]) => `db_query_errors{code="${code}"} ${n}`),
    ''
  ].join('\n');
}

const server = http
  .createServer((request, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4').end(metrics());
  })
  .listen(0);

await pool.query('SELECT 1');
await pool.query('SELECT 1 / 0').catch(() => {});
const { port } = Object(server.address());
const text = await (await fetch(`http://localhost:${port}/metrics`)).text();
console.log(
  text
    .split('\n')
    .filter(line => /^db.*(?:count|errors\{)/.test(line))
    .join('\n')
);
server.close();
await pool.end();

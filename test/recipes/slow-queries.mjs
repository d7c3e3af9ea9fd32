// A log of queries that fail, or take longer than 200 ms, waiting included.
import { tracingChannel } from 'node:diagnostics_channel';
import { Pool } from 'quickgres/pool';

const { start, asyncEnd } = tracingChannel('quickgres:query');
const began = new WeakMap();

start.subscribe((/** @type {any} */ query) => {
  began.set(query, performance.now());
});
asyncEnd.subscribe((/** @type {any} */ query) => {
  const ms = performance.now() - began.get(query);
  if (ms > 200 || query.error) console.log(ms > 200 ? 'slow' : 'failed', query.text, query.error?.code ?? query.result);
});

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('SELECT pg_sleep(0.3)'); // slow SELECT pg_sleep(0.3) { cmd: 'SELECT', rowCount: 1 }
await pool.end();

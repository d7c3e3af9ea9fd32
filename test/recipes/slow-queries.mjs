// A log of queries that fail, or take longer than 200 ms, waiting included.
import { tracingChannel } from 'node:diagnostics_channel';
import { Pool } from 'quickgres/pool';

tracingChannel('quickgres:query').asyncEnd.subscribe((/** @type {any} */ { text, duration, error, result }) => {
  if (duration > 200 || error) console.log(duration > 200 ? 'slow' : 'failed', text, error?.code ?? result);
});

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('SELECT pg_sleep(0.3)'); // slow SELECT pg_sleep(0.3) { cmd: 'SELECT', rowCount: 1 }
await pool.end();

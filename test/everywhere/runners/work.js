'use strict';

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('quickgres/pg');

/** What a program does with `pg`, which is quickgres/pg. */
async function work() {
  assert.equal(pg.Pool, ours.Pool);
  const pool = new pg.Pool({ ...JSON.parse(process.env.SERVER), max: 2 });
  const { rows } = await pool.query({ text: 'SELECT $1::int AS n, $2::jsonb AS data', values: [7, { a: 1 }] });
  assert.deepEqual(rows, [{ n: 7, data: { a: 1 } }]);
  await assert.rejects(pool.query('no SQL'), error => error instanceof pg.DatabaseError && error.code === '42601');
  const client = await pool.connect();
  await client.query('BEGIN');
  await client.query('CREATE TEMP TABLE made (n int)');
  await client.query('ROLLBACK');
  client.release();
  await pool.end();
}

module.exports = { pg, work };

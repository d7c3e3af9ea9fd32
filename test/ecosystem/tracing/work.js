'use strict';

// What a traced program asks: by a pool and a client, by promise and callback, with success and failure.

module.exports = async (pg, config) => {
  const pool = new pg.Pool(config);
  await pool.query('SELECT 1 AS n');
  await pool.query('SELECT $1::int AS n', [2]);
  await new Promise((resolve, reject) => pool.query('SELECT 3 AS n', error => (error ? reject(error) : resolve())));
  await pool.query('SELECT nothing').catch(() => {});
  const client = await pool.connect();
  await client.query('SELECT 4 AS n');
  client.release();
  await pool.end();
};

'use strict';

const { Pool } = require('pg');
const { RateLimiterPostgres } = require('rate-limiter-flexible');

(async () => {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  const limiter = await new Promise((resolve, reject) => {
    const made = new RateLimiterPostgres({ storeClient: pool, points: 5, duration: 60, tableName: 'limits' }, error =>
      error ? reject(error) : resolve(made)
    );
  });
  const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => limiter.consume('ann')));
  console.log(
    outcomes
      .map(({ status }) => status)
      .sort()
      .join()
  );
  console.log((await limiter.get('ann')).consumedPoints, await limiter.get('nobody'));
  await limiter.reward('ann', 4);
  console.log((await limiter.get('ann')).consumedPoints, await limiter.delete('ann'), await limiter.delete('ann'));
  await pool.end();
  process.exit(); // its timer goes on
})();

'use strict';

const { Logger, makeWorkerUtils, run } = require('graphile-worker');

const logger = new Logger(() => () => {});

module.exports = async ({ pg, config, kill, tell }) => {
  const pool = new pg.Pool({ ...config, max: 5 });
  pool.on('error', () => {});
  pool.on('connect', client => client.on('error', () => {})); // of pg, one that is in use between two queries
  const utils = await makeWorkerUtils({ pgPool: pool, logger });
  await utils.migrate();
  const done = [];
  let over;
  const all = new Promise(resolve => {
    over = resolve;
  });
  let failures = 0;
  const runner = await run({
    pgPool: pool,
    logger,
    concurrency: 3,
    noHandleSignals: true,
    pollInterval: 200,
    taskList: {
      async work({ n }, { query }) {
        if (n === 3 && failures++ === 0) throw new Error('once more');
        const { rows } = await query('SELECT $1::int * 2 AS twice', [n]);
        done.push(rows[0].twice);
        if (done.length === 20) over();
      }
    }
  });
  for (let n = 0; n < 10; n++) await utils.addJob('work', { n }, { maxAttempts: 5 });
  await utils.withPgClient(client => client.query('UPDATE graphile_worker._private_jobs SET run_at = now()'));
  // A connection that is lost while it completes a job ends the program of graphile-worker, whatever the client.
  const locked = client => client.query('SELECT 1 FROM graphile_worker._private_jobs WHERE locked_at IS NOT NULL');
  while (done.length < 9 || (await utils.withPgClient(locked)).rows.length > 0)
    await new Promise(resolve => setTimeout(resolve, 10));
  await kill();
  const add = n =>
    utils.addJob('work', { n }).catch(() => new Promise(resolve => setTimeout(resolve, 50)).then(() => add(n)));
  for (let n = 10; n < 20; n++) await add(n);
  while (done.length < 20) {
    await utils
      .withPgClient(client =>
        client.query('UPDATE graphile_worker._private_jobs SET run_at = now() WHERE locked_at IS NULL')
      )
      .catch(() => {});
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  await all;
  tell([...new Set(done)].sort((a, b) => a - b));
  await runner.stop();
  await utils.release();
  await pool.end();
};

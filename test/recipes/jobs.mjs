// A job queue. SKIP LOCKED skips the jobs that another worker has taken; NOTIFY wakes the workers. If a job throws, or its
// process dies, the job is free again. A job of minutes should not hold a transaction open: mark it as taken, with the time,
// and free jobs that are too old.
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('CREATE TABLE IF NOT EXISTS jobs (id bigserial PRIMARY KEY, task text NOT NULL)');

/** Does one job. Resolves to whether there was one. */
const work = () =>
  pool.transaction(async tx => {
    const {
      rows: [job]
    } = await tx.query(`DELETE FROM jobs WHERE id =
    (SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING task`);
    if (job === undefined) return false;
    console.log('doing', job.task); // doing a mail
    return true;
  });

const wake = pool.listen('jobs');
await wake.ready; // before the first look, so that no job falls between the two
await pool.batch([
  ['INSERT INTO jobs (task) VALUES ($1)', ['a mail']],
  'NOTIFY jobs' // delivered when the batch commits
]);
while (await work());
for await (const _ of wake) {
  // also one with missed: true, after the connection was lost
  while (await work());
  break; // a worker goes on, until wake.end()
}
await pool.end();

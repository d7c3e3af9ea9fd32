// What the service does with the database. A session is a pool, a transaction, or either with the settings of a tenant.
import { pipeline } from 'node:stream/promises';

/** The settings of a tenant's queries. @param {string} tenant */
export const as = tenant => ({ role: 'web', 'app.tenant': tenant });

export const LIST = 'SELECT id, body, due, done FROM tasks ORDER BY due, body, id LIMIT 1000';
export const COUNTS = 'SELECT done, count(*) AS tasks FROM tasks GROUP BY done ORDER BY done';

/**
 * Adds a task, and a job that belongs to it: both or none.
 * @param {import('quickgres').Session} session of a tenant
 * @param {{ body: string, due?: string | null }} task
 */
export const add = (session, { body, due = null }) =>
  session.transaction(
    async tx => {
      const task = (
        await tx.query('INSERT INTO tasks (body, due) VALUES ($1, $2) RETURNING id, body', [body, due])
      ).one();
      await tx.query('INSERT INTO jobs (task) VALUES ($1)', [task.id]);
      await tx.query("SELECT pg_notify('jobs', '')");
      return task;
    },
    { retries: 3 }
  );

/**
 * Adds the tasks of a CSV file: all or none. PostgreSQL has no COPY into a table with row-level security.
 * @param {import('quickgres').Session} session of a tenant
 * @param {import('node:stream').Readable} csv
 * @returns {Promise<number>} how many
 */
export const importTasks = (session, csv) =>
  session.transaction(async tx => {
    await tx.query('CREATE TEMP TABLE incoming (body text, due date) ON COMMIT DROP');
    await pipeline(csv, tx.copyFrom('COPY incoming FROM STDIN (FORMAT csv, HEADER)'));
    // quickgres-ignore: the table is temporary
    return (await tx.query('INSERT INTO tasks (body, due) SELECT body, due FROM incoming')).rowCount;
  });

/**
 * @param {import('quickgres').Session} session of a tenant
 * @param {string} id
 */
export const finish = async (session, id) =>
  (await session.query('UPDATE tasks SET done = true WHERE id = $1', [id])).rowCount;

/**
 * Does one job. If `work` throws, or the process dies, the job is free again.
 * @param {import('quickgres').Session} session
 * @param {(job: { task: string, tenant: string }) => Promise<void>} work
 * @returns {Promise<boolean>} whether there was one
 */
export const doJob = (session, work) =>
  session.transaction(async tx => {
    const [job] = await tx.query(
      'DELETE FROM jobs WHERE id = (SELECT id FROM jobs ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING task, tenant'
    );
    if (job === undefined) return false;
    await work(job);
    return true;
  });

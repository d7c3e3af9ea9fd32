// node --test: each test runs in a transaction that is rolled back, on a database that has the schema.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Pool } from 'quickgres/pool';
import { add, as, doJob, finish } from './tasks.mjs';

const pool = new Pool(process.env.DATABASE_URL);
after(() => pool.end());

const UNDO = new Error('rolled back');

/**
 * @param {string} name
 * @param {(tx: import('quickgres').Session) => Promise<void>} work
 */
const rolledBack = (name, work) =>
  test(name, () =>
    pool
      .transaction(async tx => {
        await work(tx);
        throw UNDO;
      })
      .catch(error => {
        if (error !== UNDO) throw error;
      })
  );

rolledBack('a task has a job, and belongs to its tenant', async tx => {
  const task = await add(tx.with(as('one')), { body: 'bread' });
  assert.equal(await finish(tx.with(as('two')), task.id), 0);
  assert.equal(await finish(tx.with(as('one')), task.id), 1);
  /** @type {string[]} */
  const done = [];
  await doJob(tx, async job => void done.push(job.task));
  assert.deepEqual(done, [task.id]);
});

rolledBack('a task without a body is refused, and leaves no job', async tx => {
  await assert.rejects(add(tx.with(as('one')), { body: '' }), { code: '23514' });
  assert.equal(await doJob(tx, async () => {}), false);
});

// Runs each test in a transaction that is rolled back. A transaction of the tested code is a savepoint in it.
import assert from 'node:assert/strict';
import { Client } from 'quickgres';

const client = new Client({ connectionString: process.env.DATABASE_URL });
await client.connect();
const DONE = new Error('rolled back');

/** @param {(tx: import('quickgres').Session) => Promise<void>} test */
async function rolledBack(test) {
  await client.transaction(async tx => {
    await test(tx);
    throw DONE;
  }).catch(error => { if (error !== DONE) throw error; });
}

await rolledBack(async tx => {
  const { rowCount } = await tx.query('DELETE FROM users WHERE name = $1', ['User 7']);
  assert.equal(rowCount, 1);
});
assert.equal((await client.query('SELECT FROM users WHERE name = $1', ['User 7'])).rowCount, 1);
await client.end();

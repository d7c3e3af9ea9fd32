// Runs each test in a transaction that is rolled back. A transaction of the tested code is a savepoint in it.
//
// node:test, Mocha and Vitest load the library as it is. Jest cannot require() the ES modules of client-parser/. From Node.js
// 24.9 on, start it with NODE_OPTIONS=--experimental-vm-modules. Before, add @babel/plugin-transform-modules-commonjs and, to
// Jest's configuration,
//   transform: { '/quickgres/client-parser/': ['babel-jest', { plugins: ['@babel/plugin-transform-modules-commonjs'] }] },
//   transformIgnorePatterns: ['/node_modules/(?!quickgres/client-parser/)']
import assert from 'node:assert/strict';
import { Pool } from 'quickgres/pool';

const pool = new Pool(process.env.DATABASE_URL);
const DONE = new Error('rolled back');

/** @param {(tx: import('quickgres').Session) => Promise<void>} test */
async function rolledBack(test) {
  await pool
    .transaction(async tx => {
      await test(tx);
      throw DONE;
    })
    .catch(error => {
      if (error !== DONE) throw error;
    });
}

await rolledBack(async tx => {
  const { rowCount } = await tx.query('DELETE FROM users WHERE name = $1', ['User 7']);
  assert.equal(rowCount, 1);
});
assert.equal((await pool.query('SELECT FROM users WHERE name = $1', ['User 7'])).rowCount, 1);

// The tested code may use what it uses on a pool: `with`, and transactions with options.
await rolledBack(async tx => {
  const tenant = await tx
    .with({ 'app.tenant': 7 })
    .transaction(async mine => (await mine.query("SELECT current_setting('app.tenant') AS tenant")).one().tenant, {
      retries: 5
    });
  assert.equal(tenant, '7');
});
await pool.end();

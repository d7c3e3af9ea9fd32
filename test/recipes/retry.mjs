// A serializable transaction that loses against another one fails with 40001, or 40P01 in a deadlock: run it again.
import { Pool } from 'quickgres/pool';

const pool = new Pool(process.env.DATABASE_URL);

/** @param {(tx: import('quickgres').Session) => Promise<any>} work */
async function serializable(work) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await pool.transaction(work, { isolation: 'serializable' });
    } catch (/** @type {any} */ error) {
      if (!/^40(001|P01)$/.test(error.code) || attempt === 5) throw error;
      await new Promise(resolve => setTimeout(resolve, Math.random() * 2 ** attempt * 10));
    }
  }
}

await pool.query('CREATE TABLE IF NOT EXISTS counters (n int)');
await pool.query('INSERT INTO counters VALUES (0)');
await Promise.all([1, 2].map(step => serializable(async tx => {
  const { rows: [{ n }] } = await tx.query('SELECT n FROM counters');
  await tx.query('UPDATE counters SET n = $1', [n + step]);
})));
console.log((await pool.query('SELECT n FROM counters')).rows); // [ { n: 3 } ]
await pool.end();

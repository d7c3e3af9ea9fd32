'use strict';

// The table `users` that the tests, the demo and the benchmarks read: the same rows every time.

/** Id of the first sample user. */
const SAMPLE_ID = 'adb42e46-d1bc-4b64-88f4-3e754ab52e81';

/** The table's comment, by which it is known to be the sample. */
const SAMPLE_COMMENT = 'pg-test-fixtures';

/** Rows of one INSERT. */
const BATCH = 20000;

/**
 * Makes and fills the table `users (id uuid PRIMARY KEY, name text, email text, password text)`. The email is
 * the row's number, from '0'; that of number 0 has the id SAMPLE_ID.
 * @param {(text: string) => Promise<unknown>} query runs one statement
 * @param {number} count of rows
 * @param {(done: number, total: number) => void} [progress] called as rows are there
 * @returns {Promise<void>}
 */
async function loadSample(query, count, progress = () => {}) {
  await query('CREATE TABLE users (id uuid PRIMARY KEY, name text, email text, password text)');
  await query(`COMMENT ON TABLE users IS '${SAMPLE_COMMENT}'`);
  await query('GRANT ALL ON users TO PUBLIC');
  for (let done = 0; done < count;) {
    const next = Math.min(done + BATCH, count);
    await query(`
      INSERT INTO users
      SELECT CASE number WHEN 0 THEN '${SAMPLE_ID}' ELSE md5('user ' || number)::uuid END, 'User ' || number,
        number::text, md5('password ' || number)
      FROM generate_series(${done}, ${next - 1}) AS number`);
    progress((done = next), count);
  }
  await query('VACUUM ANALYZE users');
}

module.exports = { SAMPLE_ID, SAMPLE_COMMENT, loadSample };

// A large CSV file into a table, with progress. One bad line stops it, and nothing is stored.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('CREATE TABLE IF NOT EXISTS imported (id int, name text)');

const file = path.join(os.tmpdir(), `import-${process.pid}.csv`);
fs.writeFileSync(file, 'id,name\n1,one\n2,two\n');

const target = pool.copyFrom('COPY imported FROM STDIN (FORMAT csv, HEADER)');
const { size } = fs.statSync(file);
const progress = setInterval(() => console.log(`${Math.round((100 * target.bytes) / size)} %`), 1000);
try {
  await pipeline(fs.createReadStream(file), target);
  console.log(target.rowCount, 'rows'); // 2 rows
} catch (/** @type {any} */ error) {
  console.log(error.where ?? error); // for bad data, with the line's number
} finally {
  clearInterval(progress);
  fs.rmSync(file);
}
await pool.query('ANALYZE imported');
await pool.end();

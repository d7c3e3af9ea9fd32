// Large objects, by PostgreSQL's functions: bytes that are read and written in parts, up to 4 TB. Up to some MB, bytea is simpler.
// https://www.postgresql.org/docs/current/lo-funcs.html
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const PART = 262_144; // bytes in a query

/**
 * Writes a new large object, or none.
 * @param {AsyncIterable<Uint8Array> | Iterable<Uint8Array>} chunks
 * @returns {Promise<number>} its OID
 */
const write = chunks =>
  pool.transaction(async tx => {
    const { oid } = (await tx.query('SELECT lo_create(0) AS oid')).one();
    let at = 0;
    for await (const chunk of chunks) {
      for (let from = 0; from < chunk.length; from += PART) {
        const part = chunk.subarray(from, from + PART);
        await tx.query('SELECT lo_put($1, $2, $3)', [oid, at, part]);
        at += part.length;
      }
    }
    return oid;
  });

/** Reads a large object. Each part is a query of its own: an object that is rewritten meanwhile needs a transaction. @param {number} oid */
async function* read(oid) {
  for (let at = 0; ; at += PART) {
    const { part } = (await pool.query('SELECT lo_get($1, $2, $3) AS part', [oid, at, PART])).one();
    if (part.length === 0) return;
    yield part;
  }
}

const oid = await write([Buffer.alloc(1_000_000, 'a'), Buffer.from('the end')]);
let bytes = 0;
for await (const part of read(oid)) bytes += part.length;
console.log(bytes); // 1000007
await pool.query('SELECT lo_unlink($1)', [oid]);
await pool.end();

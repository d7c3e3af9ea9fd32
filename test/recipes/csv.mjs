// CSV into a table by POST, and out of it by GET.
import http from 'node:http';
import { pipeline } from 'node:stream/promises';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
await pool.query('CREATE TABLE IF NOT EXISTS people (name text, born date)');

const server = http
  .createServer(async (request, response) => {
    try {
      if (request.method === 'POST') {
        const copy = pool.copyFrom('COPY people FROM STDIN (FORMAT csv, HEADER)');
        await pipeline(request, copy);
        response.end(`${copy.rowCount} rows\n`);
      } else {
        await respond(pool, request, response, 'SELECT * FROM people', [], { as: 'csv' });
      }
    } catch (/** @type {any} */ error) {
      if (!response.headersSent) response.writeHead(error.code?.startsWith('22') ? 400 : 500).end();
    }
  })
  .listen(0);

const url = `http://localhost:${Object(server.address()).port}/`;
const body = 'name,born\nAda,1815-12-10\n';
console.log(await (await fetch(url, { method: 'POST', body })).text()); // 1 rows
console.log(await (await fetch(url)).text()); // name,born …
server.close();
await pool.end();

import http from 'node:http';
import { gzipSync } from 'node:zlib';
import postgres from 'postgres';

export const sql = postgres(process.env.DATABASE_URL);

export const find = async name => {
  const [item] = await sql`SELECT id, price FROM items WHERE name = ${name}`;
  return item;
};

export const add = items => sql`INSERT INTO items ${sql(items)}`;

export const change = (id, changes) => sql`UPDATE items SET ${sql(changes)} WHERE id = ${id}`;

export const buy = (id, buyer) =>
  sql.begin(async sql => {
    const [item] = await sql`UPDATE items SET stock = stock - 1 WHERE id = ${id} RETURNING stock`;
    if (!(item?.stock >= 0)) throw new Error(item ? 'sold out' : 'no such item');
    await sql`INSERT INTO orders VALUES (${id}, ${buyer})`;
  });

export const server = http
  .createServer(async (request, response) => {
    try {
      const json = JSON.stringify(await sql`SELECT id, name, price FROM items ORDER BY id LIMIT ${100}`);
      const gzip = /\bgzip\b/.test(request.headers['accept-encoding']);
      response.setHeader('content-type', 'application/json; charset=utf-8').setHeader('vary', 'accept-encoding');
      if (gzip) response.setHeader('content-encoding', 'gzip');
      response.end(gzip ? gzipSync(json) : json);
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
  })
  .listen(process.env.PORT ?? 3000);

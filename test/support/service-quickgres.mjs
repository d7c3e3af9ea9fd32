import http from 'node:http';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';
import { sql } from 'quickgres/sql';

export const pool = new Pool(process.env.DATABASE_URL);

export const find = async name => {
  const [item] = await pool.query(sql`SELECT id, price FROM items WHERE name = ${name}`);
  return item;
};

export const add = async items => pool.query(sql`INSERT INTO items ${sql.values(items)}`);

export const change = async (id, changes) => pool.query(sql`UPDATE items SET ${sql.set(changes)} WHERE id = ${id}`);

export const buy = (id, buyer) =>
  pool.transaction(async tx => {
    const [item] = await tx.query(sql`UPDATE items SET stock = stock - 1 WHERE id = ${id} RETURNING stock`);
    if (!(item?.stock >= 0)) throw new Error(item ? 'sold out' : 'no such item');
    await tx.commit(sql`INSERT INTO orders VALUES (${id}, ${buyer})`); // the last query and COMMIT in one round trip
  });

export const server = http.createServer(async (request, response) => {
  try {
    await respond(pool, request, response, sql`SELECT id, name, price FROM items ORDER BY id LIMIT ${100}`);
  } catch (error) {
    console.error(error);
    if (!response.headersSent) response.writeHead(500).end();
  }
});
server.listen(process.env.PORT ?? 3000);

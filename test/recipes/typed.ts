// The service of the README, with types of its SQL: DATABASE_URL=… npx quickgres types --strict, here and after each change of it.
import http from 'node:http';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';
import { sql } from 'quickgres/sql';

export const pool = new Pool(process.env.DATABASE_URL);

export const find = async (name: string) => {
  const [item] = await pool.query('SELECT id, price, note FROM items WHERE name = $1', [name]);
  return item;
};

// What is put together when the program runs has no types of its own.
export const change = (id: number, changes: { price?: string; note?: string | null }) =>
  pool.query(sql`UPDATE items SET ${sql.set(changes)} WHERE id = ${id}`);

export const buy = (id: number, buyer: string) =>
  pool.transaction(async tx => {
    const [item] = await tx.query('UPDATE items SET stock = stock - 1 WHERE id = $1 RETURNING stock', [id]);
    if (!item || item.stock < 0) throw new Error(item ? 'sold out' : 'no such item');
    await tx.query('INSERT INTO orders (item, buyer) VALUES ($1, $2)', [id, buyer]);
  });

export const server = http
  .createServer(async (request, response) => {
    try {
      await respond(pool, request, response, 'SELECT id, name, price FROM items ORDER BY id LIMIT $1', [100]);
    } catch {
      if (!response.headersSent) response.writeHead(500).end();
    }
  })
  .listen(process.env.PORT);

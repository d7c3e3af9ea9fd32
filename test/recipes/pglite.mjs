// The tests of an application, on PostgreSQL in this process: node --test pglite.mjs. They need @electric-sql/pglite and
// @electric-sql/pglite-socket of npm, and no server. All connections share one session, so the pool has one.
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { PGLiteSocketServer } from '@electric-sql/pglite-socket';
import { Pool } from 'quickgres/pool';

let db, server, pool;

before(async () => {
  db = await PGlite.create();
  server = new PGLiteSocketServer({ db, host: '127.0.0.1', port: 0 });
  const listening = new Promise(resolve => server.addEventListener('listening', resolve));
  await server.start();
  const {
    detail: { port }
  } = await listening;
  pool = new Pool({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' }, { size: 1 });
  await pool.query('CREATE TABLE users (id int PRIMARY KEY, name text NOT NULL)');
});

after(async () => {
  await pool.end();
  await server.stop();
  await db.close();
});

beforeEach(() => pool.query('TRUNCATE users'));

/** A part of the application. */
const rename = (id, name) =>
  pool.transaction(async tx => {
    const { rowCount } = await tx.query('UPDATE users SET name = $2 WHERE id = $1', [id, name]);
    if (rowCount !== 1) throw new Error('there is no such user');
  });

test('a user is renamed', async () => {
  await pool.query('INSERT INTO users VALUES (1, $1)', ['Ada']);
  await rename(1, 'Grace');
  assert.equal((await pool.query('SELECT name FROM users')).rows[0].name, 'Grace');
});

test('a user who is not there is not renamed', () =>
  assert.rejects(rename(2, 'Grace'), { message: 'there is no such user' }));

import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FastifyInstance } from 'fastify';
import { sql } from 'quickgres/sql';
import type { Pool } from 'quickgres/pool';
import { serializable, service, type User } from './app.js';

const slow: string[] = [];
const done: unknown[] = [];
let app: FastifyInstance, pool: Pool;
beforeAll(async () => {
  ({ app, pool } = await service(JSON.parse(process.env['SERVER'] ?? '{}'), {
    slow: 100,
    onSlow: text => slow.push(text),
    job: async payload => {
      done.push(payload);
    }
  }));
});
afterAll(() => app.close());

const users = async (query = '', accept = 'application/json'): Promise<string> =>
  (await app.inject({ url: `/users${query}`, headers: { accept } })).body;
const list = async (query?: string): Promise<User[]> => JSON.parse(await users(query));

test('inserts objects, and answers 409 to one that is there', async () => {
  const body = Array.from({ length: 100 }, (_, i) => ({ name: `User ${i}`, email: `u${i}@example.com`, balance: 100 }));
  const response = await app.inject({ method: 'POST', url: '/users', payload: body });
  expect([response.statusCode, response.json<User[]>()[0]?.id]).toEqual([201, 1]);
  expect((await app.inject({ method: 'POST', url: '/users', payload: body })).statusCode).toBe(409);
  expect((await app.inject({ method: 'POST', url: '/users', payload: [{ name: 'a' }] })).statusCode).toBe(500);
});

test('filters, sorts and pages', async () => {
  expect((await list('?name=User 1')).length).toBe(11);
  expect((await list('?ids=1,2,3&sort=newest')).map(({ id }) => id)).toEqual([3, 2, 1]);
  expect((await list('?after=98')).map(({ id }) => id)).toEqual([99, 100]);
  expect((await list("?name=' OR true --")).length).toBe(0);
});

test('changes what a request may change', async () => {
  const patch = (payload: object) => app.inject({ method: 'PATCH', url: '/users/1', payload });
  expect((await patch({ tags: ['a', 'b'], balance: 1e6 })).json()).toMatchObject({ tags: ['a', 'b'], balance: 100 });
  expect((await patch({ balance: 5 })).statusCode).toBe(400);
  expect((await list('?tag=b')).length).toBe(1);
});

test('transfers, and repeats what lost against another', async () => {
  const transfer = (amount: number) =>
    app.inject({ method: 'POST', url: '/transfers', payload: { from: 1, to: 2, amount } });
  const statuses = (await Promise.all(Array.from({ length: 5 }, () => transfer(10)))).map(
    ({ statusCode }) => statusCode
  );
  const ok = statuses.filter(status => status === 200).length;
  expect(statuses.every(status => status === 200 || status === 409)).toBe(true);
  expect((await list('?ids=1,2')).map(({ balance }) => balance)).toEqual([100 - 10 * ok, 100 + 10 * ok]);
  expect((await transfer(1000)).statusCode).toBe(422);
  let tries = 0;
  await serializable(pool, async tx => {
    await tx.query('SELECT sum(balance) FROM users');
    if (++tries === 1)
      await pool.transaction(
        async other => {
          await other.query('SELECT sum(balance) FROM users');
          await other.query('UPDATE users SET balance = balance + 1 WHERE id = 3');
        },
        { isolation: 'serializable' }
      );
    await tx.query('UPDATE users SET balance = balance + 1 WHERE id = 3');
  });
  expect(tries).toBe(2);
});

test('takes and gives CSV, and gives ndjson', async () => {
  const payload = 'name,email,balance\n"a, b",csv@example.com,7\n';
  const response = await app.inject({
    method: 'POST',
    url: '/users.csv',
    payload,
    headers: { 'content-type': 'text/csv' }
  });
  expect(response.json()).toEqual({ count: 1 });
  expect(await users('?name=a, b', 'text/csv')).toMatch(
    /^id,name,email,balance,tags,created\r?\n\d+,"a, b",csv@example.com,7,/
  );
  expect(
    (await users('?ids=1,2', 'application/x-ndjson'))
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).id)
  ).toEqual([1, 2]);
});

test('does each job once', async () => {
  await Promise.all([1, 2, 3].map(n => app.inject({ method: 'POST', url: '/jobs', payload: { n } })));
  await expect.poll(() => done.length).toBe(3);
  expect((await pool.query(...sql`SELECT FROM jobs WHERE done IS NULL`)).rowCount).toBe(0);
});

test('is healthy, and tells of slow queries', async () => {
  expect((await app.inject('/health')).json()).toMatchObject({ ok: true, size: 4 });
  await pool.query('SELECT pg_sleep(0.2)');
  expect(slow).toContain('SELECT pg_sleep(0.2)');
});

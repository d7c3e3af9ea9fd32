import pg, { Pool } from 'pg';
import { expect, test } from 'vitest';
import made from './work.js';

test('pg is quickgres/pg', async () => {
  expect(Pool).toBe(made.pg.Pool);
  expect(pg.Pool).toBe(Pool);
  await made.work();
});

import assert from 'node:assert/strict';
import test from 'node:test';
import pg, { Pool } from 'pg';
import made from './work.js';

test('pg is quickgres/pg', async () => {
  assert.equal(Pool, made.pg.Pool);
  assert.equal(pg, made.pg);
  await made.work();
});

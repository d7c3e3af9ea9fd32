'use strict';

const { pg, work } = require('./work');

test('pg is quickgres/pg', async () => {
  expect(require('pg')).toBe(pg);
  await work();
});

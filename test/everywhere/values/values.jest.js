'use strict';

const path = require('node:path');
const { runInNewContext } = require('node:vm');

test('values are what they are', async () => {
  const { Client } = require('quickgres');
  const { sql } = require('quickgres/sql');
  const { check } = require('./table');
  let theirs;
  jest.isolateModules(() => {
    theirs = require('quickgres/sql').sql;
  });
  expect(theirs).not.toBe(sql);
  const realms = { own: globalThis, other: runInNewContext('globalThis') };
  expect(typeof window).toBe(process.env.ENVIRONMENT === 'jsdom' ? 'object' : 'undefined');
  const config = JSON.parse(process.env.SERVER);
  const { cells, wrong } = await check({ Client, sql, theirs, kinds: require('./kinds'), realms, config });
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(600);
}, 60000);

const ENTRIES = [
  '',
  'pool',
  'sql',
  'pg',
  'http',
  'cache',
  'replication',
  'live',
  'sockets',
  'client-parser',
  'client-parser/live'
];

test.each(ENTRIES)('quickgres/%s loads', async name => {
  const names = Object.keys(await import(path.posix.join('quickgres', name)));
  expect(names.length).toBeGreaterThan(0);
});

'use strict';

const { runInNewContext } = require('node:vm');

// Jest's jsdom has no setImmediate, which COPY needs.
globalThis.setImmediate ??= require('node:timers').setImmediate;
globalThis.clearImmediate ??= require('node:timers').clearImmediate;

test('values are what they are', async () => {
  const { Client } = require('quickgres');
  const { sql } = require('quickgres/sql');
  const { check } = require('./table');
  const realms = { own: globalThis, other: runInNewContext('globalThis') };
  expect(typeof window).toBe(process.env.ENVIRONMENT === 'jsdom' ? 'object' : 'undefined');
  const config = JSON.parse(process.env.SERVER);
  const { cells, wrong } = await check({ Client, sql, kinds: require('./kinds'), realms, config });
  expect(wrong).toEqual([]);
  expect(cells).toBeGreaterThan(600);
}, 60000);

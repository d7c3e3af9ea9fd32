'use strict';

// What a column's value is, whichever session asks, and in which way.

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Pool } = require('../../lib/pool');
const { connected, sharedServer } = require('../support');
const { endAfterTest } = require('../support/hooks');
const { SCALARS, SETTINGS, show } = require('./type-table');

const cursorOf = async (session, text) => {
  const rows = [];
  for await (const row of session.cursor(text, [], { batchSize: 7 })) rows.push(Object.values(row.toObject?.() ?? row));
  return rows;
};

/** Each gives the rows of a text as arrays. */
const WAYS = {
  query: async (session, text) => (await session.query(text)).arrays,
  rows: async (session, text) => (await session.query(text)).rows.map(row => Object.values(row.toObject?.() ?? row)),
  batch: async (session, text) => (await session.batch([text]))[0].arrays,
  simpleQuery: async (session, text) => (await session.simpleQuery(text))[0].arrays,
  cursor: cursorOf
};

describe('A column of any type', () => {
  it('has the same value by a client, a pool, their transactions, and in the page, in each way to ask', async () => {
    const { rows } = await import('../../client-parser/index.js');
    const client = await connected(SETTINGS);
    const pool = endAfterTest(new Pool({ ...(await sharedServer()).config, ...SETTINGS }));
    const inPage = async text => {
      const target = new PassThrough();
      const [chunks] = await Promise.all([target.toArray(), client.queryTo(target, text)]);
      const list = [];
      for await (const row of rows(chunks)) list.push(Object.values(row));
      return list;
    };
    // Some values of each type; all of them are in other tests.
    const texts = SCALARS.map(
      ({ type, values }) =>
        `SELECT ${values.slice(0, 8).map((text, i) => `'${text.replaceAll("'", "''")}'::${type} AS c${i}`)}, NULL::${type} AS none`
    );
    const expected = show(
      await Promise.all(texts.map(async text => Object.values((await client.query(text)).structs[0].toObject())))
    );
    const all = ask => session => Promise.all(texts.map(async text => (await ask(session, text))[0]));
    assert.deepEqual(show(await all((session, text) => inPage(text))(client)), expected, 'page');
    for (const [name, ask] of Object.entries(WAYS)) {
      const works = [all(ask)(client), all(ask)(pool)];
      if (name !== 'simpleQuery') works.push(...[client, pool].map(session => session.transaction(all(ask))));
      for (const seen of await Promise.all(works)) assert.deepEqual(show(seen), expected, name);
    }
  });
});

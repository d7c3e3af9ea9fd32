'use strict';

// An application of 24 parts, each a function that fails if the server, or what is in front of it, does not let it work.

const assert = require('node:assert/strict');
const http = require('node:http');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client } = require('../..');
const { respond } = require('../../lib/http');
const { Pool } = require('../../lib/pool');
const { collector } = require('./kit');

/** After so many milliseconds an answer is not going to come. */
const LIMIT = 15000;

const count = async (session, table) => Number((await session.query(`SELECT count(*) AS n FROM ${table}`)).rows[0].n);

/**
 * @type {Object<string, function(Client, object): Promise>} given a client that is connected, and the server: `config`, `size` of pools,
 *   `listen` options, `series`, a query of 100 rows, `slow`, a query of some seconds, `table`, the columns of a table of numbers
 */
const PARTS = {
  async simpleQuery(client) {
    const { rows } = await client.simpleQuery("SELECT 1 AS n, 'ä' AS t").then(([result]) => result);
    assert.deepEqual(rows[0].toObject(), { n: 1, t: 'ä' });
  },

  async parameters(client) {
    const { rows } = await client.query('SELECT $1::int + 1 AS n, $2::text AS t', [41, 'ä'], { cache: false });
    assert.deepEqual(rows[0].toObject(), { n: 42, t: 'ä' });
  },

  async 'prepared statements'(client) {
    for (const n of [1, 2]) assert.equal((await client.query('SELECT $1::int * 2 AS n', [n])).rows[0].n, 2 * n);
  },

  async 'typed in one round trip'(client) {
    const { rows } = await client.query('SELECT $1 + 1 AS n', [41], { paramTypes: [23], cache: false });
    assert.equal(rows[0].n, 42);
  },

  async 'binary results'(client) {
    const { rows } = await client.query('SELECT $1::int AS n', [258], Client.BINARY);
    assert.equal(rows[0].n, 258);
  },

  async 'queries at once'(client) {
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS n', [i])));
    assert.deepEqual(
      all.map(({ rows }) => Number(rows[0].n)),
      Array.from({ length: 100 }, (_, i) => i)
    );
  },

  async errors(client) {
    const [error, after] = await Promise.all([
      client.query('SELECT * FROM there_is_none').catch(error => error),
      client.query('SELECT 1 AS n')
    ]);
    assert.equal(error.name, 'PostgresError');
    assert.equal(after.rows[0].n, 1);
  },

  async batch(client) {
    const results = await client.batch([['SELECT 1 AS n'], ['SELECT 2 AS n']]);
    assert.deepEqual(
      results.map(({ rows }) => rows[0].n),
      [1, 2]
    );
  },

  async 'a failed batch'(client) {
    const error = await client
      .batch([['SELECT 1'], ['SELECT * FROM there_is_none'], ['SELECT 2']])
      .catch(error => error);
    assert.equal(error.index, 1);
    for (let i = 0; i < 3; i++) assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  },

  async transaction(client, { table }) {
    await client.simpleQuery(`DROP TABLE IF EXISTS moved; CREATE TABLE moved ${table}`);
    const error = new Error('back');
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query('INSERT INTO moved VALUES (1)');
        throw error;
      }),
      error
    );
    assert.equal(await count(client, 'moved'), 0);
  },

  async 'transactions at once'(client, { config, size = 4, table }) {
    await client.simpleQuery(`DROP TABLE IF EXISTS steps; CREATE TABLE steps ${table}`);
    const pools = [1, 2].map(() => new Pool(config, { size }));
    try {
      await Promise.all(
        pools.flatMap((pool, p) =>
          Array.from({ length: 20 }, (_, i) =>
            pool
              .transaction(async tx => {
                const own = 100 * p + i;
                await tx.query('INSERT INTO steps VALUES ($1)', [own], { cache: false });
                const { rows } = await tx.query('SELECT $1::int AS own', [own]);
                assert.equal(Number(rows[0].own), own);
                if (i % 4 === 0) throw new Error('back');
              })
              .catch(error => assert.equal(error.message, 'back'))
          )
        )
      );
      assert.equal(await count(client, 'steps'), 30);
    } finally {
      for (const pool of pools) pool.destroy();
    }
  },

  async savepoint(client) {
    const n = await client.transaction(async tx => {
      await tx.transaction(inner => inner.query('SELECT * FROM there_is_none')).catch(() => {});
      return (await tx.query('SELECT 1 AS n')).rows[0].n;
    });
    assert.equal(n, 1);
  },

  async cursor(client, { series }) {
    let count = 0;
    for await (const row of client.cursor(series, [], { batchSize: 10 })) {
      assert.ok(row);
      if (++count === 25) break;
    }
    assert.equal(count, 25);
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  },

  async 'a cursor in a transaction'(client, { series }) {
    await client.transaction(async tx => {
      let rows = 0;
      for await (const row of tx.cursor(series, [], { batchSize: 10 })) rows += row.columnCount;
      assert.equal(rows, 100);
    });
  },

  async queryTo(client, { series }) {
    const target = collector();
    const { rowCount } = await client.queryTo(target, series);
    assert.equal(rowCount, 100);
    assert.ok(target.taken > 1000);
  },

  async 'COPY TO'(client, { series }) {
    const target = collector();
    await pipeline(client.copyTo(`COPY (${series}) TO STDOUT`), target);
    assert.equal(target.text.split('\n').length, 101);
  },

  async 'COPY FROM'(client, { table }) {
    await client.simpleQuery(`DROP TABLE IF EXISTS copied; CREATE TABLE copied ${table}`);
    await pipeline(Readable.from(['1\n', '2\n']), client.copyFrom('COPY copied FROM STDIN'));
    assert.equal(await count(client, 'copied'), 2);
  },

  async 'COPY FROM in a transaction that is rolled back'(client, { table }) {
    await client.simpleQuery(`DROP TABLE IF EXISTS undone; CREATE TABLE undone ${table}`);
    await client
      .transaction(async tx => {
        await pipeline(Readable.from(['1\n', '2\n']), tx.copyFrom('COPY undone FROM STDIN'));
        throw new Error('back');
      })
      .catch(error => assert.equal(error.message, 'back'));
    assert.equal(await count(client, 'undone'), 0);
  },

  async listen(client, { listen }) {
    const news = client.listen('news', listen);
    await news.ready;
    await client.query("NOTIFY news, 'hello'");
    assert.equal((await news.next()).value.payload, 'hello');
    await news.return();
  },

  /** That the server ends the query, not only that we do not wait for it. */
  async cancelling(client, { slow }) {
    await client.simpleQuery('DROP SEQUENCE IF EXISTS finished; CREATE SEQUENCE finished');
    const query = client.query(`SELECT nextval('finished') FROM (${slow}) AS slow`, [], {
      signal: AbortSignal.timeout(300)
    });
    await query.catch(() => {});
    // A sequence is not rolled back.
    assert.equal(
      (await client.query('SELECT is_called FROM finished')).rows[0].is_called,
      false,
      'the query ran to its end'
    );
  },

  async statement_timeout(client, { slow }) {
    await assert.rejects(client.query(slow, [], { statement_timeout: 200 }), { code: '57014' });
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  },

  async 'settings in the config'(client, { config }) {
    const other = new Client({ ...config, search_path: 'elsewhere' });
    try {
      await other.connect();
      assert.equal((await other.query('SHOW search_path')).rows[0][0], 'elsewhere');
    } finally {
      other.destroy();
    }
  },

  async respond(client, { series }) {
    const server = http.createServer((request, response) => {
      respond(client, request, response, series, [], { as: 'json' }).catch(() => response.destroy());
    });
    await new Promise(resolve => server.listen(0, '127.0.0.1', resolve));
    try {
      const answer = await fetch(`http://127.0.0.1:${server.address().port}/`);
      assert.equal((await answer.json()).length, 100);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },

  async 'connection() of a pool'(client, { config, size = 1 }) {
    const pool = new Pool(config, { size });
    try {
      await pool.connection(async own => {
        await own.transaction(async tx => {
          await tx.query("SELECT set_config('search_path', 'elsewhere', true)");
          assert.equal((await tx.query('SHOW search_path')).rows[0].search_path, 'elsewhere');
        });
      });
      assert.notEqual((await pool.query('SHOW search_path')).rows[0].search_path, 'elsewhere');
    } finally {
      pool.destroy();
    }
  }
};

/**
 * Runs one part.
 * @param {string} name
 * @param {object} server see PARTS
 * @returns {Promise<Error|undefined>} why it does not work; an error 'no answer' if it hangs
 */
async function attempt(name, server, part = PARTS[name]) {
  const client = new Client({ connect_timeout: 10, ...server.config });
  client.on('error', () => {});
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), LIMIT);
  });
  try {
    await Promise.race([client.connect().then(() => part(client, server)), late]);
    return undefined;
  } catch (error) {
    return error;
  } finally {
    clearTimeout(timer);
    client.destroy();
  }
}

/** @returns {string} what an error says, and what to do */
const told = ({ message, hint, cause }) => [message, hint, cause?.message].filter(Boolean).join('; ');

/** A query of 100 rows, one of some seconds, and a table of numbers, in PostgreSQL's SQL. */
const POSTGRES = { series: 'SELECT i FROM generate_series(1, 100) i', slow: 'SELECT pg_sleep(3)', table: '(n int)' };

module.exports = { PARTS, POSTGRES, attempt, told };

'use strict';

// What a server that speaks PostgreSQL's protocol may be able to do, each as a function that fails if it is not so.

const assert = require('node:assert/strict');
const { Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client } = require('../../..');

/** @type {Object<string, function(Client, object): Promise>} given a client that is connected, and the server */
const CAPABILITIES = {
  async query(client) {
    const { rows } = await client.simpleQuery("SELECT 1 AS n, 'ä' AS t").then(([result]) => result);
    assert.deepEqual(rows[0].toObject(), { n: '1', t: 'ä' });
  },

  async parameters(client) {
    const { rows } = await client.query('SELECT $1::int + 1 AS n, $2::text AS t', [41, 'ä'], { cache: false });
    assert.deepEqual(rows[0].toObject(), { n: '42', t: 'ä' });
  },

  async 'prepared statements'(client) {
    for (const n of [1, 2]) assert.equal((await client.query('SELECT $1::int * 2 AS n', [n])).rows[0].n, String(2 * n));
  },

  async 'typed in one round trip'(client) {
    const { rows } = await client.query('SELECT $1 + 1 AS n', [41], { paramTypes: [23], cache: false, decode: true });
    assert.equal(rows[0].n, 42);
  },

  async 'binary results'(client) {
    const { rows } = await client.query('SELECT $1::int AS n', [258], Client.BINARY);
    assert.deepEqual([...rows[0].n], [0, 0, 1, 2]);
  },

  async pipelining(client) {
    const all = await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS n', [i])));
    assert.deepEqual(all.map(({ rows }) => Number(rows[0].n)), Array.from({ length: 100 }, (_, i) => i));
  },

  async errors(client) {
    const [error, after] = await Promise.all([
      client.query('SELECT * FROM there_is_none').catch(error => error), client.query('SELECT 1 AS n')
    ]);
    assert.equal(error.name, 'PostgresError');
    assert.equal(after.rows[0].n, '1');
  },

  async batch(client) {
    const results = await client.batch([['SELECT 1 AS n'], ['SELECT 2 AS n']]);
    assert.deepEqual(results.map(({ rows }) => rows[0].n), ['1', '2']);
    const error = await client.batch([['SELECT 1'], ['SELECT * FROM there_is_none'], ['SELECT 2']]).catch(error => error);
    assert.equal(error.index, 1);
  },

  async transaction(client, { table }) {
    await client.query(`CREATE TABLE moved ${table}`);
    const error = new Error('back');
    await assert.rejects(client.transaction(async tx => {
      await tx.query('INSERT INTO moved VALUES (1)');
      throw error;
    }), error);
    assert.equal((await client.query('SELECT count(*) AS n FROM moved')).rows[0].n, '0');
  },

  async savepoint(client) {
    const n = await client.transaction(async tx => {
      await tx.transaction(inner => inner.query('SELECT * FROM there_is_none')).catch(() => {});
      return (await tx.query('SELECT 1 AS n')).rows[0].n;
    });
    assert.equal(n, '1');
  },

  async cursor(client, { series }) {
    let count = 0;
    for await (const row of client.cursor(series, [], { batchSize: 10 })) {
      assert.ok(row);
      if (++count === 25) break;
    }
    assert.equal(count, 25);
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, '1');
  },

  async queryTo(client, { series }) {
    let bytes = 0;
    const target = new Writable({ write(chunk, encoding, done) { bytes += chunk.length; done(); } });
    const { rowCount } = await client.queryTo(target, series);
    assert.equal(rowCount, 100);
    assert.ok(bytes > 1000);
  },

  async 'COPY TO'(client, { series }) {
    let text = '';
    await pipeline(client.copyTo(`COPY (${series}) TO STDOUT`), new Writable({
      write(chunk, encoding, done) { text += chunk; done(); }
    }));
    assert.equal(text.split('\n').length, 101);
  },

  async 'COPY FROM'(client, { table }) {
    await client.query(`CREATE TABLE copied ${table}`);
    await pipeline(Readable.from(['1\n', '2\n']), client.copyFrom('COPY copied FROM STDIN'));
    assert.equal((await client.query('SELECT count(*) AS n FROM copied')).rows[0].n, '2');
  },

  async LISTEN(client) {
    const heard = new Promise(resolve => client.once('notification', resolve));
    await client.query('LISTEN news');
    await client.query("NOTIFY news, 'hello'");
    assert.equal((await heard).payload, 'hello');
  },

  /** That the server ends the query, not only that we do not wait for it. */
  async cancelling(client, { slow }) {
    await client.query('CREATE SEQUENCE finished');
    const query = client.query(`SELECT nextval('finished') FROM (${slow}) AS slow`, [], { signal: AbortSignal.timeout(300) });
    await query.catch(() => {});
    // A sequence is not rolled back.
    assert.equal((await client.query('SELECT is_called FROM finished')).rows[0].is_called, 'f', 'the query ran to its end');
  }
};

module.exports = { CAPABILITIES };

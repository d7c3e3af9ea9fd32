'use strict';

const assert = require('node:assert/strict');
const { Pool } = require('../../../lib/pool');
const { sql } = require('../../../lib/sql');
const { oid, AbortError } = require('../../..');
const { answering, connected, proxied, sharedServer, held, ANSWER, rowDescription } = require('../../support');
const { endAfterTest } = require('../../support/hooks');

describe('describe', () => {
  it('gives the types of parameters, and the columns, in one round trip and without running anything', async () => {
    const { client, wire } = await proxied();
    await client.query('CREATE TEMP TABLE described (id int4, name varchar(20))');
    const {
      rows: [table]
    } = await client.query("SELECT 'described'::regclass::oid AS oid");
    const before = wire.stats.flights.toServer;
    const [insert, select] = await Promise.all([
      client.describe('INSERT INTO described VALUES ($1, $2) RETURNING name AS "as", 1 + 1 AS two'),
      client.describe('SELECT FROM described WHERE name = $1 AND id = ANY($2)')
    ]);
    assert.equal(wire.stats.flights.toServer - before, 1);
    const tableOid = Number(table.oid);
    assert.deepEqual(insert, {
      params: [{ oid: oid.int4 }, { oid: oid.varchar }],
      columns: [
        { name: 'as', oid: oid.varchar, modifier: 24, tableOid, column: 2 },
        { name: 'two', oid: oid.int4, modifier: -1, tableOid: 0, column: 0 }
      ]
    });
    assert.deepEqual(select, { params: [{ oid: oid.text }, { oid: oid._int4 }], columns: [] });
    assert.equal((await client.query('SELECT FROM described')).rowCount, 0);
  });

  it('works on every session, for commands without rows, and with types of parameters', async () => {
    const client = await connected();
    const pool = endAfterTest(new Pool((await sharedServer()).config));
    const texts = [
      '',
      'CREATE TABLE never (i int)',
      'COPY users FROM STDIN',
      'COPY users TO STDOUT',
      'COMMIT',
      'BEGIN'
    ];
    for (const each of texts) assert.deepEqual(await client.describe(each), { params: [], columns: [] }, each);
    assert.equal(client.transactionStatus, 'I');
    for (const session of [client, pool, pool.with({ search_path: 'pg_catalog' })]) {
      const ask = async on =>
        (await on.describe('SELECT $1 AS a', { paramTypes: [oid.int8] })).columns.map(each => each.oid);
      assert.deepEqual([await ask(session), await session.transaction(ask)], [[oid.int8], [oid.int8]]);
    }
    assert.deepEqual(
      (await client.with({ search_path: 'pg_catalog' }).describe('SELECT oid FROM pg_class')).columns.map(
        ({ name }) => name
      ),
      ['oid']
    );
    assert.deepEqual((await pool.describe(sql`SELECT ${1}::int AS n`)).params, [{ oid: oid.int4 }]);
    await assert.rejects(client.with({ role: 'nobody at all' }).describe('SELECT 1'), { code: '22023' });
  });

  it('rejects with the server’s error, for a wrong argument, and when it is given up', async () => {
    const client = await connected();
    await assert.rejects(client.describe('SELECT missing\n  FROM users'), {
      code: '42703',
      at: { line: 1, column: 8 }
    });
    await assert.rejects(client.describe(1), TypeError);
    await assert.rejects(client.describe('SELECT 1', { format: 1 }), TypeError);
    const { call, release } = await held();
    const first = client.query(`SELECT ${call}`);
    await assert.rejects(client.describe('SELECT 1', { signal: AbortSignal.timeout(10) }), AbortError);
    await release();
    await first;
    assert.equal((await client.describe('SELECT 1 AS one')).columns[0].name, 'one');
  });

  it('refuses an answer that no server gives', async () => {
    for (const answer of [
      [ANSWER.parseComplete, ANSWER.noData],
      [ANSWER.parseComplete, ANSWER.noParameters, rowDescription('a'), ANSWER.bindComplete]
    ]) {
      const client = await answering(...answer, ANSWER.ready);
      await assert.rejects(client.describe('SELECT 1'), { code: '08P01' });
    }
  });
});

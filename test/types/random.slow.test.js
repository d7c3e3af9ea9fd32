'use strict';

const assert = require('node:assert/strict');
const { Client } = require('../..');
const { STRICT, Typing } = require('../../lib/types/typing');
const { sharedServer } = require('../support');
const { seeded } = require('../support/kit');
const { Program } = require('./random');

/** Values of the types of functions, beside those of random.js: empty ones, extremes, and what may mean NULL. */
const EXTREMES = {
  _int4: ['{}', '{NULL}', '{1,NULL,2}', '[0:1]={1,2}'],
  _text: ['{}', '{NULL}', '{a}'],
  any: ["'a'::text", '1::int4'],
  anyarray: ["'{}'::int4[]", "'{1,NULL}'::int4[]"],
  anycompatible: ['1::int4'],
  anycompatiblearray: ["'{}'::int4[]", "'{NULL}'::int4[]"],
  anycompatiblenonarray: ['1::int4'],
  anycompatiblerange: ["'empty'::int4range"],
  anyelement: ['1::int4', "'empty'::int4range"],
  anyenum: ["'ok'::mood"],
  anymultirange: ["'{}'::int4multirange", "'{(,)}'::int4multirange", "'{[1,2)}'::int4multirange"],
  anynonarray: ["'a'::text", '1::int4'],
  anyrange: ["'empty'::int4range", "'(,)'::int4range", "'[1,2)'::int4range"],
  bit: ['', '0', '1'],
  bool: ['true', 'false'],
  bpchar: ['', 'a '],
  bytea: ['', '\\x00', '\\x6100'],
  char: ['', 'a'],
  cid: ['0'],
  cidr: ['0.0.0.0/0', '::/0'],
  date: ['2020-01-01', 'infinity', '-infinity', '4713-01-01 BC'],
  float4: ['0', '-0', '1', 'NaN', 'Infinity', '-Infinity'],
  float8: ['0', '1', 'NaN', 'Infinity', '-Infinity', '1e-308'],
  inet: ['::', '1.2.3.4/8'],
  int2: ['0', '1', '-32768', '32767'],
  int2vector: ['', '1'],
  int4: ['0', '1', '-1', '2147483647', '-2147483648'],
  int8: ['0', '1', '-1', '9223372036854775807'],
  interval: ['0', '1 month', '-1 day', 'infinity', '-infinity'], // since PostgreSQL 17
  json: ['null', '{}', '[]', '"a"', '{"a":null}'],
  jsonb: ['null', '{}', '[]', '"a"', '{"a":null}'],
  macaddr: ['08:00:2b:01:02:03'],
  macaddr8: ['08:00:2b:ff:fe:02:03:04'],
  money: ['0', '-1'],
  name: ['', 'a'],
  numeric: ['0', '-1.5', '1e100', 'NaN', 'Infinity'],
  oid: ['0', '1'],
  oidvector: ['', '1 2'],
  pg_lsn: ['0/0', 'FFFFFFFF/FFFFFFFF'],
  record: ['ROW(NULL, 1)', 'ROW()'],
  text: ['', 'a', 'A%', 'null', '\\', 'month', 'UTC', 'pg_class'],
  tid: ['(0,1)'],
  time: ['00:00', '24:00'],
  timestamp: ['2020-01-01', 'infinity', '-infinity'],
  timestamptz: ['2020-01-01', 'infinity', '-infinity'],
  timetz: ['00:00+00', '24:00-12'],
  tsquery: ['', 'a', '!a'],
  tsvector: ['', 'a:1b'],
  uuid: ['00000000-0000-0000-0000-000000000000'],
  varbit: ['', '101'],
  varchar: ['', 'a'],
  xid: ['0', '1'],
  xid8: ['0'],
  xml: ['<a/>', ''],
  ...Object.fromEntries(['int4', 'int8', 'num', 'ts', 'tstz', 'date'].map(name => [`${name}range`, ['empty', '(,)']]))
};
/** Functions that have none of these values, or refuse them. */
const NOT_TRIED = 7;

/** Seeds of schemas; TYPES_SEEDS=1-200 tries others. */
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** Queries over each schema. */
const QUERIES = 100;

function seeds() {
  const { TYPES_SEEDS } = process.env;
  if (TYPES_SEEDS === undefined) return SEEDS;
  const [from, to = from] = TYPES_SEEDS.split('-').map(Number);
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

class Undone extends Error {}

describe('A column that is declared without null', function () {
  this.timeout(Math.max(60_000, seeds().length * 10_000));
  let client, version;

  before(async function () {
    const server = await sharedServer();
    ({ version } = server);
    if (version < 14) this.skip(); // which keeps no trees of functions
    await server.sql('DROP DATABASE IF EXISTS random');
    await server.sql('CREATE DATABASE random');
    client = new Client({ ...server.config, database: 'random', decode: false, statement_timeout: '2s' });
    await client.connect();
  });
  after(() => client?.end());

  it('is never null in random queries over random schemas, in which NULL is wherever it may be', async () => {
    const counts = { texts: 0, described: 0, ran: 0, rows: 0, sure: 0, columns: 0 };
    const wrong = [];
    for (const seed of seeds()) {
      await client.simpleQuery('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      const program = new Program(seeded(seed), version);
      await program.make(statement =>
        client.simpleQuery(statement).then(
          () => true,
          () => false
        )
      );
      const typing = new Typing([client], {});
      await typing.load();
      assert.equal(typing.unsure, undefined);
      for (let n = 0; n < QUERIES; n++) {
        const text = program.query();
        counts.texts++;
        const types = await typing.of(text).catch(() => undefined);
        if (types === undefined) continue;
        counts.described++;
        const columns = types.row.map(each => ({ name: /^"(.*?)"/.exec(each)[1], isSure: !each.endsWith(' | null') }));
        counts.columns += columns.length;
        counts.sure += columns.filter(({ isSure }) => isSure).length;
        await client
          .transaction(async tx => {
            const { rows } = await tx.query(text);
            counts.ran++;
            counts.rows += rows.length;
            for (const { name } of columns.filter(({ isSure }) => isSure))
              if (rows.some(row => row[name] === null)) wrong.push(`seed ${seed}, query ${n}: ${name} of ${text}`);
            throw new Undone();
          })
          .catch(() => {}); // for example a division by zero
      }
    }
    if (process.env.TYPES_SEEDS) console.log(counts);
    assert.deepEqual(wrong, []);
    assert.ok(counts.ran > counts.texts * 0.4, `only ${JSON.stringify(counts)}`);
    assert.ok(counts.sure > counts.columns * (version < 16 ? 0.1 : 0.15), `only ${JSON.stringify(counts)}`);
  });

  it('is made by functions that make NULL of no value of their types', async () => {
    await client.simpleQuery(`DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TYPE mood AS ENUM ('ok');
      CREATE FUNCTION is_null(text) RETURNS bool LANGUAGE plpgsql AS $$
      DECLARE result bool;
      BEGIN
        EXECUTE 'SELECT (' || $1 || ') IS NOT DISTINCT FROM NULL' INTO result;
        RETURN result;
      EXCEPTION WHEN OTHERS THEN RETURN NULL; -- an overflow, for example
      END$$`);
    const { rows } = await client.query(
      `SELECT oid::regprocedure::text AS signature, quote_ident(proname) AS name, ARRAY(SELECT typname::text
        FROM unnest(proargtypes) WITH ORDINALITY AS a (type, n) JOIN pg_type t ON t.oid = type ORDER BY n) AS types
      FROM pg_proc WHERE oid::text IN (${STRICT})`,
      [],
      { decode: true }
    );
    const untried = [];
    for (const { signature, name, types } of rows) {
      const lists = types.map(type =>
        (EXTREMES[type] ?? []).map(each => (/^any|^record/.test(type) ? each : `'${each}'::pg_catalog."${type}"`))
      );
      const all = lists.reduce((calls, list) => calls.flatMap(call => list.map(each => [...call, each])), [[]]);
      const calls = all.map(call => `pg_catalog.${name}(${call.join(', ')})`);
      const found = await client.query('SELECT x AS call, is_null(x) AS made FROM unnest($1::text[]) x', [calls], {
        decode: true
      });
      assert.deepEqual(
        found.rows.filter(({ made }) => made === true).map(({ call }) => call),
        []
      );
      if (!found.rows.some(({ made }) => made === false)) untried.push(signature);
    }
    assert.ok(rows.length > 600, `${rows.length} functions`);
    assert.ok(untried.length <= NOT_TRIED, `${untried.length}: ${untried}`);
  });
});

'use strict';

// Runs each line of the table for programs that move from postgres.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { tracingChannel } = require('node:diagnostics_channel');
const { startServer } = require('pg-test-fixtures');
const quickgres = require('../..');
const { Pool } = require('../../lib/pool');
const { changes } = require('../../lib/replication');
const { sql } = require('../../lib/sql');
const { collector } = require('../support/kit');

const AsyncFunction = (async () => {}).constructor;

/** The lines of the tables: what it is about, and the code in the right column. */
function lines() {
  const text = fs.readFileSync(path.join(__dirname, '../recipes/POSTGRES.md'), 'utf8');
  return [...text.matchAll(/^\| ([^|]+?) \| .*? \| (.*) \|$/gm)]
    .filter(([, what]) => /\w/.test(what))
    .map(([, what, right]) => [
      what,
      [...right.matchAll(/(?<!`)(`{1,2}) ?((?:(?!\1(?!`))[^])+?) ?\1(?!`)/g)].map(([, , code]) => code)
    ]);
}

/** What a line gives, where that shows more than that it runs. */
const GIVES = {
  query: [{ n: 1 }],
  'one row': ({ n }) => assert.equal(n, 1),
  'text and values': ({ rows }) => assert.deepEqual(rows, [{ n: 1 }]),
  'a file': ({ rows }) => assert.deepEqual(rows, [{ n: 1 }]),
  'several statements': ({ length }) => assert.equal(length, 2),
  'count, command': [1, 'SELECT'],
  columns: ([{ name, typeOid }]) => assert.deepEqual([name, typeOid], ['n', 23]),
  'rows as arrays': [[1, 2]],
  'texts in place of values': ({ rows: [{ a }] }) => assert.equal(a, '1'),
  describe: ({ params }) =>
    assert.deepEqual(
      params.map(({ oid }) => oid),
      [23]
    ),
  'a name': ['"users"', []],
  'a name with its schema': ['"public"."users"', []],
  'names of columns': ['"id", "name"', []],
  'insert an object': ['("name", "age") VALUES ($1, $2)', ['Ann', 36]],
  'insert several': ['("name", "age") VALUES ($1, $2), ($3, $4)', ['Ann', 36, 'Bob', 37]],
  update: ['UPDATE users SET "name" = $1', ['Ann']],
  'one of a list': ([text]) => assert.equal(text, 'SELECT name FROM users WHERE age = ANY($1)'),
  'a fragment, or nothing': ['AND name = $1', ['Ann']],
  'text as it is': ['now()', []],
  'a value of a type': ({ rows }) => assert.deepEqual(rows, [{ n: 1 }]),
  'queries in one go': ({ length }) => assert.equal(length, 2),
  undefined: ['SELECT $1::text', [null]],
  'large objects': ({ rows: [{ oid }] }) => assert.ok(oid > 0)
};

/** Lines whose right column is the name of a property, or of an argument. */
const WRAPPED = {
  'count, command': code => `const result = await pool.query('SELECT 1'); return [${code}]`,
  columns: code => `const result = await pool.query('SELECT 1 AS n'); return ${code[0]}`,
  errors: code => {
    const [, ...names] = code;
    return `const error = await pool.query('INSERT INTO users VALUES (1)').catch(each => each);
      assert.ok(error instanceof quickgres.PostgresError); assert.deepEqual([${names.map(each => `error.${each}`)}], ['users_id_key', 'users', undefined, 'public', undefined]);`;
  },
  "the error's query": ([code]) =>
    `const error = await pool.query('SELECT nothing').catch(each => each); assert.equal(${code}, 'SELECT nothing')`,
  'a lost connection': ([code]) =>
    `const error = await pool.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(each => each); assert.ok(${code}); assert.equal(error.sent, true)`
};

describe('The table for programs that move from postgres', () => {
  let given, pool, server;
  before(async () => {
    server = await startServer({ external: false, settings: { wal_level: 'logical', max_prepared_transactions: 5 } });
    await server.sql(`CREATE TABLE users (id int UNIQUE, name text, age int); ALTER TABLE users REPLICA IDENTITY FULL; INSERT INTO users VALUES (1, 'Ann', 36);
      CREATE TABLE t (a int); CREATE PUBLICATION "all" FOR ALL TABLES`);
    await server.sql("SELECT pg_create_logical_replication_slot('mine', 'pgoutput')");
    given = {
      ...quickgres,
      ...server.config,
      Pool,
      Readable,
      assert,
      changes,
      config: server.config,
      fn: () => {},
      onlisten: () => {},
      password: 'x',
      pipeline,
      process: { stderr: collector() },
      quickgres,
      readFile: async () => 'SELECT $1::int AS n',
      sql,
      tracingChannel,
      url: server.url,
      user: { name: 'Ann', age: 36 },
      users: [
        { name: 'Ann', age: 36 },
        { name: 'Bob', age: 37 }
      ]
    };
  });
  beforeEach(() => {
    pool = new Pool(server.config, { size: 2 });
  });
  afterEach(() => pool.end());
  after(() => {
    tracingChannel('quickgres:query').unsubscribe({ start: given.fn }); // of a line of the table
    return server.stop();
  });

  for (const [what, codes] of lines()) {
    it(`is right about: ${what}`, async () => {
      assert.ok(codes.length > 0);
      const wrap = WRAPPED[what];
      let result;
      for (const code of wrap
        ? [wrap(codes)]
        : codes.filter(each => /[^\w.]/.test(each) && !/^for await .*…$/.test(each))) {
        const isExpression = !/^(?:for|const|await pipeline)\b/.test(code) && !wrap;
        const context = { ...given, pool, ...(what === 'parts of the address' && { user: server.config.user }) };
        // A piece of SQL must not be awaited.
        const last = await new AsyncFunction(
          ...Object.keys(context),
          isExpression ? `return { value: ${code} }` : code
        )(...Object.values(context));
        const value = isExpression ? last.value : last;
        result ??= value instanceof Promise ? await value : value;
        if (/^(?:SELECT|UPDATE)/.test(value?.[0])) await pool.query(value);
      }
      if (typeof GIVES[what] === 'function') GIVES[what](result);
      else if (GIVES[what]) assert.deepEqual([...result], GIVES[what]);
      await result?.end?.();
      await result?.return?.();
    });
  }
});

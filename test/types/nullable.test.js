'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { PostgresError } = require('../..');
const { Pool } = require('../../lib/pool');
const { Typing } = require('../../lib/types/typing');
const { sharedServer } = require('../support');

/** Queries over the data below; `!` behind the names of the columns that PostgreSQL 16 and newer know to be never NULL. */
const QUERIES = {
  'SELECT id, name, mail, mood, tags, seen FROM people': 'id! name! mail mood! tags! seen',
  'SELECT p.id, t.id AS post, t.title FROM people p JOIN posts t ON t.person = p.id': 'id! post! title!',
  'SELECT p.id, t.id AS post, t.title FROM people p LEFT JOIN posts t ON t.person = p.id': 'id! post title',
  'SELECT p.id, t.id AS post FROM people p RIGHT JOIN posts t ON t.person = p.id AND t.id > 11': 'id post!',
  'SELECT p.id, t.id AS post FROM people p FULL JOIN posts t ON t.person = p.id AND t.id > 11': 'id post',
  'SELECT id FROM people FULL JOIN (SELECT person AS id FROM posts) t USING (id)': 'id',
  'SELECT j.id, j.title FROM (people p LEFT JOIN posts t ON t.person = p.id) AS j (id, a, b, c, d, e, f, g, h, i, k, l, m, n, o, p, title)':
    'id! title',
  'SELECT s.title FROM people p LEFT JOIN LATERAL (SELECT title FROM posts WHERE person = p.id) s ON true': 'title',
  'SELECT s.id FROM (SELECT t.id FROM people p LEFT JOIN posts t ON t.person = p.id) s': 'id',
  'SELECT id, name, title FROM authors': 'id! name! title',
  'SELECT a.name FROM posts t LEFT JOIN authors a ON a.id = t.parent': 'name',
  'SELECT id FROM people UNION ALL SELECT NULL': 'id',
  'SELECT id FROM people UNION SELECT person FROM posts': 'id!',
  'SELECT id FROM people EXCEPT SELECT 1': 'id!',
  'SELECT mail FROM people INTERSECT SELECT NULL': 'mail',
  'VALUES (1, NULL)': 'column1 column2',
  "SELECT coalesce(mail, name) AS a, coalesce(mail, 'x') AS b, coalesce(mail, seen::text) AS c FROM people": 'a! b! c',
  "SELECT CASE WHEN id > 1 THEN 'x' ELSE name END AS a, CASE WHEN id > 1 THEN 'x' END AS b, nullif(id, 1) AS c FROM people":
    'a! b c',
  'SELECT greatest(mail, name) AS a, greatest(mail, seen::text) AS b FROM people': 'a! b',
  'SELECT count(*) AS a, count(mail) AS b, max(id) AS c, sum(id) AS d, array_agg(id) AS e FROM people WHERE false':
    'a! b! c d e',
  'SELECT name, count(*) AS a FROM people GROUP BY name': 'name! a!',
  'SELECT name, id, count(*) AS a FROM people GROUP BY ROLLUP (name, id)': 'name id a!',
  "SELECT name, coalesce(name, 'all') AS a, count(*) + 1 AS b, grouping(name) AS c FROM people GROUP BY CUBE (name)":
    'name a! b! c!',
  "SELECT 1 AS a, coalesce(mail, 'x') AS b, ARRAY[id] AS c, mail IS NULL AS d, count(*) AS e FROM people GROUP BY ROLLUP (1::int, coalesce(mail, 'x'), ARRAY[id], mail IS NULL)":
    'a b c d e!',
  'SELECT count(*) AS a FROM people GROUP BY GROUPING SETS ((), ())': 'a!',
  "SELECT lower(int4range(id, NULL)) AS a, upper('(,)'::int4range) AS b, lower('{}'::int4multirange) AS c, upper(name) AS d, lower(mail) AS e FROM people":
    'a b c d! e',
  'SELECT row_number() OVER () AS a, lag(id) OVER () AS b FROM people': 'a! b',
  'SELECT id + 1 AS a, id + length(mail) AS b, name || mail AS c, upper(name) AS d, id > 1 AS e, mail > $1 AS f FROM people':
    'a! b c d! e! f',
  'SELECT id > 1 AND NOT mail IS NULL AS a, id > 1 OR mail = name AS b, NOT mail = name AS c FROM people': 'a! b c',
  "SELECT data -> 'x' AS a, data ->> 'x' AS b, (data -> 'x')::text AS c, data ? 'x' AS d FROM people": 'a b c d',
  "SELECT to_char(now(), '') AS a, 'infinity'::timestamptz::time AS b, path '((0,0),(1,1))' + path '((0,0),(1,1))' AS c":
    'a b c',
  'SELECT now() AS a, current_user AS b, current_schema AS c, gen_random_uuid() AS d, now()::date AS e':
    'a! b! c d! e!',
  'SELECT id IS NULL AS a, mail IS DISTINCT FROM name AS b, ARRAY[mail] AS c, ROW(mail) AS d, id = ANY(ARRAY[1, NULL]) AS e FROM people':
    'a! b! c! d! e',
  'SELECT (SELECT name FROM people WHERE id = 100) AS a, (SELECT count(*) FROM people) AS b, EXISTS (SELECT) AS c, ARRAY(SELECT mail FROM people) AS d':
    'a b! c! d!',
  'SELECT (SELECT count(*) FROM people HAVING false) AS a, (SELECT count(*) FROM people GROUP BY id LIMIT 0) AS b, (SELECT count(*) FROM people OFFSET 1) AS c':
    'a b c',
  'SELECT (SELECT p.name FROM posts t WHERE t.id = 10 LIMIT 1) AS a, p.name FROM people p': 'a name!',
  'SELECT p.id, s.name FROM parents p CROSS JOIN generate_series(1, 2) AS s (name)': 'id name',
  'SELECT id FROM parents': 'id',
  'SELECT p FROM posts t LEFT JOIN people p ON p.id = t.parent': 'p',
  'SELECT p.tableoid, p.ctid FROM posts t LEFT JOIN people p ON p.id = t.parent': 'tableoid ctid',
  'WITH x AS (SELECT id, mail FROM people) SELECT x.id, x.mail FROM x': 'id! mail',
  'WITH x AS (SELECT id FROM people) SELECT x.id FROM posts t LEFT JOIN x ON x.id = t.parent': 'id',
  'WITH x AS (INSERT INTO posts (id, person, title) VALUES (99, 1, $1) RETURNING id, parent) SELECT id, parent FROM x':
    'id! parent',
  'WITH RECURSIVE tree AS (SELECT id, parent, title FROM posts UNION ALL SELECT p.id, p.parent, tree.title FROM posts p JOIN tree ON p.parent = tree.id) SELECT * FROM tree':
    'id! parent title!',
  'WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT NULL FROM n WHERE n < 2) SELECT n FROM n': 'n',
  'INSERT INTO people (id, name) VALUES (7, $1) RETURNING id, mail': 'id! mail',
  'DELETE FROM posts WHERE id = 12 RETURNING title, parent': 'title! parent',
  'UPDATE people SET mail = NULL RETURNING name, mail': 'name! mail',
  'UPDATE people p SET seen = NULL FROM posts t WHERE t.person = p.id RETURNING p.id, t.parent, t.title':
    'id! parent title!',
  // PostgreSQL 17
  'MERGE INTO people p USING posts t ON p.id = t.person AND t.id = 12 WHEN MATCHED THEN UPDATE SET mail = NULL WHEN NOT MATCHED THEN DO NOTHING RETURNING p.id, t.title':
    'id title',
  "SELECT JSON_EXISTS(data, '$.x') AS a, JSON_VALUE(data, '$.x') AS b FROM people": 'a b',
  // PostgreSQL 18
  'UPDATE people SET name = name RETURNING old.name AS before, new.name AS after': 'before! after!',
  'INSERT INTO people (id, name) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING old.id, new.name':
    'id name!',
  'DELETE FROM posts WHERE id = 12 RETURNING old.title AS before, new.title AS after': 'before! after'
};

describe('NULL', () => {
  let pool, typing, version;

  before(async () => {
    const server = await sharedServer();
    await server.sql('DROP DATABASE IF EXISTS nullable');
    await server.sql('CREATE DATABASE nullable');
    pool = new Pool({ ...server.config, database: 'nullable' });
    await pool.simpleQuery(fs.readFileSync(path.join(__dirname, 'schema.sql'), 'utf8'));
    const {
      rows: [{ number }]
    } = await pool.query("SELECT current_setting('server_version_num')::int / 10000 AS number");
    version = number;
    typing = new Typing([pool], {});
    await typing.load();
  });
  after(() => pool.end());

  it('is ruled out where the tree of the server does, and nowhere else', async function () {
    if (version < 16) this.skip();
    const said = {};
    for (const text of Object.keys(QUERIES)) {
      const found = await typing.of(text).catch(error => assert.ok(error instanceof PostgresError, error)); // of a newer version
      if (found)
        said[text] = found.row
          .map(column => `${/^"(.*?)"/.exec(column)[1]}${column.endsWith(' | null') ? '' : '!'}`)
          .join(' ');
    }
    assert.ok(Object.keys(said).length >= 48);
    const withoutUnknown = Object.fromEntries(Object.entries(QUERIES).filter(([text]) => said[text]));
    assert.deepEqual(said, withoutUnknown);
    assert.equal(typing.unsure, undefined);
  });

  it('is found whatever characters the names have', async function () {
    if (version < 16) this.skip();
    const names = ['a "b', 'a[', '[', ']', ':x', '{', '}', '(', ')', '<>', '"', '\\', ' ', 'a\tb', 'a\nb', 'a\u00a0b'];
    const quoted = names.map(name => `"${name.replaceAll('"', '""')}"`);
    const from = `(SELECT ${quoted.map((name, n) => (n % 2 ? `NULL AS ${name}` : `1 AS ${name}`))}) AS "a ""[b"`;
    const { row } = await typing.of(`SELECT ${quoted} FROM ${from}`);
    assert.deepEqual(
      row,
      names.map((name, n) => `${JSON.stringify(name)}: ${n % 2 ? 'string | null' : 'number'}`)
    );
  });

  it('is in no column that is said to have none, in data with holes', async () => {
    let columns = 0;
    for (const text of Object.keys(QUERIES)) {
      const found = await typing.of(text).catch(() => undefined);
      if (!found) continue;
      await pool
        .transaction(async tx => {
          const values = found.values.map(() => 'x');
          const { rows } = await tx.query(text, values);
          for (const column of found.row.filter(each => !each.endsWith(' | null') && !each.endsWith('unknown'))) {
            const [, name] = /^"(.*?)"/.exec(column);
            columns++;
            assert.ok(
              rows.every(row => row[name] !== null),
              `${text}: ${name}`
            );
          }
          throw new Error('undone');
        })
        .catch(error => assert.equal(error.message, 'undone', text));
    }
    assert.ok(version < 14 ? columns === 0 : columns > 20, `${columns} columns`);
  });

  it('is not ruled out by a partitioned table that has foreign partitions, which the server does not check', async function () {
    if (version < 14) this.skip();
    await pool.simpleQuery(`CREATE FOREIGN DATA WRAPPER far; CREATE SERVER far FOREIGN DATA WRAPPER far;
      CREATE TABLE near (id int NOT NULL, name text NOT NULL) PARTITION BY LIST (id);
      CREATE TABLE here PARTITION OF near FOR VALUES IN (1) PARTITION BY LIST (name);
      CREATE FOREIGN TABLE there PARTITION OF here FOR VALUES IN ('a') SERVER far;
      CREATE TABLE whole (id int NOT NULL) PARTITION BY LIST (id); CREATE TABLE part PARTITION OF whole DEFAULT`);
    const other = new Typing([pool], {});
    await other.load();
    const sure = async text => (await other.of(text)).row.map(each => !each.endsWith(' | null')).join();
    assert.equal(
      await sure('SELECT near.id, here.id AS b, there.id AS c, whole.id AS d FROM near, here, there, whole'),
      'false,false,false,true'
    );
  });

  it('is refused for parameters that a column takes as they are, if it refuses NULL and has no trigger', async function () {
    if (version < 14) this.skip();
    const valuesOf = async text => (await typing.of(text)).values.map(each => each.endsWith(' | null')).join();
    assert.equal(
      await valuesOf('INSERT INTO people (id, name, mail, visits) VALUES ($1, $2, $3, $4)'),
      'false,false,true,false'
    );
    assert.equal(await valuesOf('INSERT INTO people (id, name, visits) VALUES ($1, $2, $3::int)'), 'false,false,false');
    assert.equal(await valuesOf('UPDATE people SET name = $1, mail = $2 WHERE id = $3'), 'false,true,true');
    assert.equal(await valuesOf('UPDATE people SET name = coalesce($1, name)'), 'true');
    assert.equal(await valuesOf('INSERT INTO filled (id, name) VALUES ($1, $2)'), 'true,true');
  });

  it('is decided in bounded time, where subqueries would double it at each level', async () => {
    let text = 'SELECT name AS a FROM people';
    for (let level = 0; level < 40; level++) text = `SELECT a || a AS a FROM (${text}) x`;
    assert.deepEqual((await typing.of(text)).row, ['"a": string | null']);
  });
});

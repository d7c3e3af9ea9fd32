'use strict';

// What users of tags for SQL and of generators of types have reported. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { sql } = require('../../lib/sql');
const { connected } = require('../support');

const { id, join, set, values } = sql;

describe('Reports about SQL in JavaScript', () => {
  // gajus/slonik#132, #326
  it('Any text is a name where sql.id says so, and never SQL', async () => {
    const client = await connected();
    for (const name of ['a"b', 'a""b', '";DROP TABLE users;--', 'A', 'select', 'é 😀', '$1', "'", '\\', 'a.b', ' ']) {
      const { objects } = await client.query(sql`SELECT 1 AS ${id(name)}`);
      assert.deepEqual(objects, [{ [name]: 1 }]);
    }
    assert.throws(() => id('a\0b'), TypeError);
    assert.equal(sql`${id('s', 't"u')}`[0], '"s"."t""u"');
  });

  // blakeembrey/sql-template-tag#3, tediousjs/node-mssql#989, kysely-org/kysely#1395
  it('An empty list never makes a text that means something else', async () => {
    const client = await connected();
    assert.throws(() => values([]), { name: 'TypeError' });
    assert.throws(() => set({}), { name: 'TypeError' });
    const { objects } = await client.query(sql`SELECT 1 AS n WHERE 1 = ANY(${[]}::int[])`);
    assert.deepEqual(objects, []);
    await assert.rejects(client.query(sql`SELECT 1 WHERE 1 IN (${join([])})`), { code: '42601' });
  });

  // porsager/postgres#466, #607, #799, bun#16679, gajus/slonik#344
  it('Many pieces are one text, and one parameter too many is a RangeError before anything is sent', async () => {
    const client = await connected();
    const pieces = Array.from({ length: 20000 }, (_, i) => sql`(${i}::int)`);
    const { rows } = await client.query(
      sql`SELECT count(*)::int AS n, sum(column1)::int AS s FROM (VALUES ${join(pieces)}) AS v`
    );
    assert.deepEqual([rows[0].n, rows[0].s], [20000, 199990000]);
    const many = Array.from({ length: 65536 }, (_, i) => sql`${i}`);
    assert.throws(() => join(many), RangeError);
  });
});

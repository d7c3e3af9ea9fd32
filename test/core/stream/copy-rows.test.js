'use strict';

const assert = require('node:assert/strict');
const { Readable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { RowEncoder } = require('../../../lib/core/stream/copy-rows');
const { sql } = require('../../../lib/sql');
const { endAfterTest } = require('../../support/hooks');
const { connected, sharedServer } = require('../../support');

const COPY = 'COPY t FROM STDIN';

/** The bytes of rows. */
function encoded(rows, columns) {
  const encoder = new RowEncoder(COPY, columns);
  return rows.map(row => encoder.lineOf(row)).join('');
}

describe('Rows of copyFrom', () => {
  it('are values between tabs, lines, and \\N for NULL', () => {
    const rows = [
      [1, 'a', true, null],
      [2n, '', false, null],
      [-0, 'é', NaN, Infinity]
    ];
    assert.equal(encoded(rows, ['a', 'b', 'c', 'd']), '1\ta\ttrue\t\\N\n2\t\tfalse\t\\N\n-0\té\tNaN\tInfinity\n');
    assert.equal(encoded([], ['a']), '');
  });

  it('escape what would be taken for something else, also in arrays and JSON', () => {
    assert.equal(encoded([['a\\b\tc\nd\re', '\\N', '\\.']], ['a', 'b', 'c']), 'a\\\\b\\tc\\nd\\re\t\\\\N\t\\\\.\n');
    assert.equal(
      encoded([[['a\tb', 'c"\\'], { d: 'e\nf\\' }]], ['a', 'b']),
      '{"a\\tb","c\\\\"\\\\\\\\"}\t{"d":"e\\\\nf\\\\\\\\"}\n'
    );
    assert.equal(
      encoded([[Buffer.from([0, 255]), new Uint8Array([1]), new Date(0)]], ['a', 'b', 'c']),
      '\\\\x00ff\t\\\\x01\t1970-01-01T00:00:00.000Z\n'
    );
  });

  it('are objects by the names of the columns, or arrays in their order', () => {
    const rows = [
      { b: 'x', a: 1, c: true },
      Object.assign(Object.create({ b: 'inherited' }), { a: null, b: null }),
      [2, 'y']
    ];
    assert.equal(encoded(rows, ['a', 'b']), '1\tx\n\\N\t\\N\n2\ty\n');
  });

  it('say which row and column is wrong, and why', () => {
    for (const [rows, columns, message] of [
      [
        [{ a: 1, b: 1 }, { a: 1 }],
        ['a', 'b'],
        /^row 1, column b: the object does not have this key: write null for NULL$/
      ],
      [[{ a: undefined }], ['a'], /^row 0, column a: the value is undefined: pass null for NULL$/],
      [[[1], [undefined]], ['a'], /^row 1, column a: the value is undefined: pass null for NULL$/],
      [[sql`a`], ['a', 'b'], /^row 0: a row is a piece of SQL: COPY takes values and no SQL$/],
      [[[sql.json([])]], ['a'], /^row 0, column a: .* is a piece of SQL: .* for json, pass JSON\.stringify\(value\)$/],
      [[{}], ['toString'], /^row 0, column toString: the object does not have/],
      [[[1]], ['a', 'b'], /^row 0: 1 values for 2 columns$/],
      [
        [{ a: 1, b: new Map() }],
        ['a', 'b'],
        /^row 0, column b: the value is an object of class Map: pass Object\.fromEntries/
      ],
      [[[[Symbol('x')]]], ['a'], /^row 0, column a: the value\[0\] is a symbol/],
      [[['a\0']], ['a'], /^row 0, column a: the value has a null byte at 1/],
      [['text'], ['a'], /^row 0: a row must be an object or an array, not a string$/],
      [[Buffer.from('a')], ['a'], /not an object of class Buffer/],
      [[5], ['a'], /not a number/]
    ])
      assert.throws(
        () => encoded(rows, columns),
        ({ name, message: said }) => ['TypeError', 'RangeError'].includes(name) && message.test(said),
        String(message)
      );
  });

  it('say where their own code has thrown, whatever that was', () => {
    const frozen = Object.freeze(new Error('frozen'));
    const reason = AbortSignal.abort().reason; // its message is read-only
    const error = new Error('mine');
    for (const thrown of [frozen, reason])
      assert.throws(
        () =>
          encoded(
            [
              {
                get a() {
                  throw thrown;
                }
              }
            ],
            ['a']
          ),
        it => it === thrown
      );
    assert.throws(
      () =>
        encoded(
          [
            [1, 2],
            {
              a: 1,
              get b() {
                throw error;
              }
            }
          ],
          ['a', 'b']
        ),
      it => it === error
    );
    assert.equal(error.message, 'row 1, column b: mine');
    for (const [thrown, kind] of [
      [null, 'null'],
      [undefined, 'undefined'],
      ['', 'a string'],
      [0, 'a number'],
      [{}, 'an object']
    ]) {
      assert.throws(
        () =>
          encoded(
            [
              {
                get a() {
                  throw thrown;
                }
              }
            ],
            ['a']
          ),
        it => {
          assert.equal(it.message, `row 0, column a: ${kind} was thrown`);
          return Object.is(it.cause, thrown);
        }
      );
    }
  });

  it('are refused by copyFrom for wrong columns, and for another format than text', async () => {
    const client = await connected();
    for (const columns of [null, 'a', [], [1], {}]) {
      assert.throws(() => client.copyFrom(COPY, { columns }), {
        name: 'TypeError',
        message: 'columns must be a list of names'
      });
    }
    for (const options of [
      '(FORMAT csv)',
      'WITH CSV',
      '(FORMAT BINARY)',
      "(DELIMITER ',')",
      "(NULL 'x')",
      '(HEADER true)'
    ]) {
      assert.throws(() => client.copyFrom(`${COPY} ${options}`, { columns: ['a'] }), {
        name: 'TypeError',
        message: /in the text format of COPY: leave out/
      });
    }
    for (const text of [
      "COPY t FROM STDIN (FORMAT csv) WHERE a <> 'stdin'",
      'COPY "stdin" FROM STDIN CSV',
      'COPY t FROM /* */ STDIN CSV -- stdin'
    ]) {
      assert.throws(() => client.copyFrom(text, { columns: ['a'] }), { name: 'TypeError', message: /leave out csv$/i });
    }
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  for (const [name, Session] of [
    ['client', Client],
    ['pool', Pool]
  ]) {
    it(`copy what JavaScript has into a table, by a ${name}`, async () => {
      const session = endAfterTest(new Session({ ...(await sharedServer()).config, decode: true }));
      if (session instanceof Client) await session.connect();
      const made = `made_${name}`;
      await session.query(
        `CREATE TABLE ${made} (id int8, name text, tags text[], data jsonb, raw bytea, at timestamptz)`
      );
      try {
        const columns = ['id', 'name', 'tags', 'data', 'raw', 'at'];
        const rows = Array.from({ length: 10000 }, (_, id) => ({
          id,
          name: `User ${id}\t\\`,
          tags: [`a"${id}`, null],
          data: { id },
          raw: Buffer.from([id & 255]),
          at: new Date(id)
        }));
        const copy = session.copyFrom(`COPY ${made} FROM STDIN WHERE name IS NOT NULL`, { columns });
        await pipeline(rows, copy);
        assert.equal(copy.rowCount, 10000);
        const result = await session.query(`SELECT * FROM ${made} ORDER BY id`);
        assert.deepEqual(result.objects, rows);
        await session.query(`DELETE FROM ${made} WHERE id > 4`);
        const { structs } = await session.query(`UPDATE ${made} SET name = '', raw = NULL RETURNING *`);
        await session.query(`DELETE FROM ${made}`);
        await pipeline(structs, session.copyFrom(`COPY ${made} FROM STDIN`, { columns }));
        assert.deepEqual(
          (await session.query(`SELECT * FROM ${made} ORDER BY id`)).objects,
          rows.slice(0, 5).map(row => ({ ...row, name: '', raw: null }))
        );
        await session.query(`DELETE FROM ${made}`);
        await session.transaction(tx =>
          pipeline(Readable.from(rows.slice(0, 3)), tx.copyFrom(`COPY ${made} FROM STDIN`, { columns }))
        );
        assert.equal((await session.query(`SELECT FROM ${made}`)).rowCount, 3);
        await assert.rejects(
          pipeline(
            [rows[0], { ...rows[1], data: new Map() }],
            session.copyFrom(`COPY ${made} FROM STDIN`, { columns })
          ),
          { name: 'TypeError', message: /^row 1, column data: the value is an object of class Map/ }
        );
        await assert.rejects(
          pipeline([{ ...rows[0], id: 'x' }], session.copyFrom(`COPY ${made} FROM STDIN`, { columns })),
          { code: '22P02' }
        );
        assert.equal((await session.query(`SELECT FROM ${made}`)).rowCount, 3, 'nothing of a failed COPY is stored');
        const empty = session.copyFrom(`COPY ${made} FROM STDIN`, { columns });
        await pipeline([], empty);
        assert.equal(empty.rowCount, 0);
      } finally {
        await session.query(`DROP TABLE ${made}`);
      }
    });
  }
});

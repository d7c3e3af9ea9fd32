'use strict';

// What users of node-postgres have reported, tried on quickgres/pg. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { SERVER_VERSION } = require('pg-test-fixtures');
const pg = require('../../lib/pg');
const { sharedServer } = require('../support');

describe('Reports about quickgres/pg', () => {
  let config;
  let client;
  before(async () => {
    ({ config } = await sharedServer());
  });
  beforeEach(async () => {
    client = new pg.Client(config);
    await client.connect();
  });
  afterEach(() => client.end());

  // node-postgres#2967, #83, #360, #757, postgres#1031
  it('Each statement of a text has its command and its rowCount', async () => {
    const statements = {
      'CREATE TEMP TABLE counted (id int)': ['CREATE', null],
      'INSERT INTO counted VALUES (1), (2), (3)': ['INSERT', 3],
      'UPDATE counted SET id = id + 1 WHERE id > 1': ['UPDATE', 2],
      'SELECT * FROM counted': ['SELECT', 3],
      'SELECT 1 WHERE false': ['SELECT', 0],
      'DELETE FROM counted WHERE id = 1': ['DELETE', 1],
      ...(SERVER_VERSION >= 15 && {
        'MERGE INTO counted c USING (VALUES (9)) v (n) ON c.id = v.n WHEN NOT MATCHED THEN INSERT VALUES (n)': [
          'MERGE',
          1
        ]
      }),
      'TRUNCATE counted': ['TRUNCATE', null],
      'SHOW TimeZone': ['SHOW', null],
      'EXPLAIN SELECT 1': ['EXPLAIN', null],
      BEGIN: ['BEGIN', null],
      'SAVEPOINT s': ['SAVEPOINT', null],
      COMMIT: ['COMMIT', null],
      'DO $$BEGIN END$$': ['DO', null],
      'PREPARE p AS SELECT 1': ['PREPARE', null],
      'EXECUTE p': ['SELECT', 1],
      'DROP TABLE counted': ['DROP', null]
    };
    const together = await client.query(Object.keys(statements).join('; '));
    await client.query('DEALLOCATE p');
    const alone = [];
    for (const text of Object.keys(statements)) alone.push(await client.query({ text, values: [] }));
    for (const results of [together, alone]) {
      assert.deepEqual(
        results.map(({ command, rowCount }) => [command, rowCount]),
        Object.values(statements)
      );
    }
  });

  // postgres-interval#7, #9, #12, node-postgres#1380
  it('An interval has the parts that the server has written, negative ones and fractions as well', async () => {
    const { rows } = await client.query(`SELECT i::interval AS i FROM unnest(ARRAY['-1 day -02:03:04.5',
      '1 year -1 mon', '00:00:00.000001', '-00:00:00.5', '1000000 hours', '0']) AS i`);
    assert.deepEqual(
      rows.map(({ i }) => ({ ...i })),
      [
        { days: -1, hours: -2, minutes: -3, seconds: -4, milliseconds: -500 },
        { months: 11 },
        { milliseconds: 0.001 },
        { milliseconds: -500 },
        { hours: 1000000 },
        {}
      ]
    );
    const back = await client.query('SELECT ($1::interval)::text AS i', [rows[0].i]);
    assert.equal(back.rows[0].i, '-1 days -02:03:04.5');
  });

  // node-postgres#818, #225, #993, #2154
  it('A date and a timestamp are midnight and the time of the wall in the zone of the process', async () => {
    const { rows } = await client.query("SELECT '2024-03-31'::date AS d, '2024-03-31 12:30:00.5'::timestamp AS t");
    assert.deepEqual([rows[0].d, rows[0].t], [new Date(2024, 2, 31), new Date(2024, 2, 31, 12, 30, 0, 500)]);
    const back = await client.query('SELECT $1::date::text AS d, $2::timestamp::text AS t', [rows[0].d, rows[0].t]);
    assert.deepEqual(back.rows, [{ d: '2024-03-31', t: '2024-03-31 12:30:00.5' }]);
  });

  // node-postgres#280, #1054, #1539
  it('Of columns with the same name a row has the last one, and an array has both', async () => {
    const text = 'SELECT 1 AS a, 2 AS b, 3 AS a';
    assert.deepEqual((await client.query(text)).rows, [{ a: 3, b: 2 }]);
    assert.deepEqual((await client.query({ text, rowMode: 'array' })).rows, [[1, 2, 3]]);
  });

  // the name of a statement above 63 bytes, which the server cuts
  it('Two statements whose names begin alike for 63 bytes are two', async () => {
    const name = 'x'.repeat(70);
    for (let i = 0; i < 2; i++) {
      assert.deepEqual((await client.query({ name: `${name}1`, text: 'SELECT 1 AS n' })).rows, [{ n: 1 }]);
      assert.deepEqual((await client.query({ name: `${name}2`, text: 'SELECT 2 AS n' })).rows, [{ n: 2 }]);
    }
  });

  // tracers and loggers: they wrap the methods of a client when it connects, or the prototype
  it('A wrapped query() is called for each query, of a client in connect and of the prototype', async () => {
    const pool = new pg.Pool(config);
    const seen = [];
    pool.on('connect', each => {
      const { query } = each;
      each.query = function (...args) {
        seen.push(typeof args[0] === 'string' ? args[0] : args[0].text);
        return query.apply(this, args);
      };
    });
    assert.deepEqual((await pool.query('SELECT 1 AS n')).rows, [{ n: 1 }]);
    const lent = await pool.connect();
    await lent.query({ text: 'SELECT $1::int AS n', values: [2] });
    await new Promise((resolve, reject) => lent.query('SELECT 3', error => (error ? reject(error) : resolve())));
    lent.release();
    await pool.end();
    assert.deepEqual(seen, ['SELECT 1 AS n', 'SELECT $1::int AS n', 'SELECT 3']);
    const { query } = pg.Client.prototype;
    pg.Client.prototype.query = function (...args) {
      seen.push('prototype');
      return query.apply(this, args);
    };
    try {
      await client.query('SELECT 4');
      assert.equal(seen.at(-1), 'prototype');
    } finally {
      pg.Client.prototype.query = query;
    }
  });

  // node-postgres#1762
  it('An error of the server can be cloned, printed and sent as JSON, with its fields', async () => {
    const error = await client.query('SELECT 1 / 0').catch(each => each);
    assert.ok(error instanceof Error && error instanceof pg.DatabaseError);
    const { code, severity, routine } = error;
    assert.deepEqual({ code, severity, routine }, { code: '22012', severity: 'ERROR', routine: 'int4div' });
    assert.equal(structuredClone(error).message, 'division by zero');
    assert.equal(JSON.parse(JSON.stringify(error)).code, '22012');
  });

  // node-postgres#2079, #2281: what begins with a class of one's own
  it('A subclass of Pool and of Client is used as it is', async () => {
    class Mine extends pg.Client {
      query(...args) {
        Mine.count++;
        return super.query(...args);
      }
    }
    Mine.count = 0;
    class Pool extends pg.Pool {
      all(text) {
        return this.query(text).then(({ rows }) => rows);
      }
    }
    const pool = new Pool({ ...config, Client: Mine });
    assert.deepEqual(await pool.all('SELECT 1 AS n'), [{ n: 1 }]);
    const lent = await pool.connect();
    assert.ok(lent instanceof Mine);
    lent.release();
    await pool.end();
    assert.ok(Mine.count >= 1);
  });
});

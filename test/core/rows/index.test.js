'use strict';

// Rows of every kind of request of a pool, in what programs do with plain objects.

const loose = require('node:assert');
const assert = require('node:assert/strict');
const { Console } = require('node:console');
const { PassThrough, Readable } = require('node:stream');
const { inspect, isDeepStrictEqual } = require('node:util');
const v8 = require('node:v8');
const { MessageChannel, receiveMessageOnPort } = require('node:worker_threads');
const { Client, decoders, exact, oid } = require('../../..');
const { ResponseCache } = require('../../../lib/cache');
const { Pool } = require('../../../lib/pool');
const { endAfterTest } = require('../../support/hooks');
const { connected, sharedServer } = require('../../support');

const TEXT = `SELECT n AS a, 'name ' || n AS name, NULL AS nothing, n > 1 AS "is it", '{1,NULL}'::int[] AS list, '{"b": [1]}'::jsonb AS doc,
  (SELECT count(*) FROM users) AS count, timestamptz '2024-02-29 12:34:56.789+00' AS at, 1.50 AS price, bytea '\\x00ff' AS bytes
  FROM generate_series(1, 3) n`;

/** How rows are asked for; each gives an array of them. */
const WAYS = {
  query: async ({ pool }) => (await pool.query(TEXT)).rows,
  'query in binary format': async ({ pool }) => (await pool.query(TEXT, [], { format: Client.BINARY })).rows,
  'a loop over a result': async ({ pool }) => [...(await pool.query(TEXT))],
  simpleQuery: async ({ pool }) => (await pool.simpleQuery(TEXT))[0].rows,
  batch: async ({ pool }) => (await pool.batch([TEXT, 'SELECT 1']))[0].rows,
  'a transaction': ({ pool }) => pool.transaction(async tx => (await tx.query(TEXT)).rows),
  async 'a cursor'({ pool }) {
    const rows = [];
    for await (const row of pool.cursor(TEXT, [], { batchSize: 2 })) rows.push(row);
    return rows;
  },
  'the stream of a cursor': ({ pool }) => Readable.from(pool.cursor(TEXT)).toArray(),
  'the cache, that asks': async ({ cache }) => (await cache.query(TEXT)).rows,
  async 'the cache, that knows'({ cache }) {
    const {
      rows: [row]
    } = await cache.query(TEXT);
    row.bytes.fill(7); // which concerns no other reader
    row.list.push('more');
    return (await cache.query(TEXT)).rows;
  }
};

const expectedRow = (a, count) => ({
  a,
  name: `name ${a}`,
  nothing: null,
  'is it': a > 1,
  list: [1, null],
  doc: { b: [1] },
  count,
  at: new Date('2024-02-29T12:34:56.789Z'),
  price: '1.50',
  bytes: Buffer.from([0, 255])
});

for (const [name, ask] of Object.entries(WAYS)) {
  describe(`Rows of ${name}`, () => {
    let rows, expected;
    beforeEach(async () => {
      const { config } = await sharedServer();
      const pool = endAfterTest(new Pool(config));
      rows = await ask({ pool, cache: new ResponseCache(pool) });
      const {
        rows: [{ count }]
      } = await pool.query('SELECT count(*) FROM users');
      expected = [1, 2, 3].map(a => expectedRow(a, count));
    });

    it('are equal to what they look like, and to nothing else', () => {
      assert.deepStrictEqual(rows, expected);
      assert.ok(isDeepStrictEqual(rows, expected));
      assert.notDeepEqual(rows[0], rows[1]);
      assert.throws(() => assert.deepEqual(rows, [...expected].reverse()), { name: 'AssertionError' });
      assert.ok(rows.every(row => Object.getPrototypeOf(row) === Object.prototype));
    });

    it('can be cloned and sent', () => {
      const cloned = expected.map(row => ({ ...row, bytes: new Uint8Array(row.bytes) })); // as of any Buffer
      assert.deepStrictEqual(structuredClone(rows), cloned);
      assert.deepStrictEqual(v8.deserialize(v8.serialize(rows)), expected);
      const { port1, port2 } = new MessageChannel();
      port1.postMessage(rows);
      assert.deepStrictEqual(receiveMessageOnPort(port2).message, cloned);
      port1.close();
    });

    it('have own properties that can be listed, spread, changed and added', () => {
      assert.deepStrictEqual({ ...rows[0], more: 1 }, { ...expected[0], more: 1 });
      assert.deepStrictEqual(Object.keys(rows[0]), Object.keys(expected[0]));
      assert.deepStrictEqual(Object.entries(rows[1]), Object.entries(expected[1]));
      assert.deepStrictEqual(Object.assign({}, rows[2]), expected[2]);
      const { a, ...rest } = rows[0];
      assert.deepStrictEqual({ a, ...rest }, expected[0]);
      rows[0].a = 'changed';
      delete rows[0].name;
      assert.equal(rows[0].a, 'changed');
      assert.ok(!('name' in rows[0]));
    });

    it('are printed', () => {
      const printed = use => {
        const stdout = new PassThrough();
        use(new Console({ stdout }));
        return String(stdout.read());
      };
      assert.equal(
        printed(console => console.table(rows)),
        printed(console => console.table(expected))
      );
      assert.equal(
        printed(console => console.log(rows)),
        printed(console => console.log(expected))
      );
      assert.equal(inspect(rows), inspect(expected));
      assert.equal(JSON.stringify(rows), JSON.stringify(expected));
    });
  });
}

describe('A Date', () => {
  it('as a value and back is the same instant, to the millisecond, in any time zone and format', async () => {
    const times = [
      '2026-03-04T05:06:07.089Z',
      '1970-01-01T00:00:00.000Z',
      '1969-12-31T23:59:59.999Z',
      '0001-01-01T00:00:00.001Z',
      '0000-12-31T23:59:59.999Z',
      '-000099-02-28T12:00:00.500Z',
      '-004712-01-01T00:00:00.000Z',
      '+275760-09-13T00:00:00.000Z',
      '+010000-01-01T00:00:00.010Z',
      '1883-11-18T17:03:58.001Z',
      '2024-03-31T01:00:00.000Z',
      '2024-11-03T05:59:59.999Z',
      '0999-12-31T23:59:59.123Z',
      '1000-01-01T00:00:00.999Z'
    ].map(text => new Date(text));
    for (const TimeZone of [
      'UTC',
      'Asia/Kolkata',
      'America/New_York',
      'Europe/Amsterdam',
      'Pacific/Chatham',
      'Africa/Monrovia'
    ]) {
      const client = await connected({ TimeZone, decode: true });
      for (const format of [Client.STRING, Client.BINARY]) {
        for (const time of times) {
          const {
            rows: [row]
          } = await client.query('SELECT $1::timestamptz AS at, ARRAY[$1::timestamptz] AS list', [time], { format });
          assert.deepStrictEqual(row.toObject(), { at: time, list: [time] }, `${TimeZone}: ${time.toISOString()}`);
        }
      }
    }
  });

  it('lacks the microseconds, which `exact` has', async () => {
    const text = "SELECT timestamptz '2026-03-04 05:06:07.999999+00' AS at";
    const client = await connected({ TimeZone: 'UTC' });
    for (const format of [Client.STRING, Client.BINARY]) {
      const {
        rows: [{ at }]
      } = await client.query(text, [], { format, decode: true });
      assert.deepEqual(at, new Date('2026-03-04T05:06:07.999Z'));
      const {
        rows: [exactly]
      } = await client.query(text, [], { format, decode: { ...decoders, ...exact } });
      assert.equal(exactly.at, '2026-03-04 05:06:07.999999+00');
    }
  });
});

describe('Structs', () => {
  const text = "SELECT n AS id, 'name ' || n AS name FROM generate_series(1, $1::int) n";
  const message = (actual, expected) => {
    try {
      assert.deepStrictEqual(actual, expected);
    } catch (error) {
      return error.message;
    }
    assert.fail('they are equal');
  };

  it('show their columns in a failed assertion, on a screen, and not their bytes', async () => {
    const client = await connected();
    for (const count of [1, 3, 1000]) {
      const { rows } = await client.query(text, [count]);
      const expected = rows.map(row => row.toObject());
      for (const printed of [
        message(rows[0], expected[0]),
        message(rows.slice(0, 3), expected.slice(0, 3)),
        message(rows[0], { id: 2 })
      ]) {
        assert.ok(printed.split('\n').length < 50, printed);
        assert.match(printed, /Row \[\{ id: 1, name: 'name 1' \}\]/);
        assert.doesNotMatch(printed, /Buffer|Chunk|Run|Uint8Array/);
      }
    }
  });

  it('are loosely equal if their columns are, and else not', async () => {
    const client = await connected();
    const [{ rows }, { rows: others }] = await Promise.all([client.query(text, [2]), client.query(text, [3])]);
    loose.deepEqual(rows[0], others[0]);
    loose.notDeepEqual(rows[0], others[1]);
    loose.notDeepEqual(rows, others);
    loose.deepEqual(rows, others.slice(0, 2));
  });

  it('of which a column cannot be read say so, and are printed', async () => {
    const client = await connected();
    const { structs } = await client.query('SELECT 1 AS a', [], {
      decode: {
        [oid.int4]: () => {
          throw new RangeError('no');
        }
      }
    });
    assert.equal(String(structs[0]), '[object unreadable: RangeError: no]');
  });
});

'use strict';

// Thousands of comparisons beside node-postgres itself: what differs is in lib/pg/README.md, Differences.

const assert = require('node:assert/strict');
const { inspect, isDeepStrictEqual } = require('node:util');
const theirs = require('pg');
const ours = require('../../lib/pg');
const { sharedServer } = require('../support');

/** Expressions by type; with `[…]` an array of each. */
const EXPRESSIONS = {
  bool: ['true', 'NULL'],
  bytea: ["'\\x00ff'", "''"],
  int2: ['-32768'],
  int4: ['0', '2147483647'],
  int8: ['9223372036854775807', '-1'],
  float4: ['1.1', "'NaN'", "'-Infinity'"],
  float8: ['0.1', '1e300', "'NaN'", "'Infinity'"],
  numeric: ['12345678901234567890.12', "'NaN'", '-0.5'],
  text: ["'é\"\\,{}'", "''"],
  json: [`'{"a": [1, null]}'`],
  jsonb: [`'{"a": [1, null]}'`],
  uuid: ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"],
  date: ["'2024-02-29'", "'0044-03-15 BC'", "'infinity'", "'0099-01-01'"],
  time: ["'12:34:56.789'"],
  timestamp: [
    "'2024-03-10 02:30:00'",
    "'1997-12-17 07:37:16.123456'",
    "'0044-03-15 12:00 BC'",
    "'-infinity'",
    "'20000-01-01'"
  ],
  timestamptz: ["'2024-03-10 02:30:00+00'", "'1890-01-01 00:00+00'", "'0044-03-15 12:00+00 BC'", "'infinity'"],
  interval: ["'1 year 2 mons 3 days 04:05:06.7'", "'-1 day 2 hours'", "'0'", "'1 mon -3 days'"],
  point: ["'(1.5,-2)'"],
  circle: ["'<(1,2),3>'"],
  inet: ["'192.168.0.1/24'"],
  int4range: ["'[1,5)'"],
  money: ["'12.50'"]
};
const cast = (value, type) => `(${value})::${type}`;
const TEXTS = Object.entries(EXPRESSIONS).flatMap(([type, values]) => [
  ...values.map(value => cast(value, type)),
  `ARRAY[${values.map(value => cast(value, type))}, NULL]`,
  `ARRAY[]::${type}[]`
]);

/** Settings of the session. */
const SETTINGS = [
  '',
  '-c DateStyle=SQL,DMY',
  '-c DateStyle=German -c IntervalStyle=iso_8601',
  '-c DateStyle=Postgres,MDY -c IntervalStyle=postgres_verbose',
  '-c TimeZone=America/New_York -c IntervalStyle=sql_standard',
  '-c TimeZone=Asia/Kolkata -c bytea_output=escape -c extra_float_digits=0'
];

const ZONES = ['UTC', 'America/New_York', 'Asia/Kolkata', 'Europe/London'];

/** What counts of a value: pg's Dates have methods of their own in binary format, and its classes have other names. */
function plain(value) {
  if (Array.isArray(value)) return value.map(plain);
  if (value instanceof Date) return `Date ${value.getTime()}`;
  return Buffer.isBuffer(value) || typeof value !== 'object' || value === null ? value : { ...value };
}

/** Texts whose bytes in binary format pg reads: it takes them for UTF-8 first, and has no arrays. */
async function readInBinary(server) {
  const send = Object.fromEntries(
    (await server.sql("SELECT typname AS name, typsend::text AS send FROM pg_type WHERE typtype IN ('b', 'r')")).map(
      ({ name, send }) => [name, send]
    )
  );
  const texts = TEXTS.filter(each => !each.startsWith('ARRAY'));
  const columns = texts.map(each => `encode(${send[each.split('::')[1]]}(${each}), 'hex')`);
  const [row] = await server.sql(`SELECT ARRAY[${columns}] AS bytes`);
  return texts.filter((_, i) => /^(?:[0-7].)*$/.test(row.bytes[i] ?? ''));
}

describe('Beside pg', function () {
  this.timeout(180000);
  const { TZ } = process.env;
  after(() => {
    if (TZ === undefined) delete process.env.TZ;
    else process.env.TZ = TZ;
  });

  it('a value is the same, in each format, with each setting, in each zone', async () => {
    const server = await sharedServer();
    const { config } = server;
    const ascii = await readInBinary(server);
    const differences = new Map();
    let count = 0;
    for (const options of SETTINGS) {
      for (const binary of [false, true]) {
        const clients = [theirs, ours].map(({ Client }) => new Client({ ...config, options, binary }));
        await Promise.all(clients.map(client => client.connect()));
        for (const zone of ZONES) {
          process.env.TZ = zone;
          for (const text of binary ? ascii : TEXTS) {
            const query = { text: `SELECT ${text} AS a WHERE $1`, values: [true] };
            const [one, other] = await Promise.all(
              clients.map(client =>
                client.query(query).then(
                  ({ rows }) => rows[0].a,
                  ({ message }) => message
                )
              )
            );
            count++;
            if (!isDeepStrictEqual(plain(one), plain(other))) {
              const key = `${binary ? 'binary' : 'text'} ${text} ${options}`;
              differences.set(key, `${zone}: ${inspect(one)} ${inspect(other)}`);
            }
          }
        }
        await Promise.all(clients.map(client => client.end()));
      }
    }
    assert.ok(count > 2000);
    assert.deepEqual([...differences], []);
  });

  describe('without a server', () => {
    const { PGSSLMODE } = process.env;
    const users = [theirs.defaults.user, ours.defaults.user];
    before(() => {
      theirs.defaults.user = ours.defaults.user = 'me';
    });
    after(() => {
      [theirs.defaults.user, ours.defaults.user] = users;
      if (PGSSLMODE === undefined) delete process.env.PGSSLMODE;
      else process.env.PGSSLMODE = PGSSLMODE;
    });

    /** What a config comes to: an empty text and null are nothing, and so is a time limit of 0. */
    function read({ Client }, config) {
      try {
        const client = new Client(config);
        const { connectionParameters: parameters } = client;
        const names = 'user password host port database application_name options client_encoding replication'.split(
          ' '
        );
        return [
          ...names.map(name => parameters[name] || null),
          Number(parameters.statement_timeout || 0),
          ...names.slice(0, 5).map(name => client[name] || null),
          Boolean(parameters.ssl),
          parameters.ssl?.rejectUnauthorized ?? true
        ];
      } catch (error) {
        return error.constructor.name;
      }
    }

    it('a URL says the same', () => {
      let count = 0;
      const compare = url => {
        count++;
        assert.deepEqual(read(ours, url), read(theirs, url), url);
      };
      for (const user of ['', 'u@', 'u:p@', 'u%40x:p%3Aw@', 'u:p%20w@', 'u:@', ':p@']) {
        for (const host of ['h', 'h:5433', '[::1]', '[::1]:6', '127.0.0.1', '%2Ftmp', 'db.example.com.', 'h:']) {
          for (const path of ['', '/', '/d', '/d%20b', '/a%2Fb', '/d/e']) {
            for (const query of [
              '',
              '?',
              '?host=/tmp',
              '?host=other&port=7',
              '?user=q&password=r',
              '?user=&password=&host=&port=&application_name=&options=&sslmode=',
              '?options=-c%20a%3Db',
              '?a=b'
            ])
              compare(`postgres://${user}${host}${path}${query}`);
          }
        }
      }
      for (const more of 'application_name=x statement_timeout=5 client_encoding=utf8 ssl=true ssl=false ssl=0 ssl=1 ssl=no-verify ssl= sslmode= sslmode=require sslmode=prefer sslmode=allow sslmode=verify-full sslmode=no-verify sslmode=disable sslmode=false'.split(
        ' '
      ))
        compare(`postgresql://h/d?${more}`);
      for (const url of [
        'socket:/tmp?db=x',
        'socket:/tmp?db=x&encoding=utf8',
        'socket://u:p@/tmp?db=d',
        '/tmp',
        '/tmp d',
        '/tmp d x',
        'postgres:///d',
        'postgres://',
        'postgres://u:p@/d',
        'postgres://u:p@/d?host=/tmp',
        'u:p@h/d',
        'd',
        'postgres://h/d\n',
        'postgres://h /d',
        'postgres://u:p%w@h/d',
        'postgres://h/d#x',
        'postgres://u:p#x@h/d',
        ''
      ])
        compare(url);
      assert.ok(count > 2000);
    });

    it('TLS is used and verified the same, but for words of PGSSLMODE that ask for it in another way', () => {
      const ssl = [undefined, true, false, {}, { rejectUnauthorized: false }, 'true', 'no-verify'];
      for (const word of [
        undefined,
        ...' disable allow prefer require verify-ca verify-full no-verify false off no 0 none'.split(' ')
      ]) {
        if (word === undefined) delete process.env.PGSSLMODE;
        else process.env.PGSSLMODE = word;
        for (const each of ssl) {
          const config = { host: 'h', ...(each !== undefined && { ssl: each }) };
          assert.deepEqual(read(ours, config), read(theirs, config), `${word} ${inspect(each)}`);
        }
      }
      for (const word of ['true', 'on', '1', 'required', 'Require']) {
        process.env.PGSSLMODE = word;
        assert.deepEqual(
          [read(theirs, {}), read(ours, {})].map(each => each.slice(-2)),
          [
            [false, true],
            [true, true]
          ]
        );
      }
    });
  });
});

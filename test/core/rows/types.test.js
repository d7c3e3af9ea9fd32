'use strict';

const assert = require('node:assert/strict');
const { skipUnless, SERVER_VERSION } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { sharedServer, hex } = require('../../support');

/** Literals of every type that a value can be written for. */
const LITERALS = {
  bool: ['true', 'false'],
  bytea: ['', '\\x00ff0a5c27', 'a\\\\b\\000c'],
  '"char"': ['a', '', '\\377', ' '],
  name: ['pg_class', 'ä "quoted" name'],
  int8: ['0', '-9223372036854775808', '9223372036854775807'],
  int2: ['-32768', '32767'],
  int2vector: ['1 2 3', ''],
  int4: ['-2147483648', '2147483647', '0'],
  regproc: ['now', '0', '987654321'],
  text: ['', ' ', 'ä€😀', 'a\tb\nc\r\\d\'"e', 'NULL', '\\N', '\\.', '{', '\u200b'],
  oid: ['0', '4294967295'],
  tid: ['(0,1)', '(4294967295,65535)'],
  xid: ['0', '4294967295'],
  cid: ['0', '4294967295'],
  oidvector: ['1 4294967295', ''],
  json: ['{"a" :  [1, 2.50, null, "\\u00e4"]}', 'null', '"x"', ' 1 '],
  xml: ['<a b="c">d &amp; e</a>', '', '<?xml version="1.0"?><a/>'],
  xid8: ['0', '18446744073709551615'],
  point: ['(1,2)', '(-1.5e-300,1e300)', '(NaN,Infinity)'],
  lseg: ['[(1,2),(3,4)]'],
  path: ['[(1,2),(3,4)]', '((1,2),(3,4),(5,6))'],
  box: ['(3,4),(1,2)'],
  polygon: ['((1,2),(3,4),(5,6))', '((0,0))'],
  line: ['{1,2,3}', '{-1,0,0}'],
  float4: ['0', '-0', '1.1', '3.4028235e38', '1e-45', 'NaN', 'Infinity', '-Infinity'],
  float8: [
    '0',
    '-0',
    '0.1',
    '1.7976931348623157e308',
    '5e-324',
    '1e15',
    '1e16',
    '123456789.123456789',
    'NaN',
    '-Infinity'
  ],
  circle: ['<(1,2),3>', '<(0,0),0>'],
  money: ['12.34', '-92233720368547758.08', '0'],
  macaddr: ['08:00:2b:01:02:03'],
  inet: ['192.168.0.1', '192.168.0.1/24', '::1', 'fe80::1/64', '::ffff:1.2.3.4'],
  cidr: ['192.168.0.0/16', '::/0', '10/8'],
  macaddr8: ['08:00:2b:01:02:03:04:05'],
  aclitem: ['=r/pg_monitor', 'pg_monitor=arwdDxt/pg_monitor'],
  bpchar: ['a  ', '', 'ä'],
  varchar: ['', 'abc '],
  date: ['2024-02-29', 'infinity', '-infinity', '4713-11-24 BC', '5874897-12-31', '0001-01-01'],
  time: ['00:00:00', '24:00:00', '23:59:59.999999'],
  timestamp: [
    '2024-02-29 12:34:56.789',
    'infinity',
    '-infinity',
    '4713-11-24 00:00:00 BC',
    '294276-12-31 23:59:59.999999'
  ],
  timestamptz: ['2024-02-29 12:34:56.789+03:30', 'infinity', '1883-01-01 00:00:00+00'],
  interval: [
    '1 year 2 mons 3 days 04:05:06.789',
    '-1 mons +2 days -00:00:01',
    '0',
    'infinity',
    '@ 178000000 years ago'
  ],
  timetz: ['12:34:56.789+05:30', '00:00:00-15:59', '24:00:00+00'],
  bit: ['0', '1'],
  varbit: ['', '101', '1010101010101'],
  numeric: [
    '0',
    '-0.00',
    '1e-16383',
    '123456789012345678901234567890.123456789',
    '1e1000',
    'NaN',
    'Infinity',
    '-Infinity',
    '10000',
    '0.0001'
  ],
  refcursor: ['a cursor'],
  regprocedure: ['length(text)', '0'],
  regoper: ['pg_catalog.||/', '0'],
  regoperator: ['+(integer,integer)', '0'],
  regclass: ['pg_class', '"users"', '0', '987654321'],
  regcollation: ['"C"', '0'],
  regtype: ['integer', 'timestamp with time zone[]', '0'],
  regrole: ['pg_monitor', '0'],
  regnamespace: ['pg_catalog', '0'],
  uuid: ['adb42e46-d1bc-4b64-88f4-3e754ab52e81', '00000000-0000-0000-0000-000000000000'],
  pg_lsn: ['0/0', 'FFFFFFFF/FFFFFFFF', '16/B374D848'],
  tsvector: ["'a':1A,2B 'quo''te':3 'b'", ''],
  tsquery: ["'a' & !'b' | 'c':*AB <2> 'd'", ''],
  regconfig: ['english', '0'],
  regdictionary: ['simple', '0'],
  jsonb: ['{"a": [1, 2.50, null, "ä"], "b": {}}', 'null', '[]', '1e400'],
  jsonpath: ['$."a"[*]?(@ > 1)', 'strict $'],
  txid_snapshot: ['10:20:10,14,15'],
  pg_snapshot: ['10:20:10,14,15', '18446744073709551614:18446744073709551615:'],
  int4range: ['[1,5)', 'empty', '(,)', '[3,3]'],
  numrange: ['[1.5,2.5]', '(,0)', 'empty'],
  tsrange: ['["2024-01-01 00:00:00","2024-01-02 00:00:00")', 'empty', '[-infinity,infinity]'],
  tstzrange: ['["2024-01-01 00:00:00+00",)', 'empty'],
  daterange: ['[2024-01-01,2024-01-05)', '(,)'],
  int8range: ['[-9223372036854775808,9223372036854775807)'],
  int4multirange: ['{[1,3),[5,8)}', '{}'],
  nummultirange: ['{[1.5,2.5],(3,)}', '{}'],
  tsmultirange: ['{["2024-01-01 00:00:00","2024-01-02 00:00:00")}'],
  tstzmultirange: ['{["2024-01-01 00:00:00+00",)}', '{}'],
  datemultirange: ['{[2024-01-01,2024-01-05),[2025-01-01,2025-01-02)}'],
  int8multirange: ['{(,)}', '{}'],
  // Made here:
  'types_test.mood': ['sad', 'very happy', 'ä'],
  'types_test.positive': ['1', '2147483647'],
  'types_test.pair': ['(1,"a ""b"" \\\\ c")', '(,)', '(1,"")'],
  'types_test.nested': ['("(1,x)",{2024-01-01},sad)', '(,,)'],
  'types_test.textrange': ['[a,b]', '["(",","]'],
  'types_test.textmultirange': ['{[a,b],[c,)}'],
  'types_test.pairs': ['{"(1,a)",NULL}', '{}'],
  'numeric(10,2)': ['1.005', '-99999999.99'],
  'varchar(3)': ['abc'],
  'char(5)': ['ab'],
  'bit(4)': ['1010'],
  'timestamp(0)': ['2024-02-29 12:34:56.789'],
  'interval hour to minute': ['04:05:06']
};

/** Types whose values cannot be written, only made by the server. */
const MADE = {
  pg_node_tree: 'SELECT adbin FROM pg_attrdef ORDER BY oid LIMIT 2',
  pg_ndistinct: 'SELECT stxdndistinct FROM pg_statistic_ext_data',
  pg_dependencies: 'SELECT stxddependencies FROM pg_statistic_ext_data',
  pg_mcv_list: 'SELECT stxdmcv FROM pg_statistic_ext_data',
  record: `SELECT ROW(1, 'a', NULL, ROW('b', ARRAY[1, 2])), ROW()
    UNION ALL SELECT ROW(2, '', '', ROW(NULL, NULL)), ROW()`,
  "a table's row": 'SELECT c FROM pg_class c ORDER BY oid LIMIT 3',
  cstring: "SELECT textout('abc'), array_out(ARRAY[1])",
  void: "SELECT pg_notify('nobody', '')",
  unknown: "SELECT 'literal', NULL"
};

// What older servers do not know is left out for them.
if (SERVER_VERSION < 17) LITERALS.interval = LITERALS.interval.filter(text => text !== 'infinity');
if (SERVER_VERSION < 14) {
  LITERALS.numeric = LITERALS.numeric.filter(text => !text.includes('Infinity'));
  for (const type of Object.keys(LITERALS)) if (type.includes('multirange')) delete LITERALS[type];
}

/** Only inside of indexes: no value of theirs is ever seen. */
const NEVER_SEEN = ['gtsvector', 'pg_brin_bloom_summary', 'pg_brin_minmax_multi_summary'];

const SETUP = `
  CREATE SCHEMA types_test;
  CREATE TYPE types_test.mood AS ENUM ('sad', 'ok', 'very happy', 'ä');
  CREATE DOMAIN types_test.positive AS int CHECK (VALUE > 0);
  CREATE TYPE types_test.pair AS (a int, b text);
  CREATE TYPE types_test.nested AS (p types_test.pair, d date[], m types_test.mood);
  CREATE TYPE types_test.textrange AS RANGE
    (SUBTYPE = text${SERVER_VERSION < 14 ? '' : ', MULTIRANGE_TYPE_NAME = types_test.textmultirange'});
  CREATE DOMAIN types_test.pairs AS types_test.pair[];
  CREATE TABLE types_test.defaults (a int DEFAULT 7, b text DEFAULT lower('X'));
  CREATE TABLE types_test.statistics AS SELECT i % 10 AS a, i % 5 AS b FROM generate_series(1, 1000) i;
  CREATE STATISTICS types_test.s (ndistinct, dependencies, mcv) ON a, b FROM types_test.statistics;
  ANALYZE types_test.statistics`;

const SETTINGS = "SET TimeZone = 'Asia/Kolkata'; SET bytea_output = hex; SET search_path = public";
const quoted = text => `'${text.replaceAll("'", "''")}'`;

/** For each type a query of one row: its values, an array of them and NULL, one of two dimensions. */
const QUERIES = {};
for (const type in LITERALS) {
  const list = LITERALS[type].map(literal => `${quoted(literal)}::${type}`);
  const array = type.endsWith('vector') ? `ARRAY[${list}]` : `ARRAY[${list}, NULL]::${type}[]`;
  const bounds = `'[-1:0]={NULL${type === 'box' ? ';' : ','}NULL}'::${type}[]`;
  QUERIES[type] = `SELECT ${list}, NULL::${type}, ${array}, ARRAY[${array}, ${array}], ${bounds}`;
}

describe('Values of every type', () => {
  let server, client;

  before(async () => {
    server = await sharedServer();
    await server.sql(SETUP);
    client = new Client({ ...server.config, user: server.user, decode: false });
    await client.connect();
    await client.simpleQuery(SETTINGS);
  });
  after(async () => {
    await client?.end();
    await server.sql('DROP SCHEMA types_test CASCADE');
  });

  it('are all here: nothing that PostgreSQL has is left out', async () => {
    const { rows } = await client.query(`SELECT typname FROM pg_type
      WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype NOT IN ('p', 'c') AND typelem = 0`);
    const known = new Set([...Object.keys(LITERALS), ...Object.keys(MADE), ...NEVER_SEEN, 'char']);
    assert.deepEqual(
      rows.map(row => row.typname).filter(name => !known.has(name)),
      []
    );
  });

  it('in text format arrive as psql shows them', async function () {
    await skipUnless(this, 'psql');
    const queries = Object.values({ ...QUERIES, ...MADE });
    const printed = await server.psql(`${SETTINGS}; ${queries.join(';')}`, {
      args: ['-A', '-t', '-F', '\x1f', '-R', '\x1e', '-P', 'null=<NULL>']
    });
    const results = await Promise.all(queries.map(text => client.query(text)));
    const shown = results.map(({ rows }) =>
      rows
        .map(row =>
          row
            .toArray()
            .map(value => (value === null ? '<NULL>' : value))
            .join('\x1f')
        )
        .join('\x1e')
    );
    // psql ends each result with a newline.
    assert.deepEqual(printed.split(/[\x1e\x1f]/), `${shown.join('\n')}\n`.split(/[\x1e\x1f]/));
    assert.ok(shown.length > (SERVER_VERSION < 14 ? 80 : 90));
  });

  it('in text format arrive as COPY shows them', async () => {
    const escapes = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f', '\v': '\\v' };
    for (const [type, text] of Object.entries({ ...QUERIES, ...MADE })) {
      if (type === 'cstring') continue; // no column of a COPY
      const escape = value => (value === null ? '\\N' : value.replace(/[\\\n\r\t\u0008\f\v]/g, char => escapes[char]));
      const [result, copy] = await Promise.all([client.query(text), client.query(`COPY (${text}) TO STDOUT`)]);
      const lines = result.rows.map(row => `${row.toArray().map(escape).join('\t')}\n`);
      assert.equal(Buffer.concat(copy.rows).toString(), lines.join(''), type);
    }
  });

  it('in binary format arrive as COPY (FORMAT binary) shows them', async () => {
    const { rows } = await client.query("SELECT typname FROM pg_type WHERE typsend = 0 AND typtype = 'b'");
    const textOnly = new Set(rows.map(row => row.typname));
    let compared = 0;
    for (const [type, text] of Object.entries({ ...QUERIES, ...MADE })) {
      const query = client.query(text, [], Client.BINARY);
      if (textOnly.has(type)) {
        await assert.rejects(query, { code: '42883', message: /no binary output function/ });
        continue;
      }
      const copy = await client.query(`COPY (${text}) TO STDOUT (FORMAT binary)`);
      const result = await query;
      assert.deepEqual(
        Buffer.concat(copy.rows),
        Buffer.concat([
          hex("'PGCOPY' 0a ff 0d 0a 00  00000000 00000000"),
          ...result.rows.map(row => row.rowBuffer.subarray(5)),
          hex('ffff')
        ]),
        type
      );
      assert.deepEqual(
        result.rows.map(row => row.toArray()),
        result.rows.map(row => {
          // Cut by hand: count, then length and bytes of each column.
          const bytes = row.rowBuffer;
          const values = [];
          for (let off = 7; off < bytes.length;) {
            const length = bytes.readInt32BE(off);
            values.push(length < 0 ? null : bytes.subarray(off + 4, off + 4 + length));
            off += 4 + Math.max(length, 0);
          }
          return values;
        }),
        type
      );
      compared++;
    }
    assert.ok(compared > 80, `${compared} types`);
  });

  it('go back as the values of another query, in text and in binary', async () => {
    const { rows } = await client.query('SELECT typname FROM pg_type WHERE typreceive = 0');
    // PostgreSQL does not read empty ones of these as it writes them.
    const textOnly = new Set([...rows.map(row => row.typname), 'int2vector', 'oidvector', 'tsquery']);
    for (const format of [Client.STRING, Client.BINARY]) {
      for (const type in LITERALS) {
        if (format === Client.BINARY && textOnly.has(type)) continue;
        const {
          rows: [row]
        } = await client.query(QUERIES[type], [], format);
        const count = row.columnCount;
        const types = row.toArray().map((value, index) => (index <= LITERALS[type].length ? type : `${type}[]`));
        const text = `SELECT ${types.map((name, index) => `$${index + 1}::${name}`)}`;
        for (const values of [row, row.toArray()]) {
          const {
            rows: [back]
          } = await client.query(text, values, format);
          assert.equal(back.columnCount, count);
          assert.deepEqual(back.toArray(), row.toArray(), `${type} ${format}`);
        }
      }
    }
  });
});

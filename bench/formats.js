'use strict';

// The CPU of the objects of rows of one column in binary format, as a multiple of that in text format, for each type with a
// binary decoder: `node bench/formats.js [type …]`. Both formats take turns in one process; a figure is the median of its rounds.

const { startServer } = require('pg-test-fixtures');
const { Client } = require('..');

const ROWS = 4000;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 41);

/** An expression of SQL for each type, of the number n. */
const TYPES = {
  bool: 'n % 3 = 0',
  bytea: "decode(md5(n::text), 'hex')",
  char: 'chr(65 + n % 26)::"char"',
  name: "('name' || n)::name",
  int8: 'n::int8 * 123456789',
  int2: '(n % 30000)::int2',
  int4: 'n * 1234',
  text: "'text ' || n",
  oid: 'n::oid',
  json: "json_build_object('n', n)",
  jsonb: "jsonb_build_object('n', n)",
  inet: "'10.0.0.0'::inet + n",
  'inet of IPv6': "'2001:db8::ff00:42:0'::inet + n",
  cidr: "set_masklen('10.0.0.0'::cidr, 24)",
  float4: '(n / 100.0)::float4',
  float8: 'n / 7.0::float8',
  macaddr: "('08:00:2b:01:' || to_char(n % 90 + 10, 'FM00') || ':' || to_char(n % 89 + 10, 'FM00'))::macaddr",
  macaddr8: "('08:00:2b:01:02:03:' || to_char(n % 90 + 10, 'FM00') || ':05')::macaddr8",
  bpchar: "('c' || n)::char(10)",
  varchar: "('v' || n)::varchar",
  date: "'2020-01-01'::date + n",
  time: "'00:00'::time + n * interval '17.123 s'",
  'time without a fraction': "'00:00'::time + n * interval '17 s'",
  timestamp: "'2020-01-01'::timestamp + n * interval '1234.567891 s'",
  'timestamp without a fraction': "'2020-01-01'::timestamp + n * interval '1234 s'",
  'timestamp of any day': "'1970-01-01'::timestamp + n * 7919 % 20000 * interval '1 day' + n * interval '17.123456 s'",
  timestamptz: "'2020-01-01'::timestamptz + n * interval '1234.567891 s'",
  interval: "n * interval '1.5 s'",
  'interval of days': "n * interval '1 day 2 hours'",
  timetz: "('00:00'::time + n * interval '17.123 s')::timetz",
  numeric: 'n * 1.25',
  'numeric of an integer': 'n::numeric * 1234567',
  uuid: 'md5(n::text)::uuid',
  int4range: 'int4range(n, n + 10)',
  int8range: 'int8range(n, n + 10)',
  numrange: 'numrange(n, n + 1.5)',
  tsrange: "tsrange('2020-01-01'::timestamp, '2020-01-01'::timestamp + n * interval '1 s')",
  daterange: "daterange('2020-01-01'::date, '2020-01-01'::date + n)",
  int4multirange: 'int4multirange(int4range(n, n + 10), int4range(n + 20, n + 30))',
  nummultirange: 'nummultirange(numrange(n, n + 1.5))',
  tstzmultirange: "tstzmultirange(tstzrange('2020-01-01'::timestamptz + n * interval '1 s', NULL))",
  'int4[]': 'ARRAY[n, n + 1, n * 1000]',
  'int4[] of two dimensions': 'ARRAY[[n, n + 1], [n * 1000, 5]]',
  'int8[]': 'ARRAY[n, n + 1, n * 1000]::int8[]',
  'float8[]': 'ARRAY[n / 7.0, n / 3.0]::float8[]',
  'text[]': "ARRAY['a' || n, 'some text', 'c ' || n]",
  'bool[]': 'ARRAY[n % 2 = 0, true, false]',
  'uuid[]': 'ARRAY[md5(n::text)::uuid, md5((n + 1)::text)::uuid]',
  'timestamptz[]': "ARRAY['2020-01-01'::timestamptz + n * interval '1234.5 s', NULL]",
  'numeric[]': 'ARRAY[n * 1.25, n]',
  'date[]': "ARRAY['2020-01-01'::date + n, '2020-01-01'::date]"
};

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return user + system;
};

const median = list => list.sort((a, b) => a - b)[list.length >> 1];

function timed(reader) {
  reader._objects = undefined;
  const since = process.hrtime.bigint();
  void reader.objects;
  return Number(process.hrtime.bigint() - since);
}

async function main() {
  const wanted = process.argv.slice(2);
  const server = await startServer();
  const client = new Client({ ...server.config, TimeZone: 'UTC' });
  await client.connect();
  const began = cpu();
  for (const [type, expression] of Object.entries(TYPES)) {
    if (wanted.length > 0 && !wanted.includes(type)) continue;
    const ask = format =>
      client.query(`SELECT ${expression} AS value FROM generate_series(1, ${ROWS}) AS n`, [], { format });
    const [text, binary] = [await ask(0), await ask(1)];
    const ratios = [];
    const times = [];
    for (let round = -10; round < ROUNDS; round++) {
      const one = timed(text);
      const other = timed(binary);
      if (round < 0) continue;
      ratios.push(other / one);
      times.push(one);
    }
    const ratio = median(ratios);
    console.log(
      `${ratio.toFixed(2).padStart(6)} ${((median(times) / ROWS) | 0).toString().padStart(6)} ns a text  ${type}${ratio > 1.25 ? '  !' : ''}`
    );
  }
  console.log(`${Math.round((cpu() - began) / 1000)} ms of CPU`);
  await client.end();
  await server.stop();
}

main();

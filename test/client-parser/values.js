'use strict';

// Values of every type that client-parser decodes, as one writes them in SQL.

const { SERVER_VERSION } = require('pg-test-fixtures');
const { seeded } = require('../support/kit');

const next = seeded(20);
const integer = (least, most) => least + Math.floor(next() * (most - least + 1));
const times = (count, make) => Array.from({ length: count }, make);

/** One value a line, or several with | between them. */
const list = text => text.trim().split(/\n\s*|\s*\|\s*/);

const day = (least, most) => `${String(integer(least, most)).padStart(4, '0')}-${integer(1, 12)}-${integer(1, 28)}`;
const clock = () => `${integer(0, 23)}:${integer(0, 59)}:${integer(0, 59)}.${integer(0, 999999)}`;

const DATES = [
  ...list(`2000-01-01 | 1970-01-01 | 1999-12-31 | 2024-02-29 | 1900-02-28 | 1900-03-01 | 0001-01-01
    0001-12-31 BC | 0044-03-15 BC | 4713-11-24 BC | 0005-02-29 BC | 5874897-12-31 | 294276-12-31 | 9999-12-31
    10000-01-01 | infinity | -infinity`),
  ...times(500, () => day(1, 5874897)),
  ...times(200, () => `${day(1, 4712)} BC`)
];
const STAMPS = [
  ...list(`2000-01-01 00:00:00 | 1999-12-31 23:59:59.999999 | 2024-02-29 12:34:56.789 | 1969-12-31 23:59:59.9
    294276-12-31 23:59:59.999999 | 4713-11-24 00:00:00 BC | 0001-12-31 23:59:59.000001 BC
    2262-04-11 23:47:16.854775 | 1677-09-21 00:12:43.145224 | 2000-01-01 00:00:00.00001
    0001-01-01 00:00:00 | infinity | -infinity`),
  ...times(500, () => `${day(1, 294276)} ${clock()}`),
  ...times(100, () => `${day(1, 4712)} ${clock()} BC`)
];
const TEXTS = [
  '',
  'a',
  'NULL',
  'null',
  'a b',
  '"',
  '\\',
  '\\\\"',
  '{}',
  '{"a,b"}',
  ',',
  "'",
  '(',
  ')',
  '[1,2)',
  ' a',
  'zwölf Boxkämpfer',
  '🐘 → 🦏',
  'exactly twenty-four byte',
  'exactly twenty-five bytes',
  'ä'.repeat(12),
  'ä'.repeat(13),
  'x'.repeat(5000),
  '\ufeffmark',
  'tab\tnew\nline\r',
  '\u007f\u0080'
];

/** Types that become strings: the same as the server prints. */
const STRINGS = {
  text: TEXTS,
  varchar: TEXTS,
  'char(6)': ['', 'a', 'äöü', 'sixsix'],
  name: ['a', 'a b', 'ä'.repeat(31)],
  '"char"': ['a', '', '\\200', '\\377', '~'],
  xml: ['<a/>', '<a>ä &amp; b</a>'],
  numeric: [
    ...list(`0 | 0.00 | 1 | -1 | 10000 | 9999 | 10001 | -0.0001 | 0.00010000 | 123456789.000000001 | 1e-20
      1e1000 | 12345678901234567890.1234567890 | -99999999999999999999999999999 | 100000000 | 0.1000
      NaN | Infinity | -Infinity`),
    `1${'0'.repeat(300)}.5`,
    ...times(500, () => `${next() < 0.5 ? '-' : ''}${String(next()).slice(2, integer(3, 18))}e${integer(-30, 30)}`)
  ],
  uuid: list(`00000000-0000-0000-0000-000000000000 | a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11
    ffffffff-ffff-ffff-ffff-ffffffffffff`),
  date: DATES,
  time: list('00:00:00 | 23:59:59.999999 | 24:00:00 | 12:00:00.1 | 00:00:00.000001 | 10:09:08.070605'),
  timetz: list(`00:00:00+00 | 23:59:59.999999-12 | 24:00:00+05:30 | 12:00:00.5-03:30 | 01:02:03+15:59:59
    01:02:03-00:00:01 | 08:00:00+10:00:20`),
  timestamp: STAMPS,
  timestamptz: [
    ...STAMPS.map(stamp => (/inf/.test(stamp) ? stamp : stamp.replace(/( BC)?$/, '+00$1'))),
    '2024-03-31 01:30:00+02',
    '2024-01-01 00:00:00.123456-08'
  ],
  interval: list(`0 | 1 year | -1 year | 1 mon | 13 mons | -13 mons | 1 day | -1 day | 2 days
    01:02:03.000004 | -01:02:03.5 | 1 year -1 mon | -1 year 1 day | -1 day 02:00:00 | 1 day -02:00:00
    -1 mon +1 day -00:00:00.000001 | 178956970 years 7 mons | 2147483647 days | -2147483648 days
    2562047788:00:54.775807 | -2562047788:00:54.775807 | 24:00:00 | -24:00:00 | -00:00:00.1 | 100:00:00
    -1 year -2 mons +3 days -04:05:06.78 | infinity | -infinity | -1 mon 24:00:00 | -25:00:00
    12 mons 30 days 86400 seconds`),
  inet: [
    ...list(`127.0.0.1 | 10.0.0.0/8 | 0.0.0.0/0 | 255.255.255.255 | 192.168.1.1/24 | :: | ::1 | ::2 | ::/0
      2001:db8::1 | 2001:db8::/32 | fe80::1:0:0:1 | 1:0:0:2:0:0:0:3 | ::ffff:1.2.3.4 | ::1.2.3.4 | 1::
      ::ffff:0:1.2.3.4 | 1:2:3:4:5:6:7:8 | 0:1:2:3:4:5:6:7 | 1:2:3:4:5:6:7:0 | 0:0:1:0:0:1:0:0
      1:0:2:0:3:0:4:0 | ::ffff:0:0 | ::3:0:0 | ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff`),
    ...times(
      300,
      () =>
        times(8, () => integer(0, next() < 0.6 ? 0 : 65535).toString(16)).join(':') +
        (next() < 0.3 ? '/' + integer(0, 128) : '')
    )
  ],
  cidr: list('127.0.0.1/32 | 10.0.0.0/8 | 0.0.0.0/0 | ::1/128 | 2001:db8::/32 | ::/0'),
  macaddr: list('00:00:00:00:00:00 | 08:00:2b:01:02:03 | ff:ff:ff:ff:ff:ff'),
  macaddr8: list('08:00:2b:01:02:03:04:05 | ff:ff:ff:ff:ff:ff:ff:ff'),
  int4range: list('empty | [1,10) | (,) | [5,) | (,-5) | [-2147483648,2147483647)'),
  int8range: list('empty | [1,9223372036854775807) | (,0)'),
  numrange: list('(1.10,2.20] | [0,0] | [NaN,NaN] | (-Infinity,Infinity) | empty | (,1.5]'),
  daterange: list('[2024-01-01,2024-02-01) | [-infinity,infinity) | ["0044-03-15 BC",) | (,)'),
  tsrange: list(`["2024-01-01 00:00:00","2024-01-01 00:00:00.000001"] | [infinity,)
    (,"0001-01-01 00:00:00 BC")`),
  tstzrange: list('["2024-01-01 00:00:00+00","294276-12-31 23:59:59.999999+00") | empty'),
  int4multirange: list('{} | {[1,3),[5,7)} | {(,)}'),
  int8multirange: list('{[1,3),[5,9223372036854775807)}'),
  nummultirange: list('{[1.0,2.0],(3.5,)}'),
  datemultirange: list('{(,2024-01-01),[2025-01-01,)}'),
  tsmultirange: list('{["2024-01-01 00:00:00","2024-01-02 00:00:00")}'),
  tstzmultirange: list('{["2024-01-01 00:00:00+00","2024-01-02 00:00:00+00")} | {}')
};

const float = bits => new Float32Array(Int32Array.of(bits).buffer)[0];

/** Types that become numbers or bigints, and how those are made of what the server prints. */
const NUMBERS = {
  int2: [Number, list('0 | 1 | -1 | 32767 | -32768')],
  int4: [Number, list('0 | -1 | 2147483647 | -2147483648')],
  oid: [Number, list('0 | 4294967295 | 2147483648')],
  xid: [Number, list('0 | 4294967295')],
  int8: [
    BigInt,
    list(`0 | -1 | 9223372036854775807 | -9223372036854775808 | 9007199254740993
    999999999999999 | 1000000000000000 | -999999999999999 | 4294967296 | -4294967297`)
  ],
  float8: [
    Number,
    [
      ...list(`0 | -0 | 0.1 | 1e-7 | 123456789012345680 | 1.7976931348623157e308 | 5e-324 | -2.5e-323 | NaN
      Infinity | -Infinity | 9007199254740993 | 1e15 | 1e16 | 1e21 | 2.2250738585072014e-308`),
      ...times(500, () => String((next() - 0.5) * 10 ** integer(-300, 300)))
    ]
  ],
  float4: [
    Number,
    [
      ...list(`0 | -0 | 0.1 | 0.3 | 1e-7 | 16777215 | 16777216 | 33554448 | 3.4028235e38 | 1e-45
      1.17549435e-38 | NaN | Infinity | -Infinity | 8589934592 | 1e6 | 123456.7`),
      ...times(277, (_, i) => String(2 ** (i - 149))),
      ...times(3000, () => String(float(integer(0, 0x7f7fffff) | (next() < 0.5 ? 1 << 31 : 0)))),
      ...times(2000, () => String(Math.fround(integer(2 ** 24, 2 ** 31))))
    ]
  ]
};

/** Other types: pairs of what one writes and what it becomes. */
const OTHERS = {
  bool: [
    ['t', true],
    ['f', false]
  ],
  bytea: [
    ['\\x', Uint8Array.of()],
    ['\\x00ff10', Uint8Array.of(0, 255, 16)],
    ['\\x5c5c', Uint8Array.of(92, 92)]
  ],
  json: [
    ['{"a": [1, null, "ä"]}', { a: [1, null, 'ä'] }],
    ['null', null],
    ['"x"', 'x'],
    ['1e3', 1000]
  ],
  jsonb: [
    ['{"a": [1, null, "ä"]}', { a: [1, null, 'ä'] }],
    ['null', null],
    ['{"__proto__": 1}', JSON.parse('{"__proto__": 1}')]
  ],
  'int4[]': [
    ['{}', []],
    ['{1,2,NULL}', [1, 2, null]],
    [
      '{{1,2},{3,4}}',
      [
        [1, 2],
        [3, 4]
      ]
    ],
    ['[0:1]={7,8}', [7, 8]],
    ['[2:2][-3:-2]={{NULL,1}}', [[null, 1]]],
    ['{{{{{{1}}}}}}', [[[[[[1]]]]]]]
  ],
  'text[]': [
    ['{a,"NULL",NULL,"",null}', ['a', 'NULL', null, '', null]],
    [`{${TEXTS.map(text => `"${text.replace(/["\\]/g, '\\$&')}"`)}}`, TEXTS]
  ],
  'bool[]': [['{t,f,NULL}', [true, false, null]]],
  'int8[]': [['{9223372036854775807}', [9223372036854775807n]]],
  'float8[]': [['{NaN,-0,Infinity,0.1}', [NaN, -0, Infinity, 0.1]]],
  'float4[]': [['{0.1,1e-45}', [0.1, 1e-45]]],
  'numeric[]': [['{1.10,NaN}', ['1.10', 'NaN']]],
  'bytea[]': [['{"\\\\x00ff",NULL}', [Uint8Array.of(0, 255), null]]],
  'json[]': [['{"{\\"a\\": [1]}","null"}', [{ a: [1] }, null]]],
  'jsonb[]': [['{"{\\"a\\": \\"\\\\\\\\\\"}"}', [{ a: '\\' }]]],
  'uuid[]': [['{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}', ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11']]],
  'date[]': [['{2024-02-29,"0044-03-15 BC",infinity}', ['2024-02-29', '0044-03-15 BC', 'infinity']]],
  'timestamptz[]': [['{"2024-01-01 00:00:00+00"}', ['2024-01-01 00:00:00+00']]],
  'interval[]': [['{"1 day 02:00:00",00:00:00}', ['1 day 02:00:00', '00:00:00']]],
  'inet[]': [['{::1,10.0.0.0/8}', ['::1', '10.0.0.0/8']]],
  'int4range[]': [['{"[1,3)",empty}', ['[1,3)', 'empty']]],
  'int4multirange[]': [['{"{[1,3),[5,7)}"}', ['{[1,3),[5,7)}']]]
};

/** Records; they become strings as the server prints them. */
const RECORDS = [
  "ROW(1, 'a'::text, NULL, ''::text, true)",
  'ROW(NULL)',
  'ROW()',
  "ROW(ROW(1, 'x y'), ARRAY[ROW(2, '\"')])",
  'ROW(0.1::float4, 1e6::float4, 123456.7::float4, 1e-5::float4)',
  'ROW(1e15::float8, 1e14::float8, 1e-4::float8, 1e-5::float8)',
  "ROW('-0'::float8, 'NaN'::float8, '-inf'::float8)",
  "ROW('{\"a\" : 1}'::json, '{\"a\" : 1}'::jsonb, '\\x00ff'::bytea, 1.50, now()::date, interval '1 day')",
  "ROW('[0:1]={1,2}'::int[], ARRAY['a',NULL,'NULL','','b\"\\c'], ARRAY[true], ARRAY[]::int[])",
  "ROW('[3:3][1:2]={{1,2}}'::int[], ARRAY['\u00a0', '\ufeff'], '\u2003'::text, 9007199254740993)",
  "ROW('[1,3)'::int4range, '::1'::inet, 'a'::\"char\", 'b\\'::text, '('::text, ','::text)"
];

// What older servers do not know is left out for them.
if (SERVER_VERSION < 17) STRINGS.interval = STRINGS.interval.filter(text => !text.includes('infinity'));
if (SERVER_VERSION < 15) STRINGS.interval = STRINGS.interval.filter(text => !text.includes('2562047788'));
if (SERVER_VERSION < 14) {
  STRINGS.numeric = STRINGS.numeric.filter(text => !text.includes('Infinity'));
  STRINGS.numrange = STRINGS.numrange.filter(text => !text.includes('Infinity'));
  for (const types of [STRINGS, OTHERS]) {
    for (const type of Object.keys(types)) if (type.includes('multirange')) delete types[type];
  }
}

module.exports = { STRINGS, NUMBERS, OTHERS, RECORDS };

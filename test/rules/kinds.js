'use strict';

// The kinds of values, each of them made in a realm: its globals are the argument. What is sent of a value and stored in
// a column of the type has the text; a regular expression is the hint of its TypeError.

class Money {
  amount = 5;
}

/** Nested lists: `depth` levels of one element around a value. */
function nested(G, depth, value = G.Array.of()) {
  for (let i = 0; i < depth; i++) value = G.Array.of(value);
  return value;
}

const date = (G, ...given) => {
  const made = new G.Date(0);
  made.setUTCFullYear(...given);
  return made;
};

const { Temporal } = globalThis;

/** @type {Object<string, [type: string, make: function(object): *, expected: string|null|RegExp]>} */
const KINDS = {
  'a string': ['text', () => 'a "b" \\ \'é\' 😀', 'a "b" \\ \'é\' 😀'],
  'an empty string': ['text', () => '', ''],
  'a string that looks like NULL': ['text', () => 'NULL', 'NULL'],
  'a string that looks like \\N': ['text', () => '\\N\t\r\n', '\\N\t\r\n'],
  'an integer': ['int', () => -7, '-7'],
  'a fraction': ['float8', () => 1e-7, '1e-07'],
  '-0': ['float8', () => -0, '-0'],
  NaN: ['float8', () => NaN, 'NaN'],
  Infinity: ['float8', () => -Infinity, '-Infinity'],
  'a bigint': ['int8', () => 2n ** 63n - 1n, '9223372036854775807'],
  true: ['bool', () => true, 'true'],
  false: ['bool', () => false, 'false'],
  null: ['text', () => null, null],
  'a Date': ['timestamptz', G => new G.Date(1700000000123), '2023-11-14 22:13:20.123+00'],
  'a Date of year 1': ['timestamptz', G => date(G, 1, 0, 1), '0001-01-01 00:00:00+00'],
  'a Date of year 0': ['timestamptz', G => date(G, 0, 1, 29), '0001-02-29 00:00:00+00 BC'],
  'a Date of the year 10000': ['timestamptz', G => date(G, 10000, 0, 1), '10000-01-01 00:00:00+00'],
  'the first Date of PostgreSQL': ['timestamptz', G => date(G, -4713, 10, 24), '4714-11-24 00:00:00+00 BC'],
  'the last Date': ['timestamptz', G => new G.Date(8.64e15), '275760-09-13 00:00:00+00'],
  'the first Date': ['timestamptz', G => new G.Date(-8.64e15), /before 24 November 4714 BC/],
  'an invalid Date': ['timestamptz', G => new G.Date(NaN), /is an invalid Date/],
  'a list of Dates': [
    'timestamptz[]',
    G => G.Array.of(new G.Date(0), date(G, -43, 2, 15)),
    '{"1970-01-01 00:00:00+00","0044-03-15 00:00:00+00 BC"}'
  ],
  'a Uint8Array': ['bytea', G => new G.Uint8Array([0, 1, 255]), '\\x0001ff'],
  'a part of a Uint8Array': ['bytea', G => new G.Uint8Array([0, 1, 255]).subarray(1, 2), '\\x01'],
  'an empty Uint8Array': ['bytea', G => new G.Uint8Array(0), '\\x'],
  'a Buffer': ['bytea', () => Buffer.from('é'), '\\xc3a9'],
  'a list of bytes': [
    'bytea[]',
    G => G.Array.of(new G.Uint8Array([92, 34]), Buffer.alloc(1)),
    '{"\\\\x5c22","\\\\x00"}'
  ],
  'a plain object': ['jsonb', G => G.Object.assign(new G.Object(), { a: [1, 'x"\\'] }), '{"a": [1, "x\\"\\\\"]}'],
  'an object without prototype': ['jsonb', G => G.Object.create(null), '{}'],
  'an object with toJSON': [
    'jsonb',
    G => G.Object.assign(Object.create(Money.prototype), { toJSON: () => ['x'] }),
    '["x"]'
  ],
  'JSON that looks like a piece': [
    'jsonb',
    G => G.JSON.parse('{"0":"x","1":[],"length":2}'),
    '{"0": "x", "1": [], "length": 2}'
  ],
  'JSON that looks like a row': [
    'jsonb',
    G => G.JSON.parse('{"rowBuffer":[68],"dataFormat":1}'),
    '{"rowBuffer": [68], "dataFormat": 1}'
  ],
  'JSON that looks like a list': ['text[]', G => G.JSON.parse('["x",[]]').slice(0, 1), '{x}'],
  'a URL': ['text', () => new URL('http://a/?b=c d'), 'http://a/?b=c%20d'],
  'a list of URLs': ['text[]', G => G.Array.of(new URL('a:b')), '{a:b}'],
  'a list of integers': ['int[]', G => G.Array.of(1, null, -2), '{1,NULL,-2}'],
  'a list of fractions': ['float8[]', G => G.Array.of(-0, NaN, Infinity, 0.1), '{-0,NaN,Infinity,0.1}'],
  'a list of bigints': ['int8[]', G => G.Array.of(1n, 2n ** 62n), '{1,4611686018427387904}'],
  'a list of booleans': ['bool[]', G => G.Array.of(true, false), '{t,f}'],
  'a list of strings': [
    'text[]',
    G => G.Array.of('a"b\\c', '', 'NULL', '{}', 'ä,b'),
    '{"a\\"b\\\\c","","NULL","{}","ä,b"}'
  ],
  'a list of strings with control characters': ['text[]', G => G.Array.of('a\tb\n', '\x7f😀'), '{"a\tb\n",\x7f😀}'],
  'an empty list': ['int[]', G => new G.Array(), '{}'],
  'a list of empty lists': ['int[]', G => nested(G, 2, G.Array.of()), '{}'],
  'a nested list': ['int[]', G => G.Array.of(G.Array.of(1, 2), G.Array.of(3, null)), '{{1,2},{3,NULL}}'],
  'a list of six levels': ['int[]', G => nested(G, 6, 1), '{{{{{{1}}}}}}'],
  'a list of objects': ['jsonb[]', G => G.Array.of({ a: '"' }, null), '{"{\\"a\\": \\"\\\\\\"\\"}",NULL}'],
  'a list of seven levels': ['int[]', G => nested(G, 7, 1), /nested deeper than the 6 dimensions/],
  'a list with a hole': [
    'int[]',
    G => G.Array.from({ length: 2, 0: 1 }).concat(new G.Array(1)),
    /undefined: pass null/
  ],
  'a list that has itself': [
    'int[]',
    G => {
      const list = G.Array.of(1);
      list.push(list);
      return list;
    },
    /nested deeper than/
  ],
  'a list of ten thousand levels': ['int[]', G => nested(G, 10000), /nested deeper than/],
  'a list of a Proxy of a Date': ['timestamptz[]', G => G.Array.of(new Proxy(new G.Date(0), {})), /\[0\] is .*Date/],
  'a Proxy of a list': ['int[]', G => new Proxy(G.Array.of(1, 2), {}), '{1,2}'],
  'a SharedArrayBuffer': ['bytea', G => new G.SharedArrayBuffer(1), /SharedArrayBuffer: pass Buffer\.from\(value\)/],
  'bytes of a SharedArrayBuffer': ['bytea', G => new G.Uint8Array(new G.SharedArrayBuffer(2)), '\\x0000'],
  'bytes whose memory has gone to another thread': [
    'bytea',
    G => {
      const bytes = new G.Uint8Array([1]);
      if (bytes.buffer.transfer) bytes.buffer.transfer();
      else structuredClone(bytes, { transfer: [bytes.buffer] }); // Node.js 20
      return bytes;
    },
    /detached/
  ],
  'bytes behind the end of a memory that has shrunk': [
    'bytea',
    G => {
      const memory = new G.ArrayBuffer(2, { maxByteLength: 2 });
      const bytes = new G.Uint8Array(memory, 1, 1);
      memory.resize(1);
      return bytes;
    },
    /detached|out-of-bounds/
  ],
  'a BigInt64Array': ['int8[]', G => new G.BigInt64Array(1), /BigInt64Array: pass \[\.\.\.value\] as an array/],
  undefined: ['text', () => undefined, /undefined: pass null for NULL/],
  'a function': ['text', G => new G.Function(), /a function: call it/],
  'a symbol': ['text', () => Symbol('a'), /a symbol: pass String\(value\)/],
  'a Promise': ['text', G => G.Promise.resolve(1), /Promise: await it/],
  'a Map': ['text', G => new G.Map([[1, 2]]), /Map: pass Object\.fromEntries\(map\)/],
  'a Set': ['text', G => new G.Set([1]), /Set: pass \[\.\.\.set\]/],
  'a RegExp': ['text', G => new G.RegExp('a'), /RegExp: pass value\.source/],
  'an ArrayBuffer': ['bytea', G => new G.ArrayBuffer(1), /ArrayBuffer: pass Buffer\.from\(value\)/],
  'a DataView': [
    'bytea',
    G => new G.DataView(new G.ArrayBuffer(1)),
    /DataView: pass Buffer\.from\(value\.buffer, value\.byteOffset/
  ],
  'a Uint16Array': ['bytea', G => new G.Uint16Array(1), /Uint16Array: pass \[\.\.\.value\] as an array, or Buffer/],
  'a Uint8ClampedArray': ['bytea', G => new G.Uint8ClampedArray(1), /Uint8ClampedArray: pass \[\.\.\.value\]/],
  'a boxed number': ['int', G => new G.Number(5), /Number: pass value\.valueOf\(\)/],
  'a boxed string': ['text', G => new G.String('a'), /String: pass value\.valueOf\(\)/],
  'an Error': ['text', G => new G.Error('a'), /Error: pass String\(value\) as text, or \{ \.\.\.value \} as JSON/],
  'an instance of a class': ['text', () => new Money(), /Money: pass String\(value\) as text/],
  'a list of instances': ['text[]', G => G.Array.of(new Money()), /\[0\] is an object of class Money: pass/],
  'a list with a Map': ['text[]', G => G.Array.of(new G.Map()), /\[0\] is an object of class Map: pass/],
  'a circular object': [
    'jsonb',
    G => {
      const object = new G.Object();
      object.a = object;
      return object;
    },
    /circular|cyclic/i
  ],
  'an object with a bigint': ['jsonb', G => G.Object.assign(new G.Object(), { a: 1n }), /BigInt/],
  'a null byte': ['text', () => 'a\0', /null byte at 1/],
  'a null byte in a list': ['text[]', G => G.Array.of('a\0'), /null byte at 1/],
  'half of a surrogate pair': ['text', () => 'a\ud83d', /half of a surrogate pair at 1/],
  'half of a surrogate pair behind many characters': [
    'text',
    () => `${'😀'.repeat(20)}\udc00b`,
    /half of a surrogate pair at 40/
  ],
  'half of a surrogate pair in a list': ['text[]', G => G.Array.of('\ud83da'), /half of a surrogate pair at 0/],
  ...(Temporal && {
    'an Instant': [
      'timestamptz',
      () => Temporal.Instant.from('-000043-03-15T00:00:00.123456Z'),
      '0044-03-15 00:00:00.123456+00 BC'
    ],
    'a PlainDate': ['date', () => Temporal.PlainDate.from('+010000-01-01'), '10000-01-01'],
    'the first PlainDate': ['date', () => Temporal.PlainDate.from('-004713-11-24'), '4714-11-24 BC'],
    'a PlainDate that is too early': [
      'date',
      () => Temporal.PlainDate.from('-004713-11-23'),
      /before 24 November 4714 BC/
    ],
    'a PlainDate of another calendar': ['date', () => Temporal.PlainDate.from('2024-02-29[u-ca=hebrew]'), '2024-02-29'],
    'a PlainTime': ['time', () => Temporal.PlainTime.from('23:59:59.000001'), '23:59:59.000001'],
    'a PlainDateTime': [
      'timestamp',
      () => Temporal.PlainDateTime.from('-000001-06-01T12:00'),
      '0002-06-01 12:00:00 BC'
    ],
    'a ZonedDateTime': [
      'timestamptz',
      () => Temporal.ZonedDateTime.from('1960-01-01T00:00[Africa/Monrovia]'),
      '1960-01-01 00:44:30+00'
    ],
    'a ZonedDateTime before Christ': [
      'timestamptz',
      () => Temporal.ZonedDateTime.from('-000043-03-15T00:00[America/New_York]'),
      '0044-03-15 04:56:02+00 BC'
    ],
    'a ZonedDateTime of a large offset': [
      'timestamptz',
      () => Temporal.ZonedDateTime.from('2024-01-01T00:00+20:00[+20:00]'),
      /less than 16 hours: pass value\.toInstant\(\)/
    ],
    'a Duration': [
      'interval',
      () => Temporal.Duration.from('-P1Y2M3DT4H5M6.5S'),
      '-1 years -2 mons -3 days -04:05:06.5'
    ],
    'a list of Durations': ['interval[]', () => [Temporal.Duration.from('P1W')], '{"7 days"}'],
    'a PlainYearMonth': [
      'date',
      () => Temporal.PlainYearMonth.from('2024-02'),
      /PlainYearMonth: pass String\(value\), or value\.toPlainDate/
    ],
    'a PlainMonthDay': ['date', () => Temporal.PlainMonthDay.from('02-29'), /PlainMonthDay: pass String\(value\)/]
  })
};

/** Kinds of lists for json: what is stored is what JSON.stringify makes of them. */
const JSON_LISTS = {
  'an empty list': G => new G.Array(),
  'a nested list': G => G.Array.of(G.Array.of(), G.Array.of(1, 'a"', null)),
  'a list of ten levels': G => nested(G, 10, 'x'),
  'a list of Dates': G => G.Array.of(new G.Date(0), date(G, -43, 2, 15), date(G, 10000, 0, 1)),
  'a list of objects': G => G.Array.of({ a: [1] }, { toJSON: () => 5 }, new URL('a:b')),
  'a list of instances': G => G.Array.of(new Money()),
  'a list of many levels': G => nested(G, 900, new Money()),
  'a list of what JSON writes otherwise': G => G.Array.of(NaN, -0, Infinity, 1e21, '"\\\n\t\x7f', '😀'),
  'a list of Dates that say what they are in JSON': G =>
    G.Array.of(G.Object.assign(new G.Date(0), { toJSON: () => ({ date: 0 }) }))
};

module.exports = { JSON_LISTS, KINDS };

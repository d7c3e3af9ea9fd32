'use strict';

const assert = require('node:assert/strict');
const { startServer } = require('pg-test-fixtures');
const { fetchResults, hex } = require('./query');
const { seeded } = require('../support/kit');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('./values');

const literal = text => `'${text.replaceAll("'", "''")}'`;
const selectOf = (type, values) =>
  `SELECT x::${type} FROM unnest(ARRAY[${values.map(literal)}]::text[]) WITH ORDINALITY AS _(x, i) ORDER BY i`;

describe('client-parser, decoders', () => {
  let parser;
  const decoder = (typeOid, format) => parser.decoders[typeOid][format];
  const exact = () => ({ ...parser.decoders, ...parser.exact });
  let server;

  before(async () => {
    parser = await import('../../client-parser/index.js');
    server = await startServer({ auth: 'trust' });
  });
  after(() => server?.stop());

  /** The first column of each query's rows. */
  async function fetchColumns(texts, format, decode) {
    const columns = [];
    for (const bytes of await fetchResults(server, texts, format)) {
      const values = [];
      for await (const row of parser.rows(bytes, { decode })) values.push(Object.values(row.toObject?.() ?? row)[0]);
      columns.push(values);
    }
    return columns;
  }

  for (const format of [0, 1]) {
    const name = format ? 'binary' : 'text';

    it(`give from ${name} the server's own text for types that have no equal in JavaScript`, async () => {
      const selects = Object.entries(STRINGS).map(([type, values]) => selectOf(type, values));
      const texts = await fetchColumns(selects, 0, false);
      const columns = await fetchColumns(selects, format, exact());
      Object.entries(STRINGS).forEach(([type, values], i) => {
        assert.equal(texts[i].length, values.length, type);
        assert.deepEqual(columns[i], texts[i], type);
      });
    });

    it(`give from ${name} the number that the server's text is`, async () => {
      const selects = Object.entries(NUMBERS).map(([type, [, values]]) => selectOf(type, values));
      const texts = await fetchColumns(selects, 0, false);
      const columns = await fetchColumns(selects, format, exact());
      Object.entries(NUMBERS).forEach(([type, [make, values]], i) => {
        assert.equal(columns[i].length, values.length, type);
        columns[i].forEach((value, j) => {
          assert.ok(Object.is(value, make(texts[i][j])), `${type}: ${value} for ${texts[i][j]}`);
        });
      });
    });

    it(`give from ${name} booleans, bytes, JSON and arrays of any depth`, async () => {
      const table = Object.entries(OTHERS);
      const selects = table.map(([type, pairs]) =>
        selectOf(
          type,
          pairs.map(([text]) => text)
        )
      );
      const columns = await fetchColumns(selects, format, exact());
      table.forEach(([type, pairs], i) =>
        assert.deepEqual(
          columns[i],
          pairs.map(pair => pair[1]),
          type
        )
      );
    });

    it(`give from ${name} records as the server's text, or as bytes`, async () => {
      const [values] = await fetchColumns(["SELECT ROW(1, 'a b', NULL)"], format, true);
      if (format === 0) assert.deepEqual(values, ['(1,"a b",)']);
      else assert.deepEqual(Buffer.from(values[0]).readInt32BE(0), 3, 'the number of fields');
    });

    it(`give from ${name} a timestamptz as a Date, or as a string if no Date is the same`, async () => {
      const columns = await fetchColumns(
        [
          `SELECT unnest('{2024-02-29 12:34:56.789-03:30,1969-12-31 23:59:59.9999+00,"0001-12-31 00:00:00+00 BC"}'::timestamptz[])`,
          `SELECT unnest('{0099-01-01 00:00:00+00,275760-09-13 00:00:00+00,"0044-03-15 12:00:00.5+00 BC"}'::timestamptz[])`,
          `SELECT unnest('{infinity,-infinity,275760-09-13 00:00:00.001+00}'::timestamptz[])`,
          `SELECT '{2024-02-29 00:00:00+00,NULL,infinity}'::timestamptz[]`
        ],
        format,
        true
      );
      assert.deepEqual(columns, [
        ['2024-02-29T16:04:56.789Z', '1969-12-31T23:59:59.999Z', '0000-12-31T00:00:00.000Z'].map(
          text => new Date(text)
        ),
        ['0099-01-01T00:00:00.000Z', '+275760-09-13T00:00:00.000Z', '-000043-03-15T12:00:00.500Z'].map(
          text => new Date(text)
        ),
        ['infinity', '-infinity', '275760-09-13 00:00:00.001+00'],
        [[new Date('2024-02-29T00:00:00Z'), null, 'infinity']]
      ]);
    });

    it(`give from ${name} an int8 as a number, or as a string if that is not exact`, async () => {
      const texts = ['0', '-1', '9007199254740991', '-9007199254740991', '9007199254740992', '-9223372036854775808'];
      const columns = await fetchColumns(
        [selectOf('int8', texts), `SELECT '{1,NULL,9007199254740993}'::int8[]`],
        format,
        true
      );
      assert.deepEqual(columns, [
        [0, -1, 9007199254740991, -9007199254740991, ...texts.slice(4)],
        [[1, null, '9007199254740993']]
      ]);
    });

    it(`give from ${name} the label of an enum`, async () => {
      await server.sql("DROP TYPE IF EXISTS mood; CREATE TYPE mood AS ENUM ('happy', 'süß')");
      const columns = await fetchColumns(['SELECT unnest(enum_range(NULL::mood))'], format, true);
      assert.deepEqual(columns, [['happy', 'süß']]);
    });
  }

  const decodeText = (decoder, text) => {
    const bytes = Buffer.from(text);
    return decoder(bytes, 0, bytes.length);
  };

  it('give from text of a float what Number does', () => {
    for (const string of [
      '0',
      '-0',
      '7',
      '-1.5',
      '.5',
      '5.',
      '0012.50',
      '0.1',
      '0.000000000000001',
      '999999999999.999',
      '123456789012345',
      '1234567890123456',
      '9007199254740993',
      '0.14285714285714285',
      '1e5',
      '1.2.3',
      '1-2',
      '-',
      '--1',
      'NaN',
      'Infinity',
      '-Infinity',
      '1x',
      '/',
      ':'
    ]) {
      const bytes = Buffer.from(`1${string}1`);
      assert.equal(parser.decoders[701][0](bytes, 1, bytes.length - 1), Number(string), string);
    }
  });

  it('read a timestamp of any time zone into a Date', () => {
    const [decode] = parser.decoders[1184];
    assert.deepEqual(decodeText(decode, '1880-01-01 00:53:28+00:53:28'), new Date('1880-01-01T00:00:00Z'));
    assert.deepEqual(decodeText(decode, '2024-01-01 00:00:00-00:30'), new Date('2024-01-01T00:30:00Z'));
    assert.deepEqual(decodeText(decode, '2024-01-01 00:00:00.000999+05:30'), new Date('2023-12-31T18:30:00Z'));
    for (const other of [
      'Mon Jan 01 00:00:00 2024 CET',
      '29-02-2024',
      '29.02.2024',
      '02/29/2024',
      '02/29/2024 10:00:00.5 CET',
      '29.02.2024 10:00:00.5 CET',
      '29-02-2024 10:00:00 CET',
      'C',
      ' BC',
      ''
    ]) {
      assert.equal(decodeText(decode, other), other);
    }
  });

  it('read a timestamp only to its end, whatever is behind it', () => {
    const [decode] = parser.decoders[1184];
    for (const [string, expected] of [
      ['0044-03-15 00:00:00.25+00 BC', '-000043-03-15T00:00:00.250Z'],
      ['12345-06-07 08:09:10.9+02', '+012345-06-07T06:09:10.900Z'],
      ['1969-12-31 23:59:59.9995+00', '1969-12-31T23:59:59.999Z'],
      ['2024-02-29 10:00:00.123456-03:30', '2024-02-29T13:30:00.123Z'],
      ['2024-02-29 10:00:00'],
      ['2024-02-29 10:00'],
      ['2024-02-29'],
      ['2024'],
      ['2024-02-29 10:00:00+0'],
      ['2024-02-29 10:00:00.5'],
      ['2024-02-29 10:00:00+00:3'],
      ['2024-02-29 10:00:00+00 B'],
      ['infinity'],
      ['-infinity']
    ]) {
      for (const behind of ['', ':30', ' BC', '0', '+00', '-02-29 10:00:00+00']) {
        const value = decode(Buffer.from(`9${string}${behind}`), 1, 1 + string.length);
        assert.deepEqual(value, expected ? new Date(expected) : string, string + behind);
      }
    }
  });

  it('read the first and the last millisecond of every week of 400 years, which the calendar repeats, and of every year', () => {
    const [decode] = parser.decoders[1184];
    const times = Array.from({ length: 9001 }, (_, year) => Date.UTC(1000 + year, 0));
    for (let time = Date.UTC(1800, 0); time < Date.UTC(2200, 0); time += 7 * 86400000) times.push(time);
    for (const time of times) {
      for (const at of [time, time - 1]) {
        const text = new Date(at).toISOString().replace(/^\+0/, '');
        assert.equal(+decodeText(decode, text.replace('T', ' ').replace('Z', '+00')), at);
      }
    }
  });

  it('read bytea of the escape format too', () => {
    const value = decodeText(parser.decoders[17][0], 'a\\\\\\000\\377b');
    assert.deepEqual(value, Uint8Array.of(97, 92, 0, 255, 98));
  });

  it('read int8 of the least value an interval can have', () => {
    const bytes = hex('80 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00');
    assert.equal(parser.decoders[1186][1](bytes, 0, 16), '-2562047788:00:54.775808');
  });

  it('make arrays of any other type', () => {
    const length = (bytes, start, end) => end - start;
    const [text, binary] = parser.arrayOf([length, (bytes, start) => bytes[start]]);
    assert.deepEqual(decodeText(text, '{abc,"d\\"e",{NULL}}'), [3, 3, [null]]);
    const bytes = hex('00000001 00000001 0000ffff 00000002 00000001 00000001 2a ffffffff');
    assert.deepEqual(binary(bytes, 0, bytes.length), [42, null]);
  });

  describe('given bytes that their type does not allow', () => {
    /** What a decoder does with bytes that lie between others. */
    function outcome(decode, value, around) {
      const bytes = Buffer.alloc(value.length + 128, around);
      bytes.set(value, 64);
      try {
        const result = decode(bytes, 64, 64 + value.length);
        return result instanceof Uint8Array ? Buffer.from(result).toString('hex') : result;
      } catch (error) {
        return `${error.name}: ${error.message}`;
      }
    }

    for (const [format, name] of ['text', 'binary'].entries()) {
      it(`see nothing outside of them (${name})`, async function () {
        const next = seeded(format + 1);
        const values = Object.entries(STRINGS);
        for (const [type, [, numbers]] of Object.entries(NUMBERS)) values.push([type, numbers]);
        for (const [type, pairs] of Object.entries(OTHERS)) values.push([type, pairs.map(pair => pair[0])]);
        const selects = values.map(([type, all]) => selectOf(type, all.slice(0, 12)));
        selects.push(...RECORDS.map(text => `SELECT ${text}`));
        for (const bytes of await fetchResults(server, selects, format)) {
          const result = parser.rows(bytes, { structs: true });
          for await (const row of result) {
            const { typeOid } = result.columns[0];
            const value = Buffer.from(row.rowBuffer.subarray(11));
            const changed = [Buffer.concat([value, Buffer.of(next() * 256)])];
            for (let i = 0; i < Math.min(value.length, 60); i++) {
              const copy = Buffer.from(value);
              copy[Math.floor(next() * copy.length)] = next() * 256;
              changed.push(value.subarray(0, i), copy);
            }
            for (const bad of changed) {
              const seen = outcome(decoder(typeOid, format), bad, 0);
              for (const around of [0x31, 0x7d, 0xff]) {
                assert.deepEqual(outcome(decoder(typeOid, format), bad, around), seen, bad.toString('hex'));
              }
            }
          }
        }
      });
    }

    it('throw a ProtocolError for a wrong length', () => {
      for (const typeOid of [
        16, 18, 20, 21, 23, 26, 700, 701, 869, 829, 1082, 1083, 1114, 1184, 1186, 1266, 1700, 2950, 3802, 1007, 3904,
        4451
      ]) {
        const decode = parser.decoders[typeOid][1];
        assert.throws(() => decode(Buffer.alloc(100), 10, 13), { name: 'ProtocolError', code: '08P01' });
      }
    });

    it('make no array larger than the bytes can hold', () => {
      const lengths = ['7fffffff', '00000000', 'ffffffff', '00000002'];
      for (const length of lengths) {
        const dimension = `${length} 00000001`;
        const bytes = hex(`00000002 00000000 00000017 ${dimension} ${dimension} 00000004 00000001`);
        assert.throws(() => parser.decoders[1007][1](bytes, 0, bytes.length), { code: '08P01' });
      }
      const deep = hex(`00000007 00000000 00000017 ${'00000001 00000001'.repeat(7)} 00000004 00000001`);
      for (const bytes of [deep, hex('ffffffff 00000000 00000017')]) {
        assert.throws(() => parser.decoders[1007][1](bytes, 0, bytes.length), { code: '08P01' });
      }
      assert.throws(() => decodeText(parser.decoders[1007][0], '{'.repeat(100000)), { code: '08P01' });
    });

    it('throw for text that is no array', () => {
      const texts = [
        '',
        '1',
        '{',
        '{1',
        '{1,',
        '{1,}',
        '{,1}',
        '{"a',
        '{"a\\',
        '{1}2',
        '{1}}',
        '[1:2',
        '{{1}',
        '{"1"2}'
      ];
      for (const text of texts) {
        assert.throws(() => decodeText(parser.decoders[1009][0], text), { code: '08P01' }, text);
      }
    });

    it('take time in proportion to their length', () => {
      const beginnings = ['', '2024', '2024-02-29 12:34:56+', '2024-02-29 12:34:', '[', '{', '{"', '('];
      const long = ['1', ' ', '-', '.', ':', '"', '\\', '{', '1,', '1:', 'inf'];
      const texts = beginnings.flatMap(first =>
        long.map(part => Buffer.from(`${first}${part.repeat(1e5 / part.length)}!`))
      );
      const known = new Set();
      for (const [decode] of [parser.decoders, parser.exact].flatMap(Object.values)) {
        if (known.has(decode)) continue;
        known.add(decode);
        const start = process.cpuUsage();
        for (const bytes of texts) {
          try {
            decode(bytes, 0, bytes.length);
          } catch {
            /* Malformed, most of them. */
          }
        }
        assert.ok(process.cpuUsage(start).user < 5e6); // µs
      }
    }).timeout(120000);

    it('throw for text that is no number, no JSON or no bytes, with an error that does not show it', () => {
      for (const text of ['', '-', '1.5', 'x', '1234567890123456']) {
        assert.throws(() => decodeText(parser.decoders[23][0], text), { code: '08P01' }, text);
      }
      for (const typeOid of [114, 3802]) {
        for (const text of ['', '{', 'secret', '{"secret":1}x']) {
          assert.throws(
            () => decodeText(parser.decoders[typeOid][0], text),
            { name: 'ProtocolError', code: '08P01', message: 'malformed value' },
            text
          );
        }
      }
      for (const text of ['1'.repeat(21), '-'.repeat(30), 'secret', '123456789012345678x']) {
        assert.throws(() => decodeText(parser.decoders[20][0], text), { code: '08P01' }, text);
      }
      for (const text of ['\\x1', '\\xzz', '\\x:0', '\\', '\\1', '\\12', '\\xG0']) {
        assert.throws(() => decodeText(parser.decoders[17][0], text), { code: '08P01' }, text);
      }
    });
  });
});

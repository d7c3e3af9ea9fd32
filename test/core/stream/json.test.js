'use strict';

const assert = require('node:assert/strict');
const { SERVER_VERSION } = require('pg-test-fixtures');
const { decoders } = require('../../../lib/core/rows');
const { arrayOf } = require('../../../client-parser/types.js');
const { Json } = require('../../../lib/core/stream/json');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('../../client-parser/values');
const { collector, seeded } = require('../../support/kit');
const { agrees, jsonDecoders, written } = require('./json');
const { ANSWER, answering, commandComplete, connected, dataRow, hex, message, proxied } = require('../../support');

const quoted = text => `'${text.replaceAll("'", "''")}'`;

/** Values of every type that is decoded, as a column, as an array with NULL, and as an array of two of it. */
const TYPES = [
  ...Object.entries(STRINGS),
  ...Object.entries(NUMBERS).map(([type, [, values]]) => [type, values]),
  ...Object.entries(OTHERS).map(([type, pairs]) => [type, pairs.map(([text]) => text)])
];
const unnested = values => `FROM unnest(ARRAY[${values.map(quoted)}]::text[]) WITH ORDINALITY AS _(x, i)`;

/** -0 is 0, and what is not finite null. */
const asJsonStringify = text =>
  `CASE WHEN ${text} IN ('NaN', 'Infinity', '-Infinity') THEN NULL WHEN ${text} = 0 THEN to_json(0) ELSE to_json(${text}) END`;

/** The types of which JSON here is not that of to_json: what the same value is there. */
const UNLIKE_TO_JSON = {
  numeric: text => `to_json(${text}::text)`, // all digits
  int8: text => `CASE WHEN abs(${text}::numeric) < 2 ^ 53 THEN to_json(${text}) ELSE to_json(${text}::text) END`,
  oid: text => `to_json(${text}::int8)`, // a number, not a string
  xid: text => `to_json(${text}::text::int8)`,
  float4: asJsonStringify, // as JSON.stringify
  float8: asJsonStringify
};

describe('JSON of a result', () => {
  describe('is what to_json makes of the values', () => {
    for (const [type, values] of TYPES) {
      it(`of ${type}`, async () => {
        const toJson = UNLIKE_TO_JSON[type] ?? UNLIKE_TO_JSON[type.replace('[]', '')] ?? (text => `to_json(${text})`);
        const same = toJson('') === 'to_json()';
        if (!same && type.endsWith('[]')) return; // its elements were compared
        const isTime = /date|time/.test(type);
        for (const TimeZone of isTime ? ['UTC', 'Asia/Kolkata', 'Europe/Amsterdam', 'America/New_York'] : ['UTC']) {
          const client = await connected({ TimeZone });
          const text = `x::${type}`;
          const rows = JSON.parse(
            await written(client, `SELECT ${text} AS here, ${toJson(text)} AS there ${unnested(values)} ORDER BY i`)
          );
          assert.equal(rows.length, values.length);
          for (const { here, there } of rows) assert.deepEqual(here, there);
          if (!same || type.endsWith('[]')) continue;
          const [{ here, there }] = JSON.parse(
            await written(
              client,
              `SELECT a AS here, to_json(a) AS there
            FROM (SELECT array_agg(${text} ORDER BY i) || NULL::${type} AS a ${unnested(values)}) AS _`
            )
          );
          assert.equal(here.length, values.length + 1);
          assert.deepEqual(here, there);
        }
      });
    }

    it('of timestamps with a DateStyle that is not ISO: the text of the server', async () => {
      for (const DateStyle of ['SQL, DMY', 'Postgres', 'German']) {
        const client = await connected({ DateStyle });
        const text = "SELECT timestamptz '2024-02-03 04:05:06.7+00' AS a, timestamp '2024-02-03 04:05:06' AS b";
        const {
          objects: [expected]
        } = await client.query(text);
        assert.doesNotMatch(expected.a, /^2024/);
        assert.deepEqual(JSON.parse(await written(client, text)), [expected]);
      }
    });
  });

  describe('is what JSON.stringify makes of the objects', () => {
    for (const [type, values] of TYPES) {
      it(`with columns of ${type}, and arrays of it`, async () => {
        const client = await connected({ TimeZone: 'UTC' });
        await agrees(client, `SELECT x::${type} AS "the value" ${unnested(values)} ORDER BY i`);
        if (type.endsWith('[]')) return;
        const list = `SELECT array_agg(x::${type} ORDER BY i) || NULL::${type} AS a ${unnested(values)}`;
        await agrees(client, `SELECT a, ARRAY[a, a] AS b FROM (${list}) AS _`);
        // One by one they are short enough for the way that most rows take.
        await agrees(
          client,
          `SELECT ARRAY[x::${type}] AS a, ARRAY[[x::${type}, NULL]] AS b ${unnested(values)} ORDER BY i`
        );
      });
    }

    it('with records, and with types that are never decoded', async () => {
      const client = await connected();
      for (const record of RECORDS) await agrees(client, `SELECT ${record} AS record, 1 AS next`);
      await agrees(
        client,
        `SELECT point '(1,2)', '12.5'::float8::numeric::money, bit '101', tsvector 'a b', 'int'::regtype,
        pg_lsn '1/2', ARRAY[point '(1,2)'], ARRAY['12.5'::numeric::money], ARRAY[box '(1,2),(3,4)', box '(1,2),(3,4)'],
        '1 2'::int2vector, '1 2'::oidvector, '3:5:4'::txid_snapshot, jsonpath '$.a', xid8 '7', cid '7', tid '(1,2)'`
      );
    });

    it('with random values in random columns', async () => {
      const client = await connected({ TimeZone: 'UTC' });
      const next = seeded(18);
      const any = list => list[Math.floor(next() * list.length)];
      for (let round = 0; round < 60; round++) {
        const columns = Array.from({ length: 1 + Math.floor(next() * 8) }, () => any(TYPES));
        const names = columns.map(() =>
          any(['a', 'b', 'c', '"', '\\', '__proto__', 'constructor', '1', '0', 'ä', '\n', '\u2028 x'])
        );
        const row = () =>
          columns.map(
            ([type, values], i) =>
              `${next() < 0.2 ? 'NULL' : quoted(any(values))}::${type} AS "${names[i].replace('"', '""')}"`
          );
        await agrees(
          client,
          Array.from({ length: 1 + Math.floor(next() * 5) }, () => `SELECT ${row()}`).join(' UNION ALL ')
        );
      }
    });

    it('with random strings', async () => {
      const client = await connected();
      const next = seeded(7);
      const CODES = [
        1, 8, 9, 10, 13, 31, 32, 34, 39, 44, 47, 65, 92, 123, 125, 127, 128, 0x2028, 0x2029, 0xfeff, 0xffff, 0x1f418
      ];
      const string = () =>
        String.fromCodePoint(
          ...Array.from({ length: Math.floor(next() ** 4 * 60) }, () => CODES[Math.floor(next() * CODES.length)])
        );
      const expected = Array.from({ length: 500 }, () => ({
        a: string(),
        b: [string(), null, string()],
        c: { [string()]: string() }
      }));
      const text = `SELECT value->>'a' AS a, ARRAY(SELECT jsonb_array_elements_text(value->'b')) AS b, value->'c' AS c
        FROM jsonb_array_elements($1::jsonb)`;
      assert.deepEqual(JSON.parse(await written(client, text, {}, [JSON.stringify(expected)])), expected);
    });
  });

  it('has arrays wherever decoders have', () => {
    for (const typeOid in decoders) {
      let decoded = '{}';
      try {
        decoded = decoders[typeOid][0](Buffer.from('{}'), 0, 2);
      } catch {} // a number or so
      if (['114', '3802'].includes(typeOid)) continue; // an object
      const out = {
        block: {
          bytes: Buffer.alloc(100),
          used: 0,
          get view() {
            return new DataView(this.bytes.buffer, this.bytes.byteOffset);
          }
        },
        reserve() {
          return this.block;
        }
      };
      const json = new Json({ as: 'ndjson', int8: 'number', numeric: 'string', bytea: 'hex' });
      json.start(out, { columns: [{ typeOid: Number(typeOid) }], columnNames: ['a'] });
      const row = dataRow('{}');
      try {
        json.messages(out, row, 0, row.length, 1);
      } catch {}
      const isArray = out.block.bytes.toString('utf8', 0, out.block.used) === '{"a":[]}\n';
      assert.equal(isArray, Array.isArray(decoded), typeOid);
    }
  });

  it('has no more than that', async () => {
    const client = await connected();
    assert.equal(
      await written(client, 'SELECT i AS "the id", \'x\' AS x FROM generate_series(1, 2) i'),
      '[{"the id":1,"x":"x"},{"the id":2,"x":"x"}]'
    );
    assert.equal(
      await written(client, 'SELECT i AS "the id", \'x\' AS x FROM generate_series(1, 2) i', { as: 'ndjson' }),
      '{"the id":1,"x":"x"}\n{"the id":2,"x":"x"}\n'
    );
  });

  it('has no rows where there are none', async () => {
    const client = await connected();
    for (const text of [
      'SELECT 1 AS a WHERE false',
      'CREATE TEMP TABLE empty (a int)',
      'INSERT INTO empty VALUES (1)',
      '',
      'SELECT WHERE false'
    ]) {
      assert.equal(await written(client, text), '[]', text);
      assert.equal(await written(client, text.replace('TABLE empty', 'TABLE other'), { as: 'ndjson' }), '', text);
    }
    const target = collector();
    assert.deepEqual(await client.queryTo(target, 'INSERT INTO empty VALUES (1), (2)', [], { as: 'json' }), {
      cmd: 'INSERT',
      rowCount: 2,
      bytes: 2
    });
  });

  it('has empty objects where there are no columns', async () => {
    const client = await connected();
    assert.equal(await written(client, 'SELECT FROM generate_series(1, 3)'), '[{},{},{}]');
    assert.equal(await written(client, 'SELECT FROM generate_series(1, 2)', { as: 'ndjson' }), '{}\n{}\n');
  });

  it('has of several columns with one name the last, where the first was', async () => {
    const client = await connected();
    assert.equal(
      await written(client, "SELECT 1 AS a, 'b' AS b, NULL AS a, true AS c, 2.5::float8 AS a"),
      '[{"a":2.5,"b":"b","c":true}]'
    );
    assert.equal(await written(client, 'SELECT 1 AS a, NULL AS a'), '[{"a":null}]');
  });

  it('has __proto__ as a name like any other', async () => {
    const client = await connected();
    const [row] = JSON.parse(await written(client, 'SELECT 1 AS "__proto__", 2 AS "constructor"'));
    assert.deepEqual(Object.entries(row), [
      ['__proto__', 1],
      ['constructor', 2]
    ]);
  });

  it('has json and jsonb as they are, but for line breaks, which would end a line of ndjson', async () => {
    const client = await connected();
    assert.equal(
      await written(
        client,
        `SELECT '{"a": 1.50,\r\n\t"a":  1e400}'::json AS j, '{"b": 10000000000000000000000.0}'::jsonb AS b`
      ),
      '[{"j":{"a": 1.50,  \t"a":  1e400},"b":{"b": 10000000000000000000000.0}}]'
    );
  });

  it('has int8, numeric and bytea as one asks', async () => {
    const client = await connected();
    const text = `SELECT 9007199254740991 AS a, 9007199254740992 AS b, -9007199254740992 AS c, ARRAY[7, 9223372036854775807] AS d,
      12.50 AS e, ARRAY[1.10, NULL] AS f, 'NaN'::numeric AS g, '${SERVER_VERSION >= 14 ? '-Infinity' : 'NaN'}'::numeric AS h, '\\x00ff10'::bytea AS i, ARRAY['\\x'::bytea] AS j`;
    const start = '"a":9007199254740991,"b":"9007199254740992","c":"-9007199254740992","d":[7,"9223372036854775807"]';
    assert.equal(
      await written(client, text),
      `[{${start},"e":"12.50","f":["1.10",null],"g":"NaN","h":"${SERVER_VERSION >= 14 ? '-Infinity' : 'NaN'}",` +
        '"i":"\\\\x00ff10","j":["\\\\x"]}]'
    );
    assert.equal(
      await written(client, text, { int8: 'string', numeric: 'number', bytea: 'base64' }),
      '[{"a":"9007199254740991","b":"9007199254740992","c":"-9007199254740992","d":["7","9223372036854775807"],' +
        '"e":12.50,"f":[1.10,null],"g":null,"h":null,"i":"AP8Q","j":[""]}]'
    );
    const string = [(...place) => String(decoders[20][0](...place))];
    await agrees(client, text, { int8: 'string' }, { ...jsonDecoders, 20: string, 1016: arrayOf(string) });
    const number = [decoders[701][0]];
    await agrees(client, text, { numeric: 'number' }, { ...jsonDecoders, 1700: number, 1231: arrayOf(number) });
  });

  it('has the same bytea whatever bytea_output says', async () => {
    const text = `SELECT bytea '\\x5c00ff41' AS a, ARRAY[bytea '\\x5c00ff41', bytea ''] AS b, bytea '' AS c`;
    const client = await connected({ bytea_output: 'escape' });
    await agrees(client, text);
    assert.equal(await written(client, text), '[{"a":"\\\\x5c00ff41","b":["\\\\x5c00ff41","\\\\x"],"c":"\\\\x"}]');
    assert.equal(await written(client, text, { bytea: 'base64' }), '[{"a":"XAD/QQ==","b":["XAD/QQ==",""],"c":""}]');
  });

  it('has values of any length, and rows that are longer than what is read at once', async () => {
    const client = await connected();
    const next = seeded(5);
    for (const length of [6143, 6144, 6145, 12287, 12289, 65536, 200001]) {
      const bytes = Buffer.from(Array.from({ length }, () => next() * 256));
      const string = bytes.latin1Slice().replaceAll('\0', '"').slice(0, length);
      const rows = [
        { a: 1, b: string, c: [string, 'x'], d: { e: string }, f: bytes.toString('base64') },
        { a: 2, b: '', c: [], d: 1, f: '' }
      ];
      const text = `SELECT 1 AS a, $1::text AS b, ARRAY[$1, 'x'] AS c, jsonb_build_object('e', $1) AS d, $2::bytea AS f
        UNION ALL SELECT 2, '', '{}', '1', ''`;
      assert.deepEqual(JSON.parse(await written(client, text, { bytea: 'base64' }, [string, bytes])), rows);
      assert.deepEqual(
        (await written(client, text, { as: 'ndjson', bytea: 'base64' }, [string, bytes]))
          .split('\n')
          .slice(0, 2)
          .map(line => JSON.parse(line)),
        rows
      );
      const list = JSON.parse(
        await written(client, 'SELECT array_agg(i) AS l, $1 AS l FROM generate_series(1, $2::int) i', {}, ['x', 9])
      );
      assert.deepEqual(list, [{ l: 'x' }]);
    }
    const numbers = Array.from({ length: 30000 }, (_, i) => i);
    assert.deepEqual(JSON.parse(await written(client, 'SELECT array_agg(i) AS l FROM generate_series(0, 29999) i')), [
      { l: numbers }
    ]);
  });

  it('is made of 1,600 columns with long names', async () => {
    const client = await connected();
    const names = Array.from({ length: 1600 }, (_, i) => `${i}${'"'.repeat(50)}`);
    await agrees(
      client,
      `SELECT ${names.map(name => `1 AS "${name.replaceAll('"', '""')}"`)} FROM generate_series(1, 3)`
    );
  });

  it('cuts the target off when the query fails after something was written, also with end: false', async () => {
    const client = await connected();
    for (const as of ['json', 'ndjson']) {
      for (const end of [true, false]) {
        const target = collector();
        const result = client.queryTo(target, 'SELECT 1 / (50000 - i) AS a FROM generate_series(1, 100000) AS i', [], {
          as,
          end
        });
        await assert.rejects(result, { code: '22012' });
        assert.equal(target.destroyed, true);
        assert.equal(target.writableFinished, false);
        assert.ok(target.text.length > 100000);
      }
    }
  });

  it('leaves the target as it was when the query fails before, or its commit', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE late (a int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)');
    for (const as of ['json', 'ndjson']) {
      const target = collector();
      for (const text of ['SELECT 1 / 0', 'no SQL', 'INSERT INTO late VALUES (1), (1) RETURNING a']) {
        await assert.rejects(client.queryTo(target, text, [], { as }), { name: 'PostgresError' });
        assert.deepEqual([target.chunks.length, target.writableEnded, target.destroyed], [0, false, false]);
      }
      await client.queryTo(target, 'SELECT 1 AS a', [], { as });
      assert.equal(target.text.trim(), as === 'json' ? '[{"a":1}]' : '{"a":1}');
    }
  });

  it('is cut off when its signal aborts', async () => {
    const client = await connected();
    const controller = new AbortController();
    const target = collector();
    const result = client.queryTo(target, "SELECT repeat('x', 1000) AS x FROM generate_series(1, 1000000)", [], {
      as: 'json',
      signal: controller.signal
    });
    while (target.chunks.length < 3) await new Promise(setImmediate);
    controller.abort();
    await assert.rejects(result, { name: 'AbortError' });
    assert.equal(target.destroyed, true);
    assert.equal((await client.query('SELECT 7 AS a')).rows[0].a, 7);
  });

  it('is refused with a TypeError, before anything is sent, of binary columns, of COPY, and with options that are none', async () => {
    const { client, proxy } = await proxied();
    const before = proxy.stats.bytes.toServer;
    const target = collector();
    for (const [text, options, problem] of [
      ['SELECT 1', { format: 1 }, /format/],
      ['COPY users TO STDOUT', {}, /COPY/],
      [' /* */ copy (SELECT 1) to stdout', {}, /COPY/],
      ['SELECT 1', { int8: 'bigint' }, /int8/],
      ['SELECT 1', { numeric: 1 }, /numeric/],
      ['SELECT 1', { bytea: 'base85' }, /bytea/],
      ['SELECT 1', { as: 'JSON' }, /as must be 'protocol' or 'values' or 'json' or 'ndjson', not 'JSON'$/],
      ['SELECT 1', { as: null, int8: '' }, /int8/]
    ]) {
      await assert.rejects(client.queryTo(target, text, [], { as: 'json', ...options }), error => {
        assert.match(error.message, problem);
        return error instanceof TypeError;
      });
    }
    assert.equal(proxy.stats.bytes.toServer, before);
    assert.deepEqual([target.writableEnded, target.destroyed], [false, false]);
  });

  it('is refused where the server answers with the data of a COPY', async () => {
    const client = await answering(
      ANSWER.parseComplete,
      ANSWER.noParameters,
      message('n'),
      ANSWER.bindComplete,
      message('H', hex('00 0001 0000')),
      message('d', '1\n'),
      message('c'),
      commandComplete('COPY 1'),
      ANSWER.ready
    );
    const target = collector();
    await assert.rejects(client.queryTo(target, 'EXPORT a', [], { as: 'json' }), { code: '08P01' });
    assert.deepEqual([target.chunks.length, target.destroyed, client.state], [0, false, 'closed']);
  });

  it('has the names of columns however long they are together', async () => {
    const client = await connected();
    const names = Array.from({ length: 1200 }, (_, i) => `${i + 1000}${'"'.repeat(59)}`);
    const text = `SELECT ${names.map(name => `1 AS "${name.replaceAll('"', '""')}"`)}`;
    assert.deepEqual(JSON.parse(await written(client, text)), [Object.fromEntries(names.map(name => [name, 1]))]);
  });

  it('shows nothing of what lies behind a row that claims to be longer than it is', async () => {
    for (const row of [
      "0001 00000005 'abcd'",
      "0001 fffffffe 'abcd'",
      '0002 00000000',
      '0001',
      '0001 00 00',
      '',
      "0001 7fffffff 'a'"
    ]) {
      const client = await answering(
        ANSWER.described('a'),
        message('D', hex(row)),
        commandComplete('SELECT 1'),
        ANSWER.ready
      );
      const target = collector();
      await assert.rejects(client.queryTo(target, 'SELECT 1', [], { as: 'json' }), { code: '08P01' }, row);
      assert.equal(target.chunks.length, 0);
      assert.equal(client.state, 'closed');
    }
  });
});

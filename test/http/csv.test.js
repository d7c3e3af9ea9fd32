'use strict';

const assert = require('node:assert/strict');
const { text: textOf } = require('node:stream/consumers');
const { PassThrough } = require('node:stream');
const { Csv } = require('../../lib/http/csv');
const { connected, dataRow, message, int16 } = require('../support');

/** What an encoder writes to, as StreamReceiver is. */
class Out {
  block = { bytes: Buffer.alloc(10000), used: 0 };
  reserve() {
    return this.block;
  }
  toString() {
    return this.block.bytes.toString('utf8', 0, this.block.used);
  }
}

/** The text that is made of rows with columns of these names. */
function csvOf(names, ...rows) {
  const csv = new Csv();
  const out = new Out();
  csv.start(out, { columns: names.map(name => ({ name })) }, 0);
  const bytes = Buffer.concat(rows);
  csv.messages(out, bytes, 0, bytes.length, rows.length);
  return String(out);
}

/** What queryTo writes. */
async function written(client, text, values, escapes) {
  const target = new PassThrough();
  const [body, result] = await Promise.all([
    textOf(target),
    client.queryTo(target, text, values, { as: new Csv(escapes) })
  ]);
  assert.equal(result.bytes, Buffer.byteLength(body));
  return body;
}

describe('CSV', () => {
  it('has the names of the columns, then the rows', () => {
    assert.equal(csvOf(['a', 'b'], dataRow('1', 'x y'), dataRow('é', '\u2028')), 'a,b\n1,x y\né,\u2028\n');
    assert.equal(csvOf(['a']), 'a\n');
    assert.equal(csvOf(['a', 'a'], dataRow('1', '2')), 'a,a\n1,2\n');
    assert.equal(csvOf([], dataRow(), dataRow()), '\n\n\n');
  });

  it('puts in quotes what needs them, and an empty string, which is not NULL', () => {
    assert.equal(
      csvOf(['a', 'b,"c'], dataRow('', null), dataRow('a,b', '"'), dataRow('1\n2', '3\r4'), dataRow(null, "'\t;")),
      'a,"b,""c"\n"",\n"a,b",""""\n"1\n2","3\r4"\n,\'\t;\n'
    );
    assert.equal(
      csvOf(['a'], dataRow('\\.'), dataRow(null), dataRow('\\.x'), dataRow('.\\'), dataRow('x.')),
      'a\n"\\."\n\n\\.x\n.\\\nx.\n'
    );
    assert.equal(csvOf(['a', 'b'], dataRow('\\.', null)), 'a,b\n\\.,\n');
    assert.equal(csvOf(['\\.']), '"\\."\n');
  });

  it('makes text of what spreadsheets take for formulas, but not of numbers, if asked to', async () => {
    const client = await connected();
    const text = `SELECT v AS "=a", -1 AS b, -1.5 AS c FROM unnest(ARRAY['=1+1', '+1', '-1', '@a', E'\\ta', E'\\ra', E'\\n=1', '＝1', '＋1', '－1', '＠a', '＝', '！a', '=a","b', '', NULL, 'a=1', '''']) v`;
    const rows = cells => ['', ...cells].join('\n');
    assert.equal(
      await written(client, text, [], true),
      `"'=a",b,c${rows(
        [
          `"'=1+1"`,
          `"'+1"`,
          `"'-1"`,
          `"'@a"`,
          `"'\ta"`,
          `"'\ra"`,
          `"'\n=1"`,
          `"'＝1"`,
          `"'＋1"`,
          `"'－1"`,
          `"'＠a"`,
          `"'＝"`,
          '！a',
          `"'=a"",""b"`,
          '""',
          '',
          'a=1',
          "'"
        ].map(cell => `${cell},-1,-1.5`)
      )}\n`
    );
    assert.match(await written(client, text), /^=a,b,c\n=1\+1,-1,-1\.5\n/);
    assert.notEqual(JSON.stringify(new Csv(true)), JSON.stringify(new Csv()));
    const names = Array(1000).fill('-1 AS "="');
    assert.equal(
      await written(client, `SELECT ${names}`, [], true),
      `${Array(1000).fill(`"'="`)}\n${Array(1000).fill(-1)}\n`
    );
  });

  it('has room for what becomes twice as long, names, too', async () => {
    const quotes = '"'.repeat(2000);
    assert.equal(csvOf(['a'], dataRow(quotes)), `a\n"${quotes}${quotes}"\n`);
    const name = `"${'"'.repeat(126)}"`; // 63 of them, in SQL as in CSV
    const body = await written(await connected(), `SELECT ${Array(1000).fill(`1 AS ${name}`)}`);
    assert.equal(body, `${Array(1000).fill(name)}\n${Array(1000).fill(1)}\n`);
  });

  it('does not take a row that is malformed', () => {
    for (const row of [
      message('D'),
      dataRow('1'),
      dataRow('1', '2', '3'),
      message('D', int16(2), 5),
      message('D', int16(2), -2, -1)
    ]) {
      for (const before of [[], [dataRow('1', '2')]])
        assert.throws(() => csvOf(['a', 'b'], ...before, row), { name: 'ConnectionError', code: '08P01' });
    }
  });

  it('is what COPY … TO STDOUT gives, byte by byte', async () => {
    const client = await connected();
    for (const text of [
      'SELECT id, name, email FROM users ORDER BY id',
      'SELECT i, CASE WHEN i % 7 > 0 THEN repeat(chr(1 + i % 127), i % 50) END AS "x,""y", i % 2 = 0 AS even, ARRAY[i, NULL], ' +
        "jsonb_build_object('i', i), repeat('\"', i % 3000), (i, 'a b', '')::text FROM generate_series(1, 5000) i",
      "SELECT * FROM (VALUES ('\\.'), (NULL), (''), ('\\\\.')) v",
      'SELECT FROM generate_series(1, 3)',
      'SELECT 1 AS a WHERE false',
      "SELECT repeat(',', 3000000) AS a, repeat('x', 3000000) AS b FROM generate_series(1, 3)"
    ]) {
      const expected = await textOf(client.copyTo(`COPY (${text}) TO STDOUT (FORMAT csv, HEADER)`));
      assert.ok((await written(client, text)) === expected, text);
    }
  });

  it('is empty where the command has no rows', async () => {
    assert.equal(await written(await connected(), 'SET TimeZone = UTC'), '');
  });

  it('is made of rows, not of what COPY gives', async () => {
    const client = await connected();
    await assert.rejects(client.queryTo(new PassThrough(), 'COPY users TO STDOUT', [], { as: new Csv() }), {
      name: 'TypeError',
      message: "COPY has no columns to be written as 'csv'"
    });
  });

  it('is made of text, not of binary', async () => {
    const client = await connected();
    const target = new PassThrough();
    await assert.rejects(client.queryTo(target, 'SELECT 1', [], { as: new Csv(), format: 1 }), {
      name: 'TypeError',
      message: /^as: 'csv' is made of columns in text format/
    });
    assert.equal(target.destroyed, false);
    assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
  });
});

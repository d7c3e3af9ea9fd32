'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { skipUnless } = require('pg-test-fixtures');
const { sharedServer } = require('../support');
const { SETTINGS, TYPES, COLUMNS, SCALARS, ARRAYS, TEXTS, show, readTypeTable } = require('./type-table');
const { RECORDS } = require('./values');

describe('The type table', () => {
  let client, decoded;
  before(async () => {
    ({ client, decoded } = await readTypeTable());
  });
  after(() => client?.end());

  it('is the same from text and from binary', () => {
    TEXTS.slice(0, -RECORDS.length).forEach((text, i) => {
      // a record is bytes from binary
      assert.ok(decoded[0][i].length > 0);
      assert.deepEqual(show(decoded[1][i]), show(decoded[0][i]), text.slice(0, 200));
    });
  });

  it('is what psql prints', async function () {
    await skipUnless(this, 'psql');
    const settings = Object.entries(SETTINGS).map(([name, value]) => `SET ${name} = '${value}';\n`);
    const queries = [...COLUMNS, ...RECORDS.map(text => `SELECT ${text}`)];
    // So many values are too long for a command line.
    const file = path.join(os.tmpdir(), `type-table-${process.pid}.sql`);
    fs.writeFileSync(file, [...settings, ...queries.map(text => `${text};\n\\echo <END>\n`)].join(''));
    const printed = await (
      await sharedServer()
    )
      .psql('SELECT', { args: ['-A', '-t', '-R', '\x1e', '-f', file] })
      .finally(() => fs.rmSync(file));
    const results = printed
      .split('\n<END>\n')
      .slice(0, -1)
      .map(text => text.split('\x1e'));
    assert.equal(results.length, queries.length);
    const plain = await Promise.all(queries.map(text => client.query(text, [], { decode: false })));
    const makers = [...TYPES.map(({ make }) => make), ...RECORDS.map(() => text => text)];
    queries.forEach((text, i) => {
      assert.deepEqual(
        plain[i].rows.map(row => row[0]),
        results[i],
        text.slice(0, 200)
      );
      const made = results[i].map(value => [makers[i](value)]);
      const index = i < COLUMNS.length ? i : i + ARRAYS.length;
      for (const format of i < COLUMNS.length ? [0, 1] : [0])
        assert.deepEqual(show(decoded[format][index]), show(made), text.slice(0, 200));
    });
  });

  it('has arrays of the same values, nested ones and NULL among them', () => {
    for (const [format, name] of ['text', 'binary'].entries()) {
      SCALARS.forEach(({ type }, i) => {
        const values = [...decoded[format][TYPES.findIndex(each => each.type === type)].map(([value]) => value), null];
        assert.deepEqual(decoded[format][COLUMNS.length + i], [[values, [values, values]]], `${type}, ${name}`);
      });
    }
  });
});

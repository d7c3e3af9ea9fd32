'use strict';

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { jsonDecoders } = require('../../lib/rows');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('../client-parser/values');
const { connected } = require('../support');

/** A target that gathers text. */
class Collector extends Writable {
  chunks = [];
  get text() { return Buffer.concat(this.chunks).toString(); }
  _write(chunk, encoding, callback) {
    this.chunks.push(Buffer.from(chunk));
    callback();
  }
}

/** What a query gives, as text. */
async function written(client, text, options = { as: 'json' }, values = []) {
  const target = new Collector();
  await client.queryTo(target, text, values, options);
  return target.text;
}

/** What JSON.stringify makes of the objects of a query, read again. */
async function stringified(client, text, decode = jsonDecoders) {
  return JSON.parse(JSON.stringify((await client.query(text, [], { decode })).objects));
}

const literals = values => `ARRAY[${values.map(text => `'${text.replaceAll('\'', '\'\'')}'`)}]::text[]`;

/** Values of every type that is decoded, as a column, as an array with NULL, and as an array of two of it. */
const TYPES = [
  ...Object.entries(STRINGS), ...Object.entries(NUMBERS).map(([type, [, values]]) => [type, values]),
  ...Object.entries(OTHERS).map(([type, pairs]) => [type, pairs.map(([text]) => text)])
];
const unnested = values => `FROM unnest(${literals(values)}) WITH ORDINALITY AS _(x, i)`;
const COLUMNS = TYPES.map(([type, values]) => `SELECT x::${type} AS "the value" ${unnested(values)} ORDER BY i`);
const ARRAYS = TYPES.filter(([type]) => !type.endsWith('[]')).map(([type, values]) =>
  `SELECT a, ARRAY[a, a] AS b FROM (SELECT array_agg(x::${type} ORDER BY i) || NULL::${type} AS a ${unnested(values)}) AS _`);

describe('JSON of a result', () => {
  for (const text of [...COLUMNS, ...ARRAYS, ...RECORDS.map(text => `SELECT ${text}`)]) {
    it(`is what JSON.stringify makes of the objects: ${text.slice(0, 40)}`, async () => {
      const client = await connected();
      const expected = await stringified(client, text);
      assert.deepEqual(JSON.parse(await written(client, text)), expected);
      const lines = (await written(client, text, { as: 'ndjson' })).split('\n');
      assert.equal(lines.pop(), '');
      assert.deepEqual(lines.map(line => JSON.parse(line)), expected);
    });
  }
});

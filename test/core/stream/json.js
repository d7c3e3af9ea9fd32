'use strict';

// JSON of a result, and what it is compared with.

const assert = require('node:assert/strict');
const { decoders, exact } = require('../../../lib/core/rows');
const { arrayOf } = require('../../../client-parser/types.js');
const { collector } = require('../../support/kit');

const hexOf = decoders[17].map(
  decode =>
    (...place) =>
      `\\x${decode(...place).toString('hex')}`
);
/** A timestamp as to_json prints it. */
const isoOf = ([decode]) => [
  (...place) =>
    decode(...place)
      .replace(/^(\d+-\d\d-\d\d) /, '$1T')
      .replace(/(T.*[+-]\d\d)( BC)?$/, '$1:00$2')
];
const [timestamp, timestamptz] = [isoOf(decoders[1114]), isoOf(exact[1184])];
/** What JSON has, as values. */
const jsonDecoders = {
  ...decoders,
  17: hexOf,
  1001: arrayOf(hexOf),
  1114: timestamp,
  1115: arrayOf(timestamp),
  1184: timestamptz,
  1185: arrayOf(timestamptz)
};

/** What a query gives, as text. */
async function written(client, text, options, values = []) {
  const target = collector();
  await client.queryTo(target, text, values, { as: 'json', ...options });
  return target.text;
}

/** What JSON.stringify makes of the objects of a query, read again. */
async function stringified(client, text, decode = jsonDecoders) {
  return JSON.parse(JSON.stringify((await client.query(text, [], { decode })).objects));
}

/** Asserts that a query gives what JSON.stringify makes of its objects, in both forms. */
async function agrees(client, text, options, decode) {
  const expected = await stringified(client, text, decode);
  assert.deepEqual(JSON.parse(await written(client, text, options)), expected, text.slice(0, 200));
  const lines = (await written(client, text, { ...options, as: 'ndjson' })).split('\n');
  assert.equal(lines.pop(), '');
  assert.deepEqual(
    lines.map(line => JSON.parse(line)),
    expected,
    text.slice(0, 200)
  );
}

module.exports = { agrees, jsonDecoders, stringified, written };

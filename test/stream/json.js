'use strict';

// JSON of a result, and what it is compared with.

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { decoders, exact } = require('../../lib/rows');
const { arrayOf } = require('../../client-parser/types.js');

const hexOf = decoders[17].map(decode => (...place) => `\\x${decode(...place).toString('hex')}`);
/** What is printed in JSON as the server prints it. */
const jsonDecoders = {
  ...decoders, 1184: exact[1184], 1185: exact[1185], 17: hexOf, 1001: arrayOf(hexOf)
};

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
async function written(client, text, options, values = []) {
  const target = new Collector();
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
  assert.deepEqual(lines.map(line => JSON.parse(line)), expected, text.slice(0, 200));
}

module.exports = { Collector, agrees, jsonDecoders, stringified, written };

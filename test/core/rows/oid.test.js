'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { SERVER_VERSION } = require('pg-test-fixtures');
const { decoders, oid } = require('../../..');
const { connected } = require('../../support');

describe('oid', () => {
  it('has the OIDs that the server has, and every type that is decoded', async () => {
    const client = await connected();
    const { arrays } = await client.query('SELECT typname, oid FROM pg_type WHERE oid < 10000');
    const there = new Map(arrays.map(([name, number]) => [name, Number(number)]));
    for (const [name, number] of Object.entries(oid))
      if (SERVER_VERSION >= 14 || there.has(name)) assert.equal(there.get(name), number, name);
    const known = new Set(Object.values(oid));
    assert.deepEqual(
      Object.keys(decoders).filter(number => !known.has(Number(number))),
      []
    );
    assert.ok(Object.isFrozen(oid) && known.size > 150);
  });

  it('names the types of parameters and of decoders', async () => {
    const client = await connected();
    const {
      objects: [row]
    } = await client.query('SELECT $1 AS a, $2 AS b', ['7', '{a}'], {
      paramTypes: [oid.int8, oid._text],
      decode: { [oid.int8]: value => Number(value) + 1, [oid._text]: value => [value] }
    });
    assert.deepEqual(row, { a: 8, b: ['{a}'] });
  });

  it('is loaded when it is asked for', () => {
    const program =
      "const q = require('.'); const loaded = () => Object.keys(require.cache).some(name => name.endsWith('oid.js')); console.log(loaded(), q.oid.int8, loaded())";
    assert.equal(
      String(execFileSync(process.execPath, ['-e', program], { cwd: path.join(__dirname, '../../..') })),
      'false 20 true\n'
    );
  });
});

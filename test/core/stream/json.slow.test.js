'use strict';

const assert = require('node:assert/strict');
const { STRINGS, NUMBERS, OTHERS } = require('../../client-parser/values');
const { agrees } = require('./json');
const { FLAT, GIGABYTES, watchAlone } = require('../../support/slow-reader');
const { connected, sharedServer } = require('../../support');

const quoted = text => `'${text.replaceAll("'", "''")}'`;

/** Values of every type that is decoded, as a column, as an array with NULL, and as an array of two of it. */
const TYPES = [
  ...Object.entries(STRINGS),
  ...Object.entries(NUMBERS).map(([type, [, values]]) => [type, values]),
  ...Object.entries(OTHERS).map(([type, pairs]) => [type, pairs.map(([text]) => text)])
];

describe('JSON of a result', () => {
  describe('is what JSON.stringify makes of the objects', () => {
    it('with so many rows that every place in a piece is the end of one', async () => {
      for (const bytea_output of ['hex', 'escape']) {
        const client = await connected({ TimeZone: 'UTC', bytea_output });
        for (const [type, values] of TYPES) {
          if (bytea_output === 'escape' && !type.startsWith('bytea')) continue;
          const short = values.filter(value => value.length < 100);
          const array = type.endsWith('[]') ? 'NULL' : `ARRAY[x::${type}, NULL, x::${type}]`;
          await agrees(
            client,
            `SELECT repeat('x', n % 7) AS pad, x::${type} AS a, ${array} AS b, NULL AS c
            FROM generate_series(1, ${Math.ceil(3000 / short.length)}) n, unnest(ARRAY[${short.map(quoted)}]::text[]) x`
          );
        }
        await agrees(
          client,
          "SELECT decode(repeat('61', n % 90), 'hex') AS a, ARRAY[bytea 'a', 'b'] AS b FROM generate_series(1, 5000) n"
        );
      }
    });
  });

  it('needs no more memory for a slow reader, however much there is: with GIGABYTES=5 as many', async function () {
    this.timeout(60000 * GIGABYTES);
    const { length, most } = await watchAlone((await sharedServer()).url, 'json', 2);
    assert.ok(length > GIGABYTES * 1e9, `${length} bytes were read`);
    assert.ok(most < FLAT, `${most} MB`);
  });
});

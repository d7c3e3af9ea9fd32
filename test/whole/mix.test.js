'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { Client } = require('../..');
const { connected } = require('../support');

/*
 * A random mix of everything on one connection, the same for the same seed: each request must come to what it
 * would come to alone, whatever went before it and with it.
 */

/** Numbers from 0 to below a limit. */
function generator(seed) {
  return limit => (seed = (seed * 48271) % 0x7fffffff) % limit;
}

const code = promise =>
  promise.then(
    () => 'resolved',
    error => error.code || error.name
  );
const values = ({ rows }) => rows.map(row => row.toArray().join()).join(';');

/** Kinds of requests: each gives `[promise of what is to be seen, what that must be]`. */
const KINDS = [
  (client, i, random) => [client.query(`SELECT $1::int + ${random(6)} * 0`, [i]).then(values), `${i}`],
  (client, i, random) => [
    client
      .query(`SELECT $1::text, ${random(6)}`, [`v${i}`], { cache: random(2) === 0 })
      .then(result => values(result).split(',')[0]),
    `v${i}`
  ],
  (client, i) => [client.query('SELECT $1::int', [i], Client.BINARY).then(({ rows }) => rows[0][0]), i],
  (client, i, random) => [
    client.query(`SELECT i + ${random(4)} FROM generate_series(1, $1) i`, [i % 50]).then(({ rows }) => rows.length),
    i % 50
  ],
  (client, i) => [client.query("SELECT repeat('x', $1)", [i * 997]).then(({ rows }) => rows[0][0].length), i * 997],
  (client, i, random) => [code(client.query(`SELECT 1 / ($1::int - $1::int) + ${random(3)}`, [i])), '22012'],
  (client, i, random) => [code(client.query(`SELECT nothing${random(3)}`)), '42703'],
  client => [code(client.query('SELECT $1::int', [new Map()])), 'TypeError'],
  client => [code(client.query('SELECT $1::int', ['x'])), '22P02'],
  client => [code(client.query('SELECT $1::int', [])), '08P01'],
  (client, i) => [
    client.simpleQuery(`SELECT ${i}; SELECT ${i + 1}`).then(results => results.map(values).join()),
    `${i},${i + 1}`
  ],
  client => [code(client.simpleQuery('SELECT 1; SELECT 1/0')), '22012'],
  (client, i, random) => [
    client
      .batch([
        [`SELECT ${random(9)} * 0 + $1::int`, [i]],
        ['SELECT $1::text', ['b']]
      ])
      .then(results => results.map(values).join()),
    `${i},b`
  ],
  (client, i, random) => [
    code(client.batch([[`SELECT ${random(9)}`], ['SELECT 1/0'], [`SELECT ${random(9)}, 2`]])),
    '22012'
  ],
  client => [code(client.batch([['SELECT 1'], ['SELECT $1::int', [new Map()]]])), 'TypeError'],
  client => [
    client.query('COPY (SELECT generate_series(1, 3)) TO STDOUT').then(({ rows }) => Buffer.concat(rows).toString()),
    '1\n2\n3\n'
  ],
  client => [client.sync('s'), 's'],
  (client, i, random) => [client.close('S', `foreign ${random(30)}`).then(() => 'closed'), 'closed'],
  (client, i, random) =>
    random(8)
      ? [client.query('').then(({ cmd }) => cmd), 'EMPTY']
      : [client.query('DEALLOCATE ALL').then(({ cmd }) => cmd), 'DEALLOCATE ALL'],
  (client, i, random) =>
    random(8)
      ? [client.query('SELECT', []).then(({ rows }) => rows.length), 1]
      : [client.query('DISCARD ALL').then(({ cmd }) => cmd), 'DISCARD ALL'],
  (client, i) => [
    client
      .query('SELECT $1::int AS i', [i], { stream: new PassThrough() })
      .then(stream => stream.read().includes(`${i}`)),
    true
  ],
  (client, i) => [
    client.transaction(async tx => {
      await tx.query('SELECT 1');
      return values(await tx.query('SELECT $1::int', [i]));
    }),
    `${i}`
  ],
  (client, i) => [code(client.transaction(tx => tx.query(`SELECT ${i}/0`))), '22012'],
  (client, i) => [
    (async () => {
      let sum = 0;
      for await (const row of client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 1 + (i % 5) })) {
        sum += Number(row[0]);
        if (i % 3 === 0 && sum > 10) break;
      }
      return sum;
    })(),
    i % 3 === 0 ? 15 : 55
  ]
];

describe('A random mix of requests', () => {
  for (const cache of [0, 1, 2, 5, 256]) {
    it(`comes to what each would alone, with ${cache} statements in the cache`, async function () {
      this.timeout(30_000);
      const client = await connected({ statement_cache: cache });
      const random = generator(cache + 1);
      for (let run = 0; run < 40; run++) {
        const kinds = [];
        const requests = Array.from({ length: 1 + random(60) }, (_, i) => {
          // Those that own the connection are fewer.
          const kind = random(3) ? random(KINDS.length - 3) : random(KINDS.length);
          kinds.push(kind);
          return KINDS[kind](client, i, random);
        });
        const results = await Promise.allSettled(requests.map(([promise]) => promise));
        results.forEach(({ value, reason }, i) =>
          assert.deepEqual(
            reason || value,
            requests[i][1],
            `run ${run}, request ${i} of ${requests.length}, kind ${kinds[i]}: ${KINDS[kinds[i]]}`
          )
        );
      }
      await client.sync(); // statements may have been closed by themselves
      assert.equal(client.pending, 0);
      const [{ rows }] = await client.simpleQuery('SELECT count(*) FROM pg_prepared_statements');
      assert.ok(Number(rows[0][0]) <= cache, `${rows[0][0]} statements are left on the server`);
    });
  }
});

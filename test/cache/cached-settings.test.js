'use strict';

const assert = require('node:assert/strict');
const { ResponseCache } = require('../..');
const { connected, sharedServer } = require('../support');

/** What depends on settings, reported or not, and on nothing else. */
const TEXT = `SELECT current_setting('app.tenant', true), current_user, current_setting('search_path'),
  '2026-01-01 00:00Z'::timestamptz, '\\x41'::bytea, (SELECT count(*) FROM pg_class WHERE pg_table_is_visible(oid) AND relpersistence = 't')`;

/** A generator of numbers below n, always the same ones. */
function generator(seed) {
  return n => {
    seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
    return (seed >> 8) % n;
  };
}

/** Ways to change them, each with a number. */
const CHANGES = [
  (client, i) => client.query(`SET app.tenant = '${i}'`),
  (client, i) => client.query(`SET ROLE ${i === 0 ? 'NONE' : `cached_role_${i}`}`),
  (client, i) => client.query(`SET search_path = schema_${i}, public`),
  (client, i) => client.query(`SET TimeZone = '${['UTC', 'Asia/Tokyo', 'Asia/Kathmandu'][i]}'`),
  (client, i) => client.query(`UPDATE pg_settings SET setting = '${['hex', 'escape'][i % 2]}' WHERE name = 'bytea_output'`),
  (client, i) => client.query(`SELECT set_config('app.tenant', $1, ${i === 0})`, [i]),
  client => client.query('RESET ALL'),
  client => client.query('DISCARD ALL'),
  client => client.query('BEGIN'),
  (client, i) => client.query(i === 0 ? 'ROLLBACK' : 'COMMIT'),
  (client, i) => client.query(`SET LOCAL app.tenant = '${i}'`),
  (client, i) => client.query(`EXECUTE become('${i}')`, [], { cache: false }),
  (client, i) => client.query(`CREATE TEMP TABLE IF NOT EXISTS hidden_${i} ()`),
  (client, i) => client.simpleQuery(`SELECT 1; SET app.tenant = '${i}'${i === 0 ? '; BEGIN' : ''}`),
  (client, i) => client.batch([['SELECT 1'], [`SET app.tenant = '${i}'`], [`SELECT 1 / ${i}`]]),
  (client, i) => client.query(`DO $$ BEGIN PERFORM set_config('app.tenant', '${i}', false); END $$`),
  async client => { for await (const row of client.cursor('SELECT 1')) if (row) break; }
];

describe('Cached answers while settings change', () => {
  before(async () => {
    await (await sharedServer()).sql('CREATE ROLE cached_role_1; CREATE ROLE cached_role_2');
  });

  for (let seed = 1; seed <= 4; seed++) {
    it(`are those that the connection would get, whatever was sent before: ${seed}`, async () => {
      const random = generator(seed);
      const cache = new ResponseCache();
      const clients = await Promise.all([1, 2, 3].map(() => connected({ 'app.tenant': '0' })));
      for (const client of clients) await client.query("PREPARE become AS SELECT set_config('app.tenant', $1, false)");
      const pending = [];
      const sent = [];
      let compared = 0;
      for (let step = 0; step < 600; step++) {
        const client = clients[random(3)];
        if (random(4) === 0) {
          const change = CHANGES[random(CHANGES.length)];
          const i = random(3);
          sent.push(`${clients.indexOf(client)}: ${change} with ${i}`);
          pending.push(change(client, i).catch(() => {})); // such as in a block that has failed
        } else {
          const result = options => client.query(TEXT, [], options).then(({ rows }) => rows[0].toArray().join(), ({ code }) => code);
          const before = sent.length;
          pending.push(Promise.all([result({ response_cache: cache }), result({})]).then(([cached, fresh]) => {
            compared++;
            assert.equal(cached, fresh, `after ${sent.slice(Math.max(0, before - 20), before).join('\n')}`);
          }));
        }
        if (random(5) === 0) await Promise.all(pending.splice(0));
      }
      await Promise.all(pending);
      for (const client of clients) await client.query('ROLLBACK');
      assert.ok(compared > 400);
      assert.ok(cache.hits > 10, `${cache.hits} hits`);
    });
  }
});

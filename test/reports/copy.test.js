'use strict';

// What users of other clients have reported of COPY. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { PassThrough, Readable, Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { connected, sharedServer } = require('../support');
const { afterTest } = require('../support/hooks');
const { SESSIONS, table } = require('../rules/kit');

const IN = 'COPY taken FROM STDIN';

function* endless() {
  for (;;) yield '1\tone\n'.repeat(1000);
}

const failingSource = () =>
  Readable.from(
    (async function* () {
      yield '1\tone\n';
      throw new Error('the source fails');
    })()
  );

/** What is copied, and the code or message that it rejects with. */
const BAD = {
  'a wrong number': [IN, ['x\tone\n'], '22P02'],
  'a wrong number behind many rows': [
    IN,
    [...Array.from({ length: 9000 }, (_, i) => `${i + 1}\tone\n`), 'x\tone\n'],
    '22P02'
  ],
  'too few columns': [IN, ['1\n'], '22P04'],
  'too many columns': [IN, ['1\tone\ttwo\n'], '22P04'],
  'bytes that are no UTF-8': [IN, [Buffer.from([0x31, 0x09, 0xff, 0x0a])], '22021'],
  'a byte of 0': [IN, ['1\t\0\n'], '22021'],
  'a violated constraint': [IN, ['-1\tone\n'], '23514'],
  'the same key twice': [IN, ['1\tone\n1\tone\n'], '23505'],
  'a quote that is not closed': [`${IN} WITH (FORMAT csv)`, ['1,"one\n'], '22P04'],
  'binary without its header': [`${IN} WITH (FORMAT binary)`, ['1\tone\n'], '22P04'],
  'a table that is not there': ['COPY not_there FROM STDIN', ['1\n'], '42P01'],
  'an endless source of wrong rows': [IN, Readable.from.bind(Readable, { [Symbol.iterator]: endless }), '23505'],
  'a source that fails': [IN, failingSource, 'the source fails']
};

const BOTH = {
  client: use => SESSIONS.client(use),
  pool: use => SESSIONS.pool(use),
  transaction: use => SESSIONS.client(client => use({ copyFrom: 'in a transaction', client }))
};

describe('Reports about COPY', () => {
  before(async () => {
    await (
      await sharedServer()
    ).sql(`CREATE TABLE taken (id int PRIMARY KEY CHECK (id > 0), name text);
      GRANT ALL ON taken TO PUBLIC`);
  });
  after(async () => (await sharedServer()).sql('DROP TABLE taken'));

  // porsager/postgres#1173, pgbouncer#1470, pgloader#130
  table(
    'A COPY FROM STDIN that fails rejects with the reason, stores nothing, and the session goes on',
    { input: BAD, session: BOTH },
    ([text, input, reason], session) =>
      session(async on => {
        const isReason = ({ code, message }) => code === reason || message === reason;
        const source = typeof input === 'function' ? input() : Readable.from(input);
        const given = on.client
          ? on.client.transaction(tx => pipeline(source, tx.copyFrom(text)))
          : pipeline(source, on.copyFrom(text));
        await assert.rejects(given, isReason);
        const { rows } = await (on.client ?? on).query('SELECT count(*)::int AS n FROM taken');
        assert.equal(rows[0].n, 0);
      })
  );

  // porsager/postgres#1016, #499, #917, pg-copy-streams#82
  it('A reader of COPY TO STDOUT that is slow, leaves or fails does not leave the connection paused', async () => {
    const client = await connected();
    const text = "COPY (SELECT repeat('x', 1000) FROM generate_series(1, 2000)) TO STDOUT";
    const slowly = new Writable({ highWaterMark: 1, write: (chunk, encoding, done) => setImmediate(done) });
    await pipeline(client.copyTo(text), slowly);
    for await (const chunk of client.copyTo(text)) if (chunk.length > 0) break;
    const failing = new Writable({ write: (chunk, encoding, done) => done(new Error('full')) });
    await assert.rejects(pipeline(client.copyTo(text), failing), { message: 'full' });
    client.copyTo(text).destroy();
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    assert.equal((await client.copyTo('COPY (SELECT 1) TO STDOUT').toArray()).join(''), '1\n');
  });

  // pgcli#1636, psycopg#23
  it('COPY by query() leaves the session of a client, a pool and a transaction usable', async () => {
    for (const session of ['client', 'pool', 'transaction', 'with'].map(name => SESSIONS[name])) {
      await session(async on => {
        const { rows } = await on.query('SELECT 1 AS one');
        assert.equal(rows[0].one, 1);
        await on.query('COPY (SELECT 2) TO STDOUT').catch(error => assert.match(error.message, /copyTo/));
        assert.equal((await on.query('SELECT 3 AS three')).rows[0].three, 3);
      });
    }
  });

  // porsager/postgres#1173
  it('A stream of COPY FROM that is destroyed at any moment stores nothing', async () => {
    const client = await connected();
    for (const moment of ['at once', 'after a write', 'after what was taken']) {
      const copy = client.copyFrom(IN);
      copy.on('error', () => {});
      if (moment !== 'at once') copy.write('1\tone\n');
      if (moment === 'after what was taken') await client.query('SELECT 1', [], { signal: aborted() }).catch(() => {});
      copy.destroy();
      await once(copy, 'close');
      assert.equal((await client.query('SELECT count(*)::int AS n FROM taken')).rows[0].n, 0, moment);
    }
  });

  function aborted() {
    const controller = new AbortController();
    setImmediate(() => controller.abort());
    return controller.signal;
  }

  // pgloader#130, postgrest#1374
  it('What COPY TO STDOUT gives is what COPY FROM STDIN takes, in each format, wherever it is cut', async () => {
    const client = await connected();
    await client.query(`CREATE TEMP TABLE odd AS SELECT * FROM (VALUES
      (1, NULL, ''), (2, E'\\\\N', E'\\\\.'), (3, E'a\\tb\\nc\\r\\n', 'd"e,f'), (4, 'é漢字😀', E'\\b\\f\\v\\\\'),
      (5, ' x ', 'NULL'), (6, '"', '''')) AS v (id, a, b)`);
    for (const format of ['text', 'csv', 'binary']) {
      const bytes = Buffer.concat(await client.copyTo(`COPY odd TO STDOUT WITH (FORMAT ${format})`).toArray());
      await client.query('CREATE TEMP TABLE again (LIKE odd)');
      const pieces = Array.from(bytes, byte => Buffer.of(byte));
      await pipeline(Readable.from(pieces), client.copyFrom(`COPY again FROM STDIN WITH (FORMAT ${format})`));
      const { objects } = await client.query(
        'TABLE odd EXCEPT ALL TABLE again UNION ALL (TABLE again EXCEPT ALL TABLE odd)'
      );
      assert.deepEqual(objects, [], format);
      await client.query('DROP TABLE again');
    }
  });

  // npgsql#4262, node-postgres: listeners of reused streams
  it('One AbortSignal for 50 requests of each kind leaves no listener and warns of none', async () => {
    const warnings = [];
    const warn = warning => warnings.push(warning.message);
    process.on('warning', warn);
    afterTest(() => process.off('warning', warn));
    const client = await connected();
    const { signal } = new AbortController();
    const options = { signal };
    const times = Array.from({ length: 50 });
    await Promise.all(times.map(() => client.query('SELECT 1', [], options)));
    await Promise.all(times.map(() => client.batch(['SELECT 1'], options)));
    await Promise.all(times.map(() => client.transaction(tx => tx.query('SELECT 1', [], options), options)));
    await Promise.all(times.map(() => client.queryTo(new PassThrough().resume(), 'SELECT 1', [], options)));
    await Promise.all(times.map(() => client.copyTo('COPY (SELECT 1) TO STDOUT', options).toArray()));
    for (const each of times.map(() => client.cursor('SELECT 1', [], options))) {
      for await (const row of each) assert.ok(row);
    }
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
  });
});

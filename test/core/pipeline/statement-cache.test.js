'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { skipBefore } = require('pg-test-fixtures');
const { array } = require('../../..');
const { seeded } = require('../../support/kit');
const { sharedServer, connected, held, proxied, faked, commandComplete, ANSWER } = require('../../support');

/** The texts that the server has prepared, in the order in which it got them. */
async function prepared(client) {
  const { rows } = await client.query('SELECT statement FROM pg_prepared_statements ORDER BY prepare_time, name', [], {
    cache: false
  });
  return rows.map(row => row.statement);
}

describe('The statement cache', () => {
  it('holds as many as statement_cache says, on both sides, and closes the least recently used', async () => {
    const client = await connected({ statement_cache: 3 });
    for (const n of [1, 2, 3, 1, 4, 3, 5]) await client.query(`SELECT ${n}`);
    assert.deepEqual((await prepared(client)).sort(), ['SELECT 3', 'SELECT 4', 'SELECT 5']);
    await client.query('SELECT 4');
    await client.query('SELECT 6');
    assert.deepEqual((await prepared(client)).sort(), ['SELECT 4', 'SELECT 5', 'SELECT 6']);
  });

  it('names no text above 16 kB, and keeps at most 512 kB of them, since a server process needs many times that', async () => {
    const client = await connected();
    const insert = length => `SELECT '${'x'.repeat(length - 9)}'`;
    for (const length of [16384, 16385])
      assert.equal((await client.query(insert(length))).rows[0][0].length, length - 9);
    assert.deepEqual(
      (await prepared(client)).map(text => text.length),
      [16384]
    );
    await client.query('SELECT 1', [], { paramTypes: new Array(65535).fill(23) }).catch(() => {});
    for (let i = 0; i < 100; i++) await client.query(insert(10000 + i));
    const texts = await prepared(client);
    assert.equal(texts.length, 52);
    assert.equal(texts.at(-1).length, 10099);
    await client.query('DISCARD ALL');
    for (let i = 0; i < 100; i++) await client.query(insert(10000 + i));
    assert.equal((await prepared(client)).length, 52);
  });

  it('gets a generic plan after five uses, unless plan_cache_mode or cache say otherwise', async function () {
    skipBefore(this, 14, 'generic_plans of pg_prepared_statements');
    for (const [config, options, generic] of [
      [{}, {}, [4]],
      [{ plan_cache_mode: 'force_custom_plan' }, {}, [0]],
      [{}, { cache: false }, []]
    ]) {
      const client = await connected(config);
      for (let i = 0; i < 9; i++) await client.query('SELECT oid FROM pg_class WHERE oid = $1', [i], options);
      const { rows } = await client.query('SELECT generic_plans::int AS n FROM pg_prepared_statements', [], {
        cache: false,
        decode: true
      });
      assert.deepEqual(
        rows.map(({ n }) => n),
        generic
      );
    }
  });

  it('is what a model says, whatever is used in whatever order, pipelined or not', async () => {
    const seed = Math.floor(Math.random() * 2 ** 32);
    const random = seeded(seed);
    const limit = 8;
    const client = await connected({ statement_cache: limit });
    let model = [];
    for (let round = 0; round < 100; round++) {
      const works = [];
      let forgetting = false; // until it has been answered, nothing is prepared
      for (let i = random.below(20); i >= 0; i--) {
        const n = random.below(20);
        const text = `SELECT ${n}, $1::int AS i`;
        if (!forgetting) model = [...model.filter(each => each !== text), text].slice(-limit);
        works.push(client.query(text, [i]).then(({ rows: [row] }) => assert.deepEqual(row.toArray(), [n, i])));
        if (random.chance(0.3)) {
          await works.at(-1);
          forgetting = false;
        }
        if (random.chance(0.02)) {
          works.push(client.query(random.pick(['DISCARD ALL', 'DEALLOCATE ALL']), [], { cache: false }));
          forgetting = true;
          model = [];
        }
      }
      await Promise.all(works);
      assert.deepEqual((await prepared(client)).sort(), [...model].sort(), `seed ${seed}, round ${round}`);
    }
  });

  it('parses a text once, however many use it at the same time first', async () => {
    const client = await connected();
    const results = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.query('SELECT $1::int AS i', [i])));
    results.forEach(({ rows: [row] }, i) => assert.equal(row.i, i));
    assert.deepEqual(await prepared(client), ['SELECT $1::int AS i']);
  });

  it('parses a text once although another one is closed for it', async () => {
    const { client, wire } = await proxied({ statement_cache: 2 });
    for (const n of [1, 2]) await client.query(`SELECT ${n}`);
    await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS i', [i])));
    assert.equal(wire.recorded.toServer.toString('latin1').split('SELECT $1').length - 1, 1);
  });

  it('is not used with statement_cache 0, and a text is parsed each time', async () => {
    const client = await connected({ statement_cache: 0 });
    await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS i', [i % 3])));
    await client.batch([['SELECT 1'], ['SELECT 2']]);
    await client.transaction(tx => tx.query('SELECT 1'));
    for await (const row of client.cursor('SELECT generate_series(1, 10)', [], { batchSize: 3 })) assert.ok(row);
    assert.deepEqual(await prepared(client), []);
  });

  it('survives that the server forgets all, said in any way', async () => {
    const client = await connected();
    for (const forget of [
      () => client.query('DISCARD ALL'),
      () => client.query('DEALLOCATE ALL'),
      () => client.query(' /* all /* of */ them */ deallocate\n PREPARE all'),
      () => client.simpleQuery('DEALLOCATE ALL'),
      () => client.simpleQuery('SELECT 1; DEALLOCATE ALL; SELECT 2'),
      () => client.batch([['SELECT 1'], ['DEALLOCATE ALL'], ['SELECT 1']]),
      // In a block nothing is repeated.
      ...[undefined, new PassThrough(), { write() {} }].map(
        stream => () =>
          client.transaction(async tx => {
            await tx.query('SELECT $1::int', [1]);
            await tx.query('DEALLOCATE ALL', [], { stream });
            await tx.query('SELECT $1::int', [1]);
          })
      ),
      () => client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$")
    ]) {
      assert.equal((await client.query('SELECT $1::int AS i', [5])).rows[0].i, 5);
      const [forgotten, next] = await Promise.allSettled([forget(), client.query('SELECT $1::int AS i', [6])]);
      assert.equal(forgotten.reason, undefined, String(forget));
      assert.equal(next.value.rows[0].i, 6, String(forget));
      assert.equal((await client.query('SELECT $1::int AS i', [7])).rows[0].i, 7);
      const row = (await client.query('SELECT 8 AS i')).rows[0];
      assert.equal((await client.query('SELECT $1::int AS i', row)).rows[0].i, 8);
    }
  });

  it('reports inside a transaction block what it cannot repeat there', async () => {
    const client = await connected();
    await client.query('SELECT $1::int AS i', [5]);
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
        await tx.query('SELECT $1::int AS i', [6]);
      }),
      { code: '26000' }
    );
    assert.equal((await client.query('SELECT $1::int AS i', [7])).rows[0].i, 7);
  });

  it('reports it also where the values hold large Buffers, which the caller may have changed since', async () => {
    const client = await connected();
    const query = value => client.query('SELECT $1::bytea AS b', [value], 1);
    await query(Buffer.from('x'));
    await client.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
    await assert.rejects(query(Buffer.alloc(10000)), { code: '26000' });
    assert.equal(String((await query(Buffer.from('y'))).rows[0].b), 'y');
  });

  it('prepares a text after its first use has failed, in whatever way', async () => {
    for (const fail of [
      (client, text) => client.query(text, [{}]),
      (client, text) => client.query(text, ['x']),
      (client, text) =>
        client.batch([
          [text, [1]],
          ['SELECT $1', [new Map()]]
        ]),
      (client, text) => client.batch([['SET a.b = c'], [text, [1]], ['SELECT $1', [new Map()]]]),
      (client, text) => client.batch([['SELECT 1/0'], [text, [1]]]),
      (client, text) => client.batch([['SELEC'], [text, [1]], [text, [2]]]),
      (client, text) =>
        client.batch([
          [text, [1]],
          [text, ['x']],
          [text, [3]]
        ]),
      (client, text) => Promise.all([client.query('SET a.b'), client.query(text, [1])]),
      (client, text) =>
        client.transaction(async tx => {
          await tx.query('SELECT 1/0').catch(() => {});
          await tx.query(text, [1]);
        })
    ]) {
      const { client, wire } = await proxied();
      const text = 'SELECT $1::int AS later';
      await assert.rejects(fail(client, text), String(fail));
      await client.query(text, [1]);
      const from = wire.recorded.toServer.length;
      assert.equal((await client.query(text, [2])).rows[0].later, 2);
      assert.equal(String.fromCharCode(wire.recorded.toServer[from]), 'B', String(fail));
      await client.end();
    }
  });

  it('relies on no statement while a command that may drop it is at work', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int)');
    const insert = a => client.query('INSERT INTO t VALUES ($1)', [a]);
    await insert(1);
    const before = client.query('SELECT 1');
    const { call, release } = await held();
    const dropping = client.query(`DO $$ BEGIN PERFORM ${call}; EXECUTE 'DEALLOCATE ALL'; END $$`);
    await before;
    const inserts = [insert(2), insert(3)];
    await release();
    await Promise.all([dropping, ...inserts]);
    assert.equal((await client.query('SELECT count(*) FROM t')).rows[0].count, 3);
  });

  it('relies on no Parse that something else was sent behind', async () => {
    const client = await connected();
    await client.simpleQuery(`CREATE FUNCTION pg_temp.make() RETURNS void LANGUAGE plpgsql AS
      $$ BEGIN CREATE TEMP TABLE later (a int); END $$`);
    const make = 'SELECT pg_temp.make()';
    const insert = 'INSERT INTO later VALUES (1)';
    await client.query(make);
    await client.query('DROP TABLE later');
    const outcomes = await Promise.allSettled([insert, make, insert, insert].map(text => client.query(text)));
    assert.deepEqual(
      outcomes.map(({ reason }) => reason?.code),
      ['42P01', undefined, undefined, undefined]
    );
  });

  it('closes what was evicted for texts of failed batches, behind refused settings, and with refused values', async () => {
    const client = await connected({ statement_cache: 2 });
    let n = 0;
    const texts = () => Array.from({ length: 5 }, () => `SELECT ${++n}`);
    for (let round = 0; round < 3; round++) {
      for (const text of texts()) await client.query(text);
      await assert.rejects(client.batch(['SELECT 1 / 0', ...texts()]), { code: '22012' });
      await assert.rejects(client.batch([...texts(), 'SELECT 1 / 0']), { code: '22012' });
      await assert.rejects(client.batch([...texts(), ['SELECT $1', [Symbol('a')]]]), TypeError);
      await assert.rejects(client.with({ work_mem: 'much' }).batch(texts()), { code: '22023' });
      await assert.rejects(Promise.all(texts().map(text => client.query(`${text} / 0`))), { code: '22012' });
    }
    await client.query('SELECT 0');
    assert.ok((await prepared(client)).length <= 2, String(await prepared(client)));
  });

  it('closes nothing behind a COPY that wants data', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (a int)');
    await client.query('SELECT $1::int', [1]);
    await assert.rejects(client.query('SELECT $1::int', ['x']), { code: '22P02' });
    await assert.rejects(client.simpleQuery('COPY t FROM STDIN'), { code: '57014' });
    assert.equal((await client.query('SELECT $1::int AS a', [2])).rows[0].a, 2);
  });

  it('repeats no query that set_config was sent behind, since its rows may depend on that', async () => {
    const client = await connected();
    const server = await sharedServer();
    await server.sql("DROP TABLE IF EXISTS owned; CREATE TABLE owned AS SELECT * FROM unnest('{1,2}'::text[]) tenant");
    const text = "SELECT * FROM owned WHERE tenant = current_setting('app.tenant')";
    const set = tenant => client.query("SELECT Set_Config('app.tenant', $1, false)", [tenant]);
    await set('1');
    await client.query(text);
    await server.sql('ALTER TABLE owned ADD other int');
    const changed = client.query(text);
    set('2');
    const [row] = await client.query(text);
    await assert.rejects(changed, { code: '0A000' });
    assert.equal(row.tenant, '2');
  });

  it('repeats only once, whatever the server says', async () => {
    const requests = [];
    const fake = await faked(
      async conversation => {
        requests.push(await conversation.request());
        conversation.say(ANSWER.described('a'), commandComplete('SELECT 0'), ANSWER.ready);
        for (;;) {
          requests.push(await conversation.request());
          conversation.say(ANSWER.error('26000', 'no statement'), ANSWER.ready);
        }
      },
      { statement_cache: 10 }
    );
    await fake.query('SELECT a');
    await assert.rejects(fake.query('SELECT a'), { code: '26000' });
    assert.deepEqual(requests.slice(0, 2), ['PDBES', 'BES']);
    assert.deepEqual(
      requests
        .slice(2)
        .map(types => types.replace(/^CS?/, ''))
        .filter(Boolean),
      ['PDBES'],
      'with a Parse of its own'
    );

    const client = await connected();
    await client.query('SELECT 1');
    await assert.rejects(client.query('EXECUTE missing'), { code: '26000' });
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  it('takes a changed result, whatever asks for it', async () => {
    const client = await connected();
    const server = await sharedServer();
    await server.sql('DROP TABLE IF EXISTS altered; CREATE TABLE altered AS SELECT 1 AS a');
    const text = 'SELECT * FROM altered';
    const asks = [
      () => client.query(text).then(({ rows: [row] }) => row.toObject()),
      () => client.query(text, [], { cache: false }).then(({ rows: [row] }) => row.toObject()),
      () =>
        client.batch([[text], ['SELECT 1']]).then(
          ([
            {
              rows: [row]
            }
          ]) => row.toObject()
        ),
      () =>
        client
          .cursor(text)
          .next()
          .then(({ value }) => value.toObject()),
      () =>
        client.simpleQuery(text).then(
          ([
            {
              rows: [row]
            }
          ]) => row.toObject()
        ),
      () => client.transaction(tx => tx.query(text)).then(({ rows: [row] }) => row.toObject())
    ];
    for (const ask of asks.slice(0, -1)) {
      assert.deepEqual(await ask(), { a: 1 });
      await server.sql('ALTER TABLE altered ADD COLUMN b int DEFAULT 2');
      assert.deepEqual(await ask(), { a: 1, b: 2 });
      await server.sql('ALTER TABLE altered DROP COLUMN b');
      assert.deepEqual(await ask(), { a: 1 });
    }
    await server.sql('ALTER TABLE altered ADD COLUMN b int DEFAULT 2');
    await assert.rejects(asks.at(-1)(), { code: '0A000' }, 'inside a block it is reported');
    assert.deepEqual(await asks.at(-1)(), { a: 1, b: 2 });
  });
});

describe('A statement whose types have changed on another connection', () => {
  const INT = 'CREATE TABLE typed (a int); INSERT INTO typed VALUES (1)';
  const TEXT = "CREATE TABLE typed (a text); INSERT INTO typed VALUES ('1')";
  const MOOD = "CREATE TYPE mood AS ENUM ('ok', 'sad'); CREATE TABLE typed (a mood); INSERT INTO typed VALUES ('ok')";
  const F = 'CREATE FUNCTION typed_f(int) RETURNS int LANGUAGE sql AS $$ SELECT $1 + 1 $$';
  const INSERT = 'INSERT INTO typed VALUES ($1)';
  const TEXTS = [
    INSERT,
    `${INSERT} RETURNING a`,
    'SELECT a FROM typed WHERE a = $1',
    'UPDATE typed SET a = $1 WHERE a = $1',
    'SELECT a FROM typed WHERE a IN ($1)'
  ];
  let other;
  const reset = () =>
    other.simpleQuery('DROP TABLE IF EXISTS typed; DROP TYPE IF EXISTS mood; DROP FUNCTION IF EXISTS typed_f');

  beforeEach(async () => {
    other = await connected();
    await reset();
  });

  for (const [name, setUp, before, change, after, texts = TEXTS] of [
    ['int to bigint', INT, 1, 'ALTER TABLE typed ALTER a TYPE bigint', 3000000000],
    ['int to text', INT, 1, 'ALTER TABLE typed ALTER a TYPE text', 'abc'],
    ['int to text, a number', INT, 1, 'ALTER TABLE typed ALTER a TYPE text', 5],
    ['int to numeric', INT, 1, 'ALTER TABLE typed ALTER a TYPE numeric', '1.5'],
    ['int to timestamptz', INT, 1, 'ALTER TABLE typed ALTER a TYPE timestamptz USING now()', new Date(0)],
    ['int to int[]', INT, 1, 'ALTER TABLE typed ALTER a TYPE int[] USING ARRAY[a]', array([1]), TEXTS.slice(0, 4)],
    ['text to int', TEXT, '1', 'ALTER TABLE typed ALTER a TYPE int USING a::int', 7],
    ['a table made again', INT, 1, `DROP TABLE typed; ${TEXT}`, 'abc'],
    [
      'an enum that was dropped and made again',
      MOOD,
      'ok',
      "DROP TABLE typed; DROP TYPE mood; CREATE TYPE mood AS ENUM ('new'); CREATE TABLE typed (a mood)",
      'new'
    ],
    ['an enum with a new value', MOOD, 'ok', "ALTER TYPE mood ADD VALUE 'new'", 'new'],
    [
      'a function of another body',
      F,
      1,
      'CREATE OR REPLACE FUNCTION typed_f(int) RETURNS int LANGUAGE sql AS $$ SELECT 5 $$',
      1,
      ['SELECT typed_f($1)']
    ],
    [
      'a function of another argument',
      F,
      1,
      'DROP FUNCTION typed_f; CREATE FUNCTION typed_f(text) RETURNS int LANGUAGE sql AS $$ SELECT length($1) $$',
      'abc',
      ['SELECT typed_f($1)']
    ],
    [
      'a function of another result',
      F,
      1,
      'DROP FUNCTION typed_f; CREATE FUNCTION typed_f(int) RETURNS text LANGUAGE sql AS $$ SELECT $1::text $$',
      1,
      ['SELECT typed_f($1)']
    ]
  ]) {
    it(`fails once at most, and then works: ${name}`, async () => {
      for (const text of texts) {
        for (const ask of [
          (client, values) => client.query(text, values),
          (client, values) => client.batch([[text, values]]),
          async (client, values) => {
            for await (const row of client.cursor(text, values)) assert.ok(row);
          }
        ]) {
          await reset();
          await other.simpleQuery(setUp);
          const client = await connected();
          for (let i = 0; i < 2; i++) await ask(client, [before]);
          await other.simpleQuery(change);
          await ask(client, [after]).catch(error => assert.equal(error.name, 'PostgresError'));
          for (let i = 0; i < 2; i++) await ask(client, [after]);
          await client.end();
        }
      }
    });
  }

  it('is told from one whose rows are refused: a loop of these does not prepare its text each time', async () => {
    await other.simpleQuery('CREATE TABLE typed (a int UNIQUE CHECK (a <> 77) NOT NULL); INSERT INTO typed VALUES (1)');
    for (const [code, value] of [
      ['23505', 1],
      ['23514', 77],
      ['23502', null]
    ]) {
      const { client, wire } = await proxied();
      const from = wire.recorded.toServer.length;
      for (let i = 0; i < 20; i++) await assert.rejects(client.query(INSERT, [value]), { code });
      assert.equal(wire.recorded.toServer.subarray(from).toString('latin1').split(`${INSERT}\0`).length - 1, 1, code);
      await client.end();
    }
  });

  it('sends its text again after a refused value, and leaves nothing on the server', async () => {
    await other.simpleQuery(INT);
    const client = await connected();
    for (let i = 0; i < 5; i++) {
      await assert.rejects(client.query(INSERT, ['abc']), { code: '22P02' });
      await client.query(INSERT, [i]);
    }
    const {
      rows: [{ count }]
    } = await client.query('SELECT count(*) FROM pg_prepared_statements WHERE statement = $1', [INSERT]);
    assert.ok(Number(count) <= 1, count);
    await other.simpleQuery('ALTER TABLE typed ALTER a TYPE text');
    await client.query(INSERT, ['abc']).catch(() => client.query(INSERT, ['abc']));
  });

  it('is not forgotten because its transaction has failed', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT $1::int AS kept', [1]);
    const from = wire.recorded.toServer.length;
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query('SELECT 1/0').catch(() => {});
        await tx.query('SELECT $1::int AS kept', [1]);
      }),
      { code: '25P02' }
    );
    await client.query('SELECT $1::int AS kept', [1]);
    assert.ok(!wire.recorded.toServer.subarray(from).includes('AS kept'));
  });
});

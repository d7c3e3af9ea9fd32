'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { Typing } = require('../../lib/types/typing');
const { startProxy } = require('pg-test-fixtures');
const { sharedServer } = require('../support');
const { Program } = require('./program');

const SCHEMA = path.join(__dirname, 'schema.sql');

describe('npx quickgres types', () => {
  const program = new Program();
  let server, session, url;

  before(async function () {
    server = await sharedServer();
    if (server.version < 14) this.skip(); // which keeps no trees of functions
    await server.sql('DROP DATABASE IF EXISTS types');
    await server.sql('CREATE DATABASE types');
    url = program.urlOf(server, { database: 'types' });
    program.url = url;
    session = new Client(url);
    await session.connect();
    await session.simpleQuery(fs.readFileSync(SCHEMA, 'utf8'));
  });
  after(() => session?.end());
  beforeEach(() => program.make());
  afterEach(() => program.remove());

  /** @returns {Object<string, string>} what is declared, by text */
  const declared = () =>
    Object.fromEntries(
      Array.from(program.read().matchAll(/^ {4}(".*?[^\\]"): \{ (.*) \};$/gm), ([, text, types]) => [
        JSON.parse(text),
        types
      ])
    );

  it('writes one file of declarations, sorted by the text', async () => {
    program.write(
      'app.ts',
      "pool.query('SELECT name AS b FROM people'); pool.query(`SELECT id\nFROM people WHERE id = $1`, [1]); pool.query('COPY people TO STDOUT')"
    );
    program.write('lib/more.mjs', "pool.query('DELETE FROM people WHERE id = $1'); pool.query(text)");
    program.write('node_modules/other/index.js', "pool.query('SELECT 1')");
    program.write('.hidden/index.js', "pool.query('SELECT 2')");
    program.write('types.d.ts', "pool.query('SELECT 3')");
    fs.symlinkSync('user@host.1', path.join(program.folder, '.#app.ts')); // an editor's lock
    assert.deepEqual(await program.start(), {
      code: 0,
      stdout: '3 texts in 2 files have types; calls without: 1 not a literal\n',
      stderr: ''
    });
    assert.equal(
      program.read(),
      `// Made by: npx quickgres types
import type { Value, Values } from 'quickgres';

declare module 'quickgres' {
  interface Queries {
    "DELETE FROM people WHERE id = $1": { values: Values; row: {} };
    "SELECT id\\nFROM people WHERE id = $1": { values: Values; row: { "id": number } };
    "SELECT name AS b FROM people": { values: Values; row: { "b": string } };
  }
}
`
    );
  });

  it('knows the types that decode makes, and with --strict those of values', async () => {
    const texts = {
      'SELECT mail, mood, moods, tags, data, visits, balance, seen, born, picture, active FROM people WHERE mail = $1 AND moods = $2 AND data = $3':
        'values: [string | null, readonly ("sad" | "ok" | "happy" | null)[] | null, Value | null]; row: { "mail": string | null; "mood": "sad" | "ok" | "happy"; ' +
        '"moods": ("sad" | "ok" | "happy" | null)[] | null; "tags": (string | null)[]; "data": unknown; "visits": number | string; "balance": string; ' +
        '"seen": Date | string | null; "born": string | null; "picture": Buffer | null; "active": boolean }',
      'SELECT $1::int8, $2::timestamptz AS b, $3::bytea AS c, $4::numeric AS d, $5::email[] AS e':
        'values: [number | bigint | string | null, Date | string | null, Uint8Array | string | null, number | bigint | string | null, readonly (string | null)[] | null]; ' +
        'row: { "int8": number | string | null; "b": Date | string | null; "c": Buffer | null; "d": string | null; "e": (string | null)[] | null }',
      'SELECT c, ARRAY[c] AS cs, point(1, 2) AS a, ARRAY[point(1, 2)] AS as, int4range(1, 2) AS r, ARRAY[int4range(1, 2)] AS rs, $1::checked AS x, ARRAY[$2::information_schema.sql_identifier] AS i FROM checked c':
        'values: [string | null, string | null]; row: { "c": { "id": number | null } | null; "cs": ({ "id": number | null } | null)[]; "a": string | null; "as": string; "r": string | null; "rs": (string | null)[]; "x": { "id": number | null } | null; "i": (string | null)[] }',
      'SELECT $1::list[] AS a, $2::list2[] AS b, $3::list2 AS c':
        'values: [Value | null, Value | null, readonly (number | null)[] | null]; row: { "a": ((number | null)[] | null)[] | null; "b": ((number | null)[] | null)[] | null; "c": (number | null)[] | null }',
      'SELECT * FROM app.named WHERE o = $1 AND b = $2 AND j = $3::app.json':
        'values: ["a" | null, string | null, string | null]; row: { "o": "a" | null; "b": string | null; "j": { "int8": string | null } | null; "os": ("a" | null)[] | null }',
      'SELECT 1 AS "a""\n", 2 AS a, NULL AS a': 'values: []; row: { "a\\"\\n": number; "a": string | null }'
    };
    program.write(
      'app.ts',
      Object.keys(texts)
        .map(text => `pool.query(\`${text}\`)`)
        .join('\n')
    );
    assert.deepEqual(await program.run(['--strict']), {
      code: 0,
      stdout: '6 texts in 1 files have types\n',
      stderr: ''
    });
    assert.deepEqual(declared(), texts);
  });

  it('gives columns the names of a config that has camel case, if package.json says so', async () => {
    program.write('package.json', JSON.stringify({ quickgres: { names: 'camel' } }));
    program.write('app.js', "pool.query('SELECT 1 AS user_id, 2 AS a_1')");
    assert.equal((await program.run()).code, 0);
    assert.match(Object.values(declared())[0], /"userId": .*"a_1": /);
    program.write('app.js', `pool.query('SELECT 1 AS user_id, now() AS "userId", 3 AS b -- not null: user_id')`);
    assert.equal((await program.run()).code, 0);
    assert.match(program.read(), /row: \{ "userId": Date \| string; "b": number \}/);
    program.write(
      'app.js',
      `pool.query("SELECT '-- not null: nope' AS a, $$ /* not null: nope */ $$ AS b /* not null: a */")`
    );
    assert.equal((await program.run()).code, 0);
    assert.match(program.read(), /row: \{ "a": string; "b": string.* \}/);
  });

  it('takes types of columns, and those of own decoders, from package.json', async () => {
    program.write(
      'package.json',
      JSON.stringify({
        quickgres: {
          columns: { 'people.data': "import('./person.js').Person", 'public.posts.title': 'Title' },
          types: { int8: 'bigint', _text: 'Set<string>', mood: 'Mood' }
        }
      })
    );
    program.write(
      'app.js',
      "pool.query('SELECT data, visits, tags, mood, moods, title FROM people JOIN posts ON person = people.id');" +
        "pool.query('SELECT ARRAY[visits] AS v, ARRAY[posts] AS p FROM people, posts')"
    );
    assert.equal((await program.run()).code, 0);
    // Own decoders are those of fields, and of elements of arrays that are not built in.
    assert.deepEqual(Object.values(declared()), [
      'values: Values; row: { "v": (number | string | null)[]; "p": ({ "id": bigint | null; "person": number | null; ' +
        '"title": string | null; "parent": bigint | null } | null)[] }',
      `values: Values; row: { "data": import('./person.js').Person; "visits": bigint; "tags": Set<string>; "mood": Mood; ` +
        '"moods": (Mood | null)[] | null; "title": Title }'
    ]);
    program.write('package.json', '{"quickgres": {"columns": {"people.date": "string"}}}');
    const complaint = () => program.run().then(({ code, stderr }) => [code, stderr]);
    assert.deepEqual(await complaint(), [1, 'the database has no column people.date, which package.json names\n']);
    program.write('package.json', '{"quickgres": {"types": {"bigint": "number"}}}');
    assert.deepEqual(await complaint(), [1, 'the database has no type bigint, which package.json names\n']);
    program.write('package.json', '{"quickgres": {"colums": {}}}');
    assert.deepEqual(await complaint(), [
      1,
      'package.json: quickgres has an unknown setting colums; there are columns, types, names\n'
    ]);
    for (const [quickgres, said] of [
      [5, 'must be an object'],
      [null, 'must be an object'],
      [{ names: 'snake' }, 'names must be "camel"'],
      [{ types: ['a', 1] }, 'types must have types as strings'],
      [{ columns: { 'people.data': {} } }, 'columns must have types as strings']
    ]) {
      program.write('package.json', JSON.stringify({ quickgres }));
      assert.deepEqual(await complaint(), [1, `package.json: quickgres ${said}\n`]);
    }
    program.write('package.json', '{');
    assert.match((await complaint())[1], /package\.json: /);
  });

  it('says nothing about NULL of a text that is no query, or has more than 100 parameters', async () => {
    const list = Array.from({ length: 101 }, (_, index) => `$${index + 1}::int`);
    program.write('app.js', `pool.query('SHOW work_mem'); pool.query('SELECT 1 AS a WHERE 1 IN (${list})')`);
    assert.deepEqual(await program.run(), { code: 0, stdout: '2 texts in 1 files have types\n', stderr: '' });
    assert.deepEqual(Object.values(declared()), [
      'values: Values; row: { "a": number | null }',
      'values: Values; row: { "work_mem": string | null }'
    ]);
  });

  it('takes a comment in the SQL that a column is not null', async () => {
    program.write(
      'app.js',
      "pool.query(`SELECT sum(id) AS total, max(id) AS most, max(mail) AS mail FROM people -- not null: total, mail\n`);\npool.query('SELECT 1 /* not null: nme */')"
    );
    const { code, stderr } = await program.run();
    assert.equal(
      program.read().match(/row: (.*) \};$/m)[1],
      '{ "total": number | string; "most": number | null; "mail": string }'
    );
    assert.deepEqual([code, stderr], [1, 'app.js:3:12 - the comment "not null" names nme, which is no column\n']);
  });

  it('--check changes nothing, and fails with the place of each text that is wrong or new', async () => {
    program.write('app.ts', "pool.query('SELECT id FROM people');\n");
    await program.run();
    assert.equal((await program.start(['--check'])).code, 0);
    program.write('queries.d.ts', program.read().replaceAll('\n', '\r\n')); // as git may check it out
    assert.equal((await program.run(['--check'])).code, 0);
    const before = program.read();
    program.write(
      'new.ts',
      "pool.query(`\n  SELECT id, nme\n  FROM people`);\n  pool.query('SELECT name, \\\nid2 FROM people'), pool.query('SELECT title FROM posts');\npool.query('SELECT 1 +'); pool.query('SELECT $1::nothing'); pool.query(`SELECT '🐘', x`)"
    );
    const { code, stderr } = await program.run(['--check']);
    assert.deepEqual(
      [code, ...stderr.trim().split('\n')],
      [
        1,
        'new.ts:2:14 - column "nme" does not exist',
        '  Perhaps you meant to reference the column "people.name".',
        'new.ts:4:14 - column "id2" does not exist (line 1, column 14 of the text)',
        '  Perhaps you meant to reference the column "people.id".',
        'new.ts:6:23 - syntax error at end of input',
        'new.ts:6:50 - type "nothing" does not exist',
        'new.ts:6:86 - column "x" does not exist',
        'new.ts:5:31 - queries.d.ts does not have the types of this text',
        'queries.d.ts is out of date: run npx quickgres types'
      ]
    );
    assert.equal(program.read(), before);
    program.write('new.ts', '');
    program.write('app.ts', '');
    assert.deepEqual(await program.run(['--check']).then(({ code, stderr }) => [code, stderr]), [
      1,
      'queries.d.ts is out of date: run npx quickgres types\n'
    ]);
  });

  it('says that DATABASE_URL is not set, if there is no connection without it', async () => {
    program.write('app.ts', '');
    const { code, stderr } = await program.start([], { DATABASE_URL: '', PGHOST: program.folder });
    assert.deepEqual(
      [code, /connect ENOENT/.test(stderr), stderr.split('\n').at(-2)],
      [1, true, 'DATABASE_URL is not set']
    );
  });

  it('says nothing of DATABASE_URL if that is set, or if the error is no ConnectionError', async () => {
    program.write('app.ts', '');
    const elsewhere = await program.run([], { DATABASE_URL: `postgres://x@/x?host=${program.folder}` });
    assert.deepEqual([elsewhere.code, /connect ENOENT/.test(elsewhere.stderr)], [1, true]);
    const wrong = await program.run(['--out', 'nowhere/a.d.ts'], { DATABASE_URL: '' });
    assert.deepEqual([wrong.code, /no folder nowhere/.test(wrong.stderr)], [1, true]);
    for (const { stderr } of [elsewhere, wrong]) assert.doesNotMatch(stderr, /DATABASE_URL/);
  });

  it('says how it is used for --help, and reads no source', async () => {
    program.write('app.ts', "pool.query('nonsense');\n");
    const { code, stdout, stderr } = await program.run(['--help']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, /--strict/);
  });

  it('--check says that the file was made with or without --strict', async () => {
    program.write('app.ts', "pool.query('SELECT id FROM people');\n");
    for (const [made, checked, how] of [
      [['--strict'], [], 'with'],
      [[], ['--strict'], 'without']
    ]) {
      await program.run(made);
      const { code, stderr } = await program.run(['--check', ...checked]);
      assert.deepEqual([code, stderr], [1, `queries.d.ts was made ${how} --strict: check it in the same way\n`]);
    }
  });

  it('--list names what is not known, and a name of sql`…` has one text', async () => {
    program.write(
      'app.ts',
      "pool.query(text);\npool.query(sql<'a'>`SELECT ${1}::int`); pool.query(sql<'a'>`SELECT 2`); pool.query(sql`SELECT 3`)"
    );
    const { code, stdout, stderr } = await program.run(['--list', '--out', 'lib.d.ts', 'app.ts']);
    assert.deepEqual([code, stderr], [1, 'app.ts:2:60 - sql<"a"> has another text elsewhere\n']);
    assert.deepEqual(stdout.split('\n').slice(0, 3), [
      '1 texts in 1 files have types; calls without: 1 not a literal, 1 sql`…`',
      'app.ts:1:12 - query: not a literal',
      'app.ts:2:84 - query: sql`…`'
    ]);
    assert.match(program.read('lib.d.ts'), /"a": \{ values: Values; row: \{ "int4": number \| null \} \};/);
  });

  it('notices wrong arguments before it connects', async () => {
    const DATABASE_URL = 'postgres://127.0.0.1:1/none';
    for (const [args, said] of [
      [['--watch', '--check'], '--check writes nothing, so it does not go with --watch'],
      [['--out', 'nowhere/queries.d.ts'], '--out nowhere/queries.d.ts: there is no folder nowhere'],
      [['--schema', 'none.sql'], "ENOENT: no such file or directory, open 'none.sql'"],
      [['nowhere'], "ENOENT: no such file or directory, stat 'nowhere'"]
    ])
      assert.deepEqual(await program.run(args, { DATABASE_URL }).then(({ code, stderr }) => [code, stderr]), [
        1,
        `${said}\n`
      ]);
  });

  it('asks once for a text, wherever it is', async () => {
    const proxy = await startProxy({ target: server });
    try {
      const DATABASE_URL = program.urlOf(server, { host: proxy.host, port: proxy.port, database: 'types' });
      const bytes = [];
      for (const times of [1, 10_000]) {
        program.write('app.js', "pool.query('SELECT id FROM people');\n".repeat(times));
        const before = proxy.stats.bytes.toServer;
        assert.equal((await program.run([], { DATABASE_URL })).code, 0);
        bytes.push(proxy.stats.bytes.toServer - before);
      }
      assert.ok(Math.abs(bytes[0] - bytes[1]) < 100, `${bytes}`);
    } finally {
      await proxy.stop();
    }
  });

  it('reads each file once, and no pipe, whatever links and pipes there are', async function () {
    if (process.platform === 'win32') this.skip();
    program.write('a/a.ts', "pool.query('SELECT 1')");
    program.write('b/b.ts', "pool.query('SELECT 2')");
    for (const [from, to] of [
      ['a/b.js', '../b'],
      ['b/a.js', '../a'],
      ['a/self.js', 'self.js'],
      ['b/again.ts', 'b.ts'],
      ['none.ts', 'nowhere.ts']
    ])
      fs.symlinkSync(to, path.join(program.folder, from));
    await promisify(execFile)('mkfifo', [path.join(program.folder, 'a/pipe.js')]);
    const { code, stdout, stderr } = await program.run(['.', 'a', 'b/b.ts']);
    assert.deepEqual([code, stdout, stderr], [0, '2 texts in 2 files have types\n', '']);
    for (const name of ['a/pipe.js', 'nowhere']) {
      const { stderr: said } = await program.run([name]);
      assert.match(said, name === 'nowhere' ? /ENOENT.*nowhere/ : /^a\/pipe.js is neither a file nor a folder\n$/);
    }
  });

  it('fails once where no database answers', async () => {
    program.write('app.ts', "pool.query('SELECT 1'); pool.query('SELECT 2')");
    const { code, stderr } = await program.start([], { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
    assert.equal(code, 1);
    assert.equal(stderr.trim().split('\n').length, 1);
    assert.match(stderr, /ECONNREFUSED/);
  });

  it('fails where the connection is lost while it asks for NULL, instead of counting all columns as nullable', async () => {
    await session.simpleQuery(`CREATE FUNCTION lose() RETURNS event_trigger LANGUAGE plpgsql AS
      'BEGIN IF current_query() ~ ''people'' THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF; END';
      CREATE EVENT TRIGGER lose ON ddl_command_start WHEN TAG IN ('CREATE FUNCTION') EXECUTE FUNCTION lose()`);
    program.write('app.ts', "pool.query('SELECT id FROM people')");
    try {
      const { code, stderr } = await program.run();
      assert.deepEqual([code, stderr.trim().split('\n').length], [1, 1]);
      assert.match(stderr, /terminating connection due to administrator command/);
    } finally {
      await session.simpleQuery('DROP EVENT TRIGGER lose; DROP FUNCTION lose()');
    }
  });

  it('warns where it may not ask for NULL, and gives types all the same', async () => {
    await session.query('CREATE ROLE reader LOGIN');
    await session.query('REVOKE TEMP ON DATABASE types FROM PUBLIC');
    program.write('app.ts', "pool.query('SELECT id FROM people')");
    const reader = program.urlOf(server, { user: 'reader', database: 'types' });
    try {
      const { code, stderr } = await program.run([], { DATABASE_URL: reader });
      assert.deepEqual(
        [code, stderr],
        [
          0,
          'warning: all columns count as nullable: permission denied to create temporary tables in database "types"\n'
        ]
      );
      assert.match(program.read(), /"id": number \| null/);
    } finally {
      await session.query('GRANT TEMP ON DATABASE types TO PUBLIC');
      await session.query('DROP ROLE reader');
    }
  });

  describe('runs nothing', () => {
    const ATTACKS = [
      'SELECT 1; DROP TABLE people',
      'SELECT id FROM people; END; DROP TABLE people',
      'SELECT id FROM people; END; COMMIT; DROP TABLE people; --',
      'SELECT 1; END; DROP TABLE people; CREATE FUNCTION pg_temp.other() RETURNS int BEGIN ATOMIC SELECT 1',
      'SELECT id FROM people\n;END',
      'END',
      'COMMIT',
      'COMMIT; DROP TABLE people',
      'ROLLBACK',
      'BEGIN',
      "PREPARE TRANSACTION 'x'",
      'SELECT 1 /*',
      'SELECT 1 --',
      "SELECT '",
      'SELECT $$',
      '$$; DROP TABLE people; $$',
      'SELECT 1 AS "; END; DROP TABLE people; --"',
      "SELECT E'\\'; END; DROP TABLE people; --'",
      "SELECT '\\'; END; DROP TABLE people; --'",
      'SELECT $a$; END; $a$ AS x',
      "SELECT U&'\\0027; END' AS x",
      'SELECT 1;;',
      ';;SELECT 1',
      'SELECT harm() AS x',
      'SELECT harm(1) AS x',
      'SELECT 1::harmful AS x',
      'SELECT harm() FROM people WHERE harm(1) = $1',
      "SELECT nextval('harmed') AS x",
      'SELECT * FROM harms',
      'INSERT INTO people (id, name) VALUES (harm(), $1) RETURNING harm()',
      'DELETE FROM people RETURNING id',
      'WITH x AS (DELETE FROM people RETURNING id) SELECT id FROM x',
      'UPDATE people SET name = NULL',
      'MERGE INTO people p USING posts t ON p.id = t.person WHEN MATCHED THEN DELETE',
      'TRUNCATE people CASCADE',
      'DROP TABLE people CASCADE',
      'CALL harming()',
      'DO $$ BEGIN PERFORM harm(); END $$',
      'EXPLAIN ANALYZE DELETE FROM people',
      'EXPLAIN (ANALYZE) SELECT harm()',
      'CREATE TABLE harmed2 AS SELECT harm()',
      'SELECT harm() AS x INTO harmed2',
      'COPY people FROM PROGRAM $$echo 1$$',
      "COPY (SELECT harm()) TO PROGRAM 'true'",
      'LOCK TABLE people',
      'VACUUM people',
      'CREATE DATABASE harmed',
      'ALTER SYSTEM SET work_mem = 1',
      'SET search_path = nowhere',
      'DISCARD ALL',
      'NOTIFY harmed',
      'CREATE FUNCTION harm2() RETURNS int BEGIN ATOMIC SELECT harm(); END',
      'CREATE FUNCTION harm2() RETURNS int BEGIN ATOMIC SELECT harm(); END; SELECT harm2()',
      'PREPARE x AS SELECT harm()',
      'EXECUTE x',
      'DECLARE c CURSOR WITH HOLD FOR SELECT harm()',
      'FETCH c',
      'SELECT 1\0; DROP TABLE people',
      'SELECT id FROM people WHERE id = $1; END; DROP TABLE people; SELECT $1'
    ];
    const STATE = `SELECT (SELECT is_called FROM harmed) AS harmed, (SELECT count(*) FROM people) AS people, (SELECT count(name) FROM people) AS names,
      (SELECT array_agg(proname::text || pronamespace::regnamespace) FROM pg_proc WHERE oid >= 16384) AS functions, (SELECT array_agg(relname::text ORDER BY relname) FROM pg_class
        WHERE oid >= 16384 AND relnamespace = 'public'::regnamespace) AS relations, (SELECT count(*) FROM pg_database) AS databases,
      (SELECT array_agg(command) FROM changes) AS changes`;

    before(() =>
      session.simpleQuery(`
      CREATE SEQUENCE harmed;
      CREATE FUNCTION harm(int DEFAULT 0) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT nextval('harmed')::int$$;
      CREATE DOMAIN harmful AS int CHECK (harm(VALUE) > 0);
      CREATE VIEW harms AS SELECT harm() AS x;
      CREATE PROCEDURE harming() LANGUAGE sql AS $$SELECT harm()$$;
      CREATE TABLE changes (command text);
      CREATE FUNCTION changed() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN INSERT INTO changes VALUES (tg_tag); END$$;
      CREATE EVENT TRIGGER changed ON ddl_command_end EXECUTE FUNCTION changed();`)
    );

    it('of what the sources say, also if it closes what it is put into', async () => {
      const state = async () => (await session.query(STATE)).objects;
      const before = await state();
      program.write('app.js', ATTACKS.map(text => `pool.query(${JSON.stringify(text)});`).join('\n'));
      const { stdout, stderr } = await program.run();
      assert.match(stdout || stderr, /^\d\d texts in 1 files have types\n$/);
      assert.deepEqual(await state(), before);
      assert.equal(before[0].harmed, false);
      await session.query('SELECT harm()');
      assert.equal((await state())[0].harmed, true, 'the sequence tells whether harm() ran');
    });

    it('of what a text would do behind the function that it closes, even if describe() took it', async () => {
      const pool = new Pool(url);
      try {
        const typing = new Typing(
          [
            {
              batch: (...args) => pool.batch(...args),
              transaction: (...args) => pool.transaction(...args),
              describe: async () => ({ params: [], columns: [{ name: 'id', oid: 23, tableOid: 0, column: 0 }] })
            }
          ],
          {}
        );
        await typing.load();
        for (const text of ['SELECT 1; END; DROP TABLE people', 'SELECT 1; END; COMMIT; DROP TABLE people; BEGIN']) {
          assert.deepEqual((await typing.of(text)).row, ['"id": number | null']);
        }
      } finally {
        await pool.end();
      }
      assert.equal((await session.query('SELECT count(*) FROM people')).rows[0].count, 3);
    });
  });
});

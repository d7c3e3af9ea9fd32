'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { Typing } = require('../../lib/types/typing');
const { startProxy } = require('pg-test-fixtures');
const { sharedServer } = require('../support');
const { until } = require('../support/kit');

const COMMAND = path.join(__dirname, '../../lib/types/index.js');
const SCHEMA = path.join(__dirname, 'schema.sql');

describe('npx quickgres types', () => {
  let server, folder, session, url;

  before(async function () {
    server = await sharedServer();
    if (server.version < 14) this.skip(); // which keeps no trees of functions
    await server.sql('DROP DATABASE IF EXISTS types');
    await server.sql('CREATE DATABASE types');
    url = urlOf({ database: 'types' });
    session = new Client(url);
    await session.connect();
    await session.simpleQuery(fs.readFileSync(SCHEMA, 'utf8'));
  });
  after(() => session?.end());
  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-types-'));
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  /** @returns {string} the server's config with changes, as libpq's `key=value` */
  const urlOf = changes =>
    Object.entries({ ...server.config, ...changes })
      .map(([name, value]) => `${name === 'database' ? 'dbname' : name}='${value}'`)
      .join(' ');
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  };
  const read = (name = 'queries.d.ts') => fs.readFileSync(path.join(folder, name), 'utf8');
  /** @returns {Promise<{code: number, stdout: string, stderr: string}>} */
  const run = (args = [], env = {}) => {
    const running = promisify(execFile)(process.execPath, [COMMAND, 'types', ...args], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: url, ...env }
    });
    return Object.assign(
      running.then(
        each => ({ code: 0, ...each }),
        each => each
      ),
      { child: running.child }
    );
  };
  /** @returns {Object<string, string>} what is declared, by text */
  const declared = () =>
    Object.fromEntries(
      Array.from(read().matchAll(/^ {4}(".*?[^\\]"): \{ (.*) \};$/gm), ([, text, types]) => [JSON.parse(text), types])
    );

  it('writes one file of declarations, sorted by the text', async () => {
    write(
      'app.ts',
      "pool.query('SELECT name AS b FROM people'); pool.query(`SELECT id\nFROM people WHERE id = $1`, [1]); pool.query('COPY people TO STDOUT')"
    );
    write('lib/more.mjs', "pool.query('DELETE FROM people WHERE id = $1'); pool.query(text)");
    write('node_modules/other/index.js', "pool.query('SELECT 1')");
    write('.hidden/index.js', "pool.query('SELECT 2')");
    write('types.d.ts', "pool.query('SELECT 3')");
    fs.symlinkSync('user@host.1', path.join(folder, '.#app.ts')); // an editor's lock
    assert.deepEqual(await run(), {
      code: 0,
      stdout: '3 texts in 2 files have types; calls without: 1 not a literal\n',
      stderr: ''
    });
    assert.equal(
      read(),
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
      'SELECT 1 AS "a""\n", 2 AS a, NULL AS a': 'values: []; row: { "a\\"\\n": number; "a": string | null }'
    };
    write(
      'app.ts',
      Object.keys(texts)
        .map(text => `pool.query(\`${text}\`)`)
        .join('\n')
    );
    assert.deepEqual(await run(['--strict']), { code: 0, stdout: '4 texts in 1 files have types\n', stderr: '' });
    assert.deepEqual(declared(), texts);
  });

  it('gives columns the names of a config that has camel case, if package.json says so', async () => {
    write('package.json', JSON.stringify({ quickgres: { names: 'camel' } }));
    write('app.js', "pool.query('SELECT 1 AS user_id, 2 AS a_1')");
    assert.equal((await run()).code, 0);
    assert.match(Object.values(declared())[0], /"userId": .*"a_1": /);
    write('app.js', `pool.query('SELECT 1 AS user_id, now() AS "userId", 3 AS b -- not null: user_id')`);
    assert.equal((await run()).code, 0);
    assert.match(read(), /row: \{ "userId": Date \| string; "b": number \}/);
  });

  it('takes types of columns, and those of own decoders, from package.json', async () => {
    write(
      'package.json',
      JSON.stringify({
        quickgres: {
          columns: { 'people.data': "import('./person.js').Person", 'public.posts.title': 'Title' },
          types: { int8: 'bigint', _text: 'Set<string>', mood: 'Mood' }
        }
      })
    );
    write(
      'app.js',
      "pool.query('SELECT data, visits, tags, mood, moods, title FROM people JOIN posts ON person = people.id')"
    );
    assert.equal((await run()).code, 0);
    assert.deepEqual(Object.values(declared()), [
      `values: Values; row: { "data": import('./person.js').Person; "visits": bigint; "tags": Set<string>; "mood": Mood; ` +
        '"moods": ("sad" | "ok" | "happy" | null)[] | null; "title": Title }'
    ]);
    write('package.json', '{"quickgres": {"columns": {"people.date": "string"}}}');
    const complaint = () => run().then(({ code, stderr }) => [code, stderr]);
    assert.deepEqual(await complaint(), [1, 'the database has no column people.date, which package.json names\n']);
    write('package.json', '{"quickgres": {"types": {"bigint": "number"}}}');
    assert.deepEqual(await complaint(), [1, 'the database has no type bigint, which package.json names\n']);
    write('package.json', '{"quickgres": {"colums": {}}}');
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
      write('package.json', JSON.stringify({ quickgres }));
      assert.deepEqual(await complaint(), [1, `package.json: quickgres ${said}\n`]);
    }
    write('package.json', '{');
    assert.match((await complaint())[1], /package\.json: /);
  });

  it('says nothing about NULL of a text that is no query, or has more than 100 parameters', async () => {
    const list = Array.from({ length: 101 }, (_, index) => `$${index + 1}::int`);
    write('app.js', `pool.query('SHOW work_mem'); pool.query('SELECT 1 AS a WHERE 1 IN (${list})')`);
    assert.deepEqual(await run(), { code: 0, stdout: '2 texts in 1 files have types\n', stderr: '' });
    assert.deepEqual(Object.values(declared()), [
      'values: Values; row: { "a": number | null }',
      'values: Values; row: { "work_mem": string | null }'
    ]);
  });

  it('takes a comment in the SQL that a column is not null', async () => {
    write(
      'app.js',
      "pool.query(`SELECT sum(id) AS total, max(id) AS most, max(mail) AS mail FROM people -- not null: total, mail\n`);\npool.query('SELECT 1 /* not null: nme */')"
    );
    const { code, stderr } = await run();
    assert.equal(
      read().match(/row: (.*) \};$/m)[1],
      '{ "total": number | string; "most": number | null; "mail": string }'
    );
    assert.deepEqual([code, stderr], [1, 'app.js:3:12 - the comment "not null" names nme, which is no column\n']);
  });

  it('--check changes nothing, and fails with the place of each text that is wrong or new', async () => {
    write('app.ts', "pool.query('SELECT id FROM people');\n");
    await run();
    assert.equal((await run(['--check'])).code, 0);
    write('queries.d.ts', read().replaceAll('\n', '\r\n')); // as git may check it out
    assert.equal((await run(['--check'])).code, 0);
    const before = read();
    write(
      'new.ts',
      "pool.query(`\n  SELECT id, nme\n  FROM people`);\n  pool.query('SELECT name, \\\nid2 FROM people'), pool.query('SELECT title FROM posts');\npool.query('SELECT 1 +'); pool.query('SELECT $1::nothing'); pool.query(`SELECT '🐘', x`)"
    );
    const { code, stderr } = await run(['--check']);
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
    assert.equal(read(), before);
    write('new.ts', '');
    write('app.ts', '');
    assert.deepEqual(await run(['--check']).then(({ code, stderr }) => [code, stderr]), [
      1,
      'queries.d.ts is out of date: run npx quickgres types\n'
    ]);
  });

  it('says that DATABASE_URL is not set, if there is no connection without it', async () => {
    write('app.ts', '');
    const { code, stderr } = await run([], { DATABASE_URL: '', PGHOST: folder });
    assert.deepEqual(
      [code, /connect ENOENT/.test(stderr), stderr.split('\n').at(-2)],
      [1, true, 'DATABASE_URL is not set']
    );
  });

  it('--check says that the file was made with or without --strict', async () => {
    write('app.ts', "pool.query('SELECT id FROM people');\n");
    for (const [made, checked, how] of [
      [['--strict'], [], 'with'],
      [[], ['--strict'], 'without']
    ]) {
      await run(made);
      const { code, stderr } = await run(['--check', ...checked]);
      assert.deepEqual([code, stderr], [1, `queries.d.ts was made ${how} --strict: check it in the same way\n`]);
    }
  });

  it('--list names what is not known, and a name of sql`…` has one text', async () => {
    write(
      'app.ts',
      "pool.query(text);\npool.query(sql<'a'>`SELECT ${1}::int`); pool.query(sql<'a'>`SELECT 2`); pool.query(sql`SELECT 3`)"
    );
    const { code, stdout, stderr } = await run(['--list', '--out', 'lib.d.ts', 'app.ts']);
    assert.deepEqual([code, stderr], [1, 'app.ts:2:60 - sql<"a"> has another text elsewhere\n']);
    assert.deepEqual(stdout.split('\n').slice(0, 3), [
      '1 texts in 1 files have types; calls without: 1 not a literal, 1 sql`…`',
      'app.ts:1:12 - query: not a literal',
      'app.ts:2:84 - query: sql`…`'
    ]);
    assert.match(read('lib.d.ts'), /"a": \{ values: Values; row: \{ "int4": number \| null \} \};/);
  });

  it('--schema asks a database of its own, which is gone afterwards, also if a file fails', async () => {
    const databases = () => server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'quickgres%'");
    const env = { DATABASE_URL: server.url };
    write('app.ts', "pool.query('SELECT b, c FROM only_here')");
    write('one.sql', '\\restrict abc\nCREATE TABLE only_here (b int NOT NULL);\n\\unrestrict abc\n');
    write('two.sql', 'ALTER TABLE only_here ADD c text;');
    assert.deepEqual(await run(['--schema', 'one.sql', '--schema', 'two.sql'], env), {
      code: 0,
      stdout: '1 texts in 1 files have types\n',
      stderr: ''
    });
    assert.match(read(), /\{ "b": number; "c": string \| null \}/);
    assert.deepEqual(await databases(), []);
    write('three.sql', 'SELECT 1;\nCREATE TABEL x ();');
    assert.deepEqual(await run(['--schema', 'three.sql'], env).then(({ code, stderr }) => [code, stderr]), [
      1,
      'three.sql:2 - syntax error at or near "TABEL"\n'
    ]);
    assert.deepEqual(await databases(), []);
    const { code, stderr } = await run(['--schema', 'one.sql', '--schema', 'none.sql'], env);
    assert.deepEqual([code, stderr], [1, "ENOENT: no such file or directory, open 'none.sql'\n"]);
    assert.deepEqual(await databases(), []);
  });

  describe('--schema runs nothing in the database that the config names', () => {
    const named = ({ host, port, user }, path, query = '') => `postgres://${user}@${host}:${port}${path}${query}`;
    const socket = ({ socketPath }) => encodeURIComponent(path.dirname(socketPath));
    /** Environments by their names, with what the command says of them; by default that the table is not there. */
    const FORMS = {
      'the path of a URL': s => ({ DATABASE_URL: named(s, '/named') }),
      'dbname in the query of a URL': s => ({ DATABASE_URL: named(s, '/', '?dbname=named') }),
      'dbname in the query of a URL without a path': s => ({ DATABASE_URL: named(s, '', '?dbname=named') }),
      'the path and the query of a URL': s => ({ DATABASE_URL: named(s, '/postgres', '?dbname=named') }),
      'dbname twice in the query': s => ({ DATABASE_URL: named(s, '', '?dbname=postgres&dbname=named') }),
      'a percent-encoded dbname': s => ({ DATABASE_URL: named(s, '', '?%64bname=%6eamed') }),
      'a socket in the query of a URL': s => ({
        DATABASE_URL: `postgresql:///?host=${socket(s)}&port=${s.port}&user=${s.user}&dbname=named`
      }),
      'a socket as the host of a URL': s => ({
        DATABASE_URL: `postgres://${s.user}@${socket(s)}:${s.port}/named?dbname=named`
      }),
      'key=value': s => ({ DATABASE_URL: `host=${s.host} port=${s.port} user=${s.user} dbname=named` }),
      'key=value with dbname first, quoted': s => ({
        DATABASE_URL: `dbname = 'named' host=${s.host} port=${s.port} user='${s.user}'`
      }),
      'key=value with dbname twice': s => ({
        DATABASE_URL: `dbname=postgres host=${s.host} port=${s.port} user=${s.user} dbname=named`
      }),
      'PGDATABASE beside a URL': s => ({ DATABASE_URL: named(s, ''), PGDATABASE: 'named' }),
      'PGDATABASE alone': s => ({
        DATABASE_URL: '',
        PGHOST: s.host,
        PGPORT: s.port,
        PGUSER: s.user,
        PGDATABASE: 'named'
      }),
      'the name of the user': s => ({ DATABASE_URL: `host=${s.host} port=${s.port} user=named` }),
      'several hosts': s => ({
        DATABASE_URL: `postgres://${s.user}@127.0.0.1:1,${s.host}:${s.port}/named?load_balance_hosts=random&dbname=named`
      }),
      'application_name and other options': s => ({
        DATABASE_URL: named(s, '/named', "?application_name=it's%20\\mine&options=-c%20geqo%3Doff&connect_timeout=9")
      }),
      'a service in key=value': s => ({ DATABASE_URL: `host=${s.host} port=${s.port} service=named` }),
      'a service in a URL': s => ({ DATABASE_URL: named(s, '/named', '?service=named') }),
      PGSERVICE: s => ({ DATABASE_URL: named(s, '/named'), PGSERVICE: 'named', PGSERVICEFILE: 'services' })
    };
    const SERVICE = /^service \(PGSERVICE\) is not supported/;
    const databases = () => server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'quickgres%'");

    before(async () => {
      await server.sql('CREATE ROLE named SUPERUSER LOGIN');
      await server.sql('CREATE DATABASE named');
      await server.sql('CREATE TABLE kept (id int)', { database: 'named' });
    });
    after(async () => {
      await server.sql('DROP DATABASE IF EXISTS named');
      await server.sql('DROP ROLE named');
    });
    beforeEach(() => {
      write('drop.sql', '-- all of it\nDROP TABLE kept;');
      write('app.js', "pool.query('SELECT id FROM kept')");
      write('services', '[named]\ndbname=named\n');
    });
    afterEach(async () => {
      assert.deepEqual(await server.sql('SELECT count(*) AS n FROM kept', { database: 'named' }), [{ n: '0' }]);
      assert.deepEqual(await databases(), []);
    });

    for (const [name, env] of Object.entries(FORMS)) {
      it(name, async () => {
        const { code, stderr } = await run(['--schema', 'drop.sql'], env(server));
        assert.equal(code, 1);
        assert.match(stderr, name.includes('ervice') || name === 'PGSERVICE' ? SERVICE : /table "kept" does not exist/);
      });
    }

    it('a pooler that has one database for everyone', async () => {
      const bouncer = net.createServer(front => {
        const back = net.connect(server.port, server.host);
        for (const each of [front, back]) each.on('error', () => {});
        front.once('data', startup => {
          const text = startup.toString('latin1', 4).replace(/\0database\0[^\0]*/, '\0database\0named');
          const size = Buffer.alloc(4);
          size.writeInt32BE(text.length + 4);
          back.write(Buffer.concat([size, Buffer.from(text, 'latin1')]));
          front.pipe(back).pipe(front);
        });
        front.on('close', () => back.destroy());
      });
      await promisify(bouncer.listen).call(bouncer, 0);
      try {
        const { code, stderr } = await run(['--schema', 'drop.sql'], {
          DATABASE_URL: `postgres://${server.user}@127.0.0.1:${bouncer.address().port}/named`
        });
        assert.equal(code, 1);
        assert.match(stderr, /^connecting to the database quickgres_types_\w+ led to named: is there a pooler\?/);
      } finally {
        bouncer.close();
      }
    });
  });

  describe('the database of --schema is gone', () => {
    const databases = () => server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'quickgres%'");
    const env = () => ({ DATABASE_URL: server.url });
    const isRunning = async text =>
      (await server.sql(`SELECT FROM pg_stat_activity WHERE query LIKE '${text}%' AND datname LIKE 'quickgres%'`))
        .length > 0;
    afterEach(async () => {
      assert.deepEqual(await databases(), []);
      await server.sql('ALTER SYSTEM RESET ALL');
      await server.sql('SELECT pg_reload_conf()');
    });

    for (const [name, signals] of Object.entries({
      SIGINT: ['SIGINT'],
      SIGTERM: ['SIGTERM'],
      SIGHUP: ['SIGHUP'],
      'SIGINT, twice': ['SIGINT', 'SIGINT'],
      'all of them': ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGINT', 'SIGTERM']
    })) {
      it(`after ${name} while a file runs`, async () => {
        write('endless.sql', 'SELECT 1;\nSELECT pg_sleep(1000)');
        const running = run(['--schema', 'endless.sql'], env());
        await until(() => isRunning('SELECT pg_sleep(1000)'), 'the file does not run');
        for (const each of signals) running.child.kill(each);
        const { code, stderr } = await running;
        assert.equal(code, 1);
        assert.match(stderr, /^stopped by SIG(?:INT|TERM|HUP)\n$/);
        if (signals.length === 1) assert.equal(stderr, `stopped by ${signals[0]}\n`);
      });

      it(`after ${name} while it is made`, async () => {
        write('one.sql', 'SELECT 1');
        // CREATE DATABASE waits for what is connected to its template.
        await server.sql('ALTER DATABASE template0 ALLOW_CONNECTIONS true');
        const other = new Client({ ...server.config, database: 'template0' });
        await other.connect();
        try {
          const running = run(['--schema', 'one.sql'], env());
          const isWaiting = async () =>
            (
              await server.sql(
                "SELECT FROM pg_stat_activity WHERE query LIKE 'CREATE DATABASE quickgres%' AND state = 'active'"
              )
            ).length > 0;
          await until(isWaiting, 'it is not made');
          for (const each of signals) running.child.kill(each);
          await other.end();
          assert.match((await running).stderr, /^stopped by SIG(?:INT|TERM|HUP)\n$/);
        } finally {
          await other.end();
          await server.sql('ALTER DATABASE template0 ALLOW_CONNECTIONS false');
        }
      });
    }

    it('if the server ends sessions that are idle while a file runs, and in any other time', async () => {
      await server.sql("ALTER SYSTEM SET idle_session_timeout = '100ms'");
      await server.sql('SELECT pg_reload_conf()');
      write('slow.sql', 'CREATE TABLE slow (id int NOT NULL); SELECT pg_sleep(0.5)');
      write('app.js', "pool.query('SELECT id FROM slow')");
      assert.deepEqual(await run(['--schema', 'slow.sql'], env()), {
        code: 0,
        stdout: '1 texts in 1 files have types\n',
        stderr: ''
      });
    });

    /** Files and arguments, and what the command says. */
    const WRONG = {
      'a syntax error': [{ 'a.sql': 'SELECT 1;\nCREATE TABEL x ();' }, 'a.sql:2 - syntax error at or near "TABEL"'],
      'an error without a position': [
        { 'a.sql': '\n\nCREATE TABLE a ();\n-- b\nCREATE TABLE a ();\n' },
        'a.sql:5 - relation "a" already exists'
      ],
      'an error inside of a function': [
        { 'a.sql': 'SELECT 1;\nDO $$\nBEGIN\n  RAISE division_by_zero;\nEND $$' },
        'a.sql:2 - division_by_zero'
      ],
      'an error behind others': [{ 'a.sql': 'SELECT 1;\nSELECT 1/0;\nSELECT x' }, 'a.sql:2 - division by zero'],
      'an error on a later line of its statement': [
        { 'a.sql': "\ufeffSELECT '\n\u{1f418}';\nSELECT 1,\n  '\u{1f418}', x" },
        'a.sql:4 - column "x" does not exist'
      ],
      'a block that stays open': [{ 'a.sql': 'BEGIN;\nSELECT 1;' }, 'a.sql:2 - COMMIT is missing'],
      'a command of psql': [
        { 'a.sql': 'SELECT 1;\n\\connect named' },
        'a.sql:2 - \\connect named is a command of psql: leave it out'
      ],
      'DROP DATABASE': [
        { 'a.sql': '\nDROP DATABASE types;' },
        'a.sql:2 - DROP DATABASE reaches beyond the database: leave it out'
      ],
      'a NUL': [{ 'a.sql': 'SELECT 1;\nSELECT \0' }, 'a.sql:2 - '],
      'a wrong text': [{ 'a.js': "\npool.query('SELECT x')" }, 'a.js:2:20 - column "x" does not exist'],
      'a wrong text, three times': [
        { 'a.js': "pool.query('SELECT x'); pool.query('SELECT x')", 'b.js': "pool.query('SELECT x')" },
        'a.js:1:20 - column "x" does not exist\na.js:1:44 - column "x" does not exist\nb.js:1:20 - column "x" does not exist'
      ],
      'a wrong comment': [
        { 'a.js': "pool.query('SELECT 1 AS a -- not null: b')" },
        'a.js:1:12 - the comment "not null" names b, which is no column'
      ],
      'a wrong comment, twice': [
        {
          'a.js': "const T = 'SELECT 1 AS a -- not null: b'; pool.query(T); pool.query('SELECT 1 AS a -- not null: b')"
        },
        'a.js:1:11 - the comment "not null" names b, which is no column\n' +
          'a.js:1:69 - the comment "not null" names b, which is no column'
      ],
      'a text of a file with CR and LF': [
        { 'a.js': 'pool.query(`\r\n  SELECT\r\n  x`)' },
        'a.js:3:3 - column "x" does not exist'
      ]
    };
    for (const [name, [files, said]] of Object.entries(WRONG)) {
      it(`after ${name}, whose place is in the error`, async () => {
        write('a.sql', 'SELECT 1');
        for (const [file, text] of Object.entries(files)) write(file, text);
        const { code, stderr } = await run(['--schema', 'a.sql'], env());
        assert.equal(code, 1);
        assert.equal(stderr.slice(0, said.length), said);
        assert.ok(!/^ +at |node:/m.test(stderr), stderr);
      });
    }
  });

  it('--schema takes whatever a server takes, statement by statement', async () => {
    write(
      'one.sql',
      `\ufeff-- a; b
CREATE TABLE a (id int NOT NULL, name text); CREATE INDEX CONCURRENTLY ON a (id);
BEGIN; CREATE TABLE b (id int); COMMIT;
CREATE FUNCTION f(int) RETURNS int BEGIN ATOMIC SELECT CASE $1 WHEN 1 THEN 2 ELSE 3 END; SELECT $1; END;
CREATE OR REPLACE PROCEDURE p() LANGUAGE plpgsql AS $body$ BEGIN COMMIT; INSERT INTO b VALUES (';'::text::"char"::int); END; $body$;
CREATE RULE r AS ON DELETE TO b DO ALSO (DELETE FROM a; NOTIFY a);
CREATE TYPE t AS ENUM ('a;'); ALTER TYPE t ADD VALUE 'b'; CREATE TABLE c (t t NOT NULL DEFAULT 'b'); /* ; /* ; */ */
CALL p(); VACUUM a; SELECT set_config('search_path', '', false)`
    );
    write('two.sql', 'ALTER TABLE a ADD c int');
    write('app.js', "pool.query('SELECT a.id, c.t, f(1) FROM a, c')");
    const { code, stderr } = await run(['--schema', 'one.sql', '--schema', 'two.sql'], { DATABASE_URL: server.url });
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(read(), /\{ "id": number; "t": "a;" \| "b"; "f": number \| null \}/);
  });

  it('--watch writes the file at each change of sources, settings and the schema, in one database, until a signal', async () => {
    const databases = () => server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'quickgres%'");
    const written = types => until(() => fs.existsSync(path.join(folder, 'queries.d.ts')) && types.test(read()), types);
    write('a.sql', 'CREATE TABLE a (id int NOT NULL);');
    write('app.js', "pool.query('SELECT id FROM a')");
    const running = run(['--watch', '--schema', 'a.sql'], { DATABASE_URL: server.url });
    let said = '';
    running.child.stderr.on('data', text => (said += text));
    try {
      await written(/"SELECT id FROM a".*"id": number \}/);
      const first = await databases();
      assert.equal(first.length, 1);
      write('new/more.js', "pool.query('SELECT 1 AS b')");
      await written(/"SELECT 1 AS b"/);
      write('new/more.js', "pool.query('SELECT 2 AS c'); pool.query('SELECT x')");
      await written(/"SELECT 2 AS c"/);
      await until(() => said.includes('new/more.js:1:49 - column "x" does not exist\n'), 'the error is not said');
      write('package.json', '{"quickgres": {"columns": {"a.id": "Id"}}}');
      await written(/"id": Id/);
      assert.deepEqual(await databases(), first);
      write('a.sql', 'CREATE TABEL a (id int);');
      await until(() => said.includes('a.sql:1 - syntax error'), 'the error of the schema is not said');
      write('a.sql', 'CREATE TABLE a (id int);');
      await written(/"id": Id \| null/);
      fs.rmSync(path.join(folder, 'new'), { recursive: true });
      await until(() => !read().includes('"SELECT 2 AS c"'), 'what is gone stays');
    } finally {
      running.child.kill('SIGINT');
    }
    const { code, stderr } = await running;
    assert.deepEqual([code, stderr.split('\n').at(-2)], [1, 'stopped by SIGINT']);
    assert.deepEqual(await databases(), []);
  });

  it('notices wrong arguments before it connects', async () => {
    const DATABASE_URL = 'postgres://127.0.0.1:1/none';
    for (const [args, said] of [
      [['--watch', '--check'], '--check writes nothing, so it does not go with --watch'],
      [['--out', 'nowhere/queries.d.ts'], '--out nowhere/queries.d.ts: there is no folder nowhere'],
      [['--schema', 'none.sql'], "ENOENT: no such file or directory, open 'none.sql'"],
      [['nowhere'], "ENOENT: no such file or directory, stat 'nowhere'"]
    ])
      assert.deepEqual(await run(args, { DATABASE_URL }).then(({ code, stderr }) => [code, stderr]), [1, `${said}\n`]);
  });

  it('asks once for a text, wherever it is', async () => {
    const proxy = await startProxy({ target: server });
    try {
      const DATABASE_URL = urlOf({ host: proxy.host, port: proxy.port, database: 'types' });
      const bytes = [];
      for (const times of [1, 10_000]) {
        write('app.js', "pool.query('SELECT id FROM people');\n".repeat(times));
        const before = proxy.stats.bytes.toServer;
        assert.equal((await run([], { DATABASE_URL })).code, 0);
        bytes.push(proxy.stats.bytes.toServer - before);
      }
      assert.ok(Math.abs(bytes[0] - bytes[1]) < 100, `${bytes}`);
    } finally {
      await proxy.stop();
    }
  });

  it('reads each file once, and no pipe, whatever links and pipes there are', async function () {
    if (process.platform === 'win32') this.skip();
    write('a/a.ts', "pool.query('SELECT 1')");
    write('b/b.ts', "pool.query('SELECT 2')");
    for (const [from, to] of [
      ['a/b.js', '../b'],
      ['b/a.js', '../a'],
      ['a/self.js', 'self.js'],
      ['b/again.ts', 'b.ts'],
      ['none.ts', 'nowhere.ts']
    ])
      fs.symlinkSync(to, path.join(folder, from));
    await promisify(execFile)('mkfifo', [path.join(folder, 'a/pipe.js')]);
    const { code, stdout, stderr } = await run(['.', 'a', 'b/b.ts']);
    assert.deepEqual([code, stdout, stderr], [0, '2 texts in 2 files have types\n', '']);
    for (const name of ['a/pipe.js', 'nowhere']) {
      const { stderr: said } = await run([name]);
      assert.match(said, name === 'nowhere' ? /ENOENT.*nowhere/ : /^a\/pipe.js is neither a file nor a folder\n$/);
    }
  });

  it('fails once where no database answers', async () => {
    write('app.ts', "pool.query('SELECT 1'); pool.query('SELECT 2')");
    const { code, stderr } = await run([], { DATABASE_URL: 'postgres://127.0.0.1:1/none' });
    assert.equal(code, 1);
    assert.equal(stderr.trim().split('\n').length, 1);
    assert.match(stderr, /ECONNREFUSED/);
  });

  it('warns where it may not ask for NULL, and gives types all the same', async () => {
    await session.query('CREATE ROLE reader LOGIN');
    await session.query('REVOKE TEMP ON DATABASE types FROM PUBLIC');
    write('app.ts', "pool.query('SELECT id FROM people')");
    const reader = urlOf({ user: 'reader', database: 'types' });
    try {
      const { code, stderr } = await run([], { DATABASE_URL: reader });
      assert.deepEqual(
        [code, stderr],
        [
          0,
          'warning: all columns count as nullable: permission denied to create temporary tables in database "types"\n'
        ]
      );
      assert.match(read(), /"id": number \| null/);
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
      write('app.js', ATTACKS.map(text => `pool.query(${JSON.stringify(text)});`).join('\n'));
      const { stdout, stderr } = await run();
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

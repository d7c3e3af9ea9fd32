'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { promisify } = require('node:util');
const { Client } = require('../..');
const { withDatabase } = require('../../lib/types/scratch');
const { sharedServer } = require('../support');
const { until } = require('../support/kit');
const { Program } = require('./program');

describe('npx quickgres types --schema', () => {
  const program = new Program();
  const databases = () => server.sql("SELECT datname FROM pg_database WHERE datname LIKE 'quickgres%'");
  let server;

  before(async function () {
    server = await sharedServer();
    if (server.version < 14) this.skip(); // which keeps no trees of functions
    program.url = server.url;
  });
  beforeEach(() => program.make());
  afterEach(() => program.remove());

  it('--schema asks a database of its own, which is gone afterwards, also if a file fails', async () => {
    program.write('app.ts', "pool.query('SELECT b, c FROM only_here')");
    program.write('one.sql', '\\restrict abc\nCREATE TABLE only_here (b int NOT NULL);\n\\unrestrict abc\n');
    program.write('two.sql', 'ALTER TABLE only_here ADD c text;');
    assert.deepEqual(await program.start(['--schema', 'one.sql', '--schema', 'two.sql']), {
      code: 0,
      stdout: '1 texts in 1 files have types\n',
      stderr: ''
    });
    assert.match(program.read(), /\{ "b": number; "c": string \| null \}/);
    assert.deepEqual(await databases(), []);
    program.write('three.sql', 'SELECT 1;\nCREATE TABEL x ();');
    assert.deepEqual(await program.run(['--schema', 'three.sql']).then(({ code, stderr }) => [code, stderr]), [
      1,
      'three.sql:2 - syntax error at or near "TABEL"\n'
    ]);
    assert.deepEqual(await databases(), []);
    const { code, stderr } = await program.run(['--schema', 'one.sql', '--schema', 'none.sql']);
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
      program.write('drop.sql', '-- all of it\nDROP TABLE kept;');
      program.write('app.js', "pool.query('SELECT id FROM kept')");
      program.write('services', '[named]\ndbname=named\n');
    });
    afterEach(async () => {
      assert.deepEqual(await server.sql('SELECT count(*) AS n FROM kept', { database: 'named' }), [{ n: '0' }]);
      assert.deepEqual(await databases(), []);
    });

    for (const [name, env] of Object.entries(FORMS)) {
      it(name, async () => {
        const { code, stderr } = await program.run(['--schema', 'drop.sql'], env(server));
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
        const { code, stderr } = await program.run(['--schema', 'drop.sql'], {
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
        program.write('endless.sql', 'SELECT 1;\nSELECT pg_sleep(1000)');
        const running = program.start(['--schema', 'endless.sql']);
        await until(() => isRunning('SELECT pg_sleep(1000)'), 'the file does not run');
        for (const each of signals) running.child.kill(each);
        const { code, stderr } = await running;
        assert.equal(code, 1);
        assert.match(stderr, /^stopped by SIG(?:INT|TERM|HUP)\n$/);
        if (signals.length === 1) assert.equal(stderr, `stopped by ${signals[0]}\n`);
      });

      it(`after ${name} while it is made`, async () => {
        program.write('one.sql', 'SELECT 1');
        // CREATE DATABASE waits for what is connected to its template.
        await server.sql('ALTER DATABASE template0 ALLOW_CONNECTIONS true');
        const other = new Client({ ...server.config, database: 'template0' });
        await other.connect();
        try {
          const running = program.start(['--schema', 'one.sql']);
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
      await server.sql("ALTER SYSTEM SET idle_session_timeout = '250ms'");
      await server.sql('SELECT pg_reload_conf()');
      program.write('slow.sql', 'CREATE TABLE slow (id int NOT NULL); SELECT pg_sleep(0.5)');
      program.write('app.js', "pool.query('SELECT id FROM slow')");
      assert.deepEqual(await program.run(['--schema', 'slow.sql']), {
        code: 0,
        stdout: '1 texts in 1 files have types\n',
        stderr: ''
      });
    });

    it('if strings end elsewhere on the server', async () => {
      await server.sql('ALTER SYSTEM SET standard_conforming_strings = off');
      await server.sql('SELECT pg_reload_conf()');
      program.write(
        'strings.sql',
        "CREATE TABLE strings (a text DEFAULT '\\', b int DEFAULT length('; SELECT 1/0; --'))"
      );
      program.write('app.js', "pool.query('SELECT b FROM strings')");
      const { code, stderr } = await program.run(['--schema', 'strings.sql']);
      assert.deepEqual([code, stderr], [0, '']);
    });

    it('and runs no statement that stands behind another one for the server alone', async () => {
      const divided = "SET work_mem = '1MB'; CREATE TABLE hidden (id int)";
      const scripts = [{ file: 'a.sql', statements: [{ text: divided, line: 7 }] }];
      await assert.rejects(
        withDatabase(server.url, scripts, () => {}),
        /^Error: a\.sql:7 - cannot insert multiple commands into a prepared statement/
      );
    });

    it('but for one that cannot be dropped: the command names it, and fails', async () => {
      program.write('one.sql', 'CREATE TABLE one (id int NOT NULL)');
      program.write('app.js', "pool.query('SELECT id FROM one')");
      const keep = "UPDATE pg_database SET datistemplate = $1 WHERE datname LIKE 'quickgres%'";
      program.write('keep.sql', `DO $$ BEGIN ${keep.replace('$1', 'true')}; END $$`);
      const { code, stdout, stderr } = await program.run(['--schema', 'one.sql', '--schema', 'keep.sql']);
      const [{ datname }] = await databases();
      await server.sql(keep.replace('$1', 'false'));
      await server.sql(`DROP DATABASE ${datname}`);
      assert.deepEqual([code, stdout], [1, '1 texts in 1 files have types\n']);
      assert.equal(stderr, `the database ${datname} is left, drop it: cannot drop a template database\n`);
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
        program.write('a.sql', 'SELECT 1');
        for (const [file, text] of Object.entries(files)) program.write(file, text);
        const { code, stderr } = await program.run(['--schema', 'a.sql']);
        assert.equal(code, 1);
        assert.equal(stderr.slice(0, said.length), said);
        assert.ok(!/^ +at |node:/m.test(stderr), stderr);
      });
    }
  });

  it('--schema takes whatever a server takes, statement by statement', async () => {
    program.write(
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
    program.write('two.sql', 'ALTER TABLE a ADD c int');
    program.write('app.js', "pool.query('SELECT a.id, c.t, f(1) FROM a, c')");
    const { code, stderr } = await program.run(['--schema', 'one.sql', '--schema', 'two.sql']);
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(program.read(), /\{ "id": number; "t": "a;" \| "b"; "f": number \| null \}/);
  });

  it('--schema leaves no session of its files open while the database is asked', async () => {
    const scripts = ['a', 'b'].map(name => ({
      file: name,
      statements: [{ text: `CREATE TABLE ${name} (id int)`, line: 1 }]
    }));
    await withDatabase(server.url, scripts, async (url, database) => {
      const sessions = () => server.sql(`SELECT FROM pg_stat_activity WHERE datname = '${database}'`);
      await until(async () => (await sessions()).length === 0, 'a session is open');
    });
  });

  it('--watch sees a change of a source in a folder of a folder, if nothing else changes', async () => {
    program.write('a/b/app.js', "pool.query('SELECT 1 AS a')");
    program.write('.out/none', '');
    const running = program.start(['--watch', '--out', '.out/queries.d.ts']);
    const said = text => until(() => running.said.includes(text), `it does not say ${text}`);
    running.said = '';
    for (const each of [running.child.stdout, running.child.stderr]) each.on('data', text => (running.said += text));
    try {
      await said('1 texts');
      program.write('app.js', "pool.query('SELECT 2 AS b')");
      await said('2 texts'); // it reads all when it begins, and then no more
      program.write('a/b/app.js', "pool.query('SELECT 1 AS a'); pool.query('SELECT 3 AS c')");
      await said('3 texts');
      program.write('package.json', '{');
      await said('package.json: '); // and goes on
      program.write('package.json', '{}');
      program.write('app.js', "pool.query('SELECT 2 AS b'); pool.query('SELECT 4 AS d')");
      await said('4 texts');
    } finally {
      running.child.kill('SIGINT');
    }
    await running;
  });

  it('--watch writes the file at each change of sources, settings and the schema, in one database, until a signal', async () => {
    const written = types =>
      until(() => fs.existsSync(path.join(program.folder, 'queries.d.ts')) && types.test(program.read()), types);
    program.write('a.sql', 'CREATE TABLE a (id int NOT NULL);');
    program.write('app.js', "pool.query('SELECT id FROM a')");
    const running = program.start(['--watch', '--schema', 'a.sql']);
    let said = '';
    running.child.stderr.on('data', text => (said += text));
    try {
      await written(/"SELECT id FROM a".*"id": number \}/);
      const first = await databases();
      assert.equal(first.length, 1);
      program.write('new/more.js', "pool.query('SELECT 1 AS b')");
      await written(/"SELECT 1 AS b"/);
      program.write('new/more.js', "pool.query('SELECT 2 AS c'); pool.query('SELECT x')");
      await written(/"SELECT 2 AS c"/);
      await until(() => said.includes('new/more.js:1:49 - column "x" does not exist\n'), 'the error is not said');
      program.write('package.json', '{"quickgres": {"columns": {"a.id": "Id"}}}');
      await written(/"id": Id/);
      assert.deepEqual(await databases(), first);
      program.write('a.sql', 'CREATE TABEL a (id int);');
      await until(() => said.includes('a.sql:1 - syntax error'), 'the error of the schema is not said');
      program.write('a.sql', 'CREATE TABLE a (id int);');
      await written(/"id": Id \| null/);
      fs.rmSync(path.join(program.folder, 'new'), { recursive: true });
      await until(() => !program.read().includes('"SELECT 2 AS c"'), 'what is gone stays');
    } finally {
      running.child.kill('SIGINT');
    }
    const { code, stderr } = await running;
    assert.deepEqual([code, stderr.split('\n').at(-2)], [1, 'stopped by SIGINT']);
    assert.deepEqual(await databases(), []);
  });
});

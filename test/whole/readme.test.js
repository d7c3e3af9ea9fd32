'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const quickgres = require('../..');
const { Live } = require('../../lib/live');
const { Pool } = require('../../lib/pool');
const { createRequire } = require('node:module');
const { archived, saved } = require('../support/archive');
const { afterTest } = require('../support/hooks');
const { DOCUMENTS, RECIPES, examples } = require('../support/examples');

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor;

/** Documents whose SQL their examples need. */
const STAYING = new Set(['lib/core/requests/WITH.md']);

/** Imports by a function: static ones are for modules alone, and dynamic ones would be those of this file. */
function withoutImports(code) {
  return code
    .replace(
      /^import (\{.*\}|\w+) from ('.*');/gm,
      (all, names, from) =>
        `const ${names.startsWith('{') ? names.replace(/ as /g, ': ') : `{ default: ${names} }`} = await import(${from});`
    )
    .replace(/\bimport\(/g, 'load(');
}

/** Where the examples find the library: its clone, and what npm installs. */
const PLACES = {
  clone: () => path.join(__dirname, '../..'),
  'installed archive': archived
};

const { Request } = globalThis;
const replaceRequest = value => Object.defineProperty(globalThis, 'Request', { value, configurable: true });

describe('The documents', () => {
  let server, port, client, pool, web, folder;
  const home = process.cwd();

  before(async () => {
    server = await startServer({
      external: false,
      sample: 1000,
      auth: 'scram-sha-256',
      users: { me: { password: 'secret', attributes: 'SUPERUSER' } },
      settings: { wal_level: 'logical' }
    });
    await server.sql('CREATE DATABASE mydb TEMPLATE postgres');
    ({ port } = server);
    // What the examples for the browser fetch.
    web = http.createServer(async (request, response) => {
      if (request.url !== '/users')
        return client.queryTo(response, 'SELECT id, name, now() AS created FROM users LIMIT 10');
      const live = new Live(pool);
      await live.respond(request, response, 'SELECT id, name FROM users LIMIT 100', [], { tags: ['users'] });
      await live.end();
    });
    await new Promise(resolve => web.listen(0, '127.0.0.1', resolve));
    // In a page, paths are relative to it.
    const base = `http://127.0.0.1:${web.address().port}`;
    replaceRequest(
      class extends Request {
        constructor(url, init) {
          super(typeof url === 'string' ? new URL(url, base) : url, init);
        }
      }
    );
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'readme-')); // for what the examples write
    process.chdir(folder);
  });

  after(async () => {
    process.chdir(home);
    replaceRequest(Request);
    fs.rmSync(folder, { recursive: true });
    web.close();
    web.closeAllConnections();
    await server.stop();
  });

  beforeEach(async () => {
    // The examples say host, user, database and password; where the test's server listens, the environment says.
    const there = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'me', PGPASSWORD: 'secret', PGDATABASE: 'mydb' };
    Object.assign(process.env, there);
    client = new quickgres.Client();
    await client.connect();
    pool = new Pool();
  });

  afterEach(async () => {
    for (const name of ['PGPORT', 'PGHOST', 'PGUSER', 'PGPASSWORD', 'PGDATABASE']) delete process.env[name];
    client.destroy();
    pool.destroy();
  });

  // Before the examples, which leave connections behind that may still be at work.
  for (const document of DOCUMENTS) {
    for (const { code, line } of examples(document, 'sql')) {
      it(`have SQL at ${document}:${line} that the server takes`, () =>
        client.simpleQuery(`BEGIN; ${code} ${STAYING.has(document) ? 'COMMIT' : 'ROLLBACK'}`));
    }
  }

  const quiet = { ...console, log() {}, table() {} };
  const all = DOCUMENTS.flatMap(document => examples(document).map(each => ({ ...each, document })));
  for (const [place, folderOf] of Object.entries(PLACES)) {
    describe(`with the library of the ${place}`, () => {
      let from, load;
      before(async () => {
        await server.sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active');
        await server.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname ~ $$mydb|original$$');
        const [original] = await server.sql("SELECT FROM pg_database WHERE datname = 'original'");
        if (original) await server.sql('DROP DATABASE mydb WITH (FORCE)');
        else await server.sql('ALTER DATABASE mydb RENAME TO original'); // with what the SQL has made
        await server.sql('CREATE DATABASE mydb TEMPLATE original');
        from = createRequire(path.join(folderOf(), 'index.js'));
        const file = path.join(folderOf(), 'load.mjs');
        if (place !== 'clone') fs.writeFileSync(file, 'export const load = name => import(name);');
        load = place === 'clone' ? name => import(name) : (await import(pathToFileURL(file))).load;
      });

      for (const { code, line, document } of all) {
        it(`have an example at ${document}:${line} that runs as printed`, async () => {
          const declares = name => new RegExp(`(?:const|let|import) (?:\\{[^}]*)?\\b${name}\\b`).test(code);
          const fetchHere = (url, init) => fetch(new URL(url, `http://127.0.0.1:${web.address().port}`), init);
          const arrayBuffer = await (
            await fetchHere('/rows', { headers: { accept: 'application/x-postgresql' } })
          ).arrayBuffer();
          const { Client } = from('quickgres');
          const own = { client: new Client(), pool: new (from('quickgres/pool').Pool)() };
          await own.client.connect();
          afterTest(() => Object.values(own).forEach(each => each.destroy()));
          const names = {
            require: from,
            load,
            assert,
            fetch: fetchHere,
            arrayBuffer,
            console: quiet,
            // A program that runs until SIGTERM ends in this way after the test.
            process: { env: process.env, once: (signal, end) => afterTest(end) },
            ...Object.fromEntries(Object.entries({ Client, config: {}, ...own }).filter(([name]) => !declares(name)))
          };
          await new AsyncFunction(...Object.keys(names), withoutImports(code))(...Object.values(names));
        });
      }
    });
  }

  it('have a first program that prints what the README says, also where the demo runs', async () => {
    const [{ code }] = examples('README.md');
    const program = path.join(archived(), 'first.mjs');
    fs.writeFileSync(program, code);
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    assert.equal(stdout.trim(), /console\.log\(.*\); \/\/ (.*)$/m.exec(code)[1]);
  });

  for (const [name, printed] of Object.entries(RECIPES)) {
    it(`have a recipe recipes/${name} that runs as it is, where the archive is installed`, async () => {
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [saved(name)], { cwd: archived() });
      assert.deepEqual([stdout.trim(), stderr], [printed.trim(), '']);
    });
  }

  it('have migrations that run once', async () => {
    const migrate = () => promisify(execFile)(process.execPath, [saved('migrate.mjs')]);
    await client.query('DROP TABLE IF EXISTS migrations, teams');
    await Promise.all([migrate(), migrate()]);
    assert.equal((await client.query('SELECT FROM migrations')).rowCount, 2);
  });

  it('have no code that nothing looks at, but commands and what only a Worker runs', () => {
    const fences = DOCUMENTS.flatMap(document => {
      const text = fs.readFileSync(path.join(__dirname, '../..', document), 'utf8');
      return [...text.matchAll(/^```(.*)\n[^]*?^```$/gm)].map(([code, language]) => ({ code, language }));
    });
    // test/types compiles what its guide shows, and compares what the compiler says.
    const unseen = fences
      .filter(
        ({ language }) => !['js', 'mjs', 'ts', 'tsx', 'jsx', 'sql', 'ts mistakes', 'text', 'json'].includes(language)
      )
      .map(({ code }) => code)
      .filter(code => !/npm (?:ci|install)|npx (?:esbuild|quickgres)|pg\/register/.test(code));
    assert.deepEqual(unseen, []);
  });

  it('have links to what is there', () => {
    const root = path.join(__dirname, '../..');
    const read = name => fs.readFileSync(path.join(root, name), 'utf8').replace(/^```[^]*?^```$/gm, '');
    /** What GitHub makes of a heading. */
    const anchors = name =>
      [...read(name).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
        heading
          .toLowerCase()
          .replace(/[^\p{L}\p{N} _-]/gu, '')
          .replaceAll(' ', '-')
      );
    const broken = [];
    let count = 0;
    for (const name of [
      ...DOCUMENTS,
      'lib/README.md',
      'lib/READING.md',
      'SECURITY.md',
      'CHANGELOG.md',
      'bench/README.md',
      'bench/EXPERIMENTS.md'
    ]) {
      for (const [, target] of read(name).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
        count++;
        const [file, anchor] = target.split('#');
        const there = file === '' ? name : path.posix.join(path.posix.dirname(name), file);
        if (!fs.existsSync(path.join(root, there))) broken.push(`${name}: ${target}`);
        else if (anchor !== undefined && !anchors(there).includes(anchor)) broken.push(`${name}: ${target}`);
      }
    }
    assert.ok(count > 40, `${count}`);
    assert.deepEqual(broken, []);
  });

  it('have examples', () => assert.ok(all.length > 20, `${all.length}`));
});

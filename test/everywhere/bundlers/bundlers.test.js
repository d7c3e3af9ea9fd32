'use strict';

// Each entry point of the installed archive, bundled by each bundler: the bundle runs alone, and asks a server.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { archived } = require('../../support/archive');
const { PAGES, SERVERS, madeOf } = require('./bundlers');

const CONFIG = 'JSON.parse(process.env.SERVER)';

/** A row as the protocol's bytes, for programs of pages. */
const BYTES =
  'Uint8Array.from(atob("VAAAABoAAW4AAAAAAAAAAAAAFwAE/////wAARAAAAAwAAQAAAAI0MkMAAAANU0VMRUNUIDEA"), c => c.charCodeAt())';

/** What a program does with an entry point, until it prints 42. */
const PROGRAMS = {
  '.': `import { Client } from 'quickgres';
    const client = new Client(${CONFIG});
    await client.connect();
    const { rows: [{ n }] } = await client.query('SELECT 6 * $1::int AS n', [7]);
    console.log(Number(n));
    await client.end();`,
  './cache': `import { ResponseCache } from 'quickgres/cache';
    import { Pool } from 'quickgres/pool';
    const pool = new Pool(${CONFIG});
    const cache = new ResponseCache(pool);
    console.log(Number((await cache.query('SELECT 42 AS n')).rows[0].n));
    await pool.end();`,
  './http': `import { Client } from 'quickgres';
    import { respond } from 'quickgres/http';
    const client = new Client(${CONFIG});
    await client.connect();
    const request = new Request('http://localhost/', { headers: { accept: 'application/json' } });
    console.log((await (await respond(client, request, 'SELECT 42 AS n')).json())[0].n);
    await client.end();`,
  './live': `import { EventEmitter } from 'node:events';
    import { Live } from 'quickgres/live';
    import { Pool } from 'quickgres/pool';
    const pool = new Pool(${CONFIG});
    const live = new Live(pool);
    const { rows: [{ n }] } = await pool.query('SELECT 42 AS n');
    console.log(live instanceof EventEmitter && Number(n));
    await live.end();
    await pool.end();`,
  './pg': `import pg from 'quickgres/pg';
    const pool = new pg.Pool(${CONFIG});
    console.log((await pool.query('SELECT 42 AS n')).rows[0].n);
    await pool.end();`,
  './pool': `import { Pool } from 'quickgres/pool';
    const pool = new Pool(${CONFIG});
    const n = await pool.transaction(async tx => Number((await tx.query('SELECT 42 AS n')).rows[0].n));
    console.log(n);
    await pool.end();`,
  './replication': `import { changes } from 'quickgres/replication';
    for await (const { type, new: row } of changes(${CONFIG}, {
      publication: 'all_tables',
      snapshot: async tx => void await tx.query('SELECT 1')
    })) {
      if (type === 'insert') { console.log(row.n); break; }
    }`,
  './sql': `import { Client } from 'quickgres';
    import { sql } from 'quickgres/sql';
    const client = new Client(${CONFIG});
    await client.connect();
    console.log(Number((await client.query(sql\`SELECT \${42}::int AS n\`)).rows[0].n));
    await client.end();`,
  './sockets': `import { Client } from 'quickgres';
    import { webSocket, workersSocket } from 'quickgres/sockets';
    const client = new Client({ ...${CONFIG}, host: 'localhost', password: 'secret', socket: workersSocket });
    const { message } = await client.connect().catch(error => error);
    console.log(typeof webSocket('ws://localhost') === 'function' && message.includes('Cloudflare') ? 42 : message);`,
  './client-parser': `import { rows } from 'quickgres/client-parser';
    for await (const { n } of rows(${BYTES})) console.log(n);`,
  './client-parser/live': `import { live } from 'quickgres/client-parser/live';
    console.log(typeof live === 'function' && 42);`
};

/** Entry points that no bundle has, and why. */
const NO_BUNDLE = {
  './pg/register': 'it takes the place of the package pg for what is required later, and a bundle requires nothing'
};

/** What a page can have: it opens no sockets. */
const FOR_PAGES = ['./client-parser', './client-parser/live'];

const nameOf = entry => (entry === '.' ? 'core' : entry.slice(2).replace('/', '-'));

describe('A bundle of the installed archive', function () {
  this.timeout(180_000);
  let folder, server, env;
  before(async () => {
    server = await startServer({ settings: { wal_level: 'logical' } });
    await server.sql('CREATE TABLE numbers (n int); CREATE PUBLICATION all_tables FOR ALL TABLES');
    env = { ...process.env, NODE_OPTIONS: '', SERVER: JSON.stringify(server.config) };
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'bundled-')));
    fs.cpSync(path.join(archived(), 'node_modules'), path.join(folder, 'node_modules'), { recursive: true });
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "name": "empty", "private": true }');
    for (const [entry, text] of Object.entries(PROGRAMS)) {
      const at = text.search(/^ *(?!import|\s)\S/m);
      const program = `${text.slice(0, at)}\nexport const done = (async () => {${text.slice(at)}})();`;
      fs.writeFileSync(path.join(folder, `${nameOf(entry)}.mjs`), program);
    }
  });
  after(async () => {
    await server?.stop();
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  });

  it('has a program for each entry point, or a reason why not', () => {
    const entries = Object.keys(require('../../../package.json').exports).filter(name => !/\*|json$/.test(name));
    assert.deepEqual([...Object.keys(PROGRAMS), ...Object.keys(NO_BUNDLE)].sort(), entries.sort());
  });

  /** Runs what a bundler makes of programs, where nothing else is. */
  async function run(bundle, entries) {
    const outdir = fs.mkdtempSync(path.join(os.tmpdir(), 'made-'));
    try {
      await bundle(
        entries.map(entry => path.join(folder, `${nameOf(entry)}.mjs`)),
        outdir
      );
      const alone = fs.mkdtempSync(path.join(os.tmpdir(), 'alone-'));
      fs.cpSync(outdir, alone, { recursive: true });
      const wrong = [];
      for (const entry of entries) {
        const running = promisify(execFile)(process.execPath, [madeOf(alone, nameOf(entry))], { env, timeout: 20_000 });
        const timer =
          entry === './replication' && setInterval(() => server.sql('INSERT INTO numbers VALUES (42)'), 200);
        const { stdout, stderr } = await running.catch(error => error);
        clearInterval(timer);
        if (stdout.trim() !== '42') wrong.push(`${entry}: ${stdout}${stderr.slice(0, 500)}`);
      }
      fs.rmSync(alone, { recursive: true });
      assert.ok(wrong.length === 0, wrong.join('\n'));
    } finally {
      fs.rmSync(outdir, { recursive: true });
    }
  }

  for (const [name, bundle] of Object.entries(SERVERS))
    it(`by ${name} asks a server, by each entry point`, () => run(bundle, Object.keys(PROGRAMS)));

  for (const [name, bundle] of Object.entries(PAGES))
    it(`by ${name} for a page reads rows`, () => run(bundle, FOR_PAGES));
});

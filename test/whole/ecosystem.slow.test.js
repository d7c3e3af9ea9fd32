'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { archived } = require('../support/archive');
const { installed } = require('../support/folder');
const { afterTest } = require('../support/hooks');
const { connected, sharedServer } = require('../support');
const { until } = require('../support/kit');

/** Closes a server, and what its readers have left open. */
async function close(web) {
  web.close();
  web.closeAllConnections();
  await once(web, 'close');
}

describe('The ecosystem', () => {
  let server;
  before(async function () {
    installed(this, 'ecosystem');
    server = await sharedServer();
  });

  describe('Kysely', () => {
    let kysely, pool, db;
    beforeEach(async () => {
      kysely = require('../ecosystem/node_modules/kysely');
      const { QuickgresDialect } = require('../ecosystem/kysely');
      await server.sql('CREATE SCHEMA kysely');
      pool = new Pool({ ...server.config, search_path: 'kysely, public' });
      db = new kysely.Kysely({ dialect: new QuickgresDialect(pool) });
      await db.schema
        .createTable('pets')
        .addColumn('id', 'serial', column => column.primaryKey())
        .addColumn('name', 'text', column => column.notNull().unique())
        .addColumn('tags', 'jsonb')
        .addColumn('born', 'timestamptz')
        .execute();
    });
    afterEach(async () => {
      await pool.end();
      await server.sql('DROP SCHEMA kysely CASCADE');
    });

    const add = (to, name) =>
      to.insertInto('pets').values({ name }).returning(['id', 'name']).executeTakeFirstOrThrow();

    it('selects and inserts, with values of every kind', async () => {
      const born = new Date('2020-02-29T12:00:00Z');
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('pets')
        .values([
          { name: 'Rex', tags: { good: true }, born },
          { name: 'Tom', tags: null, born: null }
        ])
        .executeTakeFirst();
      assert.equal(numInsertedOrUpdatedRows, 2n);
      assert.deepEqual(await add(db, 'Kit'), { id: 3, name: 'Kit' });
      const rows = await db
        .selectFrom('pets')
        .select(['name', 'tags', 'born'])
        .where('id', '<', 3)
        .orderBy('id')
        .execute();
      assert.deepEqual(
        rows.map(({ name, tags }) => ({ name, tags })),
        [
          { name: 'Rex', tags: { good: true } },
          { name: 'Tom', tags: null }
        ]
      );
      assert.deepEqual(rows[0].born, born);
      const { numDeletedRows } = await db.deleteFrom('pets').executeTakeFirst();
      assert.equal(numDeletedRows, 3n);
    });

    it('pipelines queries that do not wait for each other', async () => {
      const names = Array.from({ length: 20 }, (_, i) => `pet ${i}`);
      await Promise.all(names.map(() => pool.query('SELECT pg_sleep(0.01)'))); // all connections are open
      const adding = Promise.all(names.map(name => add(db, name)));
      await new Promise(setImmediate);
      assert.ok(pool.stats.pending > 1, `${pool.stats.pending} pending`);
      assert.deepEqual(
        (await adding).map(({ name }) => name),
        names
      );
    });

    it('commits and rolls back, beside others', async () => {
      let other;
      await db
        .transaction()
        .setIsolationLevel('serializable')
        .execute(async trx => {
          await add(trx, 'inside');
          other = add(db, 'outside');
          await add(trx, 'still inside');
          const {
            rows: [{ level }]
          } = await kysely.sql`SELECT current_setting('transaction_isolation') AS level`.execute(trx);
          assert.equal(level, 'serializable');
        });
      await other;
      await assert.rejects(
        db.transaction().execute(async trx => {
          await add(trx, 'nobody');
          throw new Error('changed my mind');
        }),
        /changed my mind/
      );
      const rows = await db.selectFrom('pets').select('name').orderBy('name').execute();
      assert.deepEqual(
        rows.map(({ name }) => name),
        ['inside', 'outside', 'still inside']
      );
    });

    it('goes back to savepoints', async () => {
      const trx = await db.startTransaction().execute();
      await add(trx, 'kept');
      const point = await trx.savepoint('before').execute();
      await assert.rejects(add(point, 'kept'), { code: '23505' });
      await point.rollbackToSavepoint('before').execute();
      await add(trx, 'kept, too');
      await trx.commit().execute();
      assert.equal((await db.selectFrom('pets').selectAll().execute()).length, 2);
    });

    it('rejects with the error of the server, and goes on', async () => {
      await add(db, 'Rex');
      await assert.rejects(add(db, 'Rex'), { name: 'PostgresError', code: '23505', constraint: 'pets_name_key' });
      await assert.rejects(
        db.transaction().execute(trx => add(trx, 'Rex')),
        { code: '23505' }
      );
      assert.deepEqual((await add(db, 'Tom')).name, 'Tom');
    });

    it('streams through a cursor', async () => {
      let count = 0;
      const numbers = () => kysely.sql`generate_series(1, 100000)`.as('n');
      for await (const { n } of db.selectNoFrom(numbers()).stream(100)) {
        assert.equal(n, ++count);
        if (count === 250) break;
      }
      assert.equal((await add(db, 'after')).name, 'after'); // the connection is free again
      await db.transaction().execute(async trx => {
        let sum = 0;
        for await (const { n } of trx.selectNoFrom(numbers()).stream(1000)) sum += n;
        assert.equal(sum, 5000050000);
      });
    });

    it('shows what is in the database, and ends the pool', async () => {
      const tables = await db.introspection.getTables();
      assert.ok(tables.some(({ name }) => name === 'users'));
      await db.destroy();
      assert.equal(pool.stats.connected, 0);
    });
  });

  for (const [name, listen] of Object.entries({
    async Fastify(pool) {
      const app = require('../ecosystem/fastify')(pool);
      await app.listen({ port: 0, host: '127.0.0.1' });
      return { port: app.server.address().port, close: () => close(app.server) };
    },
    async Express(pool) {
      const web = http.createServer(require('../ecosystem/express')(pool)).listen(0, '127.0.0.1');
      await once(web, 'listening');
      return { port: web.address().port, close: () => close(web) };
    },
    async Hono(pool) {
      const { fetch } = require('../ecosystem/hono')(pool);
      const web = require('../ecosystem/node_modules/@hono/node-server')
        .createAdaptorServer({ fetch })
        .listen(0, '127.0.0.1');
      await once(web, 'listening');
      return { port: web.address().port, close: () => close(web) };
    }
  })) {
    describe(name, () => {
      let pool, web, url;
      beforeEach(async () => {
        pool = new Pool(server.config);
        web = await listen(pool);
        url = path => `http://127.0.0.1:${web.port}${path}`;
      });
      afterEach(async () => {
        await web.close();
        await pool.end();
      });

      it('answers with a result, as it is', async () => {
        const response = await fetch(url('/users'));
        assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
        const users = await response.json();
        assert.equal(users.length, (await pool.query('SELECT FROM users')).rowCount);
        const { id, name } = users[0];
        assert.equal((await (await fetch(url(`/users/${id}`))).json()).name, name);
        assert.equal((await fetch(url('/users/00000000-0000-0000-0000-000000000000'))).status, 404);
        assert.equal((await fetch(url('/nowhere'))).status, 404);
      });

      it('answers 500 where the query fails, and goes on', async () => {
        const response = await fetch(url('/users/not-a-uuid'));
        assert.equal(response.status, 500);
        assert.match(response.headers.get('content-type'), /^application\/json/);
        await response.text();
        assert.equal((await fetch(url('/users'))).status, 200);
      });

      it('cancels the query of a reader that goes away, and goes on', async () => {
        const controller = new AbortController();
        const response = await fetch(url('/rows'), { signal: controller.signal });
        const reader = response.body.getReader();
        await reader.read();
        controller.abort();
        await assert.rejects(
          reader.read().then(() => reader.read()),
          { name: 'AbortError' }
        );
        await until(() => pool.stats.idle === pool.stats.connected);
        assert.equal((await fetch(url('/users'))).status, 200);
      });

      it('answers as the reader asks to be', async () => {
        const signal = AbortSignal.timeout(10000);
        const read = async accept => {
          const response = await fetch(url('/rows'), { headers: { accept }, signal });
          if (response.status !== 200) return [response.status];
          const reader = response.body.getReader();
          const { value } = await reader.read();
          await reader.cancel();
          return [200, response.headers.get('content-type'), String.fromCharCode(...value.subarray(0, 9))];
        };
        assert.deepEqual(await read('application/x-ndjson'), [200, 'application/x-ndjson', '{"n":1,"f']);
        assert.deepEqual(await read('text/csv'), [200, 'text/csv; charset=utf-8', 'n,filler\n']);
        assert.deepEqual(await read('text/html'), [406]);
        await until(() => pool.stats.pending === 0);
      });

      it('answers many at once', async () => {
        const answers = await Promise.all(
          Array.from({ length: 50 }, async (_, i) => {
            const response = await fetch(url(i % 10 === 9 ? '/users/broken' : '/users'));
            await response.arrayBuffer();
            return response.status;
          })
        );
        assert.deepEqual(
          answers,
          answers.map((_, i) => (i % 10 === 9 ? 500 : 200))
        );
      });
    });
  }

  describe('Fastify', () => {
    it('keeps the headers of plugins, runs their onSend hooks, and answers HEAD and errors', async () => {
      const pool = new Pool(server.config);
      const app = require('../ecosystem/fastify')(pool);
      app.addHook('onRequest', async (request, reply) => {
        reply.header('access-control-allow-origin', '*').header('vary', 'Origin');
      });
      app.addHook('onSend', async (request, reply) => {
        reply.header('x-sent', 'yes');
      });
      const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
      afterTest(() => Promise.all([app.close(), pool.end()]));
      const ask = async (path, init) => {
        const response = await fetch(`http://127.0.0.1:${port}${path}`, init);
        const header = name => response.headers.get(name);
        return [
          response.status,
          header('access-control-allow-origin'),
          header('x-sent'),
          header('vary')?.includes('Origin'),
          (await response.text()).length > 0
        ];
      };
      assert.deepEqual(await ask('/users'), [200, '*', 'yes', true, true]);
      assert.deepEqual(await ask('/rows', { headers: { accept: 'image/png' } }), [406, '*', 'yes', true, true]);
      assert.deepEqual(await ask('/users', { method: 'HEAD' }), [200, '*', 'yes', true, false]);
      assert.deepEqual(await ask('/users/broken'), [500, '*', 'yes', true, true]);
    });
  });

  describe('A recipe', () => {
    let folder;
    before(() => {
      folder = fs.mkdtempSync(path.join(__dirname, '../ecosystem/node_modules/recipe-'));
      fs.mkdirSync(path.join(folder, 'node_modules'));
      fs.cpSync(path.join(archived(), 'node_modules/quickgres'), path.join(folder, 'node_modules/quickgres'), {
        recursive: true
      });
    });
    after(() => fs.rmSync(folder, { recursive: true, force: true }));

    /** A port that nothing listens on. */
    async function freePort() {
      const web = http.createServer().listen(0, '127.0.0.1');
      await once(web, 'listening');
      const { port } = web.address();
      await close(web);
      return port;
    }

    for (const name of ['express', 'fastify', 'hono']) {
      it(`runs as it is, and answers: recipes/${name}.mjs`, async () => {
        fs.copyFileSync(path.join(__dirname, `../recipes/${name}.mjs`), path.join(folder, `${name}.mjs`));
        const port = await freePort();
        const { host, port: PGPORT, user, database, password = '' } = server.config;
        const env = {
          ...process.env,
          PORT: port,
          PGHOST: host,
          PGPORT,
          PGUSER: user,
          PGDATABASE: database,
          PGPASSWORD: password
        };
        const program = spawn(process.execPath, [`${name}.mjs`], {
          cwd: folder,
          env,
          stdio: ['ignore', 'ignore', 'inherit']
        });
        afterTest(async () => {
          program.kill();
          if (program.exitCode === null && program.signalCode === null) await once(program, 'exit');
        });
        const ask = (path, init) => fetch(`http://localhost:${port}${path}`, init);
        await until(async () => {
          assert.equal(program.exitCode, null);
          return ask('/').then(
            () => true,
            () => false
          );
        });
        const users = await (await ask('/users')).json();
        const { id, name: known } = users[0];
        assert.deepEqual(await (await ask(`/users/${id}`)).json(), [{ id, name: known }]);
        assert.equal((await ask('/users/00000000-0000-0000-0000-000000000000')).status, 404);
        const failed = await ask('/users/not-a-uuid');
        assert.deepEqual([failed.status, await failed.json()], [400, { error: 'a wrong value' }]);
        await server.sql('ALTER TABLE users RENAME TO people');
        const broken = await ask('/users').finally(() => server.sql('ALTER TABLE people RENAME TO users'));
        assert.deepEqual([broken.status, await broken.json()], [500, { error: 'the database could not answer' }]);
      });
    }
  });

  describe('React', () => {
    let client, web, browser, page, text, rounds;
    before(async function () {
      this.timeout(120000);
      await skipUnless(this, 'chromium');
      // The fixtures' own dependency.
      const esbuild = require(
        require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] })
      );
      const code = fs.readFileSync(path.join(__dirname, '../recipes/users.jsx'), 'utf8');
      const {
        outputFiles: [{ text: script }]
      } = await esbuild.build({
        stdin: {
          contents: `import { StrictMode } from 'react';
            import { createRoot } from 'react-dom/client';
            ${code}
            window.root = createRoot(document.getElementById('root'));
            root.render(<StrictMode><Users /></StrictMode>);`,
          loader: 'jsx',
          resolveDir: path.join(__dirname, '../ecosystem')
        },
        alias: { 'quickgres/client-parser': path.join(__dirname, '../..', 'client-parser', 'index.js') },
        bundle: true,
        format: 'esm',
        platform: 'browser',
        jsx: 'automatic',
        jsxDev: true,
        write: false,
        logLevel: 'silent'
      });
      web = http
        .createServer((request, response) => {
          if (request.url === '/rows') {
            // React's strict mode asks twice and leaves once: nothing is sent behind a slow query, so that it can be cancelled.
            client.queryTo(response, text, [rounds], { alone: true }).catch(() => {});
          } else if (request.url === '/page.js') response.setHeader('content-type', 'text/javascript').end(script);
          else
            response
              .setHeader('content-type', 'text/html')
              .end('<div id=root></div><script type=module src=/page.js></script>');
        })
        .listen(0, '127.0.0.1');
      await once(web, 'listening');
      browser = await launchBrowser();
    });
    beforeEach(async () => {
      client = await connected();
      page = await browser.newPage();
    });
    afterEach(() => page.close());
    after(async () => {
      await browser?.close();
      if (web) await close(web);
    });

    const items = () => page.locator('li').count();
    const open = () => page.goto(`http://127.0.0.1:${web.address().port}/`);

    it('shows the rows of recipes/users.jsx', async () => {
      text = 'SELECT gen_random_uuid() AS id, name FROM users, generate_series(1, $1)';
      rounds = 3;
      await open();
      const { rowCount } = await client.query('SELECT FROM users');
      await until(async () => (await items()) === 3 * rowCount);
      const { rows } = await client.query('SELECT name FROM users');
      const names = new Set(rows.map(({ name }) => name));
      assert.ok((await page.locator('li').allTextContents()).every(name => names.has(name)));
    });

    it('stops the query when the component goes away', async () => {
      // Each row fills the server's buffer, so that it leaves.
      text = "SELECT n AS id, 'x' AS name, repeat('x', 10000) AS filler, pg_sleep(0.02) FROM generate_series(1, $1) n";
      rounds = 10000; // 200 seconds
      await open();
      await until(async () => (await items()) > 0);
      await page.evaluate('root.unmount()');
      await until(() => client.pending === 0);
      assert.equal(await items(), 0);
    });
  });

  describe('OpenTelemetry', () => {
    let api, exporter, instrument, provider, sdk, stop;
    before(() => {
      api = require('../ecosystem/node_modules/@opentelemetry/api');
      const {
        BasicTracerProvider,
        InMemorySpanExporter,
        SimpleSpanProcessor
      } = require('../ecosystem/node_modules/@opentelemetry/sdk-trace-base');
      exporter = new InMemorySpanExporter();
      provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
      sdk = require('../ecosystem/node_modules/@opentelemetry/sdk-metrics');
      ({ instrument } = require('quickgres/recipes/opentelemetry.mjs'));
      stop = instrument({ tracer: provider.getTracer('test') });
    });
    after(() => stop());
    beforeEach(() => exporter.reset());

    it('gets a span of each query, named by its conventions', async () => {
      const client = await connected({ host: '127.0.0.1', port: server.port });
      await Promise.all([
        client.query('SELECT $1::text AS secret', ['a secret value']),
        client.query('SELECT 1 / 0').catch(() => {}),
        client.batch(['SELECT 1', 'SELECT 2'])
      ]);
      const [query, error, batch] = exporter.getFinishedSpans();
      const { database } = { database: 'postgres', ...server.config };
      const place = { 'server.address': '127.0.0.1', 'server.port': server.port, 'db.namespace': database };
      assert.deepEqual(query.attributes, {
        'db.system.name': 'postgresql',
        'db.query.text': 'SELECT $1::text AS secret',
        'db.operation.name': 'SELECT',
        ...place
      });
      assert.equal(query.name, `SELECT ${database}`);
      assert.equal(query.kind, api.SpanKind.CLIENT);
      assert.deepEqual(error.attributes, {
        'db.system.name': 'postgresql',
        'db.query.text': 'SELECT ? / ?',
        'db.operation.name': 'SELECT',
        'db.response.status_code': '22012',
        'error.type': '22012',
        ...place
      });
      assert.deepEqual(error.status, { code: api.SpanStatusCode.ERROR, message: '22012' });
      assert.deepEqual(batch.attributes, {
        'db.system.name': 'postgresql',
        'db.query.text': 'SELECT ?; SELECT ?',
        'db.operation.name': 'BATCH',
        'db.operation.batch.size': 2,
        ...place
      });
      assert.ok(
        !JSON.stringify([query, error, batch].map(({ attributes, events }) => [attributes, events])).includes(
          'a secret value'
        )
      );
    });

    it('gets a span of a query that the connection was lost under', async () => {
      const client = new Client({ host: '127.0.0.1', port: 1 });
      client.connect().catch(() => {});
      await assert.rejects(client.query('SELECT 1'), { name: 'ConnectionError' });
      const [span] = exporter.getFinishedSpans();
      assert.equal(span.attributes['error.type'], 'ECONNREFUSED');
      assert.equal(span.attributes['db.response.status_code'], undefined);
      assert.equal(span.status.code, api.SpanStatusCode.ERROR);
    });

    it('gets metrics of queries and pools, named by its conventions', async () => {
      const metrics = new sdk.InMemoryMetricExporter(sdk.AggregationTemporality.CUMULATIVE);
      const reader = new sdk.PeriodicExportingMetricReader({ exporter: metrics, exportIntervalMillis: 1e8 });
      const meter = new sdk.MeterProvider({ readers: [reader] }).getMeter('test');
      const pool = new Pool(server.config, { size: 1, acquire_timeout: 1500 });
      await pool.query('SELECT 1');
      const stopMetrics = instrument({ meter, pools: { main: pool } });
      let finish;
      const owner = pool.connection(() => new Promise(resolve => (finish = resolve)));
      while (finish === undefined) await new Promise(setImmediate);
      await assert.rejects(pool.query('SELECT 2'), { code: '53300' });
      const waiting = pool.query('SELECT 3');
      await reader.forceFlush();
      finish();
      await Promise.all([owner, waiting]);
      await reader.forceFlush();
      stopMetrics();
      await pool.end();
      const [during, after] = metrics
        .getMetrics()
        .map(({ scopeMetrics }) =>
          Object.fromEntries(
            scopeMetrics[0].metrics.map(({ descriptor, dataPoints }) => [
              descriptor.name,
              dataPoints.map(({ attributes, value }) => [attributes, value])
            ])
          )
        );
      const name = { 'db.client.connection.pool.name': 'main' };
      assert.deepEqual(during['db.client.connection.count'], [
        [{ ...name, 'db.client.connection.state': 'idle' }, 0],
        [{ ...name, 'db.client.connection.state': 'used' }, 1]
      ]);
      assert.deepEqual(during['db.client.connection.max'], [[name, 1]]);
      assert.deepEqual(during['db.client.connection.pending_requests'], [[name, 1]]);
      assert.deepEqual(during['db.client.connection.timeouts'], [[name, 1]]);
      assert.deepEqual(after['db.client.connection.pending_requests'], [[name, 0]]);
      assert.equal(after['db.client.connection.wait_time'][0][1].count, 1);
      const durations = after['db.client.operation.duration'];
      const counts = durations.map(([attributes, { count }]) => [attributes['error.type'], count]);
      assert.deepEqual(counts.slice(0, 2), [
        ['53300', 1],
        [undefined, 1]
      ]);
      await reader.shutdown();
    });
  });
});

'use strict';

// A Worker in Cloudflare's workerd, bundled by wrangler and run by miniflare: it asks a PostgreSQL server, directly and
// through a HYPERDRIVE binding. In between is a proxy that counts flights.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer, startProxy } = require('pg-test-fixtures');
const { archived } = require('../../support/archive');
const { bundleByGuide } = require('../../support/bundle');
const { afterTest } = require('../../support/hooks');
const config = require('./wrangler.json');

const run = promisify(execFile);
const ROOT = path.join(__dirname, '../../..');

/** Bundles a Worker as `wrangler deploy` would, which needs no network for that. */
async function bundle(main = config.main, date = config.compatibility_date) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'workerd-'));
  const wrangler = path.join(path.dirname(require.resolve('wrangler/package.json')), 'bin/wrangler.js');
  await run(
    process.execPath,
    [
      ...[wrangler, 'deploy', main, '--dry-run', '--config', path.join(__dirname, 'wrangler.json')],
      ...['--compatibility-date', date, '--outdir', directory]
    ],
    {
      cwd: __dirname,
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false' }
    }
  );
  const contents = fs.readFileSync(path.join(directory, `${path.parse(main).name}.js`), 'utf8');
  fs.rmSync(directory, { recursive: true });
  return [{ type: 'ESModule', path: 'worker.js', contents }];
}

describe('A Worker', function () {
  this.timeout(120000);
  let Miniflare, server, proxy, worker, parser;
  let printed = ''; // by the Worker

  before(async () => {
    parser = await import('../../../client-parser/index.js');
    server = await startServer({
      users: { web: { password: 'secret' } },
      auth: 'scram-sha-256',
      tls: true,
      sample: 1000
    });
    await server.sql('GRANT SELECT ON users TO web');
    // The authority that workerd trusts is read when miniflare is loaded.
    process.env.NODE_EXTRA_CA_CERTS = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'workerd-')), 'ca.pem');
    fs.writeFileSync(process.env.NODE_EXTRA_CA_CERTS, server.tls.ca.cert);
    ({ Miniflare } = require('miniflare'));
    proxy = await startProxy({ target: server });
    const url = `postgres://web:secret@127.0.0.1:${proxy.port}/${server.database}`;
    worker = new Miniflare({
      modules: await bundle(),
      compatibilityDate: config.compatibility_date,
      compatibilityFlags: config.compatibility_flags,
      handleRuntimeStdio: (...streams) => streams.forEach(stream => stream.on('data', bytes => (printed += bytes))),
      hyperdrives: { HYPERDRIVE: url },
      bindings: {
        direct: url,
        named: url.replace('127.0.0.1', 'localhost'),
        tls: `${url}?sslmode=require`,
        'socket-plain': `${url}?sslmode=disable`,
        'socket-tls': `${url.replace('127.0.0.1', 'localhost')}?sslmode=verify-full&sslrootcert=system&require_auth=scram-sha-256`
      }
    });
  });

  after(async () => {
    await worker?.dispose();
    await proxy?.stop();
    await server?.stop();
  });

  /** Asks the Worker; a request of it that hangs is given up after 10 seconds. */
  const request = what => worker.dispatchFetch(`http://worker/${what}`, { signal: AbortSignal.timeout(10000) });

  /** The Worker's answer as an object. */
  async function ask(what) {
    const response = await request(what);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return JSON.parse(text);
  }

  for (const pool of ['pool', 'pool-of-one', 'transactions', 'pg-pool', 'pg-clients'])
    it(`answers each request by a pool that lives as long as the isolate: ${pool}`, async () => {
      for (let n = 0; n < 30; n++) assert.equal(await ask(`${pool}/${n}`), n);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => ask(`${pool}/${n}`)));
      assert.deepEqual(
        answers,
        answers.map((_, n) => n)
      );
    });

  const WAYS = {
    direct: 'that connects directly',
    hyperdrive: 'with a HYPERDRIVE binding',
    'socket-plain': 'with workersSocket',
    'socket-tls': 'with workersSocket and TLS',
    'socket-hyperdrive': 'with workersSocket and a HYPERDRIVE binding'
  };
  for (const [way, title] of Object.entries(WAYS)) {
    describe(title, () => {
      it('asks queries, many at a time', async () => {
        assert.deepEqual(await ask(`${way}/query`), { row: { n: 42, t: 'ä', nothing: null }, cmd: 'SELECT' });
        assert.deepEqual(
          await ask(`${way}/pipelined`),
          Array.from({ length: 100 }, (_, i) => i)
        );
        assert.equal(await ask(`${way}/large`), 20000000);
      });

      it('has the errors of the server, and goes on', async () => {
        assert.deepEqual(await ask(`${way}/error`), {
          name: 'PostgresError',
          code: '22012',
          message: 'division by zero',
          after: 1
        });
      });

      it('asks typed queries in one round trip each, without a prepared statement', async () => {
        const flights = async count => {
          const {
            flights: { toServer }
          } = proxy.stats;
          assert.equal(await ask(`${way}/sequence?count=${count}`), count + (count * (count - 1)) / 2);
          await proxy.connections.at(-1).closed;
          return proxy.stats.flights.toServer - toServer;
        };
        assert.equal(await ask(`${way}/typed`), 42);
        const ten = await flights(10);
        const more = (await flights(30)) - ten;
        assert.ok(more >= 19 && more <= 21, `${more} flights`); // the end of TLS may be one of its own
      });

      it('asks batches, transactions and cursors', async () => {
        assert.deepEqual(await ask(`${way}/batch`), { sum: 3, index: 1, code: '22012' });
        assert.equal(await ask(`${way}/transaction`), 0);
        assert.equal(await ask(`${way}/cursor`), 249);
      });

      it('passes a result through into its Response, which client-parser reads', async () => {
        let count = 0;
        for await (const row of parser.rows((await request(`${way}/pass?rows=20000`)).body)) {
          assert.equal(row.i, ++count);
          assert.equal(row.x.length, 1000);
        }
        assert.equal(count, 20000);
        assert.equal(await (await request(`${way}/pass?as=values`)).text(), '[1, 2, 3, 4, 5]');
      });

      it('answers a Request by its headers, compressed once', async () => {
        const get = (rows, headers) => worker.dispatchFetch(`http://worker/${way}/respond?rows=${rows}`, { headers });
        const row = `,${'x'.repeat(100)}\n`;
        const small = await get(1, { accept: 'text/csv' });
        assert.deepEqual(
          [small.headers.get('content-type'), await small.text()],
          ['text/csv; charset=utf-8', `i,x\n1${row}`]
        );
        const large = await get(20000, { accept: 'text/csv' });
        assert.equal(large.headers.get('was-encoded'), 'br');
        assert.ok(
          (await large.text()) === `i,x\n${Array.from({ length: 20000 }, (_, i) => `${i + 1}${row}`).join('')}`
        );
        assert.equal((await get(1, { accept: 'text/html' })).status, 406);
      });

      it('cancels a query', async () => {
        assert.deepEqual(await ask(`${way}/cancel`), { name: 'AbortError', after: 1 });
      });

      it('keeps answers in a response cache', async () => {
        const [one, two] = await ask(`${way}/cached`);
        assert.equal(one, two);
      });
    });
  }

  it('works as recipes/worker.mjs', async () => {
    const example = fs.readFileSync(path.join(ROOT, 'test/recipes/worker.mjs'), 'utf8');
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'workerd-'));
    const main = path.join(directory, 'example.mjs');
    fs.writeFileSync(
      main,
      example
        .replace("'quickgres'", JSON.stringify(path.join(ROOT, 'index.mjs')))
        .replace("'quickgres/http'", JSON.stringify(path.join(ROOT, 'lib/http/index.js')))
        .replace("'quickgres/sockets'", JSON.stringify(path.join(ROOT, 'lib/sockets/index.js')))
    );
    const other = new Miniflare({
      modules: await bundle(main),
      compatibilityDate: config.compatibility_date,
      compatibilityFlags: config.compatibility_flags,
      hyperdrives: { HYPERDRIVE: `postgres://web:secret@127.0.0.1:${server.port}/${server.database}` }
    });
    try {
      const users = await (await other.dispatchFetch('http://worker/')).json();
      assert.equal(users.length, 100);
      assert.ok(users[0].name);
      await server.sql('ALTER TABLE users RENAME TO people');
      assert.equal((await other.dispatchFetch('http://worker/')).status, 500);
    } finally {
      await server.sql('ALTER TABLE IF EXISTS people RENAME TO users');
      await other.dispose();
      fs.rmSync(directory, { recursive: true });
    }
  });

  it('is bundled by esbuild alone, as lib/core/connection/README.md says', async () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'workerd-'));
    const outfile = path.join(directory, 'worker.mjs');
    await bundleByGuide(path.join(__dirname, config.main), outfile);
    const other = new Miniflare({
      modules: [{ type: 'ESModule', path: 'worker.js', contents: fs.readFileSync(outfile, 'utf8') }],
      compatibilityDate: config.compatibility_date,
      compatibilityFlags: config.compatibility_flags,
      bindings: { 'socket-plain': `postgres://web:secret@127.0.0.1:${server.port}/${server.database}?sslmode=disable` }
    });
    try {
      const answer = await (await other.dispatchFetch('http://worker/socket-plain/query')).json();
      assert.equal(answer.row.n, 42);
    } finally {
      await other.dispose();
      fs.rmSync(directory, { recursive: true });
    }
  });

  it('has every entry point of the installed archive, with the oldest compatibility_date that the guide allows', async () => {
    const names = Object.keys(require('../../../package.json').exports)
      .filter(name => !/\*|json$|register/.test(name))
      .map(name => `quickgres${name.slice(1)}`);
    const file = path.join(archived(), 'all.mjs');
    fs.writeFileSync(
      file,
      `${names.map((name, i) => `import * as entry${i} from '${name}';`).join('\n')}
      import { Client } from 'quickgres';
      import { workersSocket as socket } from 'quickgres/sockets';
      export default {
        async fetch(request, { connectionString }) {
          const client = new Client({ connectionString, socket });
          await client.connect();
          const { rows: [{ n }] } = await client.query('SELECT 42 AS n');
          client.destroy();
          return Response.json({ n: Number(n), empty: [${names.map((name, i) => `entry${i}`)}].filter(each => !Object.keys(each).length) });
        }
      }`
    );
    const guide = fs.readFileSync(path.join(ROOT, 'lib/core/connection/README.md'), 'utf8');
    const [compatibilityDate] = /(?<=`compatibility_date` of )[\d-]+/.exec(guide);
    const other = new Miniflare({
      modules: await bundle(file, compatibilityDate),
      compatibilityDate,
      compatibilityFlags: config.compatibility_flags,
      bindings: {
        connectionString: `postgres://web:secret@127.0.0.1:${server.port}/${server.database}?sslmode=disable`
      }
    });
    afterTest(() => other.dispose());
    assert.deepEqual(await (await other.dispatchFetch('http://worker/')).json(), { n: 42, empty: [] });
  });

  it('prints nothing of its queries, since NODE_DEBUG is not set', async () => {
    const before = printed.length;
    await ask('direct/query');
    assert.doesNotMatch(printed.slice(before), /QUICKGRES|SELECT|127\.0\.0\.1|\bweb\b/i);
  });

  it('may be given a name instead of an address', async () => {
    assert.equal((await ask('named/query')).row.n, 42);
  });

  it('does TLS by workersSocket', async () => {
    assert.deepEqual(await ask('socket-tls/encrypted'), { ssl: true, version: 'TLSv1.3' });
  });

  it('does no TLS without it: workerd lacks what that takes', async () => {
    const response = await request('tls/query');
    assert.equal(response.status, 500);
    assert.match(await response.text(), /rejectUnauthorized option is not implemented/);
  });

  for (const way of ['direct', 'socket-tls']) {
    it(`is told at once that a client was connected by another request: ${way}`, async () => {
      assert.equal(await ask(`${way}/kept`), 1);
      await assert.rejects(
        ask(`${way}/kept`),
        /the client was connected by another request of the Worker: connect one in each request; this request had not been sent/
      );
    });
  }
});

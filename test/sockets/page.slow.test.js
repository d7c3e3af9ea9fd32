'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const vm = require('node:vm');
const zlib = require('node:zlib');
const { launchBrowser, skipUnless, startServer, startWebsockify } = require('pg-test-fixtures');
const { examples } = require('../support/examples');
const { installed } = require('../support/folder');

const ROOT = path.join(__dirname, '../..');

/**
 * What the guide's options make of an app, with recipes/page-node.mjs as node.js.
 * @param {string} folder where readable-stream is installed
 * @returns {Promise<string>} the bundle
 */
async function bundle(folder) {
  // The fixtures' own dependency.
  const esbuild = require(require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));
  const codes = examples('lib/sockets/README.md', 'mjs').map(({ code }) => code);
  const directory = fs.mkdtempSync(path.join(folder, 'node_modules', 'page-'));
  try {
    fs.copyFileSync(path.join(ROOT, 'test/recipes/page-node.mjs'), path.join(directory, 'node.js'));
    fs.writeFileSync(
      path.join(directory, 'app.js'),
      `export { Client } from '${ROOT}/index.mjs';
      export { webSocket } from '${ROOT}/lib/sockets/index.js';`
    );
    const build = options => esbuild.build({ ...options, absWorkingDir: directory, minify: true, logLevel: 'silent' });
    const recipe = codes.find(code => code.includes('esbuild.build'));
    await vm.runInThisContext(`async esbuild => {${recipe}}`)({ build });
    return fs.readFileSync(path.join(directory, 'page.js'), 'utf8');
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

describe('A page that connects, bundled as the guide says, through websockify', function () {
  let server;
  let proxy;
  let web;
  let browser;
  let page;

  before(async function () {
    this.timeout(120000);
    skipUnless(this, 'chromium', 'websockify');
    const text = await bundle(installed(this, 'ecosystem'));
    const { length } = zlib.gzipSync(text);
    assert.ok(length < 130_000, `${length} bytes`);
    server = await startServer({
      users: {
        scram: { password: 'pässword' },
        cleartext: { password: 'secret' },
        md5: { password: 'secret', encryption: 'md5' }
      },
      hba: [
        'local all all trust',
        'host all fixtures all trust',
        'host all cleartext all password',
        'host all md5 all md5',
        'host all scram all scram-sha-256'
      ]
    });
    proxy = await startWebsockify({ target: server });
    const files = {
      '/': ['text/html', '<!doctype html><title>test</title>'],
      '/quickgres.js': ['text/javascript', text],
      '/worker.js': [
        'text/javascript',
        `import { Client, webSocket } from '/quickgres.js';
        import { exercise } from '/exercise.mjs';
        onmessage = ({ data: { url, ...config } }) => exercise(Client, { ...config, socket: webSocket(url) }).catch(String).then(postMessage);`
      ],
      '/exercise.mjs': ['text/javascript', fs.readFileSync(path.join(__dirname, '../support/exercise.mjs'))]
    };
    web = http
      .createServer((request, response) => {
        const file = files[request.url] ?? ['text/plain', 'not found'];
        response.writeHead(files[request.url] ? 200 : 404, { 'content-type': file[0] });
        response.end(file[1]);
      })
      .listen(0, '127.0.0.1');
    await once(web, 'listening');
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(`http://localhost:${web.address().port}/`);
  });

  after(async () => {
    await browser?.close();
    web?.close();
    await proxy?.stop();
    await server?.stop();
  });

  const config = more => ({
    host: server.host,
    port: server.port,
    database: server.database,
    user: 'scram',
    password: 'pässword',
    url: proxy.url,
    ...more
  });

  it('authenticates by SCRAM and cleartext, and refuses what it must', async () => {
    const ask = given =>
      page.evaluate(async ({ url, ...config }) => {
        const { Client, webSocket } = await import('/quickgres.js');
        const client = new Client({ ...config, socket: url && webSocket(url) });
        try {
          await client.connect();
          const { rows } = await client.query('SELECT current_user AS name');
          await client.end();
          return [rows[0].name, client.serverParameters.server_encoding];
        } catch (error) {
          return `${error.name} ${error.code} ${error.message}`;
        }
      }, given);
    assert.deepEqual(await ask(config()), ['scram', 'UTF8']);
    assert.deepEqual(await ask(config({ require_auth: 'scram-sha-256' })), ['scram', 'UTF8']);
    assert.deepEqual(await ask(config({ user: 'cleartext', password: 'secret' })), ['cleartext', 'UTF8']);
    assert.match(
      await ask(config({ user: 'md5', password: 'secret' })),
      /^ConnectionError 08001 .*browsers have no MD5/
    );
    assert.match(await ask(config({ password: 'wrong' })), /^PostgresError 28P01/);
    assert.match(await ask(config({ require_auth: 'md5' })), /^ConnectionError 28000 .*asks for scram-sha-256/);
    assert.match(await ask(config({ sslmode: 'require' })), /^ConnectionError 08001 .*setting up TLS: .*node:tls/);
    assert.match(
      await ask(config({ url: undefined })),
      /^ConnectionError 08001 127\.0\.0\.1:\d+: connecting: .*connect is not a function/
    );
    assert.match(await ask(config({ user: undefined })), /^TypeError undefined user must be given/);
    assert.match(await ask(config({ url: 'ws://localhost:9/' })), /^ConnectionError 08001 .*could not be opened/);
  });

  it('does all that it does elsewhere, and says what it lacks', async () => {
    const seen = await page.evaluate(async ({ url, ...config }) => {
      const { Client, webSocket } = await import('/quickgres.js');
      const { exercise } = await import('/exercise.mjs');
      const whole = { ...config, socket: webSocket(url) };
      const seen = await exercise(Client, whole);
      const client = new Client(whole);
      await client.connect();
      const { rows } = await client.query('SELECT 1 AS n');
      let copied = 0;
      for await (const chunk of client.copyTo('COPY (SELECT generate_series(1, 9)) TO STDOUT')) copied += chunk.length;
      const secure = new Client({ ...whole, socket: webSocket(url), ssl: true });
      const none = await secure.connect().catch(error => error);
      await client.end();
      const more = { n: rows[0].n, copied, none: none.message, globals: [typeof Buffer, typeof process] };
      return { seen, more };
    }, config());
    assert.deepEqual(seen.seen, (await import('../support/exercise.mjs')).EXPECTED);
    assert.match(seen.more.none, /TLS/);
    assert.deepEqual(
      { ...seen.more, none: undefined },
      {
        n: 1,
        copied: 18,
        none: undefined,
        globals: ['undefined', 'undefined']
      }
    );
  });

  it('works in a Web Worker', async () => {
    const answer = await page.evaluate(
      config =>
        new Promise(resolve => {
          const worker = new Worker('/worker.js', { type: 'module' });
          worker.onmessage = event => resolve(event.data);
          worker.onerror = event => resolve(event.message);
          worker.postMessage(config);
        }),
      config()
    );
    assert.deepEqual(answer, (await import('../support/exercise.mjs')).EXPECTED);
  });

  it('settles everything when the proxy dies', async () => {
    const own = await startWebsockify({ target: server });
    await page.evaluate(
      async ({ url, ...config }) => {
        const { Client, webSocket } = await import('/quickgres.js');
        const client = new Client({ ...config, socket: webSocket(url) });
        await client.connect();
        const asked = [
          client.query('SELECT pg_sleep(600)'),
          client.query('SELECT 1'),
          client.transaction(tx => tx.query('SELECT 1'))
        ];
        globalThis.settled = Promise.allSettled([...asked, client.closed, client.end()]);
      },
      config({ url: own.url })
    );
    await own.stop();
    const seen = await page.evaluate(async () => {
      return (await globalThis.settled).map(({ status, reason, value }) => [status, (reason ?? value)?.name]);
    });
    assert.deepEqual(seen, [
      ['rejected', 'ConnectionError'],
      ['rejected', 'ConnectionError'],
      ['rejected', 'ConnectionError'],
      ['fulfilled', 'ConnectionError'],
      ['fulfilled', undefined]
    ]);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const net = require('node:net');
const os = require('node:os');
const { launchBrowser, skipUnless, startProxy } = require('pg-test-fixtures');
const { Client } = require('../..');
const { begin, end, run } = require('../support/demo');
const { until } = require('../support/kit');

describe('the demo', function () {
  this.timeout(120000);

  let demo;
  let database;
  const lines = [];

  before(async () => {
    demo = await begin(lines);
    [, database] = /^for programs of your own, with a table users: (postgres:\S+)$/m.exec(lines.join('\n'));
  });
  after(() => end(demo));

  it('has a server for programs of one’s own while it runs, with the table of the README', async () => {
    const client = new Client(database);
    await client.connect();
    const { rows } = await client.query('SELECT id, name FROM users WHERE email = $1', ['7']);
    assert.equal(rows.length, 1);
    await client.end();
  });

  const get = name => fetch(new URL(name, demo.url));

  it('listens before it has a database and loads, and says what it does', () => {
    assert.match(
      lines.join('\n'),
      /^listening on http:\S+\n[^]*for programs [^]*\nloading 100000 sample users[^]*\nready$/
    );
  });

  it('gives its page before it has a database, and the rows after that', async () => {
    const other = await run({ DATABASE_URL: database }, [], 'listening');
    try {
      assert.match(await (await fetch(other.url)).text(), /<title>/);
      assert.equal((await fetch(new URL('/rows?limit=3', other.url))).status, 200);
    } finally {
      other.process.kill('SIGTERM');
      await once(other.process, 'exit');
    }
  });

  it('takes a free port if 8080 is taken, and says so', async () => {
    const blocker = http.createServer().listen(8080, 'localhost');
    await Promise.race([once(blocker, 'listening'), once(blocker, 'error')]).catch(() => {}); // somebody else has it
    const said = [];
    const { PORT, ...env } = process.env;
    const other = await run({ ...env, PORT: '', DATABASE_URL: database }, said, 'listening');
    try {
      assert.match(said.join('\n'), /^port 8080 is taken: another one is used\nlistening on http:\/\/localhost:\d+\/$/);
      assert.notEqual(new URL(other.url).port, '8080');
    } finally {
      other.process.kill('SIGTERM');
      await once(other.process, 'exit');
      blocker.close();
    }
  });

  it('passes on the protocol bytes of as many rows as are asked for', async () => {
    const { rows } = await import('../../client-parser/index.js');
    for (const [query, count] of [
      ['', 10000],
      ['?limit=0', 0],
      ['?limit=1', 1],
      ['?limit=250001', 250001]
    ]) {
      const response = await get(`/rows${query}`);
      assert.equal(response.headers.get('content-type'), 'application/x-postgresql');
      const result = rows(response);
      let read = 0;
      for await (const batch of result.batches()) read += batch.length;
      assert.deepEqual([read, result.rowCount, result.cmd], [count, count, 'SELECT']);
    }
  });

  it('gives the same rows in every way', async () => {
    for (const count of [0, 1, 1234]) {
      const json = await (await get(`/rows.json?limit=${count}`)).json();
      const lines = (await (await get(`/rows.ndjson?limit=${count}`)).text()).split('\n').slice(0, -1);
      const agg = await (await get(`/rows-agg.json?limit=${count}`)).json();
      assert.deepEqual([json.length, agg.length], [count, count]);
      // Times are written in several ways, and numbers by the database in a way of its own.
      const same = row => ({ ...row, balance: Number(row.balance), created: new Date(row.created).toISOString() });
      for (const rows of [lines.map(line => JSON.parse(line)), agg]) assert.deepEqual(rows.map(same), json.map(same));
    }
    assert.deepEqual(Object.keys(await (await get('/spent.json')).json()).sort(), ['agg', 'json', 'ndjson', 'rows']);
  });

  it('is reached from this machine only', async () => {
    const outside = Object.values(os.networkInterfaces())
      .flat()
      .filter(({ internal, family }) => !internal && family === 'IPv4');
    for (const { address } of outside) {
      const socket = net.connect(new URL(demo.url).port, address);
      await assert.rejects(once(socket, 'connect'), { code: 'ECONNREFUSED' });
    }
  });

  it('answers 400 and says why for anything else', async () => {
    for (const limit of ['-1', '1000001', 'x', '', '1.5', '1e3', '99999999999999999999']) {
      for (const name of ['/rows', '/rows.ndjson', '/rows.json', '/rows-agg.json']) {
        const response = await get(`${name}?limit=${limit}`);
        assert.equal(response.status, 400);
        assert.match(await response.text(), /^limit must be a whole number/);
      }
    }
    assert.equal((await get('/../package.json')).status, 404);
    assert.equal((await get('/server.js')).status, 404);
  });

  describe('whose database is gone', () => {
    let proxy, other;
    before(async () => {
      const { hostname: host, port } = new URL(database);
      proxy = await startProxy({ target: { host, port: Number(port) } });
      other = await run({ DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/postgres` });
    });
    after(async () => {
      other?.process.kill('SIGTERM');
      await proxy?.stop();
    });
    const rowsOf = async name => {
      const response = await fetch(new URL(`${name}?limit=10`, other.url));
      return [response.status, await response.text()];
    };

    it('goes on with a new connection, and without one says what is wrong', async function () {
      proxy.reset();
      await until(async () => (await rowsOf('/rows.json'))[0] === 200);
      await proxy.stop();
      await until(async () => (await rowsOf('/rows'))[0] !== 200);
      for (const name of ['/rows', '/rows.ndjson', '/rows.json', '/rows-agg.json']) {
        const [status, text] = await rowsOf(name);
        assert.equal(status, 503);
        assert.match(text, /^the database did not answer: .*ECONNREFUSED/);
      }
      assert.equal(other.process.exitCode, null);
      skipUnless(this, 'chromium');
      const browser = await launchBrowser();
      try {
        const page = await browser.newPage();
        await page.goto(other.url);
        await page.evaluate(() => window.demo.all);
        for (const kind of ['rows', 'objects', 'ndjson', 'json']) {
          assert.match(
            await page.locator(`#${kind}-panel .error`).innerText(),
            /^503 Service Unavailable: the database did not answer: /
          );
        }
      } finally {
        await browser.close();
      }
    });
  });

  describe('at its end', () => {
    /** Processes that have the demo's folder in their command line. */
    const processes = () =>
      fs
        .readdirSync('/proc')
        .filter(pid => /^\d+$/.test(pid))
        .filter(pid => {
          try {
            return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(demo.directory);
          } catch {
            return false; // it has just ended
          }
        });

    it('leaves no process and no file after Ctrl-C', async function () {
      if (process.platform !== 'linux') this.skip(); // it looks in /proc
      assert.notEqual(processes().length, 0);
      demo.process.kill('SIGINT');
      const [status] = await once(demo.process, 'exit');
      assert.equal(status, 0);
      // Whoever removes the files may outlive the server by a moment.
      await until(() => !(processes().length > 0 || fs.readdirSync(demo.directory).length > 0));
    });
  });
});

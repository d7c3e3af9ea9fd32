'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { Client } = require('..');

const ROWS = 100000;
const SERVER = path.join(__dirname, '../client-parser/demo/server.js');
const ARTEFACTS = path.join(__dirname, 'artefacts');

describe('the demo', function () {
  this.timeout(120000);

  let directory;
  let server;
  let url;
  const lines = [];

  before(async () => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'demo-'));
    fs.chmodSync(directory, 0o755);
    const { DATABASE_URL, ...env } = process.env;
    server = spawn(process.execPath, [SERVER], {
      env: { ...env, PORT: '0', TMPDIR: directory }, stdio: ['ignore', 'pipe', 'inherit']
    });
    for await (const line of createInterface(server.stdout)) {
      lines.push(line);
      [, url] = /^listening on (http:\S+)$/.exec(line) ?? [];
      if (url) break;
    }
    server.stdout.resume();
    assert.ok(url, lines.join('\n'));
  });

  after(async () => {
    if (server && server.exitCode === null && server.signalCode === null) {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    fs.rmSync(directory, { recursive: true, force: true });
  });

  it('has a server for programs of one’s own while it runs, with the table of the README', async () => {
    const [, database] = /^for programs of your own, with a table users: (postgres:\S+)$/m.exec(lines.join('\n'));
    const client = new Client(database);
    await client.connect();
    const { rows } = await client.query('SELECT id, name FROM users WHERE email = $1', ['7']);
    assert.equal(rows.length, 1);
    await client.end();
  });

  const get = name => fetch(new URL(name, url));

  it('says what it does until it listens', () => {
    assert.match(lines.join('\n'), /loading 100000 sample users/);
  });

  it('passes on the protocol bytes of as many rows as are asked for', async () => {
    const { rows } = await import('../client-parser/index.js');
    for (const [query, count] of [['', 10000], ['?limit=0', 0], ['?limit=1', 1], ['?limit=250001', 250001]]) {
      const response = await get(`/rows${query}`);
      assert.equal(response.headers.get('content-type'), 'application/x-postgresql');
      const result = rows(response);
      let read = 0;
      for await (const batch of result.batches()) read += batch.length;
      assert.deepEqual([read, result.rowCount, result.cmd], [count, count, 'SELECT']);
    }
  });

  it('answers 400 and says why for anything else', async () => {
    for (const limit of ['-1', '1000001', 'x', '', '1.5', '1e3', '99999999999999999999']) {
      for (const name of ['/rows', '/rows.json']) {
        const response = await get(`${name}?limit=${limit}`);
        assert.equal(response.status, 400);
        assert.match(await response.text(), /^limit must be a whole number/);
      }
    }
    assert.equal((await get('/../package.json')).status, 404);
    assert.equal((await get('/server.js')).status, 404);
  });

  describe('in Chromium', () => {
    let browser;
    let page;
    const complaints = [];

    before(async function () {
      skipUnless(this, 'chromium');
      browser = await launchBrowser();
      page = await browser.newPage({ viewport: { width: 1360, height: 1000 } });
      page.on('pageerror', error => complaints.push(error));
      await page.goto(`${url}?limit=${ROWS}`);
    });
    after(() => browser?.close());

    it('reads the same rows as Node', async () => {
      const measured = await page.evaluate(async () => {
        const { rows, bytes, first, total, error } = await window.demo.done;
        return { rows, bytes, first, total, error };
      });
      assert.equal(measured.error, undefined);
      assert.equal(measured.rows, ROWS);
      assert.ok(measured.first <= measured.total);
      assert.equal(measured.bytes, (await (await get(`/rows?limit=${ROWS}`)).arrayBuffer()).byteLength);

      const expected = await (await get(`/rows.json?limit=${ROWS}`)).json();
      assert.equal(await page.evaluate(() => window.demo.rows()), ROWS);
      for (let from = 0; from < ROWS; from += 9973) {
        const seen = await page.evaluate(
          at => Array.from({ length: 27 }, (_, i) => window.demo.row(at + i)), from);
        assert.deepEqual(seen, expected.slice(from, from + 27));
      }
    });

    it('compares it with the same rows as JSON, and keeps a picture', async () => {
      const json = await page.evaluate(async () => {
        const { rows, error } = await window.demo.json;
        return { rows, error };
      });
      assert.deepEqual(json, { rows: ROWS, error: undefined });
      assert.match(await page.locator('#verdict').innerText(), /JSON took .* × as long to the first row/);
      assert.equal(await page.locator('#rows-panel output').innerText(), '100,000');
      fs.mkdirSync(ARTEFACTS, { recursive: true });
      await page.screenshot({ path: path.join(ARTEFACTS, 'demo.png') });
    });

    it('has elements only for the rows in view, and goes to any of them', async () => {
      const { rows, last } = await page.evaluate(async () => {
        window.demo.scrollTo(window.demo.rows());
        const elements = document.querySelectorAll('#scroller .body > div');
        const { children } = elements.item(elements.length - 1);
        return { rows: elements.length, last: Array.from(children, cell => cell.innerText) };
      });
      assert.ok(rows > 5 && rows < 100, `${rows}`);
      const row = await page.evaluate(i => window.demo.row(i), ROWS - 1);
      assert.deepEqual(last, ['100,000', ...Object.values(row)]);
      await page.fill('#row', '50,000');
      await page.click('#go button');
      assert.match(await page.locator('#where').innerText(), /^50,000 to /);
    });

    it('shows a million rows to the last one, by wheel, key and scrollbar', async () => {
      await page.goto(`${url}?limit=1000000`);
      await page.evaluate(() => window.demo.done);
      await page.evaluate(() => window.demo.json); // a million rows as JSON keep the page busy
      const where = async (text, timeout = 60000) => {
        await page.waitForFunction(part => document.querySelector('#where').textContent.includes(part), text, { timeout });
      };
      const toTop = () => page.evaluate(() => { document.querySelector('#scroller').scrollTop = 0; });
      await page.hover('#scroller');
      // A browser that is short of time may lose a turn of the wheel.
      for (let seen = false; !seen;) {
        await toTop();
        await page.mouse.wheel(0, 2800); // a hundred rows
        seen = await where('101 to ', 5000).then(() => true, () => false);
      }
      await page.focus('#scroller');
      await page.keyboard.press('End');
      await where('to 1,000,000 of 1,000,000');
      await toTop();
      await where('1 to ');
      assert.equal(await page.locator('#scroller').getAttribute('aria-rowcount'), '1000001');
    });

    it('says what went wrong', async () => {
      const errors = async () => {
        await page.evaluate(() => window.demo.json);
        return page.locator('#rows-panel .error').innerText();
      };
      await page.goto(`${url}?limit=many`);
      assert.match(await errors(), /^400 Bad Request: limit must be a whole number .* not "many"$/);
      await page.route('**/rows?*', async route => {
        const body = await (await route.fetch()).body();
        await route.fulfill({ body: body.subarray(0, -20) });
      });
      await page.goto(`${url}?limit=1000`);
      assert.match(await errors(), /the stream ended before the result did/);
      const error = Buffer.from('SERROR\0VERROR\0C22012\0Mdivision by zero\0\0');
      const head = Buffer.of(69, 0, 0, 0, error.length + 4);
      await page.route('**/rows?*', route => route.fulfill({ body: Buffer.concat([head, error]) }));
      await page.goto(`${url}?limit=1000`);
      assert.equal(await errors(), 'ERROR 22012: division by zero');
      assert.deepEqual(complaints, []);
    });
  });

  describe('at its end', () => {
    /** Processes that have the demo's folder in their command line. */
    const processes = () => fs.readdirSync('/proc').filter(pid => /^\d+$/.test(pid)).filter(pid => {
      try {
        return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(directory);
      } catch {
        return false; // it has just ended
      }
    });

    it('leaves no process and no file after Ctrl-C', async function () {
      if (process.platform !== 'linux') this.skip(); // it looks in /proc
      assert.notEqual(processes().length, 0);
      server.kill('SIGINT');
      const [status] = await once(server, 'exit');
      assert.equal(status, 0);
      // Whoever removes the files may outlive the server by a moment.
      while (processes().length > 0 || fs.readdirSync(directory).length > 0) await sleep(50);
    });
  });
});

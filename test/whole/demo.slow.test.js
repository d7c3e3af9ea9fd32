'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { begin, end } = require('../support/demo');

const ROWS = 20000;
const ARTEFACTS = path.join(__dirname, '../artefacts');

describe('the demo', function () {
  this.timeout(120000);

  let demo;
  const lines = [];

  before(async () => {
    demo = await begin(lines);
  });
  after(() => end(demo));

  const get = name => fetch(new URL(name, demo.url));

  describe('in Chromium', () => {
    let browser;
    let page;
    const complaints = [];

    before(async function () {
      skipUnless(this, 'chromium');
      browser = await launchBrowser();
      page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
      page.on('pageerror', error => complaints.push(error));
      await page.addInitScript(() => {
        window.shifted = [];
        new PerformanceObserver(seen =>
          window.shifted.push(
            ...seen
              .getEntries()
              .map(
                ({ value, sources }) =>
                  `${value} ${sources.map(({ node }) => node?.id || node?.className || node?.nodeName)}`
              )
          )
        ).observe({ type: 'layout-shift', buffered: true });
      });
      await page.goto(`${demo.url}?limit=${ROWS}`);
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

      const { rows } = await import('../../client-parser/index.js');
      const expected = [];
      for await (const row of rows(get(`/rows?limit=${ROWS}`), { decode: false })) expected.push(row);
      assert.equal(await page.evaluate(() => window.demo.rows()), ROWS);
      for (let from = 0; from < ROWS; from += 9973) {
        const seen = await page.evaluate(at => Array.from({ length: 27 }, (_, i) => window.demo.row(at + i)), from);
        assert.deepEqual(seen, expected.slice(from, from + 27));
      }
    });

    it('compares it with the same rows as JSON, and keeps a picture', async () => {
      const all = await page.evaluate(async () =>
        (await window.demo.all).map(({ kind, rows, error, busy, spent, first, total }) => ({
          kind,
          rows,
          error,
          measured: busy > 0 && spent > 0 && first > 0 && total >= first
        }))
      );
      assert.deepEqual(
        all,
        ['rows', 'objects', 'ndjson', 'json'].map(kind => ({ kind, rows: ROWS, error: undefined, measured: true }))
      );
      assert.equal(await page.evaluate(async () => (await window.demo.all).every(({ rounds }) => rounds === 3)), true);
      const figures = await page.evaluate(async () => (await window.demo.all).map(({ first, busy }) => [first, busy]));
      const said = await page.locator('#verdict').innerText();
      const times = said.match(/[\d.]+ m?s/g).map(text => parseFloat(text) * (text.endsWith('ms') ? 1 : 1000));
      assert.equal(times.length, 8);
      const near = (a, b) => assert.ok(Math.abs(a - b) <= Math.max(1, b / 50), said);
      figures.forEach(([first, busy], i) => [near(times[i], first), near(times[i + 4], busy)]);
      for (const [kind, title] of [
        ['rows', 'Structs'],
        ['objects', 'Plain objects'],
        ['ndjson', 'ndjson'],
        ['json', 'JSON']
      ]) {
        const panel = page.locator(`#${kind}-panel`);
        assert.match(await panel.locator('h2').innerText(), new RegExp(`^${title}`));
        assert.equal(await panel.locator('output').innerText(), '20,000');
        assert.deepEqual(await panel.locator('dt').allInnerTexts(), [
          'first row',
          'all rows',
          'CPU of Node',
          'CPU of the page',
          'longest freeze',
          'received'
        ]);
        for (const fact of await panel.locator('dd').allInnerTexts()) assert.match(fact, /^[\d.]+ (ms|s|MB)$/);
      }
      assert.match(await page.locator('header').innerText(), /CPU of Node is .* CPU of the page is /);
      fs.mkdirSync(ARTEFACTS, { recursive: true });
      await page.screenshot({ path: path.join(ARTEFACTS, 'demo.png') });
    });

    it('does not move when facts come, and cuts no column off at a width of 1280', async () => {
      assert.deepEqual(await page.evaluate(() => window.shifted), []);
      const cut = await page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll('#scroller, .head > *, .body > div > *')]
          .filter(element => element.scrollWidth > element.clientWidth)
          .map(element => element.textContent)
      );
      assert.deepEqual(cut, []);
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
      assert.deepEqual(last, ['20,000', ...Object.values(row).map(String)]);
      await page.fill('#row', '10,000');
      await page.click('#go button');
      assert.match(await page.locator('#where').innerText(), /^10,000 to /);
      assert.equal(await page.locator('#no-row').innerText(), '');
    });

    it('says of a row that there is not what there is', async () => {
      for (const row of ['0', '20001', '-1', '1.5', 'x', '', '1e3', '1'.repeat(400)]) {
        await page.fill('#row', row);
        await page.click('#go button');
        assert.equal(await page.locator('#no-row').innerText(), `no row “${row}”: rows are 1 to 20,000`);
      }
      assert.match(await page.locator('#where').innerText(), /^10,000 to /);
      await page.fill('#row', '7');
      await page.click('#go button');
      assert.equal(await page.locator('#no-row').innerText(), '');
      assert.match(await page.locator('#where').innerText(), /^7 to /);
    });

    it('shows a million rows to the last one, by wheel, key and scrollbar', async () => {
      assert.match(
        fs.readFileSync(path.join(__dirname, '../../README.md'), 'utf8'),
        /the demo: up to a million rows in the browser/
      );
      await page.goto(demo.url);
      assert.equal(await page.inputValue('#limit'), '100000');
      await page.goto(`${demo.url}?limit=1000000`);
      await page.evaluate(() => window.demo.done);
      await page.click('#stop'); // JSON of a million rows keeps the page busy
      await page.evaluate(() => window.demo.all);
      const where = async (text, timeout = 60000) => {
        await page.waitForFunction(part => document.querySelector('#where').textContent.includes(part), text, {
          timeout
        });
      };
      const toTop = () =>
        page.evaluate(() => {
          document.querySelector('#scroller').scrollTop = 0;
        });
      // Neither is stopped when the page has no time to follow what the browser animates.
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Emulation.setCPUThrottlingRate', { rate: 6 });
      await page.hover('#scroller');
      for (let turn = 0; turn < 5; turn++) {
        // A browser that is short of time may lose a turn of the wheel.
        for (let seen = false; !seen;) {
          await toTop();
          await page.mouse.wheel(0, 2800); // a hundred rows
          seen = await where('101 to ', 5000).then(
            () => true,
            () => false
          );
        }
        await page.focus('#scroller');
        await page.keyboard.press('End');
        await where('to 1,000,000 of 1,000,000', 20000);
      }
      await devtools.detach();
      await toTop();
      await where('1 to ');
      assert.equal(await page.locator('#scroller').getAttribute('aria-rowcount'), '1000001');
    });

    it('says what went wrong', async () => {
      const errors = async () => {
        await page.evaluate(() => window.demo.json);
        return page.locator('#rows-panel .error').innerText();
      };
      await page.goto(`${demo.url}?limit=many`);
      assert.match(await errors(), /^400 Bad Request: limit must be a whole number .* not "many"$/);
      await page.route('**/rows?*', async route => {
        const body = await (await route.fetch()).body();
        await route.fulfill({ body: body.subarray(0, -20) });
      });
      await page.goto(`${demo.url}?limit=1000`);
      assert.match(await errors(), /the result is incomplete/);
      const error = Buffer.from('SERROR\0VERROR\0C22012\0Mdivision by zero\0\0');
      const head = Buffer.of(69, 0, 0, 0, error.length + 4);
      await page.route('**/rows?*', route => route.fulfill({ body: Buffer.concat([head, error]) }));
      await page.goto(`${demo.url}?limit=1000`);
      assert.equal(await errors(), 'ERROR 22012: division by zero');
      assert.deepEqual(complaints, []);
    });
  });
});

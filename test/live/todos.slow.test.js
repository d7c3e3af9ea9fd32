'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { createInterface } = require('node:readline');
const { launchBrowser, skipUnless, startServer } = require('pg-test-fixtures');
const { saved } = require('../support/archive');

describe('The shared to-do list of the recipes', function () {
  this.timeout(120000);
  let database, browser, started, url;

  before(async function () {
    skipUnless(this, 'chromium');
    database = await startServer({ external: false });
    browser = await launchBrowser();
    await start(0);
  });
  after(async () => {
    started?.kill();
    await browser?.close();
    await database?.stop();
  });

  async function start(port) {
    started = spawn(process.execPath, [saved('todos.mjs', 'todos.html')], {
      env: { ...process.env, DATABASE_URL: database.url, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit']
    });
    [url] = await once(createInterface(started.stdout), 'line');
  }

  const shows = (page, list) =>
    page.waitForFunction(
      wanted => JSON.stringify(Array.from(document.querySelectorAll('li'), item => item.textContent)) === wanted,
      JSON.stringify(list)
    );

  it('shows what another window, and another program, have changed, also after the server and the database were away', async () => {
    const [one, two] = [await browser.newPage(), await browser.newPage()];
    const complaints = [];
    for (const page of [one, two]) {
      page.on('pageerror', error => complaints.push(error));
      await page.goto(url);
    }
    await one.fill('input', 'bread');
    await one.press('input', 'Enter');
    await shows(two, ['○ bread']);
    await two.fill('input', 'salt');
    await two.press('input', 'Enter');
    for (const page of [one, two]) await shows(page, ['○ bread', '○ salt']);
    await two.evaluate(() => {
      document.querySelector('li').isKept = true;
    });
    await one.click('li >> nth=1');
    await shows(two, ['○ bread', '✓ salt']);
    assert.equal(await two.evaluate(() => document.querySelector('li').isKept), true);
    await database.sql("INSERT INTO todos (task) VALUES ('pepper')");
    for (const page of [one, two]) await shows(page, ['○ bread', '✓ salt', '○ pepper']);

    started.kill();
    await once(started, 'exit');
    await two.waitForFunction(() => document.title === 'To do (offline)');
    await shows(two, ['○ bread', '✓ salt', '○ pepper']);
    await database.sql("DELETE FROM todos WHERE task = 'salt'");
    await start(new URL(url).port);
    for (const page of [one, two]) await shows(page, ['○ bread', '○ pepper']);
    assert.equal(await two.evaluate(() => document.querySelector('li').isKept), true);
    assert.equal(await two.title(), 'To do');

    await database.restart();
    await database.sql("INSERT INTO todos (task) VALUES ('sugar')");
    for (const page of [one, two]) await shows(page, ['○ bread', '○ pepper', '○ sugar']);
    assert.deepEqual(complaints, []);
  });

  it('takes at most 60 lines', () => {
    const lines = ['todos.mjs', 'todos.html'].map(
      name =>
        fs
          .readFileSync(path.join(__dirname, '../recipes', name), 'utf8')
          .trim()
          .split('\n').length
    );
    assert.ok(lines[0] + lines[1] <= 60, `${lines}`);
  });
});

'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { launchBrowser, makeCertificates, skipUnless } = require('pg-test-fixtures');
const { begin, end } = require('../support/demo');

describe('The live table of the demo, over HTTP/2', function () {
  this.timeout(120000);
  let browser, demo, directory;

  before(async function () {
    skipUnless(this, 'chromium');
    const { server } = await makeCertificates();
    directory = fs.mkdtempSync(path.join(require('node:os').tmpdir(), 'demo-tls-'));
    const [TLS_CERT, TLS_KEY] = ['cert.pem', 'key.pem'].map(name => path.join(directory, name));
    fs.writeFileSync(TLS_CERT, server.cert);
    fs.writeFileSync(TLS_KEY, server.key);
    demo = await begin([], { TLS_CERT, TLS_KEY });
    browser = await launchBrowser();
  });
  after(async () => {
    await browser?.close();
    if (demo) await end(demo);
    if (directory) fs.rmSync(directory, { recursive: true });
  });

  it('shows each vote in ten windows, which have one connection', async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const pages = await Promise.all(Array.from({ length: 10 }, () => context.newPage()));
    for (const page of pages) await page.goto(`${demo.url}?limit=0`);
    const shows = (page, first) =>
      page.waitForFunction(text => document.querySelector('#votes li')?.textContent === text, first);
    for (const page of pages) await shows(page, 'Ada: 0');
    assert.equal(await pages[0].evaluate(() => performance.getEntriesByType('navigation')[0].nextHopProtocol), 'h2');
    await pages[0].click('text=Grace');
    for (const page of pages) await shows(page, 'Grace: 1');
    await pages[9].click('text=Ada');
    await pages[9].click('text=Ada');
    for (const page of pages) await shows(page, 'Ada: 2');
    assert.equal(await pages[3].locator('#live-state').innerText(), 'connected');
  });
});

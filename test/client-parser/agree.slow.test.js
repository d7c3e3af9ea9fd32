'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { launchBrowser, skipUnless } = require('pg-test-fixtures');
const { TEXTS, show, readTypeTable } = require('./type-table');

const FOLDER = path.join(__dirname, '../../client-parser');

/** What runs in the page. */
const SCRIPT = `
  import { decoders, exact, rows } from '/client-parser/index.js';
  ${show}
  export const read = async source => {
    const values = [];
    const decode = { ...decoders, ...exact };
    for await (const row of rows(source, { decode })) values.push(row.toArray?.() ?? Object.values(row));
    return show(values);
  };`;

describe('The type table', () => {
  let client, web, bytes, decoded;

  before(async () => {
    ({ client, bytes, decoded } = await readTypeTable());
    web = http
      .createServer((request, response) => {
        const { pathname } = new URL(request.url, 'http://localhost');
        const [, format, index] = /^\/result\/([01])\/(\d+)$/.exec(pathname) ?? [];
        const body = format
          ? bytes[format][index]
          : pathname === '/read.js'
            ? SCRIPT
            : /^\/client-parser\/[\w-]+\.js$/.test(pathname)
              ? fs.readFileSync(path.join(FOLDER, path.basename(pathname)))
              : '<!doctype html><title>test</title>';
        const type = format ? 'application/x-postgresql' : pathname.endsWith('.js') ? 'text/javascript' : 'text/html';
        response.writeHead(200, { 'content-type': type }).end(body);
      })
      .listen(0, '127.0.0.1');
    await once(web, 'listening');
  });

  after(async () => {
    await client?.end();
    web?.close();
    web?.closeAllConnections();
  });

  it('is the same in a browser', async function () {
    await skipUnless(this, 'chromium');
    this.timeout(120000);
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      await page.goto(`http://127.0.0.1:${web.address().port}/`);
      for (const format of [0, 1]) {
        const seen = await page.evaluate(
          async ({ format, count }) => {
            const { read } = await import('/read.js');
            const results = [];
            for (let i = 0; i < count; i++) results.push(await read(fetch(`/result/${format}/${i}`)));
            return results;
          },
          { format, count: TEXTS.length }
        );
        TEXTS.forEach((text, i) => assert.deepEqual(seen[i], show(decoded[format][i]), text.slice(0, 200)));
      }
    } finally {
      await browser.close();
    }
  });
});

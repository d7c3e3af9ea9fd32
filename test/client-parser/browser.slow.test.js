'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { launchBrowser, skipUnless, startServer } = require('pg-test-fixtures');
const { fetchResults } = require('./query');
const { STRINGS, NUMBERS, OTHERS, RECORDS } = require('./values');

const FOLDER = path.join(__dirname, '../../client-parser');

/** What runs in the page and in the workers: reads a result to text that keeps the values apart. */
const SCRIPT = `
  import { Client } from '/client-parser/index.js';
  const show = value => value instanceof Uint8Array ? 'bytes ' + value.join()
    : Array.isArray(value) ? value.map(show)
    : typeof value === 'object' ? JSON.stringify(value)
    : Object.is(value, -0) ? '-0' : typeof value + ' ' + value;
  export async function read(source) {
    source = await source;
    const client = new Client(0, { decode: true });
    for await (const chunk of source.body ?? new Response(source).body) client.onData(chunk);
    client.end();
    return client.stream.structs.map(row => row.toArray().map(show));
  }`;
const WORKER = `
  import { read } from '/read.js';
  onmessage = async ({ data, ports }) => {
    const answer = ports[0] || self;
    try {
      answer.postMessage(await read(typeof data === 'string' ? fetch(data) : data));
    } catch (error) {
      answer.postMessage(String(error));
    }
  };
  self.registration && addEventListener('activate', event => event.waitUntil(clients.claim()));`;

describe('client-parser in Chromium', () => {
  let database;
  let server;
  let browser;
  let page;
  let results; // of the type table, by format
  let expected;

  before(async function () {
    skipUnless(this, 'chromium');
    database = await startServer({ auth: 'trust' });
    const list = (type, values) => values.map(value => `'${value.replaceAll("'", "''")}'::${type}`);
    const selects = [
      ...Object.entries(STRINGS).flatMap(([type, values]) => list(type, values.slice(0, 60))),
      ...Object.entries(NUMBERS).flatMap(([type, [, values]]) => list(type, values.slice(0, 60))),
      ...Object.entries(OTHERS).flatMap(([type, pairs]) =>
        list(
          type,
          pairs.map(([value]) => value)
        )
      ),
      ...RECORDS
    ];
    const text = `SELECT ${selects.join(', ')}`;
    results = [(await fetchResults(database, [text], 0))[0], (await fetchResults(database, [text], 1))[0]];

    const files = { '/': ['text/html', '<!doctype html><title>test</title>'] };
    files['/read.js'] = ['text/javascript', SCRIPT];
    files['/worker.js'] = ['text/javascript', WORKER];
    server = http.createServer((request, response) => {
      const { pathname } = new URL(request.url, 'http://localhost');
      const [, format] = /^\/result\/([01])$/.exec(pathname) ?? [];
      const file =
        files[pathname] ??
        (/^\/client-parser\/[\w-]+\.js$/.test(pathname)
          ? ['text/javascript', fs.readFileSync(path.join(FOLDER, path.basename(pathname)))]
          : format && ['application/x-postgresql', results[format]]);
      response.writeHead(file ? 200 : 404, { 'content-type': file ? file[0] : 'text/plain' });
      response.end(file ? file[1] : 'not found');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');

    const { read } = await import(
      `data:text/javascript,${encodeURIComponent(
        SCRIPT.replace('/client-parser/index.js', pathToFileURL(path.join(FOLDER, 'index.js')))
      )}`
    );
    expected = [await read(results[0]), await read(results[1])];
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(`http://localhost:${server.address().port}/`);
  });

  after(async () => {
    await browser?.close();
    server?.close();
    await database?.stop();
  });

  it('decodes every type as in Node, streamed to the page', async () => {
    for (const format of [0, 1]) {
      const values = await page.evaluate(async url => {
        const { read } = await import('/read.js');
        return read(fetch(url));
      }, `/result/${format}`);
      assert.deepEqual(values, expected[format]);
    }
  });

  it('reads in a Web Worker, from a response and from a transferred buffer', async () => {
    const values = await page.evaluate(async () => {
      const worker = new Worker('/worker.js', { type: 'module' });
      const answer = () =>
        new Promise(resolve => {
          worker.onmessage = event => resolve(event.data);
        });
      worker.postMessage('/result/1');
      const streamed = await answer();
      const buffer = await (await fetch('/result/1')).arrayBuffer();
      worker.postMessage(buffer, [buffer]);
      return [streamed, await answer(), buffer.byteLength];
    });
    assert.deepEqual(values, [expected[1], expected[1], 0]);
  });

  it('reads in a Service Worker', async () => {
    const values = await page.evaluate(async () => {
      await navigator.serviceWorker.register('/worker.js', { type: 'module' });
      const { active } = await navigator.serviceWorker.ready;
      const { port1, port2 } = new MessageChannel();
      active.postMessage('/result/1', [port2]);
      return new Promise(resolve => {
        port1.onmessage = event => resolve(event.data);
      });
    });
    assert.deepEqual(values, expected[1]);
  });
});

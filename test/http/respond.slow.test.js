'use strict';

const assert = require('node:assert/strict');
const { createHash } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const { launchBrowser, makeCertificates, skipUnless } = require('pg-test-fixtures');
const { respond } = require('../../lib/http');
const { FLAT, watchAlone } = require('../support/slow-reader');
const { connected, sharedServer } = require('../support');
const { FOLDER, cached, direct, get, serving } = require('./serving');

const FAILING = 'SELECT 10000000 + 1 / (50000 - i) AS a FROM generate_series(1, 100000) AS i';

describe('respond', () => {
  it('sends large bodies byte for byte, however slowly and side by side they are read', async () => {
    const clients = await Promise.all([1, 2, 3].map(() => connected()));
    const text = "SELECT i, $1::text, md5(i::text), repeat('x', i % 300) FROM generate_series(1, 50000) AS i";
    const md5 = bytes => createHash('md5').update(bytes).digest('hex');
    const expected = [];
    for (let i = 0; i < 3; i++) expected.push(md5(await direct(clients[0], text, [i])));
    const copy = `COPY (${text.replace('$1', "'copied'")}) TO STDOUT`;
    expected.push(md5(Buffer.concat(await clients[0].copyTo(copy).toArray())));
    await serving(
      (request, response) => {
        const i = Number(request.url.slice(1));
        if (i === 3) return pipeline(clients[0].copyTo(copy), response);
        return clients[i].queryTo(response, text, [i]);
      },
      async port => {
        await Promise.all(
          Array.from({ length: 8 }, async (_, i) => {
            const request = http.get({ port, host: '127.0.0.1', path: `/${i % 4}` });
            const [response] = await once(request, 'response');
            const hash = createHash('md5');
            let count = 0;
            for await (const chunk of response) {
              hash.update(chunk);
              if (i < 4 && ++count % 10 === 0) await sleep(1);
            }
            assert.equal(hash.digest('hex'), expected[i % 4], `request ${i}`);
          })
        );
      }
    );
  });

  describe('with a client that reads half a gigabyte at 1 MB/s for a while, then at full speed', () => {
    it('keeps memory flat', async () => {
      const { length, most } = await watchAlone((await sharedServer()).url, 'respond', 4);
      assert.ok(length > 5e8, `${length} bytes were read`);
      assert.ok(most < FLAT, `${most} MB`);
    });
  });

  describe('of a ResponseCache', () => {
    let cache, handler;

    beforeEach(async () => {
      ({ cache, handler } = await cached(() => 0));
    });

    it('is read alike by Chromium', async function () {
      skipUnless(this, 'chromium');
      const browser = await launchBrowser();
      try {
        await serving(handler, async port => {
          await get(port, {}, { url: '/cached' });
          const page = await browser.newPage();
          await page.goto(`http://localhost:${port}/`);
          const [fresh, cached] = await page.evaluate(() =>
            Promise.all(
              ['/fresh', '/cached'].map(async url => {
                const { rows } = await import('/client-parser/index.js');
                const values = [];
                for await (const row of rows(url, { decode: true })) values.push(Object.values(row));
                return values;
              })
            )
          );
          assert.equal(cached.length, 20000);
          assert.deepEqual(cached, fresh);
          assert.ok(cache.hits > 0);
        });
      } finally {
        await browser.close();
      }
    });
  });

  describe('by HTTP/2', () => {
    let certificates;
    before(async () => {
      certificates = await makeCertificates();
    });

    const secure = () =>
      http2.createSecureServer({ cert: certificates.server.cert, key: certificates.server.key, allowHTTP1: true });

    describe('to Chromium', () => {
      let browser;
      before(async function () {
        skipUnless(this, 'chromium');
        browser = await launchBrowser();
      });
      after(() => browser?.close());

      const TEXT = 'SELECT id, name, email::int AS number FROM users ORDER BY 3';
      const QUERIES = {
        '/rows': [TEXT],
        '/failing': [FAILING],
        '/early': ['SELECT 1 / 0'],
        '/json': ['SELECT json_agg(u) FROM users u', { as: 'values' }]
      };

      /** Runs a function in a page of an HTTPS server that answers QUERIES. */
      const inPage = async (work, argument) => {
        const client = await connected();
        const protocols = new Set();
        return serving(
          (request, response) => {
            if (request.url === '/') {
              response.setHeader('content-type', 'text/html');
              return response.end('<!doctype html><title>test</title>');
            }
            if (request.url.startsWith('/client-parser/')) {
              response.setHeader('content-type', 'text/javascript');
              return response.end(fs.readFileSync(path.join(FOLDER, path.basename(request.url))));
            }
            if (QUERIES[request.url] === undefined) {
              response.writeHead(404);
              return response.end();
            }
            protocols.add(request.httpVersion);
            const [text, options] = QUERIES[request.url];
            return respond(client, request, response, text, [], options);
          },
          async port => {
            const context = await browser.newContext({ ignoreHTTPSErrors: true });
            try {
              const page = await context.newPage();
              await page.goto(`https://localhost:${port}/`);
              const result = await page.evaluate(work, argument);
              assert.deepEqual([...protocols], ['2.0']);
              return result;
            } finally {
              await context.close();
            }
          },
          secure()
        );
      };

      it('gives the same rows by client-parser, compressed with Brotli', async () => {
        const { encoding, list } = await inPage(async () => {
          const { rows } = await import('/client-parser/index.js');
          const response = await fetch('/rows', { headers: { accept: 'application/x-postgresql' } });
          const list = [];
          for await (const row of rows(response, { decode: true })) list.push(row);
          return { encoding: response.headers.get('content-encoding'), list };
        });
        const client = await connected();
        const expected = (await client.query(TEXT)).rows.map(row => row.toObject());
        assert.equal(encoding, 'br');
        assert.deepEqual(
          list,
          expected.map(row => ({ ...row, number: Number(row.number) }))
        );
      });

      it('gives JSON that JSON.parse reads', async () => {
        const list = await inPage(async () => (await fetch('/json')).json());
        const client = await connected();
        const { rows } = await client.query('SELECT * FROM users');
        assert.deepEqual(
          list,
          rows.map(row => row.toObject())
        );
      });

      it('reports an error on row 50,000 as a PostgresError with its code, and one before the first row by the status', async () => {
        const result = await inPage(async () => {
          const { rows } = await import('/client-parser/index.js');
          let count = 0;
          let error;
          try {
            for await (const row of rows('/failing')) count += row ? 1 : 0;
          } catch (caught) {
            error = { name: caught.name, message: caught.message, ...caught };
          }
          return { count, error, status: (await fetch('/early')).status };
        });
        assert.deepEqual(result, {
          count: 49999,
          status: 500,
          error: { name: 'PostgresError', message: 'division by zero', severity: 'ERROR', code: '22012' }
        });
      });
    });
  });
});

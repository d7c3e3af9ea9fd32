'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { skipUnless, startNginx } = require('pg-test-fixtures');
const { installed } = require('../support/folder');
const { afterTest } = require('../support/hooks');
const { ALL, reading, serving, until } = require('./serving');

const WHOLE = ['T', 'D 1 a', 'D 2 b', 'D 3 c', 's'];

describe('Live results behind what is in front of a server', () => {
  /** States arrive one by one, and nothing is left when readers have gone. */
  async function works({ port, live, change }, encodings) {
    for (const [encoding, expected] of encodings) {
      const reader = await reading(port, encoding && { 'accept-encoding': encoding });
      assert.equal(reader.response.headers['content-encoding'], expected);
      assert.deepEqual(await reader.next(), WHOLE);
      await change("UPDATE todos SET name = 'new' WHERE id = 2");
      assert.deepEqual(await reader.next(), ['A copy 0 1', 'D 2 new', 'A copy 2 1', 's']);
      await change("UPDATE todos SET name = 'b' WHERE id = 2");
      assert.deepEqual(await reader.next(), ['A copy 0 1', 'D 2 b', 'A copy 2 1', 's']);
      reader.leave();
      await until(() => live.size === 0);
    }
    const reader = await reading(port, { 'accept-encoding': 'gzip' });
    await reader.next();
    await live.end();
    assert.equal(await reader.ended, 'end');
  }

  it('Express with compression', async function () {
    installed(this, 'ecosystem');
    const express = require('../ecosystem/node_modules/express');
    const compression = require('../ecosystem/node_modules/compression');
    let live;
    const app = express();
    app.use(compression({ threshold: 0 }));
    app.get('/', (request, response) => live.respond(request, response, ALL, [], { tags: ['todos'] }));
    const served = await serving({ server: http.createServer(), handler: app });
    live = served.live;
    await works(served, [[undefined], ['gzip'], ['gzip, deflate, br']]);
    assert.deepEqual(served.errors, []);
  });

  for (const [what, settings] of [
    ['as it is', ''],
    ['with HTTP/1.1', 'proxy_http_version 1.1;'],
    ['that compresses', 'gzip on; gzip_types application/x-postgresql-live; proxy_http_version 1.1;']
  ]) {
    it(`nginx ${what}`, async function () {
      skipUnless(this, 'nginx');
      const served = await serving();
      const nginx = await startNginx({ target: `http://127.0.0.1:${served.port}`, settings });
      afterTest(() => nginx.stop());
      await works({ ...served, port: nginx.port }, [
        [undefined],
        ['gzip', settings.startsWith('gzip') ? 'gzip' : undefined]
      ]);
      assert.deepEqual(served.errors, []);
    });
  }
});

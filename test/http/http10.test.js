'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const http = require('node:http');
const https = require('node:https');
const { promisify } = require('node:util');
const { makeCertificates, skipUnless, startNginx } = require('pg-test-fixtures');
const { respond } = require('../../lib/http');
const { connected } = require('../support');
const { afterTest } = require('../support/hooks');
const { serving } = require('./serving');

const FAILING = 'SELECT 10000000 + 1 / (50000 - i) AS a FROM generate_series(1, 100000) AS i';
const WHOLE = 'SELECT i AS a FROM generate_series(1, 50000) AS i';

/** Reads a body by a program of the system: libuv takes a reset for an end if bytes came right before. @returns {Promise<string>} its error */
async function errorOf(port, head = 'HTTP/1.0') {
  const program = `exec 3<>/dev/tcp/127.0.0.1/${port}; printf 'GET / ${head}\\r\\n\\r\\n' >&3; cat <&3 >/dev/null`;
  return promisify(execFile)('bash', ['-c', program]).then(
    () => '',
    ({ stderr }) => stderr
  );
}

describe('A body that ends with its connection, as with HTTP/1.0', () => {
  for (const as of ['json', 'ndjson', 'csv', 'values']) {
    it(`is reset if its query fails after the first byte, so that nobody takes it for the whole: ${as}`, async () => {
      const client = await connected();
      let text;
      await serving(
        (request, response) => respond(client, request, response, text, [], { as }),
        async (port, errors) => {
          text = FAILING;
          assert.match(await errorOf(port), /reset by peer/);
          assert.equal(errors[0].code, '22012');
          text = WHOLE;
          assert.equal(await errorOf(port), '');
        }
      );
    });
  }

  const BY_HTTP11 = 'proxy_http_version 1.1; proxy_set_header Connection "";';
  for (const [what, settings, protocol] of [
    ['by default', '', 'http'],
    ['without buffering', 'proxy_buffering off;', 'http'],
    ['by HTTP/1.1', BY_HTTP11, 'http'],
    ['by HTTP/1.1 over TLS', BY_HTTP11, 'https']
  ]) {
    it(`is not complete for fetch behind nginx ${what}, compressed or not`, async function () {
      skipUnless(this, 'nginx');
      const client = await connected();
      let text;
      let how = respond;
      const queryTo = (session, request, response, ...query) => session.queryTo(response, ...query);
      const handler = (request, response) =>
        how(client, request, response, text, [], { as: how === respond ? 'csv' : 'ndjson' });
      const {
        server: { cert, key }
      } = await makeCertificates();
      const server = protocol === 'https' ? https.createServer({ cert, key }) : http.createServer();
      await serving(
        handler,
        async port => {
          const nginx = await startNginx({ target: `${protocol}://127.0.0.1:${port}`, settings });
          afterTest(() => nginx.stop());
          const read = async encoding => {
            const response = await fetch(`http://127.0.0.1:${nginx.port}/`, {
              headers: { 'accept-encoding': encoding }
            });
            if (response.status !== 200) throw new TypeError(`status ${response.status}`); // the reset came before what was on its way
            return response.text();
          };
          for (const encoding of ['identity', 'gzip', 'identity']) {
            text = FAILING;
            await assert.rejects(read(encoding), TypeError, encoding);
            text = WHOLE;
            assert.equal((await read(encoding)).split('\n').length, how === respond ? 50002 : 50001);
            if (encoding === 'gzip') how = queryTo;
          }
        },
        server
      );
    });
  }
});

describe('A chunked body, which tells its end', () => {
  it('is not reset if its query fails after the first byte, so that its reader gets what was sent', async () => {
    const client = await connected();
    await serving(
      (request, response) => respond(client, request, response, FAILING, [], { as: 'json' }),
      async (port, errors) => {
        assert.equal(await errorOf(port, 'HTTP/1.1\\r\\nHost: x'), '');
        assert.equal(errors[0].code, '22012');
      }
    );
  });
});

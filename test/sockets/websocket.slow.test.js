'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const { makeCertificates, skipUnless, startServer, startWebsockify } = require('pg-test-fixtures');

describe('webSocket', () => {
  /** A certificate for websockify. */
  function files(certificates) {
    const { makeDirectory } = require('pg-test-fixtures/guardian');
    const { server, ca } = certificates.write(makeDirectory('websocket'));
    return { certFile: server.cert, keyFile: server.key, ca: ca.cert };
  }

  it("goes over wss: with the platform's WebSocket, which verifies the proxy's certificate", async function () {
    skipUnless(this, 'websockify');
    const server = await startServer({ auth: 'scram-sha-256', users: { scram: { password: 'secret' } } });
    const certificates = await makeCertificates();
    const proxy = await startWebsockify({ target: server, tls: files(certificates) });
    try {
      const { EXPECTED } = await import('../support/exercise.mjs');
      const { host, port, database } = server;
      const config = { host, port, database, user: 'scram', password: 'secret' };
      const script = `import('../support/exercise.mjs')
        .then(({ exercise }) => exercise(require('../..').Client, {
          ...${JSON.stringify(config)}, socket: require('../../lib/sockets').webSocket('wss://localhost:${proxy.port}/')
        }))
        .then(seen => console.log(JSON.stringify(seen)), error => console.log(JSON.stringify(error.message)))`;
      // Who is trusted is read when a process starts.
      const run = async env =>
        JSON.parse(
          (
            await promisify(execFile)(process.execPath, ['--experimental-websocket', '-e', script], {
              cwd: __dirname,
              env: { ...process.env, ...env }
            })
          ).stdout
        );
      assert.deepEqual(await run({ NODE_EXTRA_CA_CERTS: files(certificates).ca }), EXPECTED);
      assert.match(await run({}), /the WebSocket wss:\/\/localhost:\d+ could not be opened/);
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });
});

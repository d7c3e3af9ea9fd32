'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');

const ROOT = path.join(__dirname, '../../..');

/** Most files that a process loads for its first row. A change that loads fewer lowers it. */
const MOST = 61;

/** Runs a program in a process of its own, and gives the files and Node.js modules that it has loaded. */
async function loaded(program) {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [
      '-e',
      `(async () => {
    ${program}
    const files = Object.keys(require.cache).map(file => require('node:path').relative(process.cwd(), file).replaceAll('\\\\', '/'));
    console.log(JSON.stringify({ files: files.sort(), modules: process.moduleLoadList }));
  })();`
    ],
    { cwd: ROOT }
  );
  return JSON.parse(stdout);
}

describe('A process', () => {
  let server;
  before(async () => {
    server = await startServer();
  });
  after(() => server.stop());

  const connect = options => `
    const client = new (require('.').Client)(${JSON.stringify({ ...server.config, password: 'x', sslmode: 'disable', ...options })});
    await client.connect();`;
  const ofConnecting = ({ files }) => files.filter(file => /^lib.core.(?:config|connection)/.test(file)).join();

  it('loads config and connection not before connect()', async () => {
    assert.equal(ofConnecting(await loaded("new (require('.').Client)({ host: 'localhost' })")), '');
  });

  it('loads for a plain connection what that needs, and no TLS or SCRAM', async () => {
    const found = await loaded(`${connect()}
      await client.end();`);
    assert.equal(
      ofConnecting(found),
      'lib/core/config/config.js,lib/core/config/files.js,lib/core/config/hosts.js,lib/core/config/index.js,lib/core/config/options.js,' +
        'lib/core/connection/attempt.js,lib/core/connection/auth.js,lib/core/connection/connect.js,lib/core/connection/dial.js,' +
        'lib/core/connection/index.js,lib/core/connection/servers.js,lib/core/connection/socket.js,lib/core/connection/startup.js'
    );
    for (const name of ['tls', 'crypto', 'dns']) assert.ok(!found.modules.includes(`NativeModule ${name}`), name);
  });

  it(`loads at most ${MOST} files for its first row`, async () => {
    const { files } = await loaded(`${connect()}
      const { rows: [row] } = await client.query('SELECT 1 AS one');
      if (row.one !== 1) throw new Error('no row');
      await client.end();`);
    assert.ok(files.length > 20 && files.length <= MOST, `${files.length}: ${files.join(' ')}`);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');

const ROOT = path.join(__dirname, '../..');

/** Runs a program in a process of its own, and gives the files of config and connection that it has loaded. */
async function loaded(program) {
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', `(async () => {
    ${program}
    const files = Object.keys(require.cache).map(file => require('node:path').relative(process.cwd(), file));
    console.log(files.filter(file => /^lib.(config|connection)/.test(file)).sort().join());
  })();`], { cwd: ROOT });
  return stdout.trim().split(path.sep).join('/');
}

describe('config and connection', () => {
  it('are not loaded before connect()', async () => {
    assert.equal(await loaded("new (require('.').Client)({ host: 'localhost' })"), '');
  });

  it('load for a plain connection what that needs, and no TLS or SCRAM', async () => {
    const server = await startServer();
    try {
      const config = JSON.stringify({ ...server.config, password: 'x', sslmode: 'disable' });
      assert.equal(
        await loaded(`
          const client = new (require('.').Client)(${config});
          await client.connect();
          await client.end();`),
        'lib/config/config.js,lib/config/files.js,lib/config/hosts.js,lib/config/index.js,lib/config/options.js,' +
        'lib/connection/attempt.js,lib/connection/auth.js,lib/connection/connect.js,lib/connection/dial.js,' +
        'lib/connection/index.js,lib/connection/socket.js,lib/connection/startup.js,' +
        'lib/connection/targets.js'
      );
    } finally {
      await server.stop();
    }
  });
});

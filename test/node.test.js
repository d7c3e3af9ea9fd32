'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const { isWorkerd, isDeno } = require('../lib/node');

const run = promisify(execFile);

describe('The runtime', () => {
  it('is told by the name that it gives itself', async () => {
    assert.equal(isWorkerd, false);
    assert.equal(isDeno, typeof Deno === 'object');
    const program = `
      Object.defineProperty(globalThis, 'navigator', { value: { userAgent: 'Cloudflare-Workers' } });
      const { isWorkerd } = require('./lib/node');
      const { Socket } = require('./lib/connection/socket');
      const { targets } = require('./lib/connection/targets');
      const { resolve } = require('./lib/config');
      const config = resolve({ host: 'no.such.name.invalid', user: 'me' });
      targets(config, config.hosts[0]).then(list => {
        console.log(JSON.stringify([isWorkerd, typeof new Socket({}).onread, list.map(({ address }) => address)]));
      });`;
    const { stdout } = await run(process.execPath, ['-e', program], { cwd: `${__dirname}/..` });
    assert.deepEqual(JSON.parse(stdout), [true, 'undefined', [{ host: 'no.such.name.invalid', port: 5432 }]]);
  });
});

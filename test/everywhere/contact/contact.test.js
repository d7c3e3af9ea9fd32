'use strict';

// One program, on the installed archive, in each runtime that has TCP. Workers have workerd/, pages test/sockets/.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { archived } = require('../../support/archive');

const MODULES = path.join(__dirname, '../node_modules');
const node = version => [path.join(MODULES, `node-${version}/bin/node`)];

const RUNTIMES = {
  'Node.js 20': node(20),
  'Node.js 22': node(22),
  'Node.js 24': node(24),
  'Node.js 26': node(26),
  Bun: [path.join(MODULES, '.bin/bun'), 'run'],
  Deno: [path.join(MODULES, '.bin/deno'), 'run', '-A']
};

const EXPECTED = {
  query: { n: 42, t: 'ä' },
  pipelined: 100,
  error: 'PostgresError 22012',
  refused: 'TypeError',
  transaction: 1,
  rolledBack: 'PostgresError 22012',
  copy: [2, '1\tAda\n2\tEdsger\n3\tGrace\n'],
  cursor: 249,
  listen: 'hello',
  abort: 'AbortError ABORT_ERR true',
  limit: 'TimeoutError 57014 true',
  after: 1,
  traced: ['SELECT 1: 1', 'SELECT 1 / 0: 22012'],
  tls: true,
  loss: 'ConnectionError 57P01 true',
  closed: 'ConnectionError 08003 false',
  pool: '1,2,3',
  live: [1000, 1001]
};

describe('The installed archive', function () {
  this.timeout(60_000);
  let server, program;
  before(async () => {
    server = await startServer({ tls: true });
    program = path.join(archived(), 'contact.mjs');
    fs.copyFileSync(path.join(__dirname, 'contact.mjs'), program);
  });
  after(() => server?.stop());

  for (const [name, [command, ...args]] of Object.entries(RUNTIMES)) {
    it(`asks, copies, listens, aborts and is lost in ${name}`, async () => {
      const SERVER = JSON.stringify({ ...server.config, host: '127.0.0.1', ca: server.tls.ca.cert });
      const { stdout, stderr } = await promisify(execFile)(command, [...args, program], {
        cwd: path.dirname(program),
        env: { ...process.env, SERVER, NODE_OPTIONS: '' }
      });
      assert.deepEqual(JSON.parse(stdout), EXPECTED, stderr);
    });
  }

  for (const name of ['Bun', 'Deno'])
    it(`replaces no pg in ${name}, where it could not replace all of it`, async () => {
      const [command, ...args] = RUNTIMES[name];
      const file = path.join(path.dirname(program), 'register.mjs');
      fs.writeFileSync(file, "import 'quickgres/pg/register';\n");
      await assert.rejects(promisify(execFile)(command, [...args, file], { cwd: path.dirname(program) }), {
        stderr: RegExp(`quickgres/pg/register needs Node.js: in ${name.toLowerCase()}, import quickgres/pg instead`)
      });
    });
});

'use strict';

// The table of values of test/rules, on the installed archive, where the globals are others: in Jest's environments, in a
// context of node:vm, in Bun and in Deno.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { archived } = require('../../support/archive');

const MODULES = path.join(__dirname, '../node_modules');
const node = version => path.join(MODULES, `node-${version}/bin/node`);

const jest = environment => {
  const config = {
    testEnvironment: require.resolve(`jest-environment-${environment}`),
    testMatch: ['**/values.jest.js'],
    transform: {}
  };
  const args = ['--experimental-vm-modules', path.join(MODULES, 'jest/bin/jest.js'), '--ci', '--cache=false'];
  return [node(24), ...args, '--config', JSON.stringify(config)];
};

/** A command for each environment. */
const ENVIRONMENTS = {
  'Node.js 20': [node(20), 'program.js'],
  'Node.js 26': [node(26), 'program.js'],
  vm: [node(26), 'program.js'],
  node: jest('node'),
  jsdom: jest('jsdom'),
  Bun: [path.join(MODULES, '.bin/bun'), 'run', 'program.js'],
  Deno: [path.join(MODULES, '.bin/deno'), 'run', '-A', 'program.js']
};

const NAMES = { vm: 'a context of node:vm', node: "Jest's node", jsdom: "Jest's jsdom" };

describe('A value that goes out of the installed archive', function () {
  this.timeout(120_000);
  let folder, server;
  before(async () => {
    server = await startServer();
    folder = archived();
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "private": true, "type": "commonjs" }');
    for (const name of ['program.js', 'table.js', 'values.jest.js'])
      fs.copyFileSync(path.join(__dirname, name), path.join(folder, name));
    fs.copyFileSync(path.join(__dirname, '../../rules/kinds.js'), path.join(folder, 'kinds.js'));
  });
  after(() => server?.stop());

  for (const [environment, [command, ...args]] of Object.entries(ENVIRONMENTS)) {
    it(`is stored as what it is, or is a TypeError with its hint, in ${NAMES[environment] ?? environment}`, async () => {
      const { code, stdout, stderr } = await promisify(execFile)(command, args, {
        cwd: folder,
        env: { ...process.env, ENVIRONMENT: environment, SERVER: JSON.stringify(server.config), NODE_OPTIONS: '' }
      }).catch(error => error);
      assert.equal(code ?? 0, 0, `${stdout}\n${stderr}`.slice(0, 5000));
      if (!args[0].endsWith('modules')) assert.deepEqual(JSON.parse(stdout).wrong, []);
    });
  }
});

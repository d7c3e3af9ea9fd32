'use strict';

// A program that loads pg, under each way to run tests or TypeScript that the guide of quickgres/pg names, on each version of
// Node.js: with quickgres/pg in its place, from a package as npm would publish it.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { packInto } = require('../../../.ci/pack');

const MODULES = path.join(__dirname, '../node_modules');
const PROGRAMS = ['jest.test.js', 'node.test.mjs', 'program.ts', 'vitest.test.mjs', 'work.js'];
const REGISTER = ['--import', 'quickgres/pg/register'];

/** From this version on, Jest can `require()` ES modules. */
const JEST_ESM = '24.9';

const isBefore = (version, other) => {
  const [[major, minor], [otherMajor, otherMinor]] = [version, other].map(each => each.split('.').map(Number));
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
};

/** As test/recipes/rolled-back.mjs says. */
const jestConfig = version => ({
  moduleNameMapper: { '^pg$': 'quickgres/pg' },
  ...(isBefore(version, JEST_ESM) && {
    transform: {
      '/quickgres/client-parser/': [
        require.resolve('babel-jest'),
        { plugins: [require.resolve('@babel/plugin-transform-modules-commonjs')] }
      ]
    },
    transformIgnorePatterns: ['/node_modules/(?!quickgres/client-parser/)']
  })
});

/** Arguments of Node.js, and NODE_OPTIONS, by the name of the runner. */
const RUNNERS = {
  'node:test': () => [[...REGISTER, '--test', '--test-reporter=tap', 'node.test.mjs']],
  tsx: () => [['tsx/dist/cli.mjs', ...REGISTER, 'program.ts']],
  'ts-node': () => [['ts-node/dist/bin.js', '--transpile-only', '--require', 'quickgres/pg/register', 'program.ts']],
  Jest: version => [
    ['jest/bin/jest.js', '--ci', '--cache=false', '--config', JSON.stringify(jestConfig(version)), 'jest.test.js'],
    isBefore(version, JEST_ESM) ? '' : '--experimental-vm-modules'
  ],
  ...Object.fromEntries(
    ['forks', 'threads'].map(pool => [
      `Vitest with ${pool}`,
      () => [
        ['vitest/vitest.mjs', 'run', '--pool', pool, '--reporter', 'default', 'vitest.test.mjs'],
        REGISTER.join(' ')
      ]
    ])
  )
};

/** What each of them prints of one test that has passed. */
const PASSED = /^(?:# pass 1|1 passed|Tests: +1 passed, 1 total| +Tests {2}1 passed \(1\))$/m;

describe('quickgres/pg in the place of pg', function () {
  this.timeout(120000);
  let folder, server;

  before(async () => {
    server = await startServer({ external: false, auth: 'scram-sha-256' });
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'runners-')));
    packInto(path.join(folder, 'node_modules/quickgres'));
    for (const name of ['pg', 'typescript', 'vitest'])
      fs.symlinkSync(path.join(MODULES, name), path.join(folder, 'node_modules', name), 'junction');
    for (const name of PROGRAMS) fs.copyFileSync(path.join(__dirname, name), path.join(folder, name));
    fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "commonjs" }');
    fs.writeFileSync(
      path.join(folder, 'tsconfig.json'),
      '{ "compilerOptions": { "module": "commonjs", "target": "es2022", "esModuleInterop": true } }'
    );
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });

  for (const major of [20, 22, 24, 26]) {
    const { version } = require(path.join(MODULES, `node-${major}/package.json`));
    for (const [name, commandOf] of Object.entries(RUNNERS)) {
      it(`works under ${name} on Node.js ${version}`, async () => {
        const [args, NODE_OPTIONS = ''] = commandOf(version);
        const { stdout, stderr } = await promisify(execFile)(
          path.join(MODULES, `node-${major}/bin/node`),
          args.map(each => (/^(?:jest|tsx|ts-node|vitest)\//.test(each) ? path.join(MODULES, each) : each)),
          {
            cwd: folder,
            timeout: 60000,
            env: { ...process.env, NODE_OPTIONS, NO_COLOR: '1', SERVER: JSON.stringify(server.config) }
          }
        );
        assert.match(`${stdout}\n${stderr}`, PASSED);
      });
    }
  }
});

'use strict';

// What is run on what. A cell is one run of mocha: a runtime with a server.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { LIMITS } = require('./limits');

const ROOT = path.join(__dirname, '../..');
const MODULES = path.join(__dirname, 'node_modules');
const MOCHA = path.join(ROOT, 'node_modules/mocha/bin');

/** The test files of a folder of test/. */
const filesIn = folder =>
  fs
    .readdirSync(path.join(ROOT, 'test', folder))
    .filter(name => name.endsWith('.test.js'))
    .map(name => path.posix.join('test', folder, name));

/** The folders in a folder of test/. */
const foldersIn = folder =>
  fs
    .readdirSync(path.join(ROOT, 'test', folder), { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => path.posix.join(folder, name));

const SUITE = [...foldersIn('.'), ...foldersIn('core')].flatMap(filesIn);

const node = version => path.join(MODULES, `node-${version}/bin/node`);

/** For continuous integration, what rests on the runtime, and what rests on the server. */
const SELECTIONS = {
  runtime: [
    ...['http', 'core/pipeline', 'core/protocol', 'core/requests', 'core/rows', 'core/stream'].flatMap(filesIn),
    'test/whole/quickgres.test.js'
  ],
  server: [
    ...['core/connection', 'core/pipeline', 'replication', 'core/requests'].flatMap(filesIn),
    ...['client', 'cursor', 'listen', 'stream/copy-from', 'stream/copy-to', 'transaction'].map(
      name => `test/core/${name}.test.js`
    )
  ]
};

/** The suite on a version of Node.js. */
const onNode = (version, server, parts, files = SUITE) => ({
  name: `node${version}-${server}`,
  runtime: `node${version}`,
  server,
  parts,
  files,
  command: node(version),
  args: [
    path.join(MOCHA, 'mocha.js'),
    '--parallel',
    '--jobs',
    String(os.availableParallelism()),
    '--timeout',
    '60000',
    '--require',
    path.join(__dirname, 'limits.js')
  ],
  env: { PG_VERSION: server.slice(2), EVERYWHERE_RUNTIME: `node${version}` }
});

/** The suite on another runtime, without what the runtime has no part in or cannot do. */
const onOther = (runtime, command, args) => ({
  name: `${runtime}-pg18`,
  runtime,
  server: 'pg18',
  parts: ['all'],
  command,
  files: SUITE.filter(file => LIMITS[runtime].files[path.posix.relative('test', file)] === undefined),
  left: LIMITS[runtime].files,
  args: [
    ...args,
    path.join(MOCHA, '_mocha'),
    '--no-package',
    '--timeout',
    '60000',
    '--exit',
    '--require',
    path.join(ROOT, 'test/support/hooks.js'),
    '--require',
    path.join(__dirname, 'limits.js')
  ],
  // Bun knows the user's name from there only.
  env: { PG_VERSION: '18', EVERYWHERE_RUNTIME: runtime, USER: os.userInfo().username }
});

/** Tests of this folder, which drive something else. */
const own = (runtime, server, parts, file) => ({
  name: server === 'pg18' ? runtime : server,
  runtime,
  server,
  parts,
  files: [`test/everywhere/${file}`],
  isBeside: true,
  command: node(24),
  args: [path.join(MOCHA, 'mocha.js'), '--exit'],
  env: { PG_VERSION: '18' }
});

const CELLS = [
  ...[20, 22, 24, 26].map(version => onNode(version, 'pg18', ['all'])),
  ...[13, 14, 15, 16, 17].map(version => onNode(24, `pg${version}`, ['all'])),
  onNode(26, 'pg18', ['ci'], SELECTIONS.runtime),
  onNode(20, 'pg13', ['ci'], SELECTIONS.server),
  onOther('bun', path.join(MODULES, '.bin/bun'), []),
  onOther('deno', path.join(MODULES, '.bin/deno'), ['run', '-A']),
  own('workerd', 'pg18', ['all', 'ci'], 'workerd/workerd.test.js'),
  own('runners', 'pg18', ['all'], 'runners/runners.test.js'),
  own('contact', 'pg18', ['all', 'ci'], 'contact/contact.test.js'),
  own('values', 'pg18', ['all', 'ci'], 'values/values.test.js'),
  own('bundlers', 'pg18', ['all', 'ci'], 'bundlers/bundlers.test.js'),
  own('typescript', 'pg18', ['all'], 'typescript/typescript.test.js'),
  own('node24', 'pgbouncer', ['all'], 'strangers/pgbouncer.test.js'),
  own('node24', 'haproxy', ['all'], 'strangers/haproxy.test.js'),
  own('node24', 'pgpool', ['all', 'ci'], 'strangers/pgpool.test.js'),
  own('node24', 'pglite', ['all', 'ci'], 'strangers/pglite.test.js'),
  own('node24', 'questdb', ['all'], 'strangers/questdb.test.js')
];

module.exports = { CELLS };

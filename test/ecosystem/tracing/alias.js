'use strict';

// Loaded first, it puts a package in the place of pg whose files lead to quickgres/pg, since tracers hook packages by
// where their files lie: node_modules/pg/lib/client.js.

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

const folder = path.join(process.env.ALIAS, 'node_modules');
const ours = path.join(__dirname, '..', '..', '..', 'lib', 'pg');

for (const [name, text] of Object.entries({
  'pg/package.json': JSON.stringify({ name: 'pg', version: require('pg/package.json').version, main: 'lib/index.js' }),
  'pg-pool/package.json': JSON.stringify({ name: 'pg-pool', version: '3.14.0' }),
  'pg-pool/index.js': `module.exports = require(${JSON.stringify(ours)}).Pool;`,
  'pg/lib/client.js': `module.exports = require(${JSON.stringify(ours)}).Client;`,
  'pg/lib/index.js': `require('./client'); require('pg-pool'); module.exports = require(${JSON.stringify(ours)});`
})) {
  const file = path.join(folder, name);
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text);
}

const { _resolveFilename: resolve } = Module;
Module._resolveFilename = (specifier, ...more) =>
  specifier === 'pg' ? path.join(folder, 'pg/lib/index.js') : resolve(specifier, ...more);

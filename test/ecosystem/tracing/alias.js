'use strict';

// Loaded first, it puts a package in the place of pg whose files lead to quickgres/pg, since tracers hook packages by
// where their files lie: node_modules/pg/lib/client.js.

const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

const folder = path.join(process.env.ALIAS, 'node_modules', 'pg');
const ours = path.join(__dirname, '..', '..', '..', 'lib', 'pg');

for (const [name, text] of Object.entries({
  'package.json': JSON.stringify({ name: 'pg', version: require('pg/package.json').version, main: 'lib/index.js' }),
  'lib/client.js': `module.exports = require(${JSON.stringify(ours)}).Client;`,
  'lib/index.js': `require('./client'); module.exports = require(${JSON.stringify(ours)});`
})) {
  fs.mkdirSync(path.join(folder, 'lib'), { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
}

const { _resolveFilename: resolve } = Module;
Module._resolveFilename = (specifier, ...more) => specifier === 'pg' ? path.join(folder, 'lib', 'index.js') : resolve(specifier, ...more);

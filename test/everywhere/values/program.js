'use strict';

const { createRequire } = require('node:module');
const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { Client } = require('quickgres');
const { sql } = require('quickgres/sql');

/** Loads a file in another realm, as test runners do. */
function loadedIn(context, file) {
  const module = { exports: {} };
  const wrapper = vm.runInContext(`(function (module, require) {${fs.readFileSync(file, 'utf8')}\n})`, context);
  wrapper(module, createRequire(file));
  return module.exports;
}

async function main() {
  const config = JSON.parse(process.env.SERVER);
  const context = vm.createContext({ Buffer, URL });
  const other = vm.runInContext('globalThis', context);
  const realms = { own: globalThis, other };
  const file = name => path.join(__dirname, name);
  const loaders =
    process.env.ENVIRONMENT === 'vm' ? name => loadedIn(context, file(name)) : name => require(file(name));
  const { check } = loaders('table.js');
  for (const name of Object.keys(require.cache)) if (/[\\/]quickgres[\\/]/.test(name)) delete require.cache[name];
  const theirs = require('quickgres/sql').sql;
  if (theirs === sql) throw new Error('there is no other copy');
  const given = { Client, sql, theirs, kinds: loaders('kinds.js'), realms, config };
  console.log(JSON.stringify(await check(given)));
}

main().catch(error => {
  console.error(error);
  process.exit(1); // its client would wait for ever
});

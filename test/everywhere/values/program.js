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
  console.log(JSON.stringify(await check({ Client, sql, kinds: loaders('kinds.js'), realms, config })));
}

main().catch(error => {
  console.error(error);
  process.exitCode = 1;
});

'use strict';

// `node --import quickgres/pg/register app.js`: quickgres/pg in place of pg, for the program and all its dependencies.

const { existsSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { fileFor, load, resolve, sourceOf } = require('./resolve');

// There the hooks would replace some modules of pg and not others.
const other = ['bun', 'deno'].find(name => process.versions[name] !== undefined);
if (other !== undefined)
  throw new Error(`quickgres/pg/register needs Node.js: in ${other}, import quickgres/pg instead`);

if (Module.registerHooks !== undefined) Module.registerHooks({ load, resolve });
else {
  // Before Node.js 22.15 the hooks of `import` run in a thread, which costs 0.2 s of CPU and 25 MB. An installed pg
  // needs none, since Node.js loads CommonJS modules by methods that can be replaced.
  const {
    _resolveFilename: resolveFilename,
    prototype: { load: loadFile }
  } = Module;
  const sourceOfFile = file => sourceOf(pathToFileURL(file).href);
  const installed = (...request) => {
    try {
      const file = resolveFilename(...request);
      return sourceOfFile(file) && file; // tracers find it by its path
    } catch {} // not installed
  };
  Module._resolveFilename = (specifier, parent, ...more) => {
    const file = fileFor(specifier, parent?.filename);
    return file === undefined
      ? resolveFilename(specifier, parent, ...more)
      : (installed(specifier, parent, ...more) ?? file);
  };
  Module.prototype.load = function (file) {
    const source = sourceOfFile(file);
    if (source === undefined) return loadFile.call(this, file);
    Object.assign(this, { filename: file, paths: Module.createRequire(file).resolve.paths('pg') });
    this._compile(source, file);
    this.loaded = true;
  };
  const hasNames = folder => {
    // for `import`: from pg 8.15 on
    const file = installed('pg', undefined, false, { paths: [folder] });
    return file !== undefined && existsSync(path.join(file, '../../esm/index.mjs'));
  };
  if (![process.cwd(), path.dirname(process.argv[1] ?? '.')].some(hasNames))
    Module.register(pathToFileURL(require.resolve('./resolve')));
}

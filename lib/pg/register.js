'use strict';

// `node --import quickgres/pg/register app.js`: the program and all its dependencies get quickgres/pg where they load pg.

const Module = require('node:module');
const { pathToFileURL } = require('node:url');
const { fileFor, resolve } = require('./resolve');

if (Module.registerHooks !== undefined) Module.registerHooks({ resolve });
else {
  // Node.js before 22.15: `register` is for import alone, and the resolver of CommonJS has no hook.
  Module.register(pathToFileURL(require.resolve('./resolve')));
  const resolveFilename = Module._resolveFilename;
  Module._resolveFilename = (specifier, parent, ...more) =>
    fileFor(specifier, parent?.filename) ?? resolveFilename(specifier, parent, ...more);
}

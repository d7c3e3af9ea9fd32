'use strict';

// `node --import quickgres/pg/register app.js`: quickgres/pg in place of pg, for the program and all its dependencies.

const Module = require('node:module');
const { pathToFileURL } = require('node:url');
const { fileFor, load, resolve } = require('./resolve');

if (Module.registerHooks !== undefined) Module.registerHooks({ load, resolve });
else {
  // Before Node.js 22.15 `register` works for import alone, and the resolver of CommonJS has no hook.
  Module.register(pathToFileURL(require.resolve('./resolve')));
  const resolveFilename = Module._resolveFilename;
  Module._resolveFilename = (specifier, parent, ...more) =>
    fileFor(specifier, parent?.filename) ?? resolveFilename(specifier, parent, ...more);
}

'use strict';

// The files that replace node-postgres' modules, for the hooks of `quickgres/pg/register`.

const { existsSync } = require('node:fs');
const Module = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

/**
 * @param {string} specifier of a module
 * @param {string} [parent] the importing module
 * @returns {string|undefined} the path of the file that replaces it, if it is node-postgres'
 */
function fileFor(specifier, parent) {
  if (/^pg(?:\/lib(?:\/index(?:\.js)?)?)?$/.test(specifier)) return path.join(__dirname, 'index.js');
  if (specifier === 'pg-types') return path.join(__dirname, 'lib', 'types.js');
  if (specifier === 'pg-pool') return path.join(__dirname, 'lib', 'pool.js');
  if (!specifier.startsWith('pg/lib')) return undefined;
  const [, name = 'types'] = /^pg\/lib\/([\w-]+)(?:\.js)?$/.exec(specifier) ?? [];
  const file = path.join(__dirname, 'lib', `${name}.js`);
  if (name !== 'types' && existsSync(file)) return file;
  throw Object.assign(
    new Error(
      `quickgres/pg has no ${specifier}, which ${parent ?? 'the program'} loads: ` +
        'run the program without quickgres/pg/register'
    ),
    { code: 'MODULE_NOT_FOUND' }
  );
}

/**
 * Where node-postgres has its files. Tracers find them by these paths, so the paths stay and `load` replaces the
 * contents.
 */
const INSTALLED = /\/node_modules\/(?:pg\/(?:lib|esm)\/(.+?)|(pg-pool)\/(?:esm\/)?index)(?:\.m?js)?$/;

/**
 * The hook `resolve` of Node's module loader: https://nodejs.org/api/module.html#resolvespecifier-context-nextresolve
 */
function resolve(specifier, context, nextResolve) {
  const file = fileFor(specifier, context.parentURL);
  if (file === undefined) return nextResolve(specifier, context);
  try {
    // Only Node's function calls `load`, and tsx replaces it.
    // eslint-disable-next-line n/no-deprecated-api -- whether another hook compiles the file
    const isCalled = Module.registerHooks && /\bloadSource\(/.test(require.extensions['.js']);
    const installed = isCalled && nextResolve(specifier, context);
    if (INSTALLED.test(installed?.url)) return installed;
  } catch {} // not installed
  return { url: pathToFileURL(file).href, format: 'commonjs', shortCircuit: true };
}

/** @returns {string|undefined} the source in place of that of a CommonJS file of an installed pg or pg-pool */
function sourceOf(url) {
  const [, name, pool] = INSTALLED.exec(url) ?? [];
  if ((name ?? pool) === undefined || url.endsWith('.mjs')) return undefined;
  const file = JSON.stringify(fileFor(pool ?? `pg/lib/${name}`));
  // The `require` of such a source takes no ES modules before Node.js 24. Node finds the names for `import` by the last
  // form.
  return `${name === 'index' ? ['./client', 'pg-pool'].map(each => `${'require'}('${each}');`).join(' ') : ''}
    module.exports = ${'require'}('node:module').createRequire(${file})(${file});
    0 && (module.exports = ${'require'}(${file}));`;
}

/** The hook `load`, for what `resolve` has left where it was. */
function load(url, context, nextLoad) {
  const source = sourceOf(url);
  return source === undefined ? nextLoad(url, context) : { format: 'commonjs', source, shortCircuit: true };
}

module.exports = { fileFor, load, resolve, sourceOf };

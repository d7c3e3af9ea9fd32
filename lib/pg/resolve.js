'use strict';

// The files that replace node-postgres' modules, for the hooks of `quickgres/pg/register`.

const { existsSync } = require('node:fs');
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
  if (!specifier.startsWith('pg/lib')) return undefined;
  const [, name = 'types'] = /^pg\/lib\/([\w-]+?)(?:\.js)?$/.exec(specifier) ?? [];
  const file = path.join(__dirname, 'lib', `${name}.js`);
  if (name !== 'types' && existsSync(file)) return file;
  throw Object.assign(new Error(`quickgres/pg has no ${specifier}, which ${parent ?? 'the program'} loads: ` +
    'run the program without quickgres/pg/register'), { code: 'MODULE_NOT_FOUND' });
}

/** A hook of Node's module loader: https://nodejs.org/api/module.html#resolvespecifier-context-nextresolve */
function resolve(specifier, context, nextResolve) {
  const file = fileFor(specifier, context.parentURL);
  return file === undefined ? nextResolve(specifier, context)
    : { url: pathToFileURL(file).href, format: 'commonjs', shortCircuit: true };
}

module.exports = { fileFor, resolve };

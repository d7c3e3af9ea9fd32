'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { fileFor, load, resolve } = require('../../lib/pg/resolve');

const folder = path.join(__dirname, '..', '..', 'lib', 'pg');

describe('The modules of node-postgres', () => {
  for (const [specifier, ...file] of [
    ['pg', 'index.js'],
    ['pg/lib', 'index.js'],
    ['pg/lib/index.js', 'index.js'],
    ['pg/lib/client', 'lib', 'client.js'],
    ['pg/lib/utils.js', 'lib', 'utils.js'],
    ['pg-types', 'lib', 'types.js'],
    ['pg-pool', 'lib', 'pool.js']
  ])
    it(`${specifier} is ${file.join('/')}`, () => assert.equal(fileFor(specifier), path.join(folder, ...file)));

  for (const specifier of ['pg-poolx', 'pgx', 'pg/package.json', './pg', 'node:fs', '/pg/lib/client']) {
    it(`${specifier} is not one of them`, () => assert.equal(fileFor(specifier), undefined));
  }

  for (const specifier of ['pg/lib/native', 'pg/lib/crypto/sasl.js', 'pg/lib/../index', 'pg/lib/types', 'pg/library']) {
    it(`${specifier} is refused, and who asks is named`, () => {
      assert.throws(() => fileFor(specifier, '/there.js'), {
        code: 'MODULE_NOT_FOUND',
        message: `quickgres/pg has no ${specifier}, which /there.js loads: run the program without quickgres/pg/register`
      });
    });
  }

  it('are resolved by a hook, which passes on all others', () => {
    const next = (...given) => given;
    assert.deepEqual(resolve('tool', { parentURL: 'x' }, next), ['tool', { parentURL: 'x' }]);
    assert.deepEqual(resolve('pg', {}, next), {
      url: pathToFileURL(path.join(folder, 'index.js')).href,
      format: 'commonjs',
      shortCircuit: true
    });
  });

  it('keep the paths of an installed pg, by which tracers find them, and are loaded from here', () => {
    const next = (url, context) => ({ url, context });
    const installed = 'file:///app/node_modules/pg/lib/client.js';
    const { format, source, shortCircuit } = load(installed, {}, next);
    assert.deepEqual([format, shortCircuit], ['commonjs', true]);
    assert.ok(source.includes(JSON.stringify(path.join(folder, 'lib', 'client.js'))));
    assert.match(load('file:///app/node_modules/pg/lib/index.js', {}, next).source, /"?\.\/client/); // which tracers wrap
    for (const url of [
      'file:///app/node_modules/pg/esm/index.mjs',
      'file:///app/node_modules/pgx/lib/client.js',
      'file:///app/lib/client.js'
    ]) {
      assert.deepEqual(load(url, {}, next), { url, context: {} });
    }
  });
});

'use strict';

// Programs that load pg, run with `--import quickgres/pg/register`: what they get is quickgres/pg.

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..', '..');

describe('quickgres/pg/register', () => {
  let folder;
  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'register-'));
    write('node_modules/pg/package.json', '{ "name": "pg", "version": "8.0.0", "main": "index.js" }');
    write('node_modules/pg/index.js', 'module.exports = { real: true };');
    write('node_modules/pg-types/index.js', 'module.exports = { real: true };');
    write('node_modules/tool/index.js', "module.exports = require('pg');");
    fs.symlinkSync(ROOT, path.join(folder, 'node_modules', 'quickgres'), 'junction');
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  function write(name, text) {
    const file = path.join(folder, name);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.writeFileSync(file, text);
  }

  /** Runs a program with the hooks, or without. @returns {{status: number, stdout: string, stderr: string}} */
  function run(name, text, args = ['--import', 'quickgres/pg/register'], cwd = folder) {
    write(name, text);
    const { NODE_OPTIONS, ...env } = process.env;
    return spawnSync(process.execPath, [...args, path.join(folder, name)], { cwd, env, encoding: 'utf8' });
  }

  const printed = (...given) => {
    const { status, stdout, stderr } = run(...given);
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };

  it('gives names to an import of an installed pg', () => {
    write('app/node_modules/pg/package.json', '{ "name": "pg", "version": "8.0.0", "main": "./lib" }');
    for (const name of ['pg/lib/index', 'pg/lib/client', 'pg/lib/utils', 'pg-pool/index'])
      write(`app/node_modules/${name}.js`, 'module.exports = { real: true };');
    const program =
      "import { Pool } from 'pg'; import { prepareValue } from 'pg/lib/utils.js'; console.log(typeof Pool, prepareValue(5));";
    assert.equal(printed('app/a.mjs', program), 'function 5');
  });

  it('gives names to an import of the file of an installed pg by its URL, as Vitest imports it', () => {
    for (const [name, text] of [
      ['pg/package.json', '{ "name": "pg", "version": "8.0.0", "main": "./lib" }'],
      ['pg/lib/index.js', 'exports.real = true;'],
      ['pg-pool/index.js', 'exports.real = true;']
    ]) {
      write(`app/node_modules/${name}`, text);
    }
    const program =
      "const { default: pg, Pool } = await import(new URL('node_modules/pg/lib/index.js', import.meta.url)); " +
      "const { default: ours } = await import('quickgres/pg'); console.log(pg === ours, Pool === ours.Pool);";
    assert.equal(printed('app/c.mjs', program), 'true true');
  });

  it('replaces an installed pg where a compiler such as tsx reads the files in place of Node.js', () => {
    write(
      'app/compiler.js',
      "const { _extensions } = require('module'); _extensions['.js'] = (module, file) => " +
        "module._compile(require('fs').readFileSync(file, 'utf8'), file);"
    );
    const [compiler, register] = [
      ['--require', './app/compiler.js'],
      ['--import', 'quickgres/pg/register']
    ];
    for (const args of [
      [...compiler, ...register],
      [...register, '--import', './app/compiler.js']
    ]) {
      assert.equal(printed('app/b.js', "console.log(require('pg') === require('quickgres/pg'))", args), 'true');
      assert.equal(
        printed(
          'app/b.mjs',
          "import { Pool } from 'pg'; import ours from 'quickgres/pg'; console.log(Pool === ours.Pool)",
          args
        ),
        'true'
      );
    }
  });

  it('gives quickgres/pg to the program and to its dependencies, by require and by import', () => {
    const cjs =
      "console.log(require('pg') === require('quickgres/pg'), require('tool') === require('pg'), " +
      "require('pg/lib') === require('pg'))";
    assert.equal(printed('a.js', cjs), 'true true true');
    const esm =
      'import pg, { Client, Pool, Connection, DatabaseError, Query, Result, TypeOverrides, types, defaults, ' +
      "escapeIdentifier, escapeLiteral } from 'pg'; import ours from 'quickgres/pg'; import tool from 'tool';\n" +
      'console.log(pg === ours, Client === ours.Client, tool === ours, [Pool, Connection, DatabaseError, Query, Result, ' +
      'TypeOverrides, types, defaults, escapeIdentifier, escapeLiteral].every(Boolean))';
    assert.equal(printed('a.mjs', esm), 'true true true true');
    const types =
      "import types, { getTypeParser, setTypeParser, arrayParser, builtins } from 'pg-types'; import pg from 'pg';\n" +
      "console.log(types === pg.types, getTypeParser(23)('5'), typeof setTypeParser, arrayParser === types.arrayParser, builtins.INT8);";
    assert.equal(printed('b.mjs', types), 'true 5 function true 20');
    assert.equal(printed('b.js', "console.log(require('pg').real)", []), 'true');
  });

  it('starts no thread of hooks if pg is installed, keeps its path, by which tracers find it, and requires what they wrap', () => {
    const files = {
      'package.json': JSON.stringify({
        name: 'pg',
        version: '8.23.1',
        main: './lib',
        exports: {
          '.': { import: './esm/index.mjs', require: './lib/index.js' },
          './lib/*': './lib/*.js',
          './lib/*.js': './lib/*.js'
        }
      }),
      'esm/index.mjs': "import pg from '../lib/index.js'; export const { Pool } = pg; export default pg;",
      'lib/index.js': 'exports.real = true;',
      'lib/client.js': 'exports.real = true;',
      'lib/query.js': 'exports.real = true;'
    };
    for (const [name, text] of Object.entries(files)) write(`whole/node_modules/pg/${name}`, text);
    write('whole/node_modules/pg-pool/index.js', 'exports.real = true;');
    write('whole/nothing.js', "require('node:module').register = () => { throw new Error('a thread'); };");
    const args = [
      '--require',
      path.join(folder, 'whole/nothing.js'),
      '--import',
      path.join(ROOT, 'lib/pg/register.js')
    ];
    const program = `import { createRequire } from 'node:module'; import pg, { Pool } from 'pg'; import Query from 'pg/lib/query.js';
      import ours from 'quickgres/pg';
      const require = createRequire(import.meta.url);
      const file = require.resolve('pg');
      console.log(pg === ours, Pool === ours.Pool, Query === ours.Query, require('pg') === ours, /whole.node_modules.pg.lib.index\\.js$/.test(file),
        ['pg/lib/client.js', 'pg-pool/index.js'].every(name => Object.keys(require.cache).some(each => each.replaceAll('\\\\', '/').endsWith(name))));`;
    for (const cwd of [path.join(folder, 'whole'), folder])
      assert.equal(printed('whole/a.mjs', program, args, cwd), 'true true true true true true');
  });

  it('gives the files of pg/lib that tools load, by either of their names', () => {
    const text = `const pg = require('pg');
      console.log(JSON.stringify([
        require('pg/lib/client') === pg.Client, require('pg/lib/client.js') === pg.Client,
        require('pg/lib/query') === pg.Query, require('pg/lib/result') === pg.Result,
        require('pg/lib/type-overrides') === pg.TypeOverrides, require('pg/lib/defaults') === pg.defaults,
        require('pg/lib/connection') === pg.Connection, require('pg-types') === pg.types,
        require('pg/lib/utils').prepareValue([1, null]), new (require('pg/lib/connection-parameters'))('pg://me@there:1/db').host
      ]))`;
    const expected = '[true,true,true,true,true,true,true,true,"{\\"1\\",NULL}","there"]';
    assert.deepEqual(JSON.parse(printed('lib.js', text)).slice(0, 8), JSON.parse(expected).slice(0, 8));
    assert.equal(JSON.parse(printed('lib.js', text))[9], 'there');
    assert.equal(
      printed('lib.mjs', "import Query from 'pg/lib/query.js'; import pg from 'pg'; console.log(Query === pg.Query)"),
      'true'
    );
  });

  it('names a file that it has not, and the module that asks for it', () => {
    for (const name of ['c.js', 'c.mjs']) {
      const text = name === 'c.js' ? "require('pg/lib/crypto/utils')" : "import 'pg/lib/crypto/utils.js'";
      const { status, stderr } = run(name, text);
      assert.equal(status, 1);
      assert.match(
        stderr,
        /quickgres\/pg has no pg\/lib\/crypto\/utils(?:\.js)?, which \S*c\.m?js loads: run the program without/
      );
    }
  });

  it('leaves all other modules alone', () => {
    assert.equal(
      printed(
        'd.js',
        "console.log(typeof require('node:fs').readFileSync, require.resolve('tool').endsWith('index.js'))"
      ),
      'function true'
    );
    const { stderr } = run('e.js', "require('pg-nothing')");
    assert.match(stderr, /Cannot find module 'pg-nothing'/);
  });
});

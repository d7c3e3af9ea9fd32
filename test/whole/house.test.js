'use strict';

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const path = require('node:path');
const { CAPABILITIES, RULES, codeLines, importsOf, reachable, readHouse } = require('../support/house');
const { over } = require('../../bench/path');
const { LIMITS, measure } = require('../../bench/sizes');

const root = path.join(__dirname, '../..');

/** A house of files by path. */
const house = files => new Map(Object.entries(files));

/** What is against one rule in a house that is made up. */
const against = (rule, files) => RULES[rule](house(files));

describe('The house', () => {
  const files = readHouse(root);

  for (const [rule, check] of Object.entries(RULES)) {
    it(`keeps the rule: ${rule}`, () => {
      const found = check(files);
      assert.ok(found.length === 0, found.join('\n'));
    });
  }

  it('has files, imports and tests for the rules to look at', () => {
    assert.ok(reachable(files, 'index.js').length > 30);
    assert.ok(importsOf(files).length > 150);
    assert.ok([...files.keys()].filter(name => name.startsWith('test/')).length > 50);
  });

  it(`has at most ${LIMITS.core} lines of code in the core, ${LIMITS.pool} in the pool, ${LIMITS.pg} in lib/pg, and ${LIMITS.all} in all`, () => {
    assert.deepEqual(measure(files).over, []);
  });

  it('answers a warm query in at most 45 functions of at most 10 files', () => {
    const { NODE_V8_COVERAGE, ...env } = process.env; // there is one measurement of coverage in a process
    const args = [path.join(root, 'bench/path.js'), 'quickgres'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });
    assert.match(stdout, /^quickgres: \d\d functions in \d+ files$/m, stderr);
    assert.equal(status, 0, stderr);
  });

  it('loads neither a capability nor what connecting needs before connect()', () => {
    const program = `new (require('.').Client)({ host: 'localhost' });
      console.log(JSON.stringify({ files: Object.keys(require.cache), modules: process.moduleLoadList }));`;
    const { files: loaded, modules } = JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: root }));
    const units = new Set(loaded.map(file => path.relative(root, path.dirname(file)).replaceAll(path.sep, '/')));
    assert.ok(units.has('lib/requests'));
    for (const unit of [...CAPABILITIES, 'lib/config', 'lib/connection']) assert.ok(!units.has(unit), unit);
    for (const name of ['net', 'tls', 'zlib', 'http', 'crypto']) {
      assert.ok(!modules.includes(`NativeModule ${name}`), name);
    }
  });
});

describe('A rule of the house', () => {
  it('finds the import of what is not there, and of what only running tells', () => {
    assert.deepEqual(against('every import names a file of the house', {
      'index.js': "require('./lib/gone'); require('pg'); require('node:fs'); require('./lib/a');",
      'lib/a.js': 'const it = require(`./${name}`); import(name);'
    }), [
      'index.js imports ./lib/gone', 'index.js imports pg',
      'lib/a.js imports the value of `./${name}`', 'lib/a.js imports the value of name'
    ]);
  });

  it('finds imports past a door, in functions and getters too, and by import', () => {
    assert.deepEqual(against('a folder is entered by its door', {
      'lib/client.js': "const { a } = require('./requests');\nfunction f() { return require('./requests/a'); }",
      'lib/transaction/index.js': "module.exports = { get b() { return require('../requests/a').b; } };",
      'lib/transaction/b.js': "const load = () => import('../../client-parser/a.js');",
      'lib/requests/index.js': "require('./a');",
      'lib/requests/a.js': "// require('../copy/b')\n/* require('../copy/b') */\n",
      'lib/rows/index.js': "require('../../client-parser/a.js')",
      'client-parser/a.js': "import { b } from './b.js';\nexport * from '../lib/requests/a.js';",
      'client-parser/b.js': ''
    }), [
      'lib/client.js imports lib/requests/a.js', 'lib/transaction/index.js imports lib/requests/a.js',
      'lib/transaction/b.js imports client-parser/a.js', 'client-parser/a.js imports lib/requests/a.js'
    ]);
  });

  it('finds an import that points up, one of a capability by the core, and a file that is in no layer', () => {
    assert.deepEqual(against('imports point down', {
      'lib/requests/index.js': "require('../stream'); require('../protocol');",
      'lib/stream/index.js': "require('../transaction'); require('../http');",
      'lib/transaction.js': '',
      'lib/protocol/index.js': "require('../config');",
      'lib/config/index.js': "const later = () => require('../client');",
      'lib/client.js': '',
      'lib/http/index.js': "require('../client'); require('../cache');",
      'lib/cache/index.js': '',
      'lib/more.js': "require('./client');"
    }), [
      'lib/more.js is in no layer', 'lib/requests/index.js imports lib/stream/index.js',
      'lib/stream/index.js imports lib/http/index.js', 'lib/config/index.js imports lib/client.js'
    ]);
  });

  it('finds a circle of folders, and of files in one folder', () => {
    assert.deepEqual(against('nothing imports in a circle', {
      'lib/transaction/index.js': "require('./a');",
      'lib/transaction/a.js': "require('../stream');",
      'lib/stream/index.js': "require('./b');",
      'lib/stream/b.js': "const later = () => require('../transaction');"
    }), [
      'lib/transaction → lib/stream → lib/transaction',
      'lib/transaction/index.js → lib/transaction/a.js → lib/stream/index.js → lib/stream/b.js → lib/transaction/index.js'
    ]);
    assert.deepEqual(against('nothing imports in a circle', {
      'lib/requests/index.js': "require('./a');", 'lib/requests/a.js': "require('./b');",
      'lib/requests/b.js': "require('./a'); require('.'); require('./b');"
    }), ['lib/requests/a.js → lib/requests/b.js → lib/requests/a.js',
      'lib/requests/index.js → lib/requests/a.js → lib/requests/b.js → lib/requests/index.js',
      'lib/requests/b.js → lib/requests/b.js']);
  });

  it('finds a capability that the core can load, however late and by whatever name', () => {
    assert.deepEqual(against('the core loads no capability', {
      'index.js': "require('./lib/client');",
      'lib/client.js': "exports.respond = () => require('quickgres/http').respond;",
      'lib/http/index.js': "require('./http');",
      'lib/http/http.js': '',
      'lib/cache/index.js': "require('../client');"
    }), ['index.js can load lib/http/index.js', 'index.js can load lib/http/http.js']);
  });

  it('finds a module of Node.js by a name that a package may have', () => {
    assert.deepEqual(against('modules of Node.js are imported by names that nothing else has', {
      'lib/client.js': "require('events'); require('node:net'); const late = () => require('buffer/');"
    }), ['lib/client.js imports events']);
  });

  it('finds what client-parser imports from elsewhere', () => {
    assert.deepEqual(against('client-parser imports nothing outside itself', {
      'client-parser/index.js': `export { a } from './a.js';
        import '../lib/a.js';
        import {
          b
        } from 'node:util';`,
      'client-parser/a.js': "import { c } from 'c';", 'lib/a.js': ''
    }), [
      'client-parser/index.js imports ../lib/a.js', 'client-parser/index.js imports node:util',
      'client-parser/a.js imports c'
    ]);
  });

  it('finds who reads an underscore field that is not its own', () => {
    assert.deepEqual(against('nobody reads underscore fields of another object', {
      'lib/session.js': 'this._a = super._b(); const _c = { _d: 1 };\n// other._e\nthis.other._f; socket._handle; g?._h;',
      'test/a.test.js': 'other._x;'
    }), ['lib/session.js reads _f', 'lib/session.js reads _h']);
  });

  it('finds a field of a pipeline that another folder writes', () => {
    assert.deepEqual(against('only lib/pipeline writes the fields of a pipeline', {
      'lib/pipeline/pipeline.js': 'pipeline.a = 1;',
      'lib/client.js': 'this.pipeline = pipeline; pipeline.a === 1; pipeline.statements.b = 1; x => this.#pipeline.c ??= x; scope.d++; root.e.f();'
    }), ['lib/client.js writes pipeline.statements.b =', 'lib/client.js writes pipeline.c ??=', 'lib/client.js writes scope.d++']);
  });

  it('finds a file of more than 350 lines, comments included', () => {
    assert.deepEqual(against('no file is longer than 350 lines', {
      'lib/client.js': '// line\n'.repeat(351), 'lib/session.js': '// line\n'.repeat(350),
      'test/a.test.js': '\n'.repeat(400)
    }), ['lib/client.js has 351']);
  });

  it('finds a file of lib without a test of its own, but for a door that only passes on', () => {
    assert.deepEqual(against('every file of lib has a test file', {
      'index.js': '', 'lib/client.js': '', 'lib/session.js': '', 'test/session.test.js': '',
      'lib/requests/index.js': "module.exports = { ...require('./a') };",
      'lib/requests/a.js': '', 'lib/requests/b.js': '', 'test/requests/b.test.js': '',
      'lib/http/index.js': 'function respond() {}',
      'lib/websocket/a/b.js': '', 'test/websocket/a.test.js': ''
    }), ['lib/client.js', 'lib/requests/a.js', 'lib/http/index.js']);
  });

  it('finds a core, a pool, a library and a file that are too large', () => {
    const lines = count => 'x;\n'.repeat(count);
    const folder = (name, count) => Object.fromEntries(Array.from({ length: Math.ceil(count / 200) }, (_, i) =>
      [`lib/${name}/${i}.js`, lines(Math.min(200, count - 200 * i))]));
    const query = folder('requests', LIMITS.core - 1);
    const fitting = {
      'index.js': Object.keys(query).map(name => `require('./${name}');`).join(' '), ...query,
      ...folder('pool', LIMITS.pool), ...folder('cache', LIMITS.all - LIMITS.core - LIMITS.pool)
    };
    const { core, all, pool, over } = measure(house(fitting));
    assert.deepEqual([core, all, pool, over], [LIMITS.core, LIMITS.all, LIMITS.pool, []]);
    const large = { ...fitting, 'index.js': fitting['index.js'] + '\nx;', 'lib/pool/one.js': lines(1), 'lib/http/index.js': lines(351) };
    assert.deepEqual(measure(house(folder('pg', LIMITS.pg + 1))).over, [`lib/pg has ${LIMITS.pg + 1} lines of code, ${LIMITS.pg} are the limit`]);
    assert.deepEqual(measure(house(large)).over, [
      `the core has ${core + 1} lines of code, ${core} are the limit`, `the library has ${all + 353} lines of code, ${all} are the limit`,
      `the pool has ${pool + 1} lines of code, ${pool} are the limit`, 'lib/http/index.js has 351 lines, 350 are the limit'
    ]);
  });

  it('finds a query that goes through too many functions, or too many files', () => {
    const files = (count, functions) => new Map(Array.from({ length: count }, (_, i) => [`${i}.js`, Array(functions)]));
    assert.deepEqual(over(files(10, 4)), []);
    assert.deepEqual(over(new Map([['a.js', Array(46)]])), ['46 functions, 45 are the limit']);
    assert.deepEqual(over(files(11, 1)), ['11 files, 10 are the limit']);
  });

  it('counts lines that are neither blank nor comment', () => {
    assert.equal(codeLines("'use strict';\n\n// a\n/** b\n * c\n */\nlet d; // e\n  /* f */\n"), 2);
  });
});

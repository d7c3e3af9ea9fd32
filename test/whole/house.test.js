'use strict';

const assert = require('node:assert/strict');
const { execFileSync, spawnSync } = require('node:child_process');
const path = require('node:path');
const { CAPABILITIES, RULES, importsOf, reachable, readHouse } = require('../support/house');
const { LIMITS, exceeded } = require('../../bench/sizes');

const root = path.join(__dirname, '../..');

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

  it(`bundles to at most ${LIMITS.core} bytes minified, with the pool to ${LIMITS.pool}`, async () => {
    assert.deepEqual(await exceeded(), []);
  });

  it('answers a warm query in at most 47 functions of at most 10 files', () => {
    const args = [path.join(root, 'bench/path.js'), 'quickgres'];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stdout, /^quickgres: \d\d functions in \d+ files$/m, stderr);
    assert.equal(status, 0, stderr);
  });

  it('loads neither a capability nor what connecting needs before connect()', () => {
    const program = `new (require('.').Client)({ host: 'localhost' });
      console.log(JSON.stringify({ files: Object.keys(require.cache), modules: process.moduleLoadList }));`;
    const { files: loaded, modules } = JSON.parse(execFileSync(process.execPath, ['-e', program], { cwd: root }));
    const units = new Set(loaded.map(file => path.relative(root, path.dirname(file)).replaceAll(path.sep, '/')));
    assert.ok(units.has('lib/core/requests'));
    for (const unit of [...CAPABILITIES, 'lib/core/config', 'lib/core/connection']) assert.ok(!units.has(unit), unit);
    for (const name of ['net', 'tls', 'zlib', 'http', 'crypto']) {
      assert.ok(!modules.includes(`NativeModule ${name}`), name);
    }
  });
});

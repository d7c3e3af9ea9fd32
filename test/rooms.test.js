'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { concerns } = require('../bench/sizes');
const rooms = require('../lib/rooms');

const root = path.join(__dirname, '..');

/** What a program has loaded: files of lib, and modules of Node. */
function loaded(program) {
  const script = `${program}
    const path = require('node:path');
    const files = Object.keys(require.cache).filter(file => path.basename(path.dirname(file)) === 'lib');
    console.log(JSON.stringify({ files: files.map(file => path.basename(file, '.js')), modules: process.moduleLoadList }));`;
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { cwd: root }));
}

describe('A room', () => {
  it('is there under its name, and always the same', () => {
    assert.ok(Object.keys(rooms).length > 10);
    for (const name of Object.keys(rooms)) {
      const file = name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`);
      assert.equal(rooms[name], require(`../lib/${file}`), name);
      assert.equal(rooms[name], rooms[name]);
    }
  });

  it('is loaded when it is first entered, not with the library', () => {
    const { files, modules } = loaded("new (require('.').Client)({ host: 'localhost' });");
    assert.ok(files.includes('query-request'));
    for (const name of Object.keys(rooms)) assert.ok(!files.includes(name), name);
    assert.ok(files.length < 25, files.join(' '));
    for (const name of ['net', 'tls', 'zlib', 'http', 'crypto']) assert.ok(!modules.includes(`NativeModule ${name}`), name);
  });

  it('is loaded for those who take it from the library by its name', () => {
    const { files } = loaded("const { ResponseCache } = require('.'); new ResponseCache();");
    assert.ok(files.includes('response-cache') && !files.includes('cached-query'));
    const all = loaded("require('.').Client; for (const name in require('.')) if (!require('.')[name]) throw new Error(name);");
    assert.ok(all.files.includes('copy-writer') && all.files.includes('pgoutput'));
  });
});

describe('lib/README.md', () => {
  const lib = path.join(root, 'lib');
  const files = fs.readdirSync(lib).filter(name => name.endsWith('.js')).map(name => name.slice(0, -3)).sort();

  it('has every file in its figure, above all that it loads', () => {
    const [, figure] = /```\n( 7 [^]*?)```/.exec(fs.readFileSync(path.join(lib, 'README.md'), 'utf8'));
    const storeys = new Map();
    let storey;
    for (const line of figure.trimEnd().split('\n')) {
      const [first, ...names] = line.trim().split(/\s+/);
      if (/^\d$/.test(first)) storey = Number(first);
      else names.unshift(first);
      for (const name of names) storeys.set(name, storey);
    }
    assert.deepEqual([...storeys.keys()].sort(), files);
    let count = 0;
    for (const name of files) {
      for (const [, loaded] of fs.readFileSync(path.join(lib, `${name}.js`), 'utf8').matchAll(/^(?!room\()\S.*\brequire\('\.\/([\w-]+)/gm)) {
        count++;
        assert.ok(storeys.get(name) > storeys.get(loaded), `${name} loads ${loaded}`);
      }
    }
    assert.ok(count > 150, `${count}`);
  });

  it('says of every file once what it is for', () => {
    const sorted = concerns().flatMap(([, names]) => names.map(name => path.relative(lib, name)));
    assert.deepEqual(sorted.filter(name => !name.startsWith('browser')).sort(), files.map(name => `${name}.js`).sort());
  });
});

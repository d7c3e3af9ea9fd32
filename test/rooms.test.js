'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const path = require('node:path');
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

'use strict';

const assert = require('node:assert/strict');
const path = require('node:path');
const { gzipSync } = require('node:zlib');

const FOLDER = path.join(__dirname, '../..', 'client-parser');

/** What a page gets that imports this: bytes, minified and gzipped. */
async function size(contents, external = []) {
  // The fixtures' own dependency.
  const esbuild = require(require.resolve('esbuild', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));
  const {
    outputFiles: [{ contents: bundle }]
  } = await esbuild.build({
    stdin: { contents, resolveDir: FOLDER },
    bundle: true,
    format: 'esm',
    platform: 'browser',
    minify: true,
    write: false,
    logLevel: 'silent',
    external
  });
  return gzipSync(bundle, { level: 9 }).length;
}

describe('client-parser, minified and gzipped', () => {
  it('has at most 8,000 bytes', async function () {
    const bytes = await size("export * from './index.js'");
    this.test.title += ` (${bytes})`;
    assert.ok(bytes <= 8000, `${bytes} bytes`);
  });

  it('has at most 4,500 bytes for live results, without its decoders', async function () {
    const bytes = await size("export * from './live.js'", ['./types.js']);
    this.test.title += ` (${bytes})`;
    assert.ok(bytes <= 4500, `${bytes} bytes`);
  });

  it('has at most 5,000 bytes without its decoders', async function () {
    const rooms = ['client', 'errors', 'row-parser', 'row-reader', 'rows'];
    const bytes = await size(rooms.map(room => `export * from './${room}.js';`).join('\n'));
    this.test.title += ` (${bytes})`;
    assert.ok(bytes <= 5000, `${bytes} bytes`);
  });
});

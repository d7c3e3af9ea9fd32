'use strict';

// Measures the library: the minified bundle of each entry point and, as installed, of Client and Pool, in bytes, beside the peers
// if `npm ci --prefix bench` has installed them, and lines of code by folder, without comments and blank lines. The exit code is 1 if a limit is exceeded.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { gzipSync } = require('node:zlib');
const { build } = require('esbuild');
const { packInto } = require('../.ci/pack');
const { CAPABILITIES, codeLines, readHouse, unitOf } = require('../test/support/house');

const root = path.join(__dirname, '..');

/** Bytes of minified bundles. A change that makes the code smaller lowers these. */
const LIMITS = { core: 230_990, pool: 253_530 };

/** @returns {Promise<{bytes: number, gzipped: number}>} the size of what an entry point loads */
async function bundled(entry, resolveDir = root) {
  const {
    outputFiles: [{ contents }]
  } = await build({
    stdin: { contents: `module.exports = require('${entry}')`, resolveDir },
    bundle: true,
    minify: true,
    write: false,
    platform: 'node',
    external: ['pg-native'],
    logLevel: 'error'
  });
  return { bytes: contents.length, gzipped: gzipSync(contents, { level: 9 }).length };
}

/** @returns {Promise<string[]>} which limits are exceeded */
async function exceeded() {
  const sizes = { core: await bundled('./index.js'), pool: await bundled('./lib/pool') };
  return Object.keys(LIMITS)
    .filter(name => sizes[name].bytes > LIMITS[name])
    .map(name => `the bundle of the ${name} has ${sizes[name].bytes} bytes, ${LIMITS[name]} are the limit`);
}

/** @returns {Map<string, number>} lines of code by folder */
function linesByFolder(files) {
  const lines = new Map();
  for (const [file, text] of files) {
    if (!file.startsWith('test/')) lines.set(unitOf(file), (lines.get(unitOf(file)) ?? 0) + codeLines(text));
  }
  return lines;
}

module.exports = { LIMITS, exceeded };

async function main() {
  const print = (what, ...numbers) =>
    console.log(numbers.map(each => each.toLocaleString('en').padStart(9)).join('') + `  ${what}`);
  console.log(' minified  gzipped');
  const peers = ['pg', 'postgres'].filter(name => fs.existsSync(path.join(__dirname, 'node_modules', name)));
  for (const entry of ['./index.js', ...CAPABILITIES.map(unit => `./${unit}`), './client-parser/index.js', ...peers]) {
    const { bytes, gzipped } = await bundled(entry, entry.startsWith('.') ? root : __dirname);
    print(entry, bytes, gzipped);
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sizes-'));
  packInto(path.join(folder, 'node_modules/quickgres'));
  for (const entry of ['quickgres', 'quickgres/pool']) {
    const { bytes, gzipped } = await bundled(entry, folder);
    print(`${entry}, as installed`, bytes, gzipped);
  }
  fs.rmSync(folder, { recursive: true });
  console.log('    lines');
  const lines = linesByFolder(readHouse(root));
  for (const [unit, count] of lines) print(unit, count);
  print(
    'all',
    [...lines.values()].reduce((sum, count) => sum + count, 0)
  );
  const over = await exceeded();
  for (const each of over) console.error(each);
  process.exitCode = over.length > 0 ? 1 : 0;
}

if (require.main === module) main();

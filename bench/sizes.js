'use strict';

// Counts lines of code, without comments and blank lines: of this library by folder, beside the limits of its design,
// and of its peers where they are installed here. Of other folders with `node sizes.js FOLDER …`.
// The exit code is 1 when a limit is passed.

const fs = require('node:fs');
const path = require('node:path');
const { codeLines, reachable, readHouse, unitOf } = require('../test/support/house');

/** A change that makes the code smaller lowers these. */
const LIMITS = { core: 6822, all: 10762, pool: 566, pg: 852, file: 350 };

const PEERS = {
  'pg, pg-protocol': ['pg/lib', 'pg-protocol/dist'],
  'these with pg-pool, pg-cursor, pg-copy-streams':
    ['pg/lib', 'pg-protocol/dist', 'pg-pool', 'pg-cursor', 'pg-copy-streams'],
  'these with pg-query-stream, pg-types and its parsers, pg-connection-string, pgpass': [
    'pg/lib', 'pg-protocol/dist', 'pg-pool', 'pg-cursor', 'pg-copy-streams', 'pg-query-stream', 'pg-types', 'postgres-array',
    'postgres-bytea', 'postgres-date', 'postgres-interval', 'pg-int8', 'pg-connection-string', 'pgpass'
  ],
  postgres: ['postgres/src']
};

/** The files of a folder that its users run: no tests, and not the same once more as modules. */
function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return /^(?:tests?|esm|demo|node_modules)$/.test(entry.name) ? [] : filesIn(name);
    return /\.c?js$/.test(name) && !/\.test\./.test(name) ? [name] : [];
  });
}

const sum = numbers => numbers.reduce((total, each) => total + each, 0);
const count = files => sum(files.map(file => codeLines(fs.readFileSync(file, 'utf8'))));

/**
 * The sizes of the library.
 * @param {Map<string, string>} files as `readHouse` gives them
 * @returns {{units: Array<{unit: string, core: number, all: number}>, core: number, all: number, pool: number,
 *   longest: number, over: string[]}} lines of code by folder: what `require('quickgres')` can load, and all; what is over
 *   a limit
 */
function measure(files) {
  const core = new Set(reachable(files, 'index.js'));
  const units = new Map();
  let longest = { lines: 0 };
  for (const [file, text] of files) {
    if (file.startsWith('test/')) continue;
    const unit = units.get(unitOf(file)) ?? { unit: unitOf(file), core: 0, all: 0 };
    units.set(unit.unit, unit);
    unit.all += codeLines(text);
    if (core.has(file)) unit.core += codeLines(text);
    const lines = text.replace(/\n$/, '').split('\n').length;
    if (lines > longest.lines) longest = { file, lines };
  }
  const list = [...units.values()];
  const result = {
    units: list, core: sum(list.map(each => each.core)), all: sum(list.map(each => each.all)),
    pool: units.get('lib/pool')?.all ?? 0, longest
  };
  result.over = [
    ...result.core > LIMITS.core ? [`the core has ${result.core} lines of code, ${LIMITS.core} are the limit`] : [],
    ...result.all > LIMITS.all ? [`the library has ${result.all} lines of code, ${LIMITS.all} are the limit`] : [],
    ...result.pool > LIMITS.pool ? [`the pool has ${result.pool} lines of code, ${LIMITS.pool} are the limit`] : [],
    ...units.get('lib/pg')?.all > LIMITS.pg ? [`lib/pg has ${units.get('lib/pg').all} lines of code, ${LIMITS.pg} are the limit`] : [],
    ...longest.lines > LIMITS.file ? [`${longest.file} has ${longest.lines} lines, ${LIMITS.file} are the limit`] : []
  ];
  return result;
}

module.exports = { LIMITS, measure };

if (require.main === module) {
  const print = (what, ...lines) =>
    console.log(`${lines.map(each => each.toLocaleString('en').padStart(7)).join('')}  ${what}`);
  const { units, core, all, longest, over } = measure(readHouse(path.join(__dirname, '..')));
  console.log('   core    all');
  for (const each of units) print(each.unit, each.core, each.all);
  print(`quickgres (limits ${LIMITS.core.toLocaleString('en')}, ${LIMITS.all.toLocaleString('en')}; lib/pool ${LIMITS.pool}, lib/pg ${LIMITS.pg})`, core, all);
  print(`lines with comments in the longest file, ${longest.file} (limit ${LIMITS.file})`, '', longest.lines);
  for (const [name, folders] of Object.entries(PEERS)) {
    const there = folders.map(folder => path.join(__dirname, 'node_modules', folder)).filter(fs.existsSync);
    if (there.length === folders.length) print(name, '', count(there.flatMap(filesIn)));
  }
  for (const name of process.argv.slice(2)) print(name, '', count(fs.statSync(name).isFile() ? [name] : filesIn(name)));
  for (const each of over) console.error(each);
  process.exitCode = over.length > 0 ? 1 : 0;
}

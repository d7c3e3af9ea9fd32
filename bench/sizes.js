'use strict';

// Counts lines of code, without comments and blank lines: of this library by what they are for, as lib/README.md sorts
// its files, and of its peers as they are installed here. Of other folders with `node sizes.js FOLDER …`.

const fs = require('node:fs');
const path = require('node:path');

const LIB = path.join(__dirname, '../lib');
const PEERS = {
  'pg, pg-protocol': ['pg/lib', 'pg-protocol/dist'],
  '… with pg-pool, pg-cursor, pg-copy-streams': ['pg/lib', 'pg-protocol/dist', 'pg-pool', 'pg-cursor', 'pg-copy-streams'],
  postgres: ['postgres/src']
};

/** The lines of a text of JavaScript that are neither blank nor comment. */
function linesOf(text) {
  return text.replace(/^\s*\/\*[^]*?\*\//gm, '').split('\n').filter(line => !/^\s*(?:\/\/.*)?$/.test(line)).length;
}

/** The files of a folder that its users run: no tests, and not the same once more as modules. */
function filesIn(folder) {
  return fs.readdirSync(folder, { withFileTypes: true }).flatMap(entry => {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory()) return /^(?:tests?|esm|demo|node_modules)$/.test(entry.name) ? [] : filesIn(name);
    return /\.c?js$/.test(name) && !/\.test\./.test(name) ? [name] : [];
  });
}

const count = files => files.reduce((sum, file) => sum + linesOf(fs.readFileSync(file, 'utf8')), 0);

/** What lib/README.md says that files of lib are for. @returns {Array<[string, string[]]>} */
function concerns() {
  const [, table] = /^\| files \| .*\n\|.*\n((?:\|.*\n)+)/m.exec(fs.readFileSync(path.join(LIB, 'README.md'), 'utf8'));
  return table.trim().split('\n').map(row => [
    row.split('|')[2].trim(),
    [...row.split('|')[1].matchAll(/`([\w/-]+)(\.js|\/)`/g)].flatMap(([, name, kind]) => {
      return kind === '/' ? filesIn(path.join(LIB, name)) : [path.join(LIB, `${name}.js`)];
    })
  ]);
}

module.exports = { concerns, linesOf };

if (require.main === module) {
  const print = (what, lines) => console.log(`${lines.toLocaleString('en').padStart(7)}  ${what}`);
  for (const [what, files] of concerns()) print(what, count(files));
  print('quickgres', count(filesIn(LIB)));
  print('quickgres/client-parser', count(filesIn(path.join(LIB, '../client-parser'))));
  for (const [name, folders] of Object.entries(PEERS)) {
    print(name, count(folders.flatMap(folder => filesIn(path.join(__dirname, 'node_modules', folder)))));
  }
  for (const folder of process.argv.slice(2)) print(folder, count(fs.statSync(folder).isFile() ? [folder] : filesIn(folder)));
}

'use strict';

// node .ci/pack.js FOLDER: makes the package that is published; `npm pack` and `npm publish` make the same. It is the repository's, but what the first row needs is one file, lib/core.js:
// a file costs a process 0.3 ms, and an ES module that CommonJS requires up to 2 ms. It has no comments and only ASCII characters, which Node.js
// reads into half the memory. Nothing else changes, so errors show the functions' names.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { importsIn, readHouse, resolve, withoutComments } = require('../test/support/house');

const ROOT = path.join(__dirname, '..');
const CORE = 'lib/core.js';

/** The entry, and what a first query loads though its imports are late. */
const FIRST = ['index.js', 'lib/core/config/index.js', 'lib/core/config/conninfo.js', 'lib/core/connection/index.js'];

/** What the first use makes: authentication, BEGIN and its end, and decoded columns. */
const LATER = ['lib/core/connection/scram.js', 'lib/core/requests/block.js', 'lib/core/requests/simple-query.js', 'lib/core/transaction.js', 'client-parser/types.js'];

/** @returns {string} the variable of a module */
const variable = file => `$${file.replace(/^lib\//, '').replace(/(?:\/index)?\.js$/, '').replace(/\W/g, '_')}`;

/** Replaces the names of files that are required. */
const replaceRequires = (files, from, text, replace) => text.replace(/\brequire\('(\.[^']*)'\)/g, (all, name) => replace(resolve(files, from, name)) ?? all);

/** @returns {string} an ES module of client-parser as CommonJS */
function asCommonJs(text, file) {
  const names = [];
  const result = text
    .replace(/^import (?:\* as )?(\{[^}]*\}|\w+) from ('[^']+');$/gm, (_, what, from) => `const ${what.replace(/ as /g, ': ')} = require(${from});`)
    .replace(/^export (const|function|class) (\w+)/gm, (_, kind, name) => `${kind} ${names[names.push(name) - 1]}`)
    .replace(/^export \{([^}]*)\};$/gm, (_, list) => (names.push(...list.trim().split(/\s*,\s*/).map(name => name.replace(/(.*) as (.*)/, '$2: $1'))), ''));
  if (/^(?:import|export)\b/m.test(result)) throw new Error(`${file} imports or exports in a way that is not known here`);
  return `${result}\nmodule.exports = { ${names.join(', ')} };\n`;
}

/** @returns {string} a module without comments that have lines of their own, in ASCII */
const compact = text => withoutComments(text)
  .replace(/^\s*\n/gm, '')
  .replace(/[^\0-\x7f]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @returns {Set<string>} modules behind those that they import at once, which is in the first column */
function inOrder(files, entries) {
  const taken = new Set();
  const visit = file => {
    if (taken.has(file)) return;
    const lines = files.get(file).split('\n').filter(line => /^(?:import|export|const|\}|module)\b/.test(line) && !line.includes('=>'));
    for (const { name } of importsIn(lines.join('\n'))) if (name.startsWith('.')) visit(resolve(files, file, name));
    taken.add(file);
  };
  entries.forEach(visit);
  return taken;
}

/** @returns {Map<string, string>} the texts of files that are not those of the repository */
function pack(files) {
  const first = inOrder(files, FIRST);
  const all = inOrder(files, [...FIRST, ...LATER]);
  const parts = Array.from(all, file => {
    const text = file.startsWith('client-parser/') ? asCommonJs(files.get(file), file) : files.get(file);
    const body = replaceRequires(files, file, text, to => all.has(to) ? variable(to) + (first.has(to) ? '' : '()') : undefined);
    const own = body.replace(/^'use strict';\n/, '').replaceAll(/\brequire\('(\.[^']*)'\)/g, (_, name) => {
      const to = path.posix.relative(path.posix.dirname(CORE), resolve(files, file, name));
      return `require('${to.startsWith('.') ? to : `./${to}`}')`;
    });
    // V8 parses arrow functions once more than others, if they are inside another function, as in bundles.
    const call = first.has(file) ? ['(function () {', '})()'] : ['once(function () {', '})'];
    return `// ${file}\nconst ${variable(file)} = ${call[0]}\nconst module = {};\n${compact(own)}\nreturn module.exports;\n${call[1]};\n`;
  });
  const shown = Array.from(all, file => first.has(file) ? variable(file) : `get ${variable(file)}() { return ${variable(file)}(); }`);
  const core = `'use strict';

// Modules of the repository, each in a function of its own.

function once(make) {
  let made;
  return () => made ??= make();
}

${parts.join('\n')}
module.exports = { ${shown.join(', ')} };
`;
  const result = new Map([[CORE, core]]);
  for (const [file, text] of files) {
    if (all.has(file) || !file.startsWith('lib/')) continue;
    const up = path.posix.relative(path.posix.dirname(file), CORE);
    const changed = replaceRequires(files, file, text, to => all.has(to) ? `require('${up.startsWith('.') ? up : `./${up}`}').${variable(to)}` : undefined);
    if (changed !== text) result.set(file, changed);
  }
  for (const file of all) if (file.startsWith('lib/')) result.set(file, null);
  return result.set('index.js', `'use strict';\n\nmodule.exports = require('./${CORE}').${variable('index.js')};\n`);
}

/** Writes the package into a folder, which must be empty or not there. */
function packInto(folder) {
  const [{ files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts', '--offline'],
    { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], shell: process.platform === 'win32' }));
  const packed = pack(readHouse(ROOT));
  const names = new Set([...files.map(file => file.path), CORE]);
  for (const name of names) {
    const text = packed.get(name);
    if (text === null) continue;
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    if (text === undefined) fs.copyFileSync(path.join(ROOT, name), path.join(folder, name));
    else fs.writeFileSync(path.join(folder, name), text);
  }
  const { scripts, devDependencies, mocha, ...manifest } = require('../package.json');
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Where the repository's files are while npm packs. */
const ASIDE = path.join(ROOT, '.aside');
const EXCHANGED = ['index.js', 'lib'];

/** Before npm packs this folder: puts the package's files in the place of the repository's. */
function exchange() {
  putBack(); // if npm was stopped
  const made = path.join(ROOT, 'package');
  fs.rmSync(made, { recursive: true, force: true });
  packInto(made);
  fs.mkdirSync(ASIDE);
  for (const name of EXCHANGED) {
    fs.renameSync(path.join(ROOT, name), path.join(ASIDE, name));
    fs.renameSync(path.join(made, name), path.join(ROOT, name));
  }
  fs.rmSync(made, { recursive: true });
}

/** After that. */
function putBack() {
  for (const name of fs.existsSync(ASIDE) ? fs.readdirSync(ASIDE) : []) {
    fs.rmSync(path.join(ROOT, name), { recursive: true, force: true });
    fs.renameSync(path.join(ASIDE, name), path.join(ROOT, name));
  }
  fs.rmSync(ASIDE, { recursive: true, force: true });
}

module.exports = { asCommonJs, packInto };

if (require.main === module) {
  const [what] = process.argv.slice(2);
  if (what === '--exchange') exchange();
  else if (what === '--put-back') putBack();
  else packInto(what);
}

'use strict';

// node .ci/pack.js FOLDER: makes the folder that is published; without FOLDER, an archive of it in the current folder, whose
// name is printed. It differs from the repository in three ways:
// - What the first row needs is one file, lib/core.js: a file costs a process 0.3 ms, and an ES module that CommonJS requires up
//   to 2 ms. What is needed less often is a second file, lib/later.js, whose text would cost the first row 0.7 ms. Each module
//   keeps its text and names in a function of its own, but has no comments. All characters are ASCII: others cost 0.4 ms.
// - In Node.js quickgres/client-parser is lib/core.js's copy of client-parser, so that a process has one.
// - Links to what is only in the repository lead there.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { importsIn, readHouse, resolve } = require('../test/support/house');

const ROOT = path.join(__dirname, '..');
const CORE = 'lib/core.js';
const REST = 'lib/later.js';

/** The entry, and what a first query loads though its imports are late. */
const FIRST = [
  'index.js',
  'lib/core/config/index.js',
  'lib/core/config/conninfo.js',
  'lib/core/connection/index.js',
  'client-parser/types.js'
];

/** The entry points of client-parser. */
const PARSERS = ['client-parser', 'client-parser/live'];
/** The first use makes this: authentication. It needs no descriptor for a file. */
const LATER = ['lib/core/connection/scram.js'];

/** What is needed less often. */
const RARE = [
  'lib/core/pipeline/learn.js',
  'lib/core/rows/types.js',
  'lib/core/requests/simple-query.js',
  'client-parser/index.js',
  'client-parser/live.js'
];

/** @returns {string} the variable of a module */
const variable = file =>
  `$${file
    .replace(/^lib\//, '')
    .replace(/(?:\/index)?\.js$/, '')
    .replace(/\W/g, '_')}`;

/** Replaces `require('./…')`, and client-parser's `await import('./…')`, by what `replace` gives for the file. */
const replaceRequires = (files, from, text, replace) =>
  text.replace(
    /\b(?:require|(?<=await )import)\('(\.[^']*)'\)/g,
    (all, name) => replace(resolve(files, from, name)) ?? all
  );

/** @returns {string} the path by which one file requires another */
function relative(from, to) {
  const name = path.posix.relative(path.posix.dirname(from), to);
  return name.startsWith('.') ? name : `./${name}`;
}

/** @returns {string} an ES module of client-parser as CommonJS */
function asCommonJs(text, file) {
  const names = [];
  const exported = list =>
    list
      .trim()
      .split(/\s*,\s*/)
      .map(name => name.replace(/(.*) as (.*)/, '$2: $1'));
  const result = text
    .replace(
      /^import (?:\* as )?(\{[^}]*\}|\w+) from ('[^']+');$/gm,
      (_, what, from) => `const ${what.replace(/ as /g, ': ')} = require(${from});`
    )
    .replace(/^export (const|function|class) (\w+)/gm, (_, kind, name) => `${kind} ${names[names.push(name) - 1]}`)
    .replace(
      /^export \{([^}]*)\} from ('[^']+');$/gm,
      (_, list, from) => (names.push(...exported(list).map(name => `${name}: require(${from}).${name}`)), '')
    )
    .replace(/^export \{([^}]*)\};$/gm, (_, list) => (names.push(...exported(list)), ''));
  if (/^(?:import|export)\b/m.test(result))
    throw new Error(`${file} imports or exports in a way that is not known here`);
  return `${result}\nmodule.exports = { ${names.join(', ')} };\n`;
}

/** @returns {string} a text without comments, which have lines of their own */
const withoutComments = text => text.replace(/^ *(?:\/\/.*|\/\*[^]*?\*\/)\n/gm, '');

/** @returns {string} a text whose other characters are escaped, which changes no string */
const ascii = text => text.replace(/[^\0-\x7f]/g, found => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** @returns {Set<string>} modules behind those that they import at once: in the first column, or spread into a door */
function inOrder(files, entries) {
  const taken = new Set();
  const visit = file => {
    if (taken.has(file)) return;
    const lines = files
      .get(file)
      .split('\n')
      .filter(line => /^(?:(?:import|export|const|\}|module)\b| {2}\.\.\.require)/.test(line) && !line.includes('=>'));
    for (const { name } of importsIn(lines.join('\n'))) if (name.startsWith('.')) visit(resolve(files, file, name));
    taken.add(file);
  };
  entries.forEach(visit);
  return taken;
}

/** @returns {Map<string, string|null>} the texts of files that are not those of the repository, null for those left out */
function pack(files) {
  const first = inOrder(files, FIRST);
  const core = inOrder(files, [...FIRST, ...LATER]);
  const all = inOrder(files, [...FIRST, ...LATER, ...RARE]);
  const rare = Array.from(all).filter(file => !core.has(file));
  const part = file => {
    const text = file.startsWith('client-parser/') ? asCommonJs(files.get(file), file) : files.get(file);
    const own = replaceRequires(files, file, withoutComments(text.replace(/^'use strict';\n/, '')), to =>
      all.has(to) ? variable(to) + (first.has(to) ? '' : '()') : `require('${relative(CORE, to)}')`
    );
    // V8 parses arrow functions once more than others, if they are inside another function, as in bundles.
    const call = first.has(file) ? ['(function () {', '})()'] : ['once(function () {', '})'];
    return `// ${file}\nconst ${variable(file)} = ${call[0]}\nconst module = {};\n${own}\nreturn module.exports;\n${call[1]};\n`;
  };
  const exported = names =>
    `module.exports = { ${names.map(file => (first.has(file) ? variable(file) : `get ${variable(file)}() { return ${variable(file)}(); }`)).join(', ')} };\n`;
  const text = (about, imports, files) =>
    ascii(`'use strict';

// ${about}, each in a function of its own.

function once(make) {
  let made;
  return () => made ??= make();
}

${imports.join('\n')}

${files.map(part).join('\n')}
`);
  const borrowed = (file, from) =>
    first.has(file)
      ? `const ${variable(file)} = ${from}.${variable(file)};`
      : `const ${variable(file)} = () => ${from}.${variable(file)};`;
  const result = new Map([
    [
      CORE,
      text(
        'Modules of the repository that most programs need',
        rare.map(file => borrowed(file, "require('./later.js')")),
        [...core]
      ) + exported([...all])
    ],
    [
      REST,
      text(
        'Modules of the repository that few programs need',
        ["const core = require('./core.js');", ...Array.from(core, file => borrowed(file, 'core'))],
        rare
      ) + exported(rare)
    ]
  ]);
  for (const [file, text] of files) {
    if (!file.startsWith('lib/')) continue;
    const changed = replaceRequires(files, file, text, to =>
      all.has(to) ? `require('${relative(file, CORE)}').${variable(to)}` : undefined
    );
    if (all.has(file)) result.set(file, null);
    else if (changed !== text) result.set(file, changed);
  }
  for (const entry of PARSERS) {
    const file = ['/index.js', '.js'].map(end => `${entry}${end}`).find(each => files.has(each));
    result.set(
      `lib/${path.basename(entry)}.mjs`,
      `import core from './core.js';

export const { ${Object.keys(require(path.join(ROOT, file))).join(', ')} } = core.${variable(file)};
`
    );
  }
  return result.set('index.js', `'use strict';\n\nmodule.exports = require('./${CORE}').${variable('index.js')};\n`);
}

/** @returns {object} the package's manifest */
function manifestOf({ private: _, scripts, devDependencies, mocha, ...manifest }) {
  for (const entry of PARSERS) {
    const { types, default: file } = manifest.exports[`./${entry}`];
    manifest.exports[`./${entry}`] = { types, node: `./lib/${path.basename(entry)}.mjs`, default: file };
  }
  return manifest;
}

/** @returns {string} a document whose links to what the package does not have lead to the repository */
function linked(text, document, names, { repository: { url } }) {
  const repository = url.replace(/^git\+|\.git$/g, '');
  return text.replace(/(?<=\]\()(?!\w+:|#)([^)#\s]+)/g, target => {
    const file = path.posix.join(path.posix.dirname(document), target);
    return names.some(name => name === file || name.startsWith(`${file}/`))
      ? target
      : `${repository}/blob/HEAD/${file}`;
  });
}

/** Writes the package into a folder, which must be empty or not there. */
function packInto(folder) {
  if (fs.existsSync(folder) && fs.readdirSync(folder).length > 0)
    throw new Error(`${folder} is not empty: name a new folder for the package`);
  const [{ files }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--dry-run', '--ignore-scripts', '--offline'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      shell: process.platform === 'win32'
    })
  );
  const packed = pack(readHouse(ROOT));
  const manifest = manifestOf(JSON.parse(fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8')));
  packed.set('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
  const names = [...new Set([...files.map(file => file.path), ...packed.keys()])].filter(
    name => packed.get(name) !== null
  );
  for (const name of names) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    const text = packed.get(name) ?? fs.readFileSync(path.join(ROOT, name), 'utf8');
    fs.writeFileSync(path.join(folder, name), name.endsWith('.md') ? linked(text, name, names, manifest) : text);
  }
}

module.exports = { asCommonJs, packInto };

/** Prints the name of the archive. */
function archive() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-'));
  packInto(folder);
  const options = { encoding: 'utf8', shell: process.platform === 'win32' };
  console.log(`./${execFileSync('npm', ['pack', '--silent', '--ignore-scripts', folder], options).trim()}`);
  fs.rmSync(folder, { recursive: true });
}

if (require.main === module) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) archive();
  else packInto(folder);
}

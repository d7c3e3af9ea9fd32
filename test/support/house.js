'use strict';

// The rules of the house, as functions of its files: who may import whom, and who may write what.

const fs = require('node:fs');
const { builtinModules } = require('node:module');
const path = require('node:path');

/** From the bottom up. What is in one layer may import within it and from the layers below. */
const LAYERS = [
  ['client-parser'],
  [
    'lib/core/internal.js',
    'lib/core/late.js',
    'lib/core/list.js',
    'lib/core/scanner.js',
    'lib/core/timer.js',
    'lib/core/worker.js',
    'lib/core/protocol',
    'lib/core/config'
  ],
  ['lib/core/connection'],
  ['lib/core/rows'],
  ['lib/core/options.js'],
  ['lib/core/pipeline'],
  ['lib/core/requests'],
  ['lib/core/stream', 'lib/core/transaction.js', 'lib/core/cursor.js', 'lib/core/listen.js', 'lib/core/settings.js'],
  ['lib/core/session.js', 'lib/core/steps.js', 'lib/core/client.js', 'index.js']
];

/** Entry points of their own, on top of all layers: the core never imports them. */
const CAPABILITIES = [
  'lib/cache',
  'lib/http',
  'lib/live',
  'lib/replication',
  'lib/pool',
  'lib/pg',
  'lib/sockets',
  'lib/sql',
  'lib/types'
];

/** Underscore fields of Node.js, and of cursors of pg, that tell what nothing public tells. */
const NODES_OWN = ['_handle', '_httpMessage', '_resolveFilename', '_result', '_types'];

/** @returns {string} JavaScript without comments that have lines of their own */
function withoutComments(text) {
  return text.replace(/^\s*\/\*[^]*?\*\//gm, '').replace(/^\s*\/\/.*$/gm, '');
}

/** @returns {number} lines that are neither blank nor comment */
function codeLines(text) {
  return withoutComments(text)
    .split('\n')
    .filter(line => line.trim() !== '').length;
}

/** The files of a folder by path from the root, as the rules take them. */
function readFolder(root, folder, files = new Map()) {
  for (const entry of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
    const name = path.posix.join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!/^(?:demo|node_modules)$/.test(entry.name)) readFolder(root, name, files);
    } else if (name.endsWith('.js')) {
      files.set(name, fs.readFileSync(path.join(root, name), 'utf8'));
    }
  }
  return files;
}

/**
 * The sources of the library and the names of its tests.
 * @param {string} root folder of the package
 * @returns {Map<string, string>} text by path
 */
function readHouse(root) {
  const files = new Map([['index.js', fs.readFileSync(path.join(root, 'index.js'), 'utf8')]]);
  for (const folder of ['lib', 'client-parser', 'test']) {
    for (const [name, text] of readFolder(root, folder)) {
      if (folder !== 'test' || name.endsWith('.test.js')) files.set(name, text);
    }
  }
  return files;
}

const sources = files => [...files.keys()].filter(name => !name.startsWith('test/'));

/** Imports a module of Workers, by a name that bundlers do not see. */
const WORKERS = 'lib/sockets/index.js';

/** The names that a text requires or imports, at once or later. */
function importsIn(text) {
  const code = withoutComments(text);
  const calls = code.matchAll(/\b(?:require|import)\(\s*(?:'([^']*)'|"([^"]*)"|([^)]*))\s*\)/g);
  const statements = code.matchAll(/^\s*(?:import|export)\b(?:[^;'"]*\bfrom)?\s*['"]([^'"]+)['"]/gm);
  return [
    ...Array.from(calls, ([, single, double, other]) => ({ name: single ?? double, other })),
    ...Array.from(statements, ([, name]) => ({ name }))
  ];
}

/** @returns {string|null} the file that is imported, 'node:…', or null where there is none */
function resolve(files, from, name) {
  if (name.startsWith('node:') || builtinModules.includes(name)) return `node:${name.replace('node:', '')}`;
  const at = name.startsWith('.')
    ? path.posix.join(path.posix.dirname(from), name)
    : name === 'quickgres'
      ? 'index.js'
      : name.replace(/^quickgres\/(client-parser)?/, (all, parser) => parser ?? 'lib/');
  return [at, `${at}.js`, path.posix.join(at, 'index.js')].find(each => files.has(each)) ?? null;
}

/** What each source imports: `{ from, to }`, files of the house or 'node:…'. */
function importsOf(files) {
  return sources(files).flatMap(from =>
    importsIn(files.get(from))
      .filter(({ name }) => name !== undefined)
      .map(({ name }) => ({ from, to: resolve(files, from, name), name }))
  );
}

/** What the layers are made of: a folder of lib or lib/core, client-parser, or a file beside the folders. */
function unitOf(file) {
  return /^(?:lib\/(?:core\/)?[^/]+|[^/]+)/.exec(file)[0];
}

/** All files that can be loaded by way of one, itself included. */
function reachable(files, entry) {
  const imports = importsOf(files);
  const found = new Set([entry]);
  for (const file of found) {
    for (const { from, to } of imports) if (from === file && files.has(to)) found.add(to);
  }
  return [...found];
}

/** A way from each name back to itself, where there is one; each circle once. */
function circles(edges) {
  const found = [];
  const done = new Set();
  const visit = (name, way) => {
    if (way.includes(name)) found.push([...way.slice(way.indexOf(name)), name].join(' → '));
    if (way.includes(name) || done.has(name)) return;
    for (const next of edges.get(name) ?? []) visit(next, [...way, name]);
    done.add(name);
  };
  for (const name of edges.keys()) visit(name, []);
  return found;
}

/**
 * The files of lib/core/pipeline that write a field of a flight or a command. Besides, a kind of these may set what it
 * inherits where it is made: in its constructor and on its prototype.
 */
const WRITERS = {
  at: ['flight'],
  call: ['tracing'],
  commands: ['flight'],
  effect: ['flight'],
  error: ['command', 'flight'], // until it is settled, and by that
  hold: ['flight'],
  internal: [],
  next: ['scope', 'pipeline'], // while it waits, and since it was sent
  partial: ['flight'],
  promise: ['flight'],
  receiver: [],
  resolve: ['flight'],
  scope: ['flight'],
  settings: ['submit'],
  simple: [],
  state: ['command', 'flight'],
  unwatch: ['submit'],
  wants: ['flight']
};

/** Each kind of command says what the state of its answer is, and what takes its result. */
const OF_A_KIND = ['receiver', 'state'];

/** How a flight or a command is called that is not `this`. */
const FLIGHT = /^(?:command|each|entry|failed|flight|head|next|query|question|request|step|tail)$/;

/** The rules: each takes the files and returns what is against it. */
const RULES = {
  'every import names a file of the house': files => [
    ...importsOf(files)
      .filter(({ to }) => to === null)
      .map(({ from, name }) => `${from} imports ${name}`),
    ...sources(files).flatMap(from =>
      importsIn(files.get(from))
        .filter(({ name, other }) => name === undefined && !(other.endsWith(' CLOUDFLARE') && from === WORKERS))
        .map(({ other }) => `${from} imports the value of ${other}`)
    )
  ],

  'a folder is entered by its door': files =>
    importsOf(files)
      .filter(({ from, to }) => {
        if (!files.has(to) || unitOf(from) === unitOf(to) || unitOf(to) === to) return false;
        // One implementation, here and in browsers.
        if (['lib/core/protocol', 'lib/core/rows'].includes(unitOf(from)) && unitOf(to) === 'client-parser')
          return false;
        return to !== `${unitOf(to)}/index.js`;
      })
      .map(({ from, to }) => `${from} imports ${to}`),

  'imports point down': files => {
    const layer = file => LAYERS.findIndex(units => units.includes(unitOf(file)));
    const height = file => (CAPABILITIES.includes(unitOf(file)) ? LAYERS.length : layer(file));
    return [
      ...sources(files)
        .filter(file => height(file) < 0)
        .map(file => `${file} is in no layer`),
      ...importsOf(files)
        .filter(({ from, to }) => files.has(to) && height(from) >= 0 && height(from) < height(to))
        .map(({ from, to }) => `${from} imports ${to}`)
    ];
  },

  'nothing imports in a circle': files =>
    [unitOf, file => file].flatMap(of => {
      const edges = new Map();
      for (const { from, to } of importsOf(files)) {
        if (!files.has(to) || (of === unitOf && of(from) === of(to))) continue;
        edges.set(of(from), (edges.get(of(from)) ?? new Set()).add(of(to)));
      }
      return circles(edges);
    }),

  'the core loads no capability': files =>
    reachable(files, 'index.js')
      .filter(file => CAPABILITIES.includes(unitOf(file)))
      .map(file => `index.js can load ${file}`),

  'modules of Node.js are imported by names that nothing else has': files =>
    importsOf(files)
      .filter(({ to, name }) => to?.startsWith('node:') && to !== name)
      .map(({ from, name }) => `${from} imports ${name}`),

  'client-parser imports nothing outside itself': files =>
    importsOf(files)
      .filter(({ from, to }) => unitOf(from) === 'client-parser' && unitOf(to ?? '?') !== 'client-parser')
      .map(({ from, name }) => `${from} imports ${name}`),

  'nobody reads underscore fields of another object': files =>
    sources(files).flatMap(file => {
      const found = withoutComments(files.get(file)).matchAll(/(?<!\bthis|\bsuper)\??\.(_[a-z]\w*)/gi);
      return Array.from(found, ([, name]) => name)
        .filter(name => !NODES_OWN.includes(name))
        .map(name => `${file} reads ${name}`);
    }),

  'each field of a flight is written in one place': files =>
    sources(files).flatMap(file => {
      if (!/^lib\/(?:core|replication)\//.test(file)) return [];
      const classes = withoutComments(files.get(file)).split(/^class /m);
      return classes.flatMap(text => {
        const isKind = /^(?:Command |Flight |\w+ extends (?:Flight|\w+(?:Query|Request)) )/.test(text);
        const found = text
          .replace(/^ {2}constructor\([^]*?^ {2}\}$/m, '')
          .matchAll(/(\w+)\.(\w+) (?:\?\?|\|\||&&)?=(?![=>])/g);
        return Array.from(found)
          .filter(([, object, name]) => name in WRITERS && (object === 'this' ? isKind : FLIGHT.test(object)))
          .filter(([, object, name]) => !(object === 'this' && OF_A_KIND.includes(name)))
          .filter(([, , name]) => !WRITERS[name].some(writer => file === `lib/core/pipeline/${writer}.js`))
          .map(([all]) => `${file} writes ${all}`);
      });
    }),

  'only lib/core/pipeline writes the fields of a pipeline': files =>
    sources(files).flatMap(file => {
      if (unitOf(file) === 'lib/core/pipeline') return [];
      const found = withoutComments(files.get(file)).matchAll(
        /\b(?:pipeline|scopes?|root|statements|writer)\.((?:\w+\.)*\w+) *(?:(?:[-+]|\?\?|\|\||&&)?=(?![=>])|\+\+|--)|Object\.assign\([\w.#]*\b(?:pipeline|scopes?|root|statements)\b/gi
      );
      return Array.from(found, ([text]) => `${file} writes ${text}`);
    })
};

module.exports = {
  CAPABILITIES,
  LAYERS,
  RULES,
  codeLines,
  importsIn,
  importsOf,
  reachable,
  readHouse,
  resolve,
  unitOf,
  withoutComments
};

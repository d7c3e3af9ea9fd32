'use strict';

// Compiles against the package as npm would publish it.

const { execFile, fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { packInto } = require('../../.ci/pack');
const { DOCUMENTS, RECIPES, examples } = require('../support/examples');

const root = path.join(__dirname, '..', '..');

/** Compilers: the newest, and an older one. */
const COMPILERS = ['typescript', 'typescript-5'];

const STRICT = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  skipLibCheck: false,
  skipDefaultLibCheck: true,
  target: 'es2022',
  moduleDetection: 'force',
  forceConsistentCasingInFileNames: true
};
const NODE = { ...STRICT, lib: ['es2023'], types: ['node'] };
const RESOLUTIONS = {
  node16: { module: 'node16', moduleResolution: 'node16' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' }
};
const USE = ['use.mts', 'capabilities.mts', 'misuse.mts'];
/** What the declarations of pg load. */
const OF_PG = ['pg-types', 'pg-protocol'];
const EXAMPLES = ['globals.d.ts', 'examples/*'];

/** What is compiled, and how. */
const PROJECTS = {
  'real use and misuse, node16': [
    { ...NODE, ...RESOLUTIONS.node16, noUncheckedIndexedAccess: true },
    [...USE, 'use.cts']
  ],
  'real use and misuse, bundler': [
    { ...NODE, ...RESOLUTIONS.bundler, lib: ['es2023', 'dom'], noUncheckedIndexedAccess: true },
    USE
  ],
  'what is written for pg': [
    { ...STRICT, ...RESOLUTIONS.node16, exactOptionalPropertyTypes: false, types: ['node'] },
    ['pg.mts']
  ],
  "a page without Node's types": [
    { ...STRICT, ...RESOLUTIONS.bundler, lib: ['es2023', 'dom', 'dom.iterable'], types: [] },
    ['browser.mts']
  ],
  'every entry point, node10': [
    { ...NODE, module: 'commonjs', moduleResolution: 'node10', resolveJsonModule: true },
    ['entries.ts']
  ],
  'the examples of the documents, node16': [
    { ...NODE, ...RESOLUTIONS.node16, lib: ['es2023', 'dom'], allowJs: true, checkJs: true },
    EXAMPLES
  ],
  'the examples of the documents, bundler': [
    { ...NODE, lib: ['es2023', 'dom'], module: 'preserve', moduleResolution: 'bundler', allowJs: true, checkJs: true },
    EXAMPLES
  ]
};

/**
 * Lays out a project that depends on the package, and has what is to be compiled.
 * @param {string} folder empty
 */
function layOut(folder) {
  const modules = path.join(folder, 'node_modules');
  packInto(path.join(modules, 'quickgres'));
  for (const name of ['@types', ...OF_PG])
    fs.symlinkSync(path.join(__dirname, 'node_modules', name), path.join(modules, name), 'junction');
  for (const name of [...USE, 'use.cts', 'pg.mts', 'browser.mts', 'globals.d.ts'])
    fs.copyFileSync(path.join(__dirname, name), path.join(folder, name));
  const names = Object.keys(require('../../package.json').exports).filter(name => !name.includes('*'));
  const entries = names.map((name, index) => `import * as entry${index} from '${name.replace('.', 'quickgres')}';`);
  fs.writeFileSync(
    path.join(folder, 'entries.ts'),
    `${entries.join('\n')}\nexport const entries = [${names.map((_, index) => `entry${index}`)}];\n`
  );
  fs.mkdirSync(path.join(folder, 'examples'));
  const copy = (name, to) => fs.copyFileSync(path.join(root, 'test/recipes', name), path.join(folder, 'examples', to));
  for (const name in RECIPES) copy(name, name);
  for (const name of ['bun.ts', 'deno.ts', 'next/next.config.ts', 'next/lib/db.ts', 'next/app/api/users/route.ts']) {
    copy(name, name.replace(/\W/g, '-').replace(/-ts$/, '.mts'));
  }
  for (const document of DOCUMENTS) {
    const write = (line, extension, text) => {
      const name = `${document.replace(/\W/g, '-')}-line-${line}.${extension}`;
      fs.writeFileSync(path.join(folder, 'examples', name), text);
    };
    for (const { code, line } of examples(document, 'ts')) write(line, 'mts', code);
    for (const { code, line } of examples(document)) {
      if (!code.includes('require(')) write(line, 'mjs', code);
      if (!/^import /m.test(code)) write(line, 'cjs', `module.exports = async () => {\n${code}};\n`);
    }
  }
}

let older; // the process of TypeScript 5

/**
 * Runs a compiler, as `tsc` does.
 * @param {string} compiler one of COMPILERS
 * @param {string} cwd
 * @param {string[]} args
 * @returns {Promise<{stdout: string, instantiations: number}>} what it says, which is empty when it is content, and the number of types
 *   that it has made of generic ones
 */
async function tsc(compiler, cwd, args) {
  if (compiler === 'typescript-5') {
    if (older === undefined) {
      older = fork(path.join(__dirname, 'older.js'), { execArgv: [] });
      older.unref();
      older.channel.unref?.(); // it ends with this process
    }
    older.send({ cwd, args });
    const waits = new AbortController();
    const [answer] = await Promise.race(['message', 'exit'].map(name => once(older, name, waits)));
    waits.abort(); // the other wait is over as well
    if (answer?.stdout === undefined) throw new Error(`TypeScript 5 has ended with ${answer}`);
    return answer;
  }
  const program = path.join(__dirname, 'node_modules', compiler, 'bin', 'tsc');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [program, '--pretty', 'false', '--extendedDiagnostics', ...args],
    { cwd }
  ).catch(error => error);
  const facts = stdout.search(/^Files: +\d/m); // behind what it says
  return { stdout: stdout.slice(0, facts), instantiations: Number(/^Instantiations: +(\d+)/m.exec(stdout)[1]) };
}

/**
 * @param {string} folder as laid out
 * @param {string} project one of PROJECTS
 * @param {string} compiler one of COMPILERS
 * @param {string[]} [files] in place of the project's, which checks the declarations
 * @returns {Promise<string>} what the compiler says; empty when it is content
 */
async function compile(folder, project, compiler, files) {
  const [compilerOptions, include = files] = files === undefined ? PROJECTS[project] : [PROJECTS[project][0]];
  const config = path.join(
    folder,
    `tsconfig.${Object.keys(PROJECTS).indexOf(project)}.${compiler}${files ? '.files' : ''}.json`
  );
  fs.writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { ...compilerOptions, skipLibCheck: files !== undefined }, include })
  );
  return (await tsc(compiler, folder, ['-p', config])).stdout;
}

module.exports = { COMPILERS, PROJECTS, compile, layOut, tsc };

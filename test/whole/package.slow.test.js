'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { installed } = require('../support/folder');
const { sharedServer } = require('../support');

const run = promisify(execFile);
const root = path.join(__dirname, '../..');

const QUERY = `
const client = new Client(JSON.parse(process.env.SERVER));
client.connect()
  .then(() => client.query('SELECT 6 * $1::int AS n', [7]))
  .then(({ rows: [row] }) => { console.log(row.n, typeof rows); return client.end(); });
`;

/** A program of each kind: what it asks the server, and that the browser's part is there. */
const PROGRAMS = {
  'require.cjs': `const { Client } = require('quickgres');
    import('quickgres/client-parser').then(({ rows }) => { ${QUERY} });`,
  'named.mjs': `import { Client } from 'quickgres'; import { rows } from 'quickgres/client-parser'; ${QUERY}`,
  'default.mjs': `import quickgres from 'quickgres'; import { rows } from 'quickgres/client-parser'; const { Client } = quickgres; ${QUERY}`
};

const QUERIES = `
const reader: Promise<RowReader<{ n: string }>> = new Client({}).query<{ n: string }>('SELECT 1 AS n');
export const text: Promise<string> = reader.then(({ rows: [row] }) => row.n);
// @ts-expect-error
new Client(1);
`;
const ROWS = `
import { rows } from 'quickgres/client-parser';
export const list: AsyncIterable<{ n: number }> = rows<{ n: number }>(new Uint8Array(0));
`;
const IMPORT = "import { Client, RowReader } from 'quickgres';";
const REQUIRE =
  "import quickgres = require('quickgres'); import Client = quickgres.Client; import RowReader = quickgres.RowReader;";

/** Modules in TypeScript; a CommonJS one cannot import the browser's part, which is ES modules. */
const TYPED = {
  'types.mts': IMPORT + QUERIES + ROWS,
  'import.cts': IMPORT + QUERIES,
  'require.cts': REQUIRE + QUERIES
};

/** @returns {Array<[string, string]>} names and texts of all files in a folder */
const filesOf = folder =>
  fs
    .readdirSync(folder, { recursive: true })
    .sort()
    .map(name => path.join(folder, name))
    .filter(name => fs.statSync(name).isFile())
    .map(name => [name, fs.readFileSync(name, 'latin1')]);

describe('The package', function () {
  this.timeout(120_000);
  let config, folder, source, filesBefore, archive, manifest, names, size;

  before(async () => {
    ({ config } = await sharedServer());
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'package-')));
    source = path.join(folder, 'source');
    fs.cpSync(root, source, {
      recursive: true,
      filter: name => !/(?:node_modules|\.git|coverage|bench|everywhere)$/.test(name)
    });
    filesBefore = filesOf(source);
    await run(process.execPath, ['.ci/pack.js', path.join(folder, 'made')], { cwd: source });
    const { stdout } = await run('npm', ['pack', '--json', '--offline', '--pack-destination', folder], {
      cwd: path.join(folder, 'made')
    });
    const [packed] = JSON.parse(stdout);
    archive = path.join(folder, packed.filename);
    await run('tar', ['-xzf', archive, '-C', folder]);
    manifest = JSON.parse(fs.readFileSync(path.join(folder, 'package', 'package.json'), 'utf8'));
    names = packed.files.map(file => file.path);
    size = packed.unpackedSize;
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  it('has what its users need, and nothing else', () => {
    const NEEDED = [
      'package.json',
      'README.md',
      'LICENSE',
      'CHANGELOG.md',
      'SECURITY.md',
      'index.js',
      'index.mjs',
      'index.d.ts',
      'lib/index.d.mts',
      'client-parser/index.js',
      'client-parser/index.d.ts',
      'client-parser/package.json'
    ];
    for (const name of NEEDED) assert.ok(names.includes(name), `${name} is missing`);
    const sources = folder =>
      fs
        .readdirSync(path.join(root, folder), { recursive: true })
        .filter(name => /\.(?:js|d\.ts)$|\.md$/.test(name) && !name.startsWith('demo'))
        .map(name => path.posix.join(folder, name))
        .filter(name => !['lib/README.md', 'lib/READING.md'].includes(name));
    const recipes = fs
      .readdirSync(path.join(root, 'test/recipes'), { recursive: true })
      .map(name => path.posix.join('test/recipes', name))
      .filter(name => fs.statSync(path.join(root, name)).isFile());
    const PACKED = ['lib/core.js', 'lib/later.js'];
    const parts = PACKED.flatMap(file =>
      fs.readFileSync(path.join(folder, 'package', file), 'utf8').match(/(?<=^\/\/ )lib\/.*\.js$/gm)
    );
    assert.ok(parts.length > 40);
    const EXPECTED = [
      ...NEEDED,
      ...PACKED,
      'lib/client-parser.mjs',
      'lib/live.mjs',
      ...recipes,
      ...['lib', 'client-parser'].flatMap(sources)
    ].filter(name => !parts.includes(name));
    assert.deepEqual(
      names.filter(name => !EXPECTED.includes(name)),
      []
    );
    for (const name of EXPECTED)
      assert.ok(names.includes(name) || !fs.existsSync(path.join(root, name)), `${name} is missing`);
  });

  it('is made without a trace in the repository', () => assert.deepEqual(filesOf(source), filesBefore));

  it('does not grow', () => {
    assert.ok(size <= 1_400_000, `${size} bytes`);
  });

  it('has what its documents link to, and leads to the repository for the rest', () => {
    const documents = names.filter(name => name.endsWith('.md'));
    const repository = manifest.repository.url.replace(/^git\+|\.git$/g, '');
    const links = documents.flatMap(document => {
      const text = fs.readFileSync(path.join(folder, 'package', document), 'utf8').replace(/^```[^]*?^```$/gm, '');
      return Array.from(text.matchAll(/\]\(([^)#]+)/g), ([, target]) => ({ document, target }));
    });
    assert.ok(documents.length > 20 && links.length > 100);
    const broken = links.filter(({ document, target }) => {
      if (target.startsWith(repository))
        return !fs.existsSync(path.join(root, target.slice(`${repository}/blob/HEAD/`.length)));
      return !/^https?:/.test(target) && !fs.existsSync(path.join(folder, 'package', path.dirname(document), target));
    });
    assert.deepEqual(broken, []);
    assert.ok(links.filter(({ target }) => target.startsWith(repository)).length < 20);
  });

  const CHECKS = {
    publint: ['publint/src/cli.js', '--strict'],
    // Who requires the browser's part gets ES modules, which every supported Node.js can require.
    arethetypeswrong: [
      '@arethetypeswrong/cli/dist/index.js',
      '--profile',
      'node16',
      '--ignore-rules',
      'cjs-resolves-to-esm'
    ]
  };
  for (const [name, [program, ...args]] of Object.entries(CHECKS)) {
    it(`passes ${name}`, async function () {
      const modules = path.join(installed(this, 'typescript'), 'node_modules');
      const { stdout, code = 0 } = await run(process.execPath, [path.join(modules, program), archive, ...args]).catch(
        error => error
      );
      assert.equal(code, 0, stdout);
    });
  }

  it('has no dependency, runs nothing when it is installed, and is ready to be published with its provenance', () => {
    for (const kind of ['dependencies', 'peerDependencies', 'optionalDependencies', 'bundleDependencies']) {
      assert.equal(manifest[kind], undefined, kind);
    }
    const ON_INSTALL = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish', 'preprepare', 'postprepare'];
    assert.deepEqual(
      Object.keys({ ...require('../../package.json').scripts, ...manifest.scripts }).filter(name =>
        ON_INSTALL.includes(name)
      ),
      []
    );
    assert.ok(!names.includes('binding.gyp'), 'npm would build it');
    assert.deepEqual(manifest.publishConfig, { access: 'public', provenance: true });
    assert.equal(manifest.private, undefined);
  });

  it('is installed from a clone by the command of the README, and a clone from git without that', async () => {
    const [, command] = /^(npm install .*PATH\/OF\/THE\/CLONE.*?) +#/m.exec(
      fs.readFileSync(path.join(root, 'README.md'), 'utf8')
    );
    const git = (...args) =>
      run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.example', ...args], { cwd: source });
    await git('init', '--quiet');
    await git('add', '.');
    await git('commit', '--quiet', '--message', 'a');
    for (const [name, install, hasCore] of [
      [
        'cloned',
        command.replaceAll('PATH/OF/THE/CLONE', source).replace('npm install', 'npm install --offline --no-audit'),
        true
      ],
      ['git', `npm install --offline --no-audit git+file://${source}`, false]
    ]) {
      const project = path.join(folder, name);
      fs.mkdirSync(project);
      fs.writeFileSync(path.join(project, 'package.json'), '{ "name": "empty" }');
      await run('sh', ['-c', install], { cwd: project });
      fs.writeFileSync(path.join(project, 'own.cjs'), PROGRAMS['require.cjs']);
      const { stdout } = await run(process.execPath, ['own.cjs'], {
        cwd: project,
        env: { ...process.env, NODE_OPTIONS: '', SERVER: JSON.stringify(config) }
      });
      assert.equal(stdout, '42 function\n');
      assert.equal(fs.existsSync(path.join(project, 'node_modules/quickgres/lib/core.js')), hasCore);
      assert.ok(!fs.lstatSync(path.join(project, 'node_modules/quickgres')).isSymbolicLink());
    }
  });

  for (const type of ['commonjs', 'module']) {
    describe(`in an empty project with "type": "${type}"`, () => {
      let project;
      before(async () => {
        project = path.join(folder, type);
        fs.mkdirSync(project);
        fs.writeFileSync(path.join(project, 'package.json'), JSON.stringify({ name: 'empty', version: '1.0.0', type }));
        await run('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: project });
      });

      it('is all that is installed', () => {
        const inside = fs.readdirSync(path.join(project, 'node_modules')).filter(name => !name.startsWith('.'));
        assert.deepEqual(inside, ['quickgres']);
      });

      const programs = { ...PROGRAMS, 'own.js': PROGRAMS[type === 'module' ? 'named.mjs' : 'require.cjs'] };
      for (const [name, source] of Object.entries(programs)) {
        it(`asks a server: ${name}`, async () => {
          fs.writeFileSync(path.join(project, name), source);
          const env = { ...process.env, NODE_OPTIONS: '', SERVER: JSON.stringify(config) };
          const { stdout, stderr } = await run(process.execPath, ['--throw-deprecation', name], { cwd: project, env });
          assert.deepEqual([stdout, stderr], ['42 function\n', '']);
        });
      }

      it('has entry points that are required and imported by the same names', async () => {
        const entries = Object.keys(manifest.exports)
          .filter(name => !/[*.]/.test(name.slice(1)))
          .map(name => name.replace('.', 'quickgres'));
        assert.ok(entries.length >= 7);
        const program = `import { createRequire } from 'node:module';
          const require = createRequire(import.meta.url);
          for (const name of ${JSON.stringify(entries)}) {
            const names = module => Object.keys(module).filter(each => !/^(?:default|module.exports)$/.test(each)).sort();
            const [imported, required] = [names(await import(name)), names(require(name))];
            console.log(JSON.stringify([name, imported.length > 0, imported.join() === required.join()]));
          }`;
        fs.writeFileSync(path.join(project, 'entries.mjs'), program);
        const { stdout } = await run(process.execPath, ['entries.mjs'], { cwd: project });
        assert.deepEqual(
          stdout
            .trim()
            .split('\n')
            .map(line => JSON.parse(line)),
          entries.map(name => [name, name !== 'quickgres/pg/register', true])
        );
      });

      it('has types', async function () {
        const modules = path.join(installed(this, 'typescript'), 'node_modules');
        const { tsc } = require('../typescript/compile');
        const sources = { ...TYPED, 'own.ts': TYPED[type === 'module' ? 'types.mts' : 'import.cts'] };
        for (const [name, source] of Object.entries(sources)) fs.writeFileSync(path.join(project, name), source);
        fs.symlinkSync(path.join(modules, '@types'), path.join(project, 'node_modules', '@types'), 'junction');
        const { stdout } = await tsc('typescript-5', project, [
          '--noEmit',
          '--skipDefaultLibCheck',
          '--strict',
          '--module',
          'node16',
          '--target',
          'es2022',
          '--types',
          'node',
          ...Object.keys(sources)
        ]);
        assert.equal(stdout, '');
      });
    });
  }
});

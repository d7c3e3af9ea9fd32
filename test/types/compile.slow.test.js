'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { packInto } = require('../../.ci/pack');
const { COMPILERS, tsc } = require('../typescript/compile');
const { installed } = require('../support/folder');
const { sharedServer } = require('../support');

const SCHEMA = path.join(__dirname, 'schema.sql');
const RECIPE = path.join(__dirname, '../recipes/typed.ts');

const OPTIONS = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
  skipLibCheck: false,
  skipDefaultLibCheck: true,
  allowJs: true,
  checkJs: true,
  target: 'es2022',
  module: 'node16',
  moduleResolution: 'node16',
  lib: ['es2023'],
  types: ['node']
};

describe('The types of SQL', function () {
  this.timeout(120_000);
  let server, folder;

  before(async function () {
    const modules = path.join(installed(this, 'typescript'), 'node_modules');
    server = await sharedServer();
    if (server.version < 18) this.skip(); // what the program asks is PostgreSQL 18's
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'typed-')));
    packInto(path.join(folder, 'node_modules/quickgres'));
    fs.symlinkSync(path.join(modules, '@types'), path.join(folder, 'node_modules/@types'), 'junction');
    fs.writeFileSync(path.join(folder, 'package.json'), '{"type": "module"}');
    fs.writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: OPTIONS, include: ['*'] }));
  });
  after(() => folder && fs.rmSync(folder, { recursive: true }));
  afterEach(() => {
    for (const name of fs.readdirSync(folder))
      if (/(?<!tsconfig|package)\.\w+$/.test(name)) fs.rmSync(path.join(folder, name));
  });

  const write = (name, text) => fs.writeFileSync(path.join(folder, name), text);
  const types = async (...args) => {
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [path.join(folder, 'node_modules/quickgres/lib/types/index.js'), 'types', ...args],
      { cwd: folder, env: { ...process.env, DATABASE_URL: server.url } }
    );
    assert.equal(stderr, '');
  };
  const complaints = async (compiler, ...args) => (await tsc(compiler, folder, ['-p', '.', ...args])).stdout.trimEnd();
  /** For what says nothing about the declarations, which other programs check. */
  const ofSources = compiler => complaints(compiler, '--skipLibCheck');

  it('come from a command that the package has', () => {
    const { bin } = JSON.parse(fs.readFileSync(path.join(folder, 'node_modules/quickgres/package.json'), 'utf8'));
    assert.match(
      fs.readFileSync(path.join(folder, 'node_modules/quickgres', bin), 'utf8'),
      /^#!\/usr\/bin\/env node\n/
    );
  });

  it('are those of rows and values in each method', async () => {
    fs.copyFileSync(path.join(__dirname, 'app.ts'), path.join(folder, 'app.ts'));
    write(
      'required.cts',
      `import { Pool } from 'quickgres/pool';
export async function f(pool: Pool) { const n: number = (await pool.query('SELECT id, name FROM people')).rows[0]!.id; return n; }\n`
    );
    await types('--schema', SCHEMA, '--strict');
    for (const compiler of COMPILERS) assert.equal(await complaints(compiler), '', compiler);
  });

  it('need a name for sql, as long as a tag is not given the text of its template', async () => {
    write(
      'app.ts',
      `declare function tag<const T extends readonly string[]>(strings: T): T;
export const known: readonly ['SELECT 1'] = tag\`SELECT 1\`;\n`
    );
    for (const compiler of COMPILERS)
      assert.match(
        await ofSources(compiler),
        /^app\.ts\(2,14\): error TS2741: .* in type 'TemplateStringsArray'/,
        compiler
      );
  });

  it('are those of rows alone without --strict, also in JavaScript', async () => {
    write(
      'app.js',
      `import { Pool } from 'quickgres/pool';
const pool = new Pool();
const ids = [1, 2];
const { rows: [person] } = await pool.query('SELECT id, name FROM people WHERE id = $1', [String(ids[0])]);
pool.query('SELECT id, name FROM people WHERE id = $1', ids);
/** @type {string} */
const name = person.name;
// @ts-expect-error there is no such column
person?.nme;
export { name };\n`
    );
    await types('--schema', SCHEMA);
    for (const compiler of COMPILERS)
      assert.equal(
        await complaints(compiler),
        "app.js(7,14): error TS18048: 'person' is possibly 'undefined'.",
        compiler
      );
  });

  it('cost fewer than ten instantiations of types a call', async () => {
    const counted = () =>
      Promise.all(
        COMPILERS.map(async compiler => (await tsc(compiler, folder, ['-p', '.', '--skipLibCheck'])).instantiations)
      );
    const text = index => `SELECT id, name FROM people WHERE id = $1 AND id <> ${index}`;
    const call = index =>
      `export const f${index} = async () => { const { rows } = await pool.query('${text(index)}', [1]); return rows; };`;
    write(
      'app.ts',
      `import { Pool } from 'quickgres/pool';
const pool = new Pool();
${Array.from({ length: 300 }, (_, index) => call(index)).join('\n')}\n`
    );
    const without = await counted();
    for (const args of [[], ['--strict']]) {
      await types('--schema', SCHEMA, ...args);
      for (const [index, count] of (await counted()).entries()) {
        const each = (count - without[index]) / 300;
        assert.ok(each < 10, `${each} with ${args}, by ${COMPILERS[index]}`);
      }
    }
  });

  it('are those of any text where none is declared', async () => {
    write(
      'app.ts',
      `import { Pool } from 'quickgres/pool';
const pool = new Pool();
export const query: Parameters<Pool['query']> = ['SELECT 1', [1], { cache: false }];
export const cursor: Parameters<Pool['cursor']> = ['SELECT 1', [1], { batchSize: 1 }];
export const [one] = await pool.batch<[{ id: number }]>(['SELECT 1 AS id']);
export const id: number = one.rows[0]!.id;
pool.query('SELECT 1', [new Map()]);\n`
    );
    for (const compiler of COMPILERS) {
      const [first, , second] = (await ofSources(compiler)).split('\n');
      assert.equal(first, 'app.ts(7,25): error TS2769: No overload matches this call.', compiler);
      assert.match(second, /Type 'Map<any, any>' is not assignable to type 'Value'\./, compiler);
    }
  });

  it('find the mistakes that the guide shows', async () => {
    const guide = fs.readFileSync(path.join(__dirname, '../../lib/types/README.md'), 'utf8');
    const [, mistakes] = /^```ts mistakes\n([^]*?)^```$/m.exec(guide);
    const said = /^```text\n([^]*?)^```$/m.exec(guide)[1];
    write('schema.sql', /^```sql\n([^]*?)^```$/m.exec(guide)[1]);
    fs.copyFileSync(RECIPE, path.join(folder, 'typed.ts'));
    await types('--schema', 'schema.sql', '--strict');
    for (const compiler of COMPILERS) assert.equal(await complaints(compiler), '', compiler);
    write('typed.ts', `${fs.readFileSync(RECIPE, 'utf8')}\n${mistakes}`);
    for (const compiler of COMPILERS)
      assert.deepEqual(
        (await ofSources(compiler)).replace(/typed\.ts\(\d+,\d+\)/g, 'typed.ts').split('\n'),
        said.trimEnd().split('\n'),
        compiler
      );
  });
});

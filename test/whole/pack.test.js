'use strict';

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { asCommonJs, packInto } = require('../../.ci/pack');
const { commandComplete, dataRow, message, rowDescription } = require('../client-parser/query');
const { sharedServer } = require('../support');

const root = path.join(__dirname, '../..');

describe('The package that is published', function () {
  this.timeout(60_000);
  let folder, config;
  before(async () => {
    folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'pack-')));
    packInto(path.join(folder, 'node_modules/quickgres'));
    ({ config } = await sharedServer());
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** @returns {*} what a program gives, as JSON */
  function run(program) {
    const script = `(async () => { ${program} })().then(value => { console.log(JSON.stringify(value)); process.exit(); });`;
    return JSON.parse(
      execFileSync(process.execPath, ['-e', script], {
        cwd: folder,
        env: { ...process.env, SERVER: JSON.stringify(config) },
        encoding: 'utf8'
      })
    );
  }

  it('loads two files until the first row, and a third one for a transaction', () => {
    const files = run(`
      const { Client } = require('quickgres');
      const client = new Client(JSON.parse(process.env.SERVER));
      const [, { rows: [{ n }] }] = await Promise.all([client.connect(), client.query('SELECT 1 AS n')]);
      if (n !== 1) throw new Error('not decoded');
      const files = [Object.keys(require.cache)];
      await client.transaction(tx => tx.query('SELECT 1'));
      return [...files, Object.keys(require.cache).slice(files[0].length)];`).map(files =>
      files.map(file => path.relative(path.join(folder, 'node_modules/quickgres'), file).replaceAll(path.sep, '/'))
    );
    assert.deepEqual(files, [['index.js', 'lib/core.js'], ['lib/core/transaction.js']]);
  });

  it('has the names of the repository at each entry point, and one class of each', () => {
    const entries = Object.keys(require('../../package.json').exports)
      .filter(name => !/\*|json$|register/.test(name))
      .map(name => name.slice(1));
    assert.ok(entries.length > 10);
    const names = run(`
      const { Session, PostgresError } = require('quickgres');
      if (!(require('quickgres/pool').Pool.prototype instanceof Session)) throw new Error('another Session');
      return ${JSON.stringify(entries)}.map(entry => Object.keys(require('quickgres' + entry)));`);
    assert.deepEqual(
      names,
      entries.map(entry => Object.keys(require(`quickgres${entry}`)))
    );
  });

  it('has one copy of client-parser in a process, whose rows are printed alike', () => {
    const bytes = Buffer.concat([
      rowDescription(['n']),
      dataRow('7'),
      commandComplete('SELECT 1'),
      message('Z', Buffer.from('I'))
    ]).toString('hex');
    const program = parser => `
      const { inspect } = require('node:util');
      const { rows, exact, PostgresError } = ${parser};
      const printed = [];
      for await (const row of rows(Buffer.from('${bytes}', 'hex'), { structs: true })) printed.push(inspect(row));
      const core = require('quickgres');
      return [printed, exact === core.exact, PostgresError === core.PostgresError, Object.keys(require.cache).length];`;
    for (const parser of ["require('quickgres/client-parser')", "await import('quickgres/client-parser')"]) {
      const [printed, ...same] = run(program(parser));
      assert.deepEqual([printed, ...same.slice(0, 2)], [["{ n: '7' }"], true, true]);
    }
  });

  it('has each line of the repository that is code, in ASCII', () => {
    const core = fs.readFileSync(path.join(folder, 'node_modules/quickgres/lib/core.js'), 'utf8');
    assert.match(core, /^[\0-\x7f]*$/);
    assert.ok(!core.includes('\\p{'), 'V8 looks Unicode properties up where it parses them: name ranges');
    const parts = core.split(/^\/\/ (\S+\.js)\n/m);
    assert.ok(parts.length > 100);
    for (let i = 1; i < parts.length; i += 2) {
      const made = parts[i + 1].split('\n').slice(2); // behind those that begin its function
      let isComment = false;
      for (const line of fs.readFileSync(path.join(root, parts[i]), 'utf8').split('\n')) {
        isComment ||= /^ *\/\*/.test(line);
        const isCode = !isComment && !/^ *\/\//.test(line) && line !== "'use strict';";
        if (line.endsWith('*/')) isComment = false;
        if (!isCode) continue;
        const found = made.shift();
        // Other lines import and export, or are not ASCII.
        if (found !== line)
          assert.match(line, /require\(|import\(|^(?:import|export) |[^\0-\x7f]/, `${parts[i]}: ${found}`);
        if (/^export \{/.test(line) && found !== '') made.unshift(found);
      }
      assert.match(made.join('\n'), /^(?:module\.exports = .*\n\n)?return module\.exports;\n\}\)/, parts[i]);
    }
  });

  it('has the declarations of the repository, with their comments', () => {
    for (const file of ['index.d.ts', 'client-parser/index.d.ts', 'lib/pool/index.d.ts']) {
      const text = fs.readFileSync(path.join(root, file), 'utf8');
      assert.match(text, /\/\*\*/);
      assert.equal(fs.readFileSync(path.join(folder, 'node_modules/quickgres', file), 'utf8'), text);
    }
  });

  it('has only files that find what they require, however late', () => {
    const lib = path.join(folder, 'node_modules/quickgres/lib');
    const files = fs
      .readdirSync(lib, { recursive: true })
      .filter(name => name.endsWith('.js'))
      .map(name => path.join(lib, name));
    assert.ok(files.length > 50);
    const missing = files.flatMap(file => {
      const required = fs.readFileSync(file, 'utf8').matchAll(/\brequire\('(\.[^']*)'\)(?:\.(\$\w+))?/g);
      return Array.from(required, ([, name, member]) => ({ file: path.relative(lib, file), name, member })).filter(
        ({ name, member }) => {
          try {
            const to = require.resolve(path.join(path.dirname(file), name));
            return member && !fs.readFileSync(to, 'utf8').includes(`const ${member} = `);
          } catch {
            return true;
          }
        }
      );
    });
    assert.deepEqual(missing, []);
    run(`for (const file of ${JSON.stringify(files.filter(file => !/register/.test(file)))}) require(file); return 1;`);
  });

  it('does on a server what the repository does', () => {
    const { seen, expected } = run(`
      const { exercise, EXPECTED } = await import(${JSON.stringify(path.join(root, 'test/support/exercise.mjs'))});
      return { seen: await exercise(require('quickgres').Client, JSON.parse(process.env.SERVER)), expected: EXPECTED };`);
    assert.deepEqual(seen, expected);
  });

  it('has the ES modules of the core as CommonJS, and cannot be made with a form of import or export that the packer does not know', () => {
    const text =
      "import { a as b } from './a.js';\nimport * as all from './a.js';\nexport const c = 1;\nexport { b, all as d };\nexport { a } from './a.js';\n";
    const module = {};
    new Function('module', 'require', asCommonJs(text))(module, () => ({ a: 2 }));
    assert.deepEqual(module.exports, { c: 1, b: 2, d: { a: 2 }, a: 2 });
    for (const text of [
      "export * from './a.js';\n",
      'export default 1;\n',
      "import './a.js';\n",
      'export async function f() {}\n'
    ]) {
      assert.throws(() => asCommonJs(text, 'a.js'), /a\.js imports or exports in a way/);
    }
  });
});

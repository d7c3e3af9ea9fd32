'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { build } = require('esbuild');
const { bundleByGuide } = require('../support/bundle');
const { sharedServer } = require('../support');

const root = path.join(__dirname, '../..');

/** All entry points in one program. */
const PROGRAM =
  Object.keys(require('../../package.json').exports)
    .filter(name => !/\*|json$|register/.test(name)) // which hooks into require: a bundle has none
    .map(
      (name, index) =>
        `import * as entry${index} from 'quickgres${name.slice(1)}';\nglobalThis.entries = [...globalThis.entries ?? [], entry${index}];`
    )
    .join('\n') +
  `
import { Pool } from 'quickgres/pool';
import { sql } from 'quickgres/sql';
const pool = new Pool(JSON.parse(process.env.SERVER));
const run = async () => {
  const { rows: [row] } = await pool.query(...sql\`SELECT 6 * \${7}::int AS n\`, { decode: true });
  console.log(row.n, globalThis.entries.every(entry => Object.keys(entry).length > 0));
  await pool.end();
};
run();`;

describe('A bundle by esbuild', () => {
  let folder, env;
  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bundle-'));
    fs.mkdirSync(path.join(folder, 'node_modules'));
    fs.symlinkSync(root, path.join(folder, 'node_modules', 'quickgres'), 'junction');
    fs.writeFileSync(path.join(folder, 'program.mjs'), PROGRAM);
    env = { ...process.env, SERVER: JSON.stringify((await sharedServer()).config) };
  });
  after(() => fs.rmSync(folder, { recursive: true }));

  /** What a bundle prints, alone: nothing of the package is beside it. */
  async function run(name) {
    fs.rmSync(path.join(folder, 'node_modules'), { recursive: true, force: true });
    const { stdout } = await promisify(execFile)(process.execPath, [name], { cwd: folder, env });
    return stdout;
  }

  it('of modules and one of CommonJS run, with all entry points, as the guide says', async () => {
    await bundleByGuide(path.join(folder, 'program.mjs'), path.join(folder, 'bundle.mjs'));
    await build({
      entryPoints: [path.join(folder, 'program.mjs')],
      outfile: path.join(folder, 'bundle.cjs'),
      bundle: true,
      format: 'cjs',
      platform: 'node',
      logLevel: 'error'
    });
    for (const name of ['bundle.mjs', 'bundle.cjs']) assert.equal(await run(name), '42 true\n', name);
  });
});

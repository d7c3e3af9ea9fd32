'use strict';

// The test suites of other projects, with pg and with quickgres/pg in its place. See USAGE.

const { spawn, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { startServer } = require('pg-test-fixtures');
const { packInto } = require('../../../.ci/pack');
const { differences, readResults } = require('./results');
const { SUITES } = require('./suites');

/** A suite that hangs is ended after so many milliseconds. */
const LIMIT = 20 * 60000;

/** So many differences of a suite are printed. */
const SHOWN = 20;

const USAGE = `node test/everywhere/suites/run.js [options] [${Object.keys(SUITES).join(' | ')} …]
  Clones each suite from GitHub, installs it, runs it with pg and with quickgres/pg on a server with SCRAM-SHA-256, and
  prints the tests whose outcome differs. The exit code is 1 if pg passes a test that quickgres/pg does not.
  --folder DIR  where the clones are kept (default: ${path.join(os.tmpdir(), 'quickgres-suites')})`;

/** Runs a command in a shell, with its output in a file. @returns {Promise<number|string>} exit code, or signal */
async function shell(command, { cwd, env, log }) {
  const output = fs.openSync(log, 'a');
  const child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', output, output] });
  fs.closeSync(output);
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), LIMIT);
  const outcome = await new Promise(resolve => {
    child.once('error', error => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? code));
  });
  clearTimeout(timer);
  return outcome;
}

/** Puts the package where npm would: transforms of test tools leave `node_modules` alone. @returns {string} its folder */
function pack(folder) {
  const target = path.join(folder, 'node_modules', 'quickgres');
  fs.rmSync(target, { recursive: true, force: true });
  packInto(target);
  return target;
}

/** Clones and installs a suite, unless it is there. */
async function checkout({ repository, ref, install }, cwd, log) {
  if (fs.existsSync(`${cwd}.installed`)) return;
  if (!fs.existsSync(cwd)) {
    const clone = [
      '-c',
      'advice.detachedHead=false',
      'clone',
      '--quiet',
      '--depth',
      '1',
      '--branch',
      ref,
      `https://github.com/${repository}.git`,
      cwd
    ];
    if (spawnSync('git', clone, { stdio: 'inherit' }).status !== 0)
      throw new Error(`${repository} could not be cloned`);
  }
  const code = await shell(install, { cwd, log, env: process.env });
  if (code !== 0) throw new Error(`its installation ended with ${code}: see ${log}`);
  fs.writeFileSync(`${cwd}.installed`, '');
}

/** Jest has its own `require`, so its configuration maps the modules. */
function jestConfig(file, quickgres, at) {
  const ours = quickgres && {
    moduleNameMapper: { '^pg$': `${quickgres}/lib/pg/index.js`, '^pg/lib/(.*)$': `${quickgres}/lib/pg/lib/$1` },
    transform: { [`^${quickgres}/`]: require.resolve('./transformer') },
    transformIgnorePatterns: ['/node_modules/(?!quickgres/)']
  };
  fs.writeFileSync(
    at,
    `const theirs = require(${JSON.stringify(file)});
    const ours = ${JSON.stringify(ours ?? {})};
    const merged = name => ({ ...ours[name], ...theirs[name] });
    module.exports = { ...theirs, ...ours, rootDir: ${JSON.stringify(path.dirname(file))}, moduleNameMapper: merged('moduleNameMapper'), transform: merged('transform') };`
  );
}

/** @returns {Promise<Map<string, string|undefined>>} the results of a suite with pg, or with `quickgres` */
async function run(suite, cwd, quickgres, log) {
  const results = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'suite-')), 'results');
  const { user = 'postgres', password = 'postgres', database = 'postgres', port = 5432 } = suite.server ?? {};
  const server = await startServer({
    auth: 'scram-sha-256',
    external: false,
    port,
    settings: { max_connections: 300 },
    users: user === 'postgres' ? {} : { [user]: { password } }
  });
  if (user !== 'postgres') await server.sql(`ALTER ROLE ${user} SUPERUSER`);
  if (database !== 'postgres') await server.sql(`CREATE DATABASE ${database} OWNER ${user}`);
  const config = path.join(path.dirname(results), 'jest.config.cjs');
  if (suite.jest) jestConfig(path.join(cwd, suite.jest), quickgres, config);
  const env = {
    ...process.env,
    CI: '',
    RESULTS: results,
    CONFIG: config,
    PGHOST: server.host,
    PGPORT: String(server.port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    ...suite.env,
    NODE_OPTIONS: quickgres && !suite.jest ? `--import ${path.join(quickgres, 'lib/pg/register.js')}` : ''
  };
  try {
    if (suite.prepare) await shell(suite.prepare, { cwd, env: { ...env, NODE_OPTIONS: '' }, log });
    await shell(suite.test, { cwd, env, log });
    return readResults(suite.format, results);
  } finally {
    await server.stop();
    fs.rmSync(path.dirname(results), { recursive: true });
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { folder: { type: 'string' }, help: { type: 'boolean' } }
  });
  const unknown = positionals.filter(name => SUITES[name] === undefined);
  if (values.help || unknown.length > 0) throw new Error(USAGE);
  const folder = path.resolve(values.folder ?? path.join(os.tmpdir(), 'quickgres-suites'));
  fs.mkdirSync(folder, { recursive: true });
  const quickgres = pack(folder);
  for (const name of positionals.length > 0 ? positionals : Object.keys(SUITES)) {
    const suite = SUITES[name];
    const cwd = path.join(folder, name);
    const log = `${cwd}.log`;
    fs.writeFileSync(log, '');
    try {
      await checkout(suite, cwd, log);
      const theirs = await run(suite, cwd, undefined, log);
      const ours = await run(suite, cwd, quickgres, log);
      report(name, suite, theirs, ours, log);
    } catch (error) {
      console.log(`${name} ${suite.ref}: ${error.message}`);
      process.exitCode = 1;
    }
  }
}

/** Prints how many tests pass, and which of them differ. */
function report(name, { ref, own = {} }, theirs, ours, log) {
  const passed = results => [...results.values()].filter(message => message === undefined).length;
  console.log(
    `${name} ${ref}: pg passes ${passed(theirs)} of ${theirs.size}, quickgres/pg ${passed(ours)} (Node.js ${process.version}, ${new Date().toISOString().slice(0, 10)})`
  );
  const different = differences(theirs, ours);
  for (const { title, theirs: expected, ours: found } of different.slice(0, SHOWN)) {
    console.log(
      own[title] ? `  private: ${title}: ${own[title]}` : `  ${title}\n    pg: ${expected}\n    quickgres/pg: ${found}`
    );
    if (!own[title] && expected === 'passed') process.exitCode = 1;
  }
  if (different.length > SHOWN) console.log(`  and ${different.length - SHOWN} more: see ${log}`);
  if (passed(theirs) > 0 && different.length <= SHOWN) return;
  if (passed(theirs) === 0) console.log(`  no test passes: see ${log}`);
  process.exitCode = 1;
}

main().catch(error => {
  console.error(error.message);
  process.exitCode = 1;
});

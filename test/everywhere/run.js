'use strict';

// npm run test:everywhere: the matrix of runtimes and servers, and a table of what came of it.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { FOLDERS, install } = require('../support/folder');
const { CELLS } = require('./matrix');
const { recorded, summary, table } = require('./report');

const ROOT = path.join(__dirname, '../..');

/** The last results of each cell. */
const RESULTS = path.join(__dirname, 'RESULTS.md');

/** A runtime that hangs is ended after so many milliseconds. */
const LIMIT = 30 * 60000;

const USAGE = `npm run test:everywhere -- [options] [test files]
  --only a,b    only cells whose name, runtime or server is one of these: ${CELLS.map(({ name }) => name).join(' ')}
  --part ci     the selection for continuous integration
  --no-install  take what is installed in test/everywhere
  --json file   write the results there
  --record      put them into RESULTS.md`;

/**
 * Runs one cell of the matrix.
 * @param {object} cell
 * @param {string[]} files of tests, in place of the cell's
 * @returns {Promise<object>} the cell, with `tests`, `seconds` and, where the runtime did not come to its end, `error`
 */
async function run(cell, files) {
  const output = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'everywhere-')), 'results');
  fs.writeFileSync(output, '');
  const args = [
    ...cell.args,
    '--reporter',
    path.join(__dirname, 'reporter.js'),
    '--reporter-option',
    `output=${output}`,
    ...(files.length > 0 ? files : cell.files)
  ];
  const begun = performance.now();
  const child = spawn(cell.command, args, {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    env: { ...process.env, ...cell.env }
  });
  let said = '';
  child.stderr.on('data', chunk => {
    said = (said + chunk).slice(-10000);
  });
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), LIMIT);
  const [code, signal] = await new Promise(resolve => {
    child.once('error', error => resolve([error.message]));
    child.once('close', (...how) => resolve(how));
  });
  clearTimeout(timer);
  const tests = fs
    .readFileSync(output, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));
  const ended = tests.at(-1)?.result === 'end';
  fs.rmSync(path.dirname(output), { recursive: true });
  const seconds = Math.round((performance.now() - begun) / 1000);
  const error = ended ? undefined : `ended with ${signal ?? code} before its tests were over: ${said}`;
  return { ...cell, seconds, tests: tests.filter(({ result }) => result !== 'end'), error };
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      only: { type: 'string' },
      part: { type: 'string' },
      json: { type: 'string' },
      record: { type: 'boolean' },
      install: { type: 'boolean', default: true },
      help: { type: 'boolean' }
    }
  });
  if (values.help) return console.log(USAGE);
  const only = values.only?.split(',');
  const cells = CELLS.filter(({ name, runtime, server, parts }) =>
    values.part !== undefined
      ? parts.includes(values.part)
      : only === undefined
        ? parts.includes('all')
        : [name, runtime, server].some(each => only.includes(each)) && parts.includes('all')
  );
  if (cells.length === 0) throw new Error(`nothing to run\n${USAGE}`);
  if (values.install) await install([...FOLDERS, 'everywhere']);
  const done = [];
  // What drives something else waits for it most of the time, so it runs beside the suite.
  const side = cells.filter(cell => cell.isBeside);
  const runAll = async list => {
    for (const cell of list) {
      const one = await run(cell, positionals);
      console.log(summary(one));
      done.push(one);
    }
  };
  await Promise.all([runAll(side), runAll(cells.filter(cell => !side.includes(cell)))]);
  console.log(`\n${table(done)}`);
  if (values.record) {
    const [date] = new Date().toISOString().split('T');
    fs.writeFileSync(RESULTS, recorded(fs.readFileSync(RESULTS, 'utf8'), done, date));
  }
  if (values.json) fs.writeFileSync(values.json, JSON.stringify(done));
  const failed = done.reduce(
    (sum, { tests, error }) => sum + tests.filter(({ result }) => result === 'failed').length + (error ? 1 : 0),
    0
  );
  const passed = done.reduce((sum, { tests }) => sum + tests.filter(({ result }) => result === 'passed').length, 0);
  console.log(`\n${passed} passed, ${failed} failed everywhere`);
  process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
}

main().catch(error => {
  console.error(error.message);
  process.exitCode = 1;
});

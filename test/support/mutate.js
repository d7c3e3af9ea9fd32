'use strict';

// For maintainers: makes small mutations of a folder of lib/, one at a time, and says which of them no test of that folder catches.
//
//   node test/support/mutate.js lib/core/rows [--count 30] [--seed 1] [--tests 'test/whole/model.test.js']
//
// It works on a copy. The test with the mutated file's name runs first, the others only if it passes. Each mutation has three
// times as long as the unchanged tests; one that takes longer counts as caught.
// The exit code is 1 if a mutation survives.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { mocha } = require('../../package.json');
const { seeded } = require('./kit');

const ROOT = path.join(__dirname, '../..');

/** What is replaced in a line by what: `null` removes the line. */
const EDITS = [
  [/ === /g, ' !== '],
  [/ !== /g, ' === '],
  [/ < /g, ' <= '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ >= /g, ' > '],
  [/ && /g, ' || '],
  [/ \|\| /g, ' && '],
  [/ \+ /g, ' - '],
  [/ - /g, ' + '],
  [/\+\+/g, '--'],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/(?<![\w.'#])\d+(?![\w.'])/g, digits => String(Number(digits) + 1)],
  [/(?<=\bif \()\b/g, '!'],
  [/(?<=\bif \()!/g, ''],
  [/^ +(?:return |await )?[\w.#?]+\(.*\);$/g, null],
  [/^ +\w+(?:\.#?\w+)+ [-+?|&]*= .*;$/g, null]
];

const isComment = line => /^\s*(?:\/[/*]|\*)/.test(line);
/** Whether an offset is in a string that begins in its line. */
const isQuoted = (line, off) => ["'", '`'].some(quote => (line.slice(0, off).split(quote).length - 1) % 2 === 1);

/** @returns {string[]} the paths of sources in a folder, or of one file */
function sourcesOf(place) {
  if (fs.statSync(path.join(ROOT, place)).isFile()) return [place];
  return fs
    .readdirSync(path.join(ROOT, place))
    .filter(name => name.endsWith('.js'))
    .map(name => path.posix.join(place, name));
}

/** @returns {string[]} the quick tests of a folder or file of lib/, or of client-parser/ */
function testsOf(place) {
  const name = place.replace(/^lib\//, '');
  if (name.endsWith('.js'))
    return [`test/${name.replace(/\.js$/, '.test.js')}`].filter(file => fs.existsSync(path.join(ROOT, file)));
  return fs
    .readdirSync(path.join(ROOT, 'test', name))
    .filter(file => /(?<!\.slow)\.test\.js$/.test(file))
    .map(file => path.posix.join('test', name, file));
}

/** @returns {Array<{file: string, line: number, before: string, after: string|null}>} all mutations of a source */
function mutationsOf(file) {
  const lines = fs.readFileSync(path.join(ROOT, file), 'utf8').split('\n');
  return lines.flatMap((before, index) =>
    isComment(before)
      ? []
      : EDITS.flatMap(([pattern, replacement]) =>
          Array.from(before.matchAll(pattern))
            .filter(match => !isQuoted(before, match.index))
            .map(match => ({
              file,
              line: index + 1,
              before,
              after:
                replacement === null
                  ? null
                  : before.slice(0, match.index) +
                    (typeof replacement === 'function' ? replacement(match[0]) : replacement) +
                    before.slice(match.index + match[0].length)
            }))
        )
  );
}

/** A copy of the repository's files, with the same installed packages. */
function copied() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'mutate-'));
  const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1e8 });
  for (const name of stdout
    .split('\0')
    .filter(each => each !== '' && !each.startsWith('bench/results') && fs.existsSync(path.join(ROOT, each)))) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.copyFileSync(path.join(ROOT, name), path.join(folder, name));
  }
  fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'), 'junction');
  return folder;
}

const FLAGS = mocha['node-option'].map(name => `--${name}`);

/** @returns {boolean} whether the tests pass. Mocha's bin would run them in a child that outlives it when it is killed. */
function passes(folder, tests, timeout) {
  const { status } = spawnSync(
    process.execPath,
    [...FLAGS, require.resolve('mocha/lib/cli/cli.js'), '--bail', '--exit', ...tests],
    { cwd: folder, stdio: 'ignore', timeout, killSignal: 'SIGKILL' }
  );
  return status === 0;
}

function main() {
  const {
    values,
    positionals: [place]
  } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '30' },
      seed: { type: 'string', default: '1' },
      tests: { type: 'string', multiple: true, default: [] }
    }
  });
  const random = seeded(Number(values.seed));
  const all = sourcesOf(place).flatMap(mutationsOf);
  const chosen = [];
  while (chosen.length < Number(values.count) && all.length > 0)
    chosen.push(...all.splice(random.below(all.length), 1));
  const tests = [...testsOf(place), ...values.tests];
  const folder = copied();
  try {
    const begun = performance.now();
    if (!passes(folder, tests)) throw new Error(`The tests of ${place} fail on unchanged code: ${tests.join(' ')}`);
    const limit = Math.ceil(3 * (performance.now() - begun)) + 5000;
    const survived = chosen.filter(({ file, line, before, after }) => {
      const name = path.join(folder, file);
      const text = fs.readFileSync(name, 'utf8');
      fs.writeFileSync(
        name,
        text
          .split('\n')
          .map((each, index) => (index === line - 1 ? (after ?? '') : each))
          .join('\n')
      );
      const isValid = spawnSync(process.execPath, ['--check', name], { stdio: 'ignore' }).status === 0;
      const own = testsOf(file).filter(test => tests.includes(test));
      const others = tests.filter(test => !own.includes(test));
      const survives = isValid && [own, others].every(each => each.length === 0 || passes(folder, each, limit));
      fs.writeFileSync(name, text);
      if (survives) console.log(`${file}:${line}\n  - ${before.trim()}\n  + ${after?.trim() ?? ''}`);
      return survives;
    });
    console.log(`${place}: ${chosen.length} mutations, ${survived.length} survived`);
    process.exitCode = survived.length > 0 ? 1 : 0;
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main();

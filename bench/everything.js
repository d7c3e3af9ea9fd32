'use strict';

// npm run bench -- --everything: all that README.md and the guides publish, one program after the other, and what has
// moved. With --quick each runs for a short time, which only shows that it works.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');

/** Figures that have moved by less are not told. */
const MOVED = 0.05;

/**
 * The programs, in this order: its file and options, those of a quick run, and the documents with its figures. What the
 * programs with `prints` print is kept in OUTPUTS; the others write documents themselves.
 * @type {Array<{run: string, quick?: string, prints?: boolean, in: string}>}
 */
const PROGRAMS = [
  // The page and the distance are run at the end of run.js, but not of a quick one.
  { run: 'run.js', quick: 'run.js --quick', in: 'README.md, bench/README.md, results/results.md, results/page.md' },
  { quick: 'page/run.js --rows 2000 --many 0 --rounds 1 --kinds text --keep kept', in: 'results/page.md' },
  { quick: 'distance.js', in: 'bench/README.md' },
  {
    run: 'http/run.js --rounds 2 --seconds 2',
    quick: 'http/run.js --rounds 1 --seconds 1 --rtt 0',
    in: 'results/http.md'
  },
  { run: 'cold.js --write', quick: 'cold.js 1', in: 'bench/README.md, lib/DEPLOYING.md' },
  { run: 'pools.js', prints: true, in: 'results/pools.md, lib/pool/README.md' },
  { run: 'pools.js fairness', prints: true, in: 'results/pools.md, lib/pool/README.md' },
  {
    run: 'defaults.js --only length,query --clients quickgres,pg --rounds 2',
    quick: 'defaults.js --only query --clients quickgres,pg --rounds 1 --rtt 0',
    prints: true,
    in: 'results/pools.md'
  },
  { run: 'distance.js time', prints: true, in: 'bench/EXPERIMENTS.md' },
  { run: 'roundtrips.js', prints: true, in: 'bench/README.md, lib/DEPLOYING.md' },
  { run: 'live.js', quick: 'live.js 1 20', prints: true, in: 'results/live.md, lib/live/README.md' },
  { run: 'with.js', prints: true, in: 'lib/core/requests/WITH.md' },
  { run: 'with.js time', prints: true, in: 'lib/core/requests/WITH.md' },
  { run: 'with.js replan', prints: true, in: 'lib/core/requests/WITH.md' },
  { run: 'response-cache.js', quick: 'response-cache.js 0.2', prints: true, in: 'lib/cache/README.md' },
  { run: 'pg.js', quick: 'pg.js 0.2', prints: true, in: 'lib/pg/README.md' },
  { run: 'formats.js', prints: true, in: 'client-parser/README.md' },
  { run: 'sizes.js', prints: true, in: 'README.md' },
  { run: 'path.js', prints: true, in: 'bench/README.md' }
];

/** The options of programs that have none for a short run: rounds, and seconds of each. */
const QUICK = { BENCH_ROUNDS: '2', BENCH_SECONDS: '0.2' };

/** Documents with figures, beside the outputs of the programs that only print. */
const DOCUMENTS = [
  'README.md',
  'results/results.md',
  'results/http.md',
  'results/pools.md',
  'results/page.md',
  'results/live.md'
];
const OUTPUTS = path.join('results', 'printed.json');

const NUMBER = /(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.])/g;

/**
 * The figures of a text: those of the rows of its tables, by their heading, their first cell and the column; and of what
 * a program has printed, those of all other lines, by the line without its numbers.
 * @param {string} text
 * @param {string} name of the document, or of the program
 * @param {boolean} [isPrinted] whether a program has printed it
 * @returns {Map<string, number>}
 */
function figures(text, name, isPrinted = false) {
  const found = new Map();
  const put = (key, value) => {
    let unique = key;
    for (let again = 2; found.has(unique); again++) unique = `${key} (${again})`;
    found.set(unique, Number(value.replaceAll(',', '')));
  };
  let heading = '';
  let columns;
  for (const line of text.split('\n')) {
    if (/^#+ /.test(line)) heading = line.replace(/^#+ /, '');
    if (line.startsWith('|')) {
      const cells = line
        .split('|')
        .slice(1, -1)
        .map(cell => cell.replaceAll('*', '').trim());
      if (columns === undefined) columns = cells;
      else
        cells.slice(1).forEach((cell, at) => {
          const [value] = cell.match(NUMBER) ?? [];
          if (value !== undefined) put(`${name}: ${heading}: ${cells[0]}: ${columns[at + 1]}`, value);
        });
    } else {
      columns = undefined;
      const what = line.replace(NUMBER, '#').replace(/\s+/g, ' ').trim();
      if (isPrinted) line.match(NUMBER)?.forEach((value, at) => put(`${name}: ${what}: ${at + 1}`, value));
    }
  }
  return found;
}

/** @returns {string[]} a line for each figure that has moved by more than MOVED, the largest first */
function moved(before, after) {
  const changes = [];
  for (const [key, value] of after) {
    const old = before.get(key);
    if (!(old > 0) || !(value > 0) || Math.abs(value / old - 1) <= MOVED) continue;
    changes.push({ ratio: value / old, line: `${(value / old).toFixed(2)} ×  ${old} → ${value}  ${key}` });
  }
  const size = ({ ratio }) => Math.abs(Math.log(ratio));
  return changes.sort((a, b) => size(b) - size(a)).map(({ line }) => line);
}

/** All figures that are in the repository: of the documents, and of what was printed. @param {Object<string, string>} printed */
function all(printed) {
  const read = file =>
    fs.existsSync(path.join(__dirname, file)) ? fs.readFileSync(path.join(__dirname, file), 'utf8') : '';
  const maps = [
    ...DOCUMENTS.map(file => figures(read(file), file)),
    ...Object.entries(printed).map(([program, text]) => figures(text, program, true))
  ];
  return new Map(maps.flatMap(map => [...map]));
}

/** Runs a program. @returns {string|undefined} what it has printed; undefined if it has failed */
function run(command, more, env) {
  const [program, ...options] = command.split(' ');
  console.log(`\n== ${command}`);
  const begun = performance.now();
  const { status, stdout } = spawnSync(process.execPath, [path.join(__dirname, program), ...options, ...more], {
    cwd: __dirname,
    encoding: 'utf8',
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 1 << 28
  });
  console.log(`${stdout}${Math.round((performance.now() - begun) / 1000)} s`);
  return status === 0 ? stdout : undefined;
}

/** Runs each program for a short time, which shows that it works, and changes no figures. @returns {string[]} those that failed */
function runQuickly() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'quickgres-bench-'));
  const failed = PROGRAMS.map(({ run: full, quick = full }) => quick).filter(command => {
    const out = /^(?:run|page\/run|http\/run)\.js/.test(command) ? ['--out', folder] : [];
    return run(command, out, QUICK) === undefined;
  });
  fs.rmSync(folder, { recursive: true });
  return failed;
}

/** Runs all of them. @param {string[]} more options of run.js @returns {string[]} those that failed */
function runFully(more) {
  const file = path.join(__dirname, OUTPUTS);
  const printed = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  const before = all(printed);
  const failed = [];
  for (const { run: command, prints } of PROGRAMS) {
    if (command === undefined) continue;
    const output = run(command, command === 'run.js' ? more : [], {});
    if (output === undefined) failed.push(command);
    else if (prints) {
      printed[command] = output;
      fs.writeFileSync(file, `${JSON.stringify(printed, null, 2)}\n`);
    }
  }
  const commit = execFileSync('git', ['log', '-1', '--format=%h %cs', '--', 'bench/results'], {
    cwd: ROOT,
    encoding: 'utf8'
  });
  const lines = moved(before, all(printed));
  console.log(`\nMoved by more than ${100 * MOVED} % since the results of ${commit.trim()}: ${lines.length}`);
  console.log(lines.join('\n'));
  console.log('\nThe figures of each program are in these documents:');
  for (const { run: command, in: documents } of PROGRAMS) if (command) console.log(`${command}: ${documents}`);
  return failed;
}

/** @param {string[]} options --quick, or options of run.js such as --module PATH */
function main(options) {
  const failed = options.includes('--quick') ? runQuickly() : runFully(options);
  if (failed.length > 0) throw new Error(`these have failed: ${failed.join(', ')}`);
}

module.exports = { figures, main, moved };

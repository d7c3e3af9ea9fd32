'use strict';

// npm run bench -- --everything: all that README.md and the guides publish, one program after the other, and what has moved.

const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');

/** Figures that have moved by less are not told. */
const MOVED = 0.05;

/** The programs, in this order, and what each of them writes or prints. */
const PROGRAMS = [
  ['run.js'], // CPU; and the page and the distance, which it runs at its end
  ['http/run.js'],
  ['pools.js'],
  ['cold.js', '--write'],
  ['live.js'],
  ['with.js'],
  ['response-cache.js'],
  ['pg.js']
];

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
 * The figures of a text: those of the rows of its tables, by their heading, their first cell and the column, and those of
 * lines that end in numbers.
 * @returns {Map<string, number>}
 */
function figures(text, name) {
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
      const [, what, numbers] = /^(\S.*?)\s{2,}([\d.,].*)$/.exec(line) ?? [];
      numbers?.match(NUMBER)?.forEach((value, at) => put(`${name}: ${what}: ${at + 1}`, value));
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
    ...Object.entries(printed).map(([program, text]) => figures(text, program))
  ];
  return new Map(maps.flatMap(map => [...map]));
}

/** @param {string[]} more options of run.js, such as --module PATH */
function main(more) {
  const file = path.join(__dirname, OUTPUTS);
  const printed = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, 'utf8')) : {};
  const before = all(printed);
  const failed = [];
  const now = {};
  for (const [program, ...options] of PROGRAMS) {
    console.log(`\n== ${program}`);
    const args = [path.join(__dirname, program), ...options, ...(program === 'run.js' ? more : [])];
    const { status, stdout } = spawnSync(process.execPath, args, {
      cwd: __dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      maxBuffer: 1 << 28
    });
    console.log(stdout);
    if (status !== 0) failed.push(program);
    else if (['with.js', 'response-cache.js', 'pg.js'].includes(program)) now[program] = stdout;
  }
  fs.writeFileSync(file, `${JSON.stringify({ ...printed, ...now }, null, 2)}\n`);
  const commit = execFileSync('git', ['log', '-1', '--format=%h %cs', '--', 'bench/results'], {
    cwd: ROOT,
    encoding: 'utf8'
  });
  const lines = moved(before, all({ ...printed, ...now }));
  console.log(`\nMoved by more than ${100 * MOVED} % since the results of ${commit.trim()}: ${lines.length}`);
  console.log(lines.join('\n'));
  if (failed.length > 0) throw new Error(`${failed.join(', ')} failed: their figures are those of before`);
}

module.exports = { figures, main, moved };

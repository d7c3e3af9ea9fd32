'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { test } = require('node:test');
const report = require('../report');
const workloads = require('../workloads');

const OPTIONS = {
  rows: 300000,
  pending: 1000000,
  rounds: 3,
  seconds: 1,
  warmup: 0.5,
  of: { date: '2026-01-02', commit: 'abc' }
};

/** A run of a million operations at so many microseconds of CPU each. */
const run = cpu => ({ operations: 1e6, seconds: 2, user: cpu * 0.75e6, system: cpu * 0.25e6, memory: 51200 });

const ENTRIES = [
  { client: 'floor', label: 'floor', runs: [2, 4, 3].map(run) },
  { client: 'quickgres', label: 'quickgres', runs: [6, 5, 4].map(run) },
  { client: 'pg', label: 'pg', runs: [], cannot: 'has <no> time' }
];

const table = (workload, link = 'unix') => report.table({ workload, link }, OPTIONS, ENTRIES);

test('A figure is the median of the rounds, with the lowest and the highest', () => {
  const [, ours] = table('rows-untouched').clients;
  assert.deepEqual(ours.cpu, { median: 5, low: 4, high: 6 });
  assert.deepEqual(ours.rate, { median: 500000, low: 500000, high: 500000 });
  assert.equal(ours.memory.median, 50);
});

test('The median of two rounds lies between them', () => {
  const entries = [{ client: 'quickgres', label: 'quickgres', runs: [1, 2].map(run) }];
  assert.equal(report.table({ workload: 'cursor', link: 'unix' }, OPTIONS, entries).clients[0].cpu.median, 1.5);
});

test('A table has a line for each client, its figures divided by ours, and the reason where there are none', () => {
  const [title, head, floor, ours, pg, ...rest] = report.text(table('rows-untouched', 'tls')).split('\n');
  assert.equal(title, '300,000 ten-column rows, untouched, over TLS (rows-untouched@tls)');
  assert.match(head, /operations\/s +spread +\/ ours +CPU µs\/op +spread +\/ ours +MiB/);
  assert.match(floor, /^floor +500,000 +500,000–500,000 +1\.00 +3\.00 +2\.00–4\.00 +0\.60 +50\.0/);
  assert.match(ours, /^quickgres .* 5\.00 +4\.00–6\.00 +1\.00/);
  assert.match(pg, /^pg +– has <no> time$/);
  assert.deepEqual(rest, []);
});

test('With one round there is no spread', () => {
  const entries = [{ client: 'quickgres', label: 'quickgres', runs: [run(1)] }];
  assert.doesNotMatch(report.text(report.table({ workload: 'cursor', link: 'unix' }, OPTIONS, entries)), /spread|–/);
});

test('The aims tell which of them are not reached', () => {
  const lines = report
    .aims([table('rows-untouched'), table('select-pipelined')])
    .split('\n')
    .slice(1);
  assert.deepEqual(lines, ['  rows-untouched      1.67 ≤ 1.80 of floor', '* select-pipelined    1.67 ≤ 1.35 of floor']);
});

test('Another checkout is compared by the ratios of each round', () => {
  const entries = [
    { client: 'floor', label: 'floor', runs: [2, 4, 2].map(run) },
    { client: 'quickgres', label: 'quickgres', runs: [6, 10, 4].map(run) },
    { client: 'against', label: 'against', runs: [5, 10, 4].map(run) }
  ];
  const place = { workload: 'rows-untouched', link: 'unix' };
  const lines = report
    .against([
      report.table(place, OPTIONS, entries),
      report.table({ ...place, workload: 'cursor' }, OPTIONS, [
        entries[0],
        { ...entries[1], runs: [6, 12, 5].map(run) },
        entries[2]
      ]),
      report.table({ ...place, workload: 'pending' }, OPTIONS, entries.slice(0, 2))
    ])
    .split('\n')
    .slice(1);
  assert.deepEqual(lines, [
    '  rows-untouched       1.00 (1.00–1.20)   2.50 × floor, was 2.50',
    '* cursor               1.20 (1.20–1.25)   3.00 × floor, was 2.50',
    '  pending              –'
  ]);
});

test('The results are written as JSON, Markdown and SVG', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-report-'));
  try {
    const machine = { cpu: '2 × CPU', versions: { floor: '20.0.0', pg: '8.0.0' } };
    report.write({ machine, options: OPTIONS, tables: [table('rows-untouched')] }, directory, 'results');
    const read = ending => fs.readFileSync(path.join(directory, `results.${ending}`), 'utf8');
    assert.equal(JSON.parse(read('json')).tables[0].clients[1].cpu.median, 5);
    assert.match(read('md'), /\| \*\*quickgres\*\* \| \*\*500,000\*\* \|/);
    assert.match(read('md'), /--only rows-untouched` on 2026-01-02, commit abc: 3 rounds of 1 s/);
    assert.match(read('svg'), /^<svg [^]*>A row of ten columns, untouched<[^]*<rect [^]*>5\.00<\/text>[^]*<\/svg>\n$/);
    assert.doesNotMatch(read('svg'), /HTTP/);
    const http = [{ route: '/row', client: 'quickgres', rate: 12345.6, rounds: [{ rate: 12000 }, { rate: 13000 }] }];
    fs.writeFileSync(path.join(directory, 'http.json'), JSON.stringify(http));
    report.write({ machine, options: OPTIONS, tables: [table('rows-untouched')] }, directory, 'results');
    assert.match(
      read('svg'),
      /^<svg [^]*>Requests a second[^]*>One row as JSON<[^]*>12,346<\/text>[^]*>Client CPU [^]*>5\.00<[^]*<\/svg>\n$/
    );
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

test('A part replaces the tables that it has; the others stay in their order, with the dates of their own runs', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-report-'));
  try {
    const write = (date, names, isPart) => {
      const options = { ...OPTIONS, of: { date, commit: 'abc' } };
      const tables = names.map(name => report.table({ workload: name, link: 'unix' }, options, ENTRIES));
      report.write({ machine: { versions: {} }, options, tables }, directory, 'results', isPart);
    };
    const written = () =>
      JSON.parse(fs.readFileSync(path.join(directory, 'results.json'))).tables.map(({ name, run }) => [name, run.date]);
    write('2026-01-01', ['rows-untouched', 'connect'], true);
    write('2026-01-02', ['connect', 'select-batch'], true);
    assert.deepEqual(written(), [
      ['select-batch', '2026-01-02'],
      ['rows-untouched', '2026-01-01'],
      ['connect', '2026-01-02']
    ]);
    write('2026-01-03', ['connect'], false);
    assert.deepEqual(written(), [['connect', '2026-01-03']]);
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});

test('Every workload has a title, and what clients cannot do are workloads', () => {
  for (const [name, { title, operations, turn, links }] of Object.entries(workloads)) {
    assert.ok(title && operations && typeof turn === 'function' && links.length, name);
  }
  for (const file of fs.readdirSync(path.join(__dirname, '../clients')).filter(name => name.endsWith('.js'))) {
    const { cannot = {}, labels = {} } = require(`../clients/${file}`);
    for (const key of [...Object.keys(cannot), ...Object.keys(labels)]) {
      assert.ok(workloads[key.split('@')[0]], `${file}: ${key}`);
    }
  }
});

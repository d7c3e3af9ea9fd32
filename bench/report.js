'use strict';

// Figures, tables and charts of what was measured.

const fs = require('node:fs');
const path = require('node:path');
const { chart } = require('./chart');
const workloads = require('./workloads');
const { DELAY } = require('./database');

const OURS = 'quickgres';

const LINKS = {
  unix: '',
  tcp: ', over TCP',
  tls: ', over TLS',
  link: `, over a link of ${DELAY} ms each way`
};

/** The figures of a measurement, each of the result of one run. */
const FIGURES = {
  rate: run => run.operations / run.seconds,
  cpu: run => (run.user + run.system) / run.operations,
  memory: run => run.memory / 1024
};

const HEADINGS = { rate: 'operations/s', cpu: 'CPU µs/op', memory: 'MiB' };

/** A title with this run's numbers in it. */
function title(text, { rows, pending, wire }) {
  const megabytes = wire ? (wire / 2 ** 20).toFixed(1) : 'so many';
  const numbers = { rows: thousands(rows), pending: thousands(pending), wire: megabytes };
  return text.replace(/\{(\w+)\}/g, (_, name) => numbers[name]);
}

const thousands = value =>
  Math.round(value)
    .toString()
    .replace(/\B(?=(?:\d{3})+$)/g, ',');

/** Three significant digits. */
function short(value) {
  if (!(Math.abs(value) >= 1e-9)) return '0';
  if (value >= 1000) return thousands(Number(value.toPrecision(3)));
  if (value >= 100) return value.toFixed(0);
  return value.toPrecision(3);
}

/** Median, lowest and highest. */
function summary(values) {
  const sorted = values.slice().sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, low: sorted[0], high: sorted[sorted.length - 1] };
}

/**
 * A table: what each client has come to.
 * @param {{workload: string, link: string}} place
 * @param {object} options of the run; `of` is its date and commit
 * @param {Array<{client: string, label: string, runs: object[], cannot: string|undefined}>} entries
 */
function table({ workload, link }, options, entries) {
  const name = link === 'unix' ? workload : `${workload}@${link}`;
  const clients = entries.map(({ client, label, runs, cannot }) => {
    if (!runs.length) return { client, label, cannot };
    const figures = Object.entries(FIGURES).map(([figure, of]) => [figure, summary(runs.map(of))]);
    return { client, label, rounds: runs.length, ...Object.fromEntries(figures), runs };
  });
  const { rounds, warmup, seconds, of } = options;
  const run = { ...of, rounds, seconds, warmup };
  return { name, workload, link, title: title(workloads[workload].title, options) + LINKS[link], run, clients };
}

/** Cells of a table: a line a client, without those that another line stands for. */
function cells({ clients }) {
  const ours = clients.find(({ client, cpu }) => client === OURS && cpu);
  const names = Object.keys(FIGURES);
  const spread = clients.some(({ rounds }) => rounds > 1);
  const head = ['', ...names.flatMap(name => [HEADINGS[name], ...(spread ? ['spread'] : []), '/ ours'])];
  const lines = clients.map(entry => {
    if (!entry.cpu) return [entry.label, `– ${entry.cannot}`];
    return [
      entry.label,
      ...names.flatMap(name => {
        const { median, low, high } = entry[name];
        const ratio = ours ? (median / ours[name].median).toFixed(2) : '';
        return [short(median), ...(spread ? [`${short(low)}–${short(high)}`] : []), ratio];
      })
    ];
  });
  return [head, ...lines];
}

/** A table as text of fixed width. */
function text(table) {
  const lines = cells(table);
  const widths = lines[0].map((_, column) =>
    Math.max(...lines.filter(line => line.length > 2 || column === 0).map(line => line[column].length))
  );
  const print = line =>
    line
      .map((cell, column) => {
        if (line.length === 2) return column ? cell : cell.padEnd(widths[0]);
        return column ? cell.padStart(widths[column]) : cell.padEnd(widths[0]);
      })
      .join('  ');
  return [`${table.title} (${table.name})`, ...lines.map(print)].join('\n');
}

/** A table in Markdown. */
function markdown(table) {
  const [head, ...lines] = cells(table);
  const print = line => `| ${line.join(' | ')} |`;
  const bold = line => line.map(cell => cell && `**${cell}**`);
  const isOurs = index => table.clients[index].client === OURS;
  return [
    `### ${table.title}`,
    '',
    `\`npm run bench -- --only ${table.name}\` on ${table.run.date}, commit ${table.run.commit}: ` +
      `${table.run.rounds} rounds of ${table.run.seconds} s after ${table.run.warmup} s that do not count.`,
    '',
    print(head),
    `|---${'|---:'.repeat(head.length - 1)}|`,
    ...lines.map((line, index) => print(isOurs(index) ? bold(line) : line))
  ].join('\n');
}

/** What we want to be, and what we are: `[{ name, client, aim, ratio }]`. */
function compare(tables) {
  return tables.flatMap(({ name, workload, link, clients }) => {
    const { aims = {} } = workloads[workload];
    const ours = clients.find(({ client, cpu }) => client === OURS && cpu);
    if (!ours || link !== workloads[workload].links[0]) return [];
    return clients
      .filter(({ client, cpu }) => aims[client] && cpu)
      .map(entry => ({
        name,
        label: entry.label,
        aim: aims[entry.client],
        ratio: ours.cpu.median / entry.cpu.median
      }));
  });
}

/** Workloads of ours whose CPU per operation is to be at most so much of that of another one. */
const OWN_AIMS = [
  ['select-batch', 'select-pipelined', 0.35],
  ['pending', 'select-pipelined', 1.5]
];

/** The same with workloads of ours. */
function compareOwn(tables) {
  const find = name =>
    tables
      .filter(table => table.name === name)
      .flatMap(({ clients }) => clients.filter(({ client, cpu }) => client === OURS && cpu));
  return OWN_AIMS.flatMap(([name, other, aim]) => {
    const [[one], [two]] = [find(name), find(other)];
    return one && two ? [{ name, label: `our ${other}`, aim, ratio: one.cpu.median / two.cpu.median }] : [];
  });
}

/** The aims as lines of text. */
function aims(tables) {
  const lines = [...compare(tables), ...compareOwn(tables)].map(({ name, label, aim, ratio }) => {
    const mark = ratio <= aim ? ' ' : '*';
    return `${mark} ${name.padEnd(18)} ${ratio.toFixed(2).padStart(5)} ≤ ${aim.toFixed(2)} of ${label}`;
  });
  const heading = 'Our CPU per operation as part of that of others, and what it is to be (* is not):';
  return lines.length ? [heading, ...lines].join('\n') : '';
}

/**
 * This library beside another checkout of it, by the CPU of each operation: its part of the other's, and of both how
 * often they take what the floor takes. Ratios are those of each round, of which the median counts.
 */
function against(tables) {
  const lines = tables.map(({ name, clients }) => {
    const [ours, other, floor] = [OURS, 'against', 'floor'].map(
      each => clients.find(({ client }) => client === each)?.runs
    );
    const ratios = (runs, to) => summary(runs.map((run, round) => FIGURES.cpu(run) / FIGURES.cpu(to[round])));
    if (!ours || !other || ours.length !== other.length) return `  ${name.padEnd(20)} –`;
    const { median, low, high } = ratios(ours, other);
    const floors =
      floor?.length === ours.length
        ? `   ${ratios(ours, floor).median.toFixed(2)} × floor, was ${ratios(other, floor).median.toFixed(2)}`
        : '';
    const mark = median > 1.05 ? '*' : ' ';
    return `${mark} ${name.padEnd(20)} ${median.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)})${floors}`;
  });
  return ['CPU per operation as part of that of the other checkout (* is more than 1.05):', ...lines].join('\n');
}

/** The whole run in Markdown. */
function document({ machine, tables }, name) {
  const versions = Object.entries(machine.versions)
    .map(entry => entry.join(' '))
    .join(', ');
  return (
    [
      '# Results',
      `${machine.cpu}, ${machine.memory}, ${machine.system}, ` +
        `Node.js ${machine.node}, PostgreSQL ${machine.postgresql}. ${versions}.`,
      'Each table has the date and commit of its own run. Each measurement is a process of its own. Figures are ' +
        'medians, with the lowest and the highest; "/ ours" is a figure divided by ours. CPU is user and system time ' +
        'of the client process. README.md tells what is measured and how.',
      `![CPU per operation](${name}.svg)`,
      ...tables.map(markdown)
    ].join('\n\n') + '\n'
  );
}

/**
 * Writes the results as JSON, Markdown and SVG; the chart begins with what the HTTP servers did, where that is known.
 * @param {object} results
 * @param {string} directory
 * @param {string} name of the files
 * @param {boolean} [isPart] whether other tables of an earlier run stay
 */
function write(results, directory, name, isPart = false) {
  fs.mkdirSync(directory, { recursive: true });
  const file = ending => path.join(directory, `${name}.${ending}`);
  if (isPart && fs.existsSync(file('json'))) {
    const before = JSON.parse(fs.readFileSync(file('json'))).tables;
    const all = new Map([...before, ...results.tables].map(table => [table.name, table]));
    const names = Object.entries(workloads).flatMap(([each, { links }]) =>
      links.map(link => (link === 'unix' ? each : `${each}@${link}`))
    );
    results = { ...results, tables: names.filter(each => all.has(each)).map(each => all.get(each)) };
  }
  fs.writeFileSync(file('json'), json(results));
  fs.writeFileSync(file('md'), document(results, name));
  if (name === 'results' && directory === path.join(__dirname, 'results'))
    publish(path.join(__dirname, 'README.md'), results.tables);
  const http = path.join(directory, 'http.json');
  fs.writeFileSync(
    file('svg'),
    chart(results.tables, OURS, fs.existsSync(http) ? JSON.parse(fs.readFileSync(http)) : [])
  );
}

/** Without the single runs, a line for each client. */
function json(results) {
  const figures = (key, value) =>
    key === 'runs' ? undefined : typeof value === 'number' ? Number(value.toPrecision(5)) : value;
  const lines = list => `[\n${list.map(each => JSON.stringify(each, figures)).join(',\n')}\n]`;
  const tables = results.tables.map(
    ({ clients, ...rest }) => `${JSON.stringify(rest).slice(0, -1)},"clients":${lines(clients)}}`
  );
  return `${JSON.stringify({ ...results, tables: undefined }).slice(0, -1)},"tables":[\n${tables.join(',\n')}\n]}\n`;
}

/** The lines of the table of README.md: the workload, its unit, and the line for the same over TLS or with an umlaut in each row. */
const PUBLISHED = {
  'select-pipelined': 'select of a row by its key, 1,000 in flight: per query',
  'select-pipelined@tls': 'the same over TLS',
  'select-sequential': 'select of a row by its key, one after the other: per query',
  'select-sequential@tls': 'the same over TLS',
  transactions: 'transaction of a select and an update, 20 at a time, default pools: per transaction',
  'transactions@tls': 'the same over TLS',
  'rows-one-column': 'rows of ten columns, one of them read: per row',
  'rows-objects-typed': 'rows of ten columns, decoded into objects: per row',
  'rows-objects-typed-unicode': 'the same, with an umlaut in each row',
  'rows-objects-typed@tls': 'the same over TLS, without umlauts',
  'pass-one': 'results of one row into a stream that stays open, one after the other: per result',
  'pass-one-pipelined': 'the same, 100 in flight',
  'pass-hundred': 'results of 100 rows, likewise: per result',
  'pass-null': 'rows of ten columns, passed on to a stream: per row',
  'pass-null@tls': 'the same over TLS',
  'copy-out': 'COPY TO STDOUT into a stream: per row',
  'copy-out@tls': 'the same over TLS',
  connect: 'connect, first row, close',
  'connect@tls': 'the same over TLS'
};

const COMPARED = ['floor', 'libpq', OURS, 'module', 'pg', 'pg-pipeline', 'postgres', 'bun'];

/** The table of README.md, CPU in µs. */
function published(tables) {
  const line = cells => `| ${cells.join(' | ')} |`;
  const cell = (entry, client) =>
    entry?.cpu === undefined ? '–' : client === OURS ? `**${short(entry.cpu.median)}**` : short(entry.cpu.median);
  return [
    '| | floor | libpq | Quickgres | 0.4 | `pg` | `pg`, pipelined | `postgres` | Bun |',
    `|---${'|---:'.repeat(COMPARED.length)}|`,
    ...Object.entries(PUBLISHED).flatMap(([name, title]) => {
      const found = tables.find(table => table.name === name);
      if (found === undefined) return [];
      const entryOf = client => found.clients.find(each => each.client === client);
      return [line([title, ...COMPARED.map(client => cell(entryOf(client), client))])];
    })
  ].join('\n');
}

const PLACE = /(?<=<!-- made by bench\/run.js -->\n)[^]*?(?=\n<!-- end of bench\/run.js -->)/;

/** Puts the table into a document, which has comments around its place. */
function publish(file, tables) {
  const before = fs.readFileSync(file, 'utf8');
  if (!PLACE.test(before)) throw new Error(`${file} has no place for the table`);
  fs.writeFileSync(
    file,
    before.replace(PLACE, () => published(tables))
  );
}

module.exports = { PUBLISHED, publish, title, table, text, aims, against, write, short };

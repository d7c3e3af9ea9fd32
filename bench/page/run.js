'use strict';

// The benchmark of a page: see ../README.md. Each measurement has a page, and so a process, of its own.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { launchBrowser, startServer } = require('pg-test-fixtures');
const { KINDS, serve } = require('./server');

/** Ways to read the rows, by their names in page.js: what a table calls them, and which CPU ours is compared to. */
const WAYS = {
  bytes: 'the bytes alone, dropped',
  lazy: 'rows as they are',
  two: 'rows, two columns of each read',
  objects: 'plain objects of strings',
  decoded: 'plain objects of values (`decode: true`)',
  'decoded, exact': 'the same, dates as strings (`{ ...decoders, ...exact }`)',
  ndjson: 'ndjson, `JSON.parse` a line',
  'ndjson, dates': 'ndjson, then a Date of each',
  json: '`JSON.parse` of all',
  'json, dates': '`JSON.parse` of all, then a Date of each',
  made: 'as many such objects, without a parser',
  'arrow, lazy': 'Apache Arrow, record batches',
  arrow: 'Apache Arrow, plain objects'
};

/** Ways that only rows with a timestamp have. */
const DATES = ['decoded, exact', 'ndjson, dates', 'json, dates'];

/** Ways whose frames and memory are measured with many rows, kept, from the server. */
const MANY = ['lazy', 'objects', 'decoded', 'made', 'ndjson', 'json'];

/** Of the text rows that are kept: our way, the other, from where, and the most that ours may be of the other's CPU. */
const AIMS = [
  ['objects', 'json', 'memory', 0.8],
  ['decoded, exact', 'json', 'memory', 0.8],
  ['decoded', 'json', 'memory', 0.8],
  ['lazy', 'json', 'memory', 0.35],
  ['objects', 'ndjson', 'server', 0.8],
  ['decoded', 'ndjson', 'server', 0.8],
  ['decoded', 'ndjson, dates', 'server', 0.8],
  ['lazy', 'ndjson', 'server', 0.35],
  ['bytes', 'ndjson', 'server', 0.35]
];

const OPTIONS = {
  rows: { type: 'string', default: '300000' },
  many: { type: 'string', default: '1000000' },
  rounds: { type: 'string', default: '3' },
  ways: { type: 'string', default: Object.keys(WAYS).join(';') },
  kinds: { type: 'string', default: Object.keys(KINDS).join(';') },
  from: { type: 'string', default: 'server;memory' },
  keep: { type: 'string', default: 'kept;dropped' },
  parser: { type: 'string', default: path.join(__dirname, '../../client-parser') },
  write: { type: 'boolean', default: false },
  out: { type: 'string', default: path.join(__dirname, '../results') }
};

const MARKERS = ['<!-- made by bench/page/run.js -->', '<!-- end of page -->'];

function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  return (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
}

/** Chromium, by the fixtures. A measurement is what page.js gives, and `busy`, CPU of the main thread, `cpu` of the page's process, `heap` in MB. */
async function launchChromium() {
  const browser = await launchBrowser();
  const measure = async (url, spec) => {
    const page = await browser.newPage();
    try {
      await page.goto(url);
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
      const cpu = async () => {
        const { metrics } = await devtools.send('Performance.getMetrics');
        const of = name => metrics.find(metric => metric.name === name).value * 1000;
        return [of('TaskDuration'), of('ProcessTime')];
      };
      const heap = async () => {
        await devtools.send('HeapProfiler.collectGarbage');
        const {
          usedSize,
          embedderHeapUsedSize = 0,
          backingStorageSize = 0
        } = await devtools.send('Runtime.getHeapUsage');
        return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1e6;
      };
      const before = await heap();
      await page.evaluate(async spec => {
        window.measured = await import('/page.js');
        await window.measured.prepare(spec);
      }, spec);
      await devtools.send('HeapProfiler.collectGarbage');
      const from = await cpu();
      const result = await page.evaluate(spec => window.measured.measure(spec), spec);
      const to = await cpu();
      return { ...result, busy: to[0] - from[0], cpu: to[1] - from[1], heap: (await heap()) - before };
    } finally {
      await page.close();
    }
  };
  return { name: `Chromium ${browser.version()}`, measure, close: () => browser.close() };
}

const number = value =>
  !(value >= 0)
    ? '–'
    : Math.round(value)
        .toString()
        .replace(/\B(?=(?:\d{3})+$)/g, ',');
const tableOf = (heads, lines) =>
  [['', ...heads], ['---', ...heads.map(() => '--:')], ...lines].map(line => `| ${line.join(' | ')} |`).join('\n');

/** Our CPU as a part of another way's, and what it should be. */
function tableOfAims(results) {
  const find = (way, from) =>
    results.find(
      result => result.way === way && result.from === from && result.kind === 'text' && result.keep && !result.watch
    );
  return tableOf(
    ['beside', 'from', '×', 'aim'],
    AIMS.flatMap(([way, other, from, aim]) => {
      const [ours, theirs] = [find(way, from), find(other, from)];
      return ours && theirs
        ? [
            [
              WAYS[way],
              WAYS[other],
              from,
              ((ours.busy ?? ours.cpu) / (theirs.busy ?? theirs.cpu)).toFixed(2),
              `≤ ${aim}`
            ]
          ]
        : [];
    })
  );
}

/** Frames and memory. */
const tableOfMany = results =>
  tableOf(
    ['longest frame, ms', 'MB held', '× their bytes'],
    results
      .filter(result => result.watch)
      .map(({ way, longest, heap, bytes }) => [
        WAYS[way],
        number(longest),
        number(heap),
        bytes && heap ? ((heap * 1e6) / bytes).toFixed(2) : ''
      ])
  );

/** What the browser has done, as tables of GitHub's Markdown. */
function section({ name, results }, { rows, many }) {
  const titles = {
    text: 'seven text columns',
    numbers: 'three narrow numbers',
    server: 'while they come from the server',
    memory: 'from memory'
  };
  const tables = new Map();
  for (const result of results.filter(result => !result.watch)) {
    const title = `${titles[result.kind]}, ${result.keep ? 'kept' : 'dropped'}, ${titles[result.from]}`;
    if (!tables.has(title)) tables.set(title, []);
    tables
      .get(title)
      .push([WAYS[result.way], ...['busy', 'cpu', 'first', 'last', 'heap'].map(figure => number(result[figure]))]);
  }
  return [
    `## ${name}`,
    ...[...tables].map(
      ([title, lines]) => `### ${title}\n\n${tableOf(['main thread', 'CPU', 'first', 'last', 'MB'], lines)}`
    ),
    `### CPU, ${number(rows)} text rows, kept\n\n${tableOfAims(results)}`,
    ...(many > 0
      ? [`### ${number(many)} text rows, kept, while they come from the server\n\n${tableOfMany(results)}`]
      : [])
  ].join('\n\n');
}

/** The whole run in Markdown. */
const document = ({ browser, options }) =>
  [
    '# Rows in a page',
    `\`node bench/page/run.js\`: ${number(options.rows)} rows, medians of ${options.rounds} rounds, each measurement in a page of its own. ` +
      'Milliseconds: CPU of the main thread, of the whole process of the page, to the first row and to the last; ' +
      'MB that the page holds afterwards. Arrow is encoded before it is measured, the other formats are not.',
    section(browser, options)
  ].join('\n\n') + '\n';

/** Puts the short tables into ../README.md. */
function publish({ browser: { name, results }, options: { rows, many } }) {
  const file = path.join(__dirname, '../README.md');
  const text = fs.readFileSync(file, 'utf8');
  const [from, to] = MARKERS.map(marker => text.indexOf(marker));
  if (from < 0 || to < from) throw new Error(`README.md has no ${MARKERS.join(' … ')}`);
  fs.writeFileSync(
    file,
    [
      text.slice(0, from) + MARKERS[0],
      `${name}, CPU of the main thread, ${number(rows)} rows of seven text columns, kept:\n`,
      `${tableOfAims(results)}\n`,
      `${number(many)} of them, while they come from the server:\n`,
      `${tableOfMany(results)}\n`,
      text.slice(to)
    ].join('\n')
  );
}

async function main(args) {
  const { values } = parseArgs({ options: OPTIONS, args });
  const list = name => values[name].split(';');
  const options = { rows: Number(values.rows), many: Number(values.many), rounds: Number(values.rounds) };
  const database = await startServer({ auth: 'trust' });
  let server, browser;
  try {
    server = await serve(database.config, path.resolve(values.parser), options.rows);
    const specs = list('kinds')
      .flatMap(kind =>
        list('keep').flatMap(keep =>
          list('from').flatMap(from =>
            list('ways').map(way => ({ kind, keep: keep === 'kept', from, way, count: options.rows, runs: [] }))
          )
        )
      )
      .filter(
        ({ kind, from, way }) =>
          (kind === 'text' || !DATES.includes(way)) && (from === 'server' || way !== 'bytes') && way !== 'made'
      );
    if (options.many > 0) {
      const many = { kind: 'text', keep: true, from: 'server', count: options.many, watch: true };
      specs.push(...MANY.map(way => ({ ...many, way, runs: [] })));
    }
    browser = await launchChromium();
    for (let round = 0; round < options.rounds; round++) {
      for (const { runs, ...spec } of round % 2 ? [...specs].reverse() : specs) {
        const run = await browser.measure(server.url, spec);
        if (run.count !== spec.count) throw new Error(`${spec.way}: ${run.count} rows`);
        runs.push(run);
      }
    }
    const results = specs.map(({ runs, ...spec }) => ({
      ...spec,
      ...Object.fromEntries(Object.keys(runs[0]).map(figure => [figure, median(runs.map(run => run[figure]))]))
    }));
    const found = { options, browser: { name: browser.name, results } };
    const text = document(found);
    console.log(text);
    fs.mkdirSync(values.out, { recursive: true });
    fs.writeFileSync(path.join(values.out, 'page.md'), text);
    if (values.write) publish(found);
  } finally {
    await browser?.close();
    await server?.stop();
    await database.stop();
  }
}

module.exports = { main };

if (require.main === module) {
  main().catch(error => {
    console.error(error.message);
    process.exitCode = 1;
  });
}

'use strict';

// The benchmark of a page: see ../README.md. Each measurement has a page, and so a process, of its own.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { launchBrowser, startServer } = require('pg-test-fixtures');
const { KINDS, serve } = require('./server');

/** Ways to read the rows, by their names in page.js: what a table calls them, and which CPU ours is compared to. */
const WAYS = {
  lazy: 'rows as they are',
  two: 'rows, two columns of each read',
  objects: 'plain objects of strings',
  decoded: 'plain objects of values (`decode: true`)',
  ndjson: 'ndjson, `JSON.parse` a line',
  json: '`JSON.parse` of all',
  'arrow, lazy': 'Apache Arrow, record batches',
  arrow: 'Apache Arrow, plain objects'
};

/** Of the text rows that are kept: our way, the other, from where, and the most that ours may be of the other's CPU. */
const AIMS = [
  ['objects', 'json', 'memory', 0.8], ['decoded', 'json', 'memory', 0.8], ['lazy', 'json', 'memory', 0.35],
  ['objects', 'ndjson', 'server', 0.8], ['decoded', 'ndjson', 'server', 0.8], ['lazy', 'ndjson', 'server', 0.35]
];

const OPTIONS = {
  rows: { type: 'string', default: '300000' },
  rounds: { type: 'string', default: '3' },
  ways: { type: 'string', default: Object.keys(WAYS).join(';') },
  kinds: { type: 'string', default: Object.keys(KINDS).join(';') },
  from: { type: 'string', default: 'server;memory' },
  keep: { type: 'string', default: 'kept;dropped' },
  parser: { type: 'string', default: path.join(__dirname, '../../client-parser') },
  out: { type: 'string', default: path.join(__dirname, '../results') }
};

const median = list => [...list].sort((a, b) => a - b)[list.length >> 1];

/** One measurement: what page.js gives, and `busy`, CPU of the main thread, `cpu` of the whole process, `heap` in MB. */
async function measure(browser, url, spec) {
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
      const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await devtools.send('Runtime.getHeapUsage');
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
    return { ...result, busy: to[0] - from[0], cpu: to[1] - from[1], heap: await heap() - before };
  } finally {
    await page.close();
  }
}

/** The results as tables of GitHub's Markdown. */
function document({ browser, options, results }) {
  const number = value => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  const titles = { text: 'seven text columns', numbers: 'three narrow numbers', server: 'while they come from the server',
    memory: 'from memory' };
  const tables = new Map();
  for (const result of results) {
    const title = `${titles[result.kind]}, ${result.keep ? 'kept' : 'dropped'}, ${titles[result.from]}`;
    if (!tables.has(title)) tables.set(title, []);
    tables.get(title).push(`| ${WAYS[result.way]} | ${
      ['busy', 'cpu', 'first', 'last', 'longest', 'heap'].map(figure => number(result[figure])).join(' | ')} |`);
  }
  const aims = AIMS.flatMap(([way, other, from, aim]) => {
    const [ours, theirs] = [way, other].map(way => results.find(result => result.way === way && result.from === from
      && result.kind === 'text' && result.keep));
    return ours && theirs ? [`| ${WAYS[way]} | ${WAYS[other]} | ${from} | ${(ours.busy / theirs.busy).toFixed(2)} | ≤ ${aim} |`] : [];
  });
  return [
    '# Rows in a page',
    `\`node bench/page/run.js\`: ${browser}, ${number(options.rows)} rows, medians of ${options.rounds} rounds, each measurement in a ` +
      'page of its own. Milliseconds: CPU of the main thread, of the whole process of the page, to the first row and to the last, and ' +
      'the longest frame; MB that the page holds afterwards. Arrow is encoded before it is measured, the other formats are not.',
    ...[...tables].map(([title, lines]) =>
      [`### ${title}`, '', '| | main thread | CPU | first | last | longest frame | MB |', '|---|--:|--:|--:|--:|--:|--:|', ...lines].join('\n')),
    ['### CPU of the main thread, kept text rows', '', '| | beside | from | × | aim |', '|---|---|---|--:|--:|', ...aims].join('\n')
  ].join('\n\n') + '\n';
}

async function main(args) {
  const { values } = parseArgs({ options: OPTIONS, args });
  const list = name => values[name].split(';');
  const options = { rows: Number(values.rows), rounds: Number(values.rounds) };
  const database = await startServer({ auth: 'trust' });
  let server, browser;
  try {
    server = await serve(database.config, path.resolve(values.parser), options.rows);
    browser = await launchBrowser();
    const specs = list('kinds').flatMap(kind => list('keep').flatMap(keep => list('from').flatMap(from =>
      list('ways').map(way => ({ kind, keep: keep === 'kept', from, way, runs: [] })))));
    for (let round = 0; round < options.rounds; round++) {
      for (const { runs, ...spec } of round % 2 ? [...specs].reverse() : specs) {
        const run = await measure(browser, server.url, spec);
        if (run.count !== options.rows) throw new Error(`${spec.way}: ${run.count} rows`);
        runs.push(run);
      }
    }
    const results = specs.map(({ runs, ...spec }) => ({
      ...spec, ...Object.fromEntries(Object.keys(runs[0]).map(figure => [figure, median(runs.map(run => run[figure]))]))
    }));
    const found = { browser: `Chromium ${browser.version()}`, options, results };
    const text = document(found);
    console.log(text);
    fs.mkdirSync(values.out, { recursive: true });
    fs.writeFileSync(path.join(values.out, 'page.json'), `${JSON.stringify(found, null, 1)}\n`);
    fs.writeFileSync(path.join(values.out, 'page.md'), text);
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

// Reads the same rows in four ways, in turn and several times, and shows the medians of what each has cost.

import { rows } from '/client-parser/index.js';
import { VirtualList } from '/list.js';
import { $, Run, Way, number, time } from '/runs.js';

/** Types shown to the right: numbers and money. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 790, 1700]);

const list = new VirtualList($('#scroller'), (first, last) => {
  $('#where').textContent =
    last < first ? '' : `${number(first + 1)} to ${number(last + 1)} of ${number(table.length)}`;
});
let table = []; // the rows as they came, which the table decodes when it shows them
let current; // what is shown

/** So many times each way takes its turn. */
const ROUNDS = 3;

/** In their order: where the rows come from, what reads them, and what a sentence calls them. */
const WAYS = {
  rows: { path: '/rows', name: 'as structs', read: readRows },
  objects: { path: '/rows', name: 'as plain objects', read: readObjects, spent: 'rows' },
  ndjson: { path: '/rows.ndjson', name: 'from ndjson', read: readLines },
  json: { path: '/rows.json', name: 'from JSON', read: readJson }
};

/** Reads protocol bytes. A row stays as it came; the table decodes those that it shows. */
async function readRows(run, signal) {
  const result = rows(run.chunks(signal), { signal, decode: false, structs: true });
  const shown = current.table === run;
  const showColumns = () =>
    list.reset(
      result.columns.map(({ name, typeOid }) => ({ name, number: NUMBERS.has(typeOid) })),
      index => table[index].toArray()
    );
  for await (const batch of result.batches()) {
    if (shown && table.length === 0) showColumns();
    if (shown) for (const row of batch) table.push(row);
    run.take(batch);
  }
  if (shown && table.length === 0) showColumns();
}

/** Reads protocol bytes, and makes a plain object of strings of every row. */
async function readObjects(run, signal) {
  for await (const batch of rows(run.chunks(signal), { signal, decode: false }).batches()) run.take(batch);
}

/** Reads an object a line; those that are whole can be used. */
async function readLines(run, signal) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of run.chunks(signal)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop();
    run.take(lines.map(line => JSON.parse(line)));
  }
}

/** Reads JSON, of which nothing can be used before its last byte. */
async function readJson(run, signal) {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of run.chunks(signal)) text += decoder.decode(chunk, { stream: true });
  run.work();
  run.take(JSON.parse(text));
}

/** Draws all runs on one scale. */
function drawChart(runs) {
  const until = Math.max(1, ...runs.map(run => run.points.at(-1)?.[0] ?? 0));
  const most = Math.max(1, ...runs.map(run => run.rows));
  for (const run of runs) {
    // A line of a few hundred points looks the same as one of a few thousand.
    const step = Math.ceil(run.points.length / 400);
    const points = run.points.filter((_, i) => i % step === 0 || i === run.points.length - 1);
    $(`#chart .${run.kind}`).setAttribute(
      'points',
      [[0, 0], ...points]
        .map(([at, count]) => `${((400 * at) / until).toFixed(1)},${(160 - (156 * count) / most).toFixed(1)}`)
        .join(' ')
    );
  }
  $('#scale').textContent = runs.some(run => run.rows > 0) ? `${time(until)} · ${number(most)} rows` : '';
}

/** What the medians say, in two sentences; nothing if a way has failed, or there are no rows. */
function verdict(ways) {
  if (ways.some(way => way.error || way.done.length === 0) || ways[0].last.rows === 0) return '';
  const list = figure => ways.map(way => `${time(way.median(figure))} ${WAYS[way.kind].name}`).join(', ');
  return `The first row could be used after ${list('first')}. The page worked on the rows for ${list('busy')}.`;
}

/**
 * Runs all ways in turn.
 * @param {string|number} limit how many rows
 * @param {Promise} [before] what to wait for
 */
function start(limit, before = Promise.resolve()) {
  current?.controller.abort();
  const controller = new AbortController();
  const { signal } = controller;
  const ways = Object.keys(WAYS).map(kind => new Way(kind, WAYS[kind], limit));
  const state = { controller, ended: false, table: undefined };
  current = state;
  table = [];
  list.reset([], () => []);
  $('#stop').disabled = false;
  $('#verdict').textContent = $('#no-row').textContent = '';

  const draw = () => {
    if (current !== state) return;
    list.count = table.length;
    for (const way of ways) way.show();
    drawChart(ways.map(way => way.last));
    if (!state.ended) requestAnimationFrame(draw);
  };
  draw();

  const turn = async (way, shown) => {
    const run = new Run(way.kind, way.way, limit);
    if (shown) state.table = run;
    way.runs.push(run);
    await run.measure(signal);
  };
  const [first, ...others] = ways;
  state.done = before
    .then(() => turn(first, true))
    .then(() => {
      if (current === state) list.count = table.length;
      return first.summary();
    });
  state.all = state.done.then(async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const way of round ? ways : others) if (!signal.aborted && !way.error) await turn(way);
    }
    if (current === state) {
      state.ended = true;
      draw();
      $('#stop').disabled = true;
      $('#verdict').textContent = verdict(ways);
    }
    return ways.map(way => way.summary());
  });
}

/** Digits as people write them in large numbers. */
const digits = text => text.replace(/[\s,_'’]/g, '');

$('#controls').addEventListener('submit', event => {
  event.preventDefault();
  const limit = digits($('#limit').value);
  history.replaceState(null, '', `?limit=${encodeURIComponent(limit)}`);
  start(limit);
});
$('#stop').addEventListener('click', () => current.controller.abort());
$('#go').addEventListener('submit', event => {
  event.preventDefault();
  const { value } = $('#row');
  const row = /^\d+$/.test(digits(value)) ? Number(digits(value)) : 0;
  const known = row >= 1 && row <= table.length;
  $('#no-row').textContent = known
    ? ''
    : table.length === 0
      ? 'there are no rows'
      : `no row “${value}”: rows are 1 to ${number(table.length)}`;
  if (known) list.scrollTo(row - 1);
});

const asked = new URLSearchParams(location.search).get('limit');
if (asked !== null) $('#limit').value = asked;
// The server loads its sample, and the page is drawn, before anything is measured.
$('#verdict').textContent = 'The server is loading its sample …';
start(
  $('#limit').value,
  fetch('/rows?limit=0')
    .catch(() => {})
    .then(() => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))))
);

/** For tests, and for whoever looks with the browser's tools. */
window.demo = {
  /** @returns {number} rows that the table has */
  rows: () => table.length,
  /** @returns {object} row i, from 0 */
  row: i => table[i].toObject(),
  /** @returns {Promise<object>} what was measured of the structs, when they are all there */
  get done() {
    return current.done;
  },
  /** @returns {Promise<object[]>} what was measured of all ways, medians, when they are done */
  get all() {
    return current.all;
  },
  /** @returns {Promise<object>} what was measured of JSON, when all are done */
  get json() {
    return current.all.then(ways => ways.find(({ kind }) => kind === 'json'));
  },
  /** Runs all ways again. */
  run: limit => start(limit),
  /** Brings row i to the top of the table. */
  scrollTo: index => list.scrollTo(index)
};

// Reads the same rows in four ways, one after the other, and shows what each has cost.

import { PostgresError, ResponseError, jsonDecoders, rows } from '/client-parser/index.js';
import { VirtualList } from '/list.js';

/** Types shown to the right: numbers and money. */
const NUMBERS = new Set([20, 21, 23, 26, 700, 701, 790, 1700]);

const $ = selector => document.querySelector(selector);
const number = value => Math.round(value).toLocaleString('en');
const bytes = value => value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`;
function time(ms) {
  if (ms === undefined) return '–';
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

const list = new VirtualList($('#scroller'), (first, last) => {
  $('#where').textContent = last < first ? ''
    : `${number(first + 1)} to ${number(last + 1)} of ${number(table.length)}`;
});
let table = []; // all rows received as protocol bytes
let current; // what is shown

/** In their order; how they are called in a sentence, and what reads them. */
const WAYS = {
  rows: { path: '/rows', name: 'protocol bytes', read: readRows },
  ndjson: { path: '/rows.ndjson', name: 'ndjson', read: readLines },
  json: { path: '/rows.json', name: 'JSON', read: readJson },
  agg: { path: '/rows-agg.json', name: 'json_agg', read: readJson }
};

/** One way of reading the rows: what was measured of it, and where it is shown. */
class Run {
  constructor(kind, limit) {
    this.kind = kind;
    this.limit = limit;
    this.busy = 0; // milliseconds in which the page was at work on what it had received
    this.rows = 0;
    this.bytes = 0;
    this.first = undefined; // milliseconds until a row could be used
    this.total = undefined;
    this.pause = 0; // longest time in which the page could not be drawn
    this.points = [];
    this.error = undefined;
    this.panel = $(`#${kind}-panel`);
    this.started = undefined;
  }

  get elapsed() {
    return performance.now() - this.started;
  }

  /** Counts rows that can be used from now on. */
  add(count) {
    this.first ??= this.elapsed;
    this.points.push([this.elapsed, this.rows]);
    this.rows += count;
    this.points.push([this.elapsed, this.rows]);
  }

  /** @returns {*} what the work gives, whose time is counted */
  work(work) {
    const start = performance.now();
    const result = work();
    this.busy += performance.now() - start;
    return result;
  }

  /** The chunks of the answer; what is done with one until the next is asked for is counted. */
  async *chunks(signal) {
    const response = await fetch(`${WAYS[this.kind].path}?limit=${encodeURIComponent(this.limit)}`, { signal });
    if (!response.ok) throw new ResponseError(response);
    const reader = response.body.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      this.bytes += value.length;
      const start = performance.now();
      yield value;
      this.busy += performance.now() - start;
    }
  }

  async measure(signal) {
    this.started = performance.now();
    const watch = this.#watch();
    try {
      await WAYS[this.kind].read(this, signal);
      this.total = this.elapsed;
    } catch (error) {
      this.error = await explain(error);
    } finally {
      cancelAnimationFrame(watch.frame);
    }
    const spent = await fetch('/spent.json').then(response => response.json()).catch(() => ({}));
    if (this.error === undefined) this.spent = spent[this.kind];
  }

  /** Notes the longest time between two frames. */
  #watch() {
    const watch = {};
    let last = performance.now();
    const turn = () => {
      const now = performance.now();
      this.pause = Math.max(this.pause, now - last);
      last = now;
      watch.frame = requestAnimationFrame(turn);
    };
    watch.frame = requestAnimationFrame(turn);
    return watch;
  }

  show() {
    const facts = {
      'first row': time(this.first),
      'all rows': time(this.total),
      'CPU of Node': time(this.spent),
      'CPU of the page': time(this.total && this.busy),
      'longest freeze': time(this.total && this.pause),
      received: bytes(this.bytes)
    };
    this.panel.querySelector('output').textContent = number(this.rows);
    const progress = this.panel.querySelector('progress');
    const ended = this.error !== undefined || this.total !== undefined;
    if (this.rows === 0 && this.bytes > 0 && !ended) progress.removeAttribute('value');
    else progress.value = this.total !== undefined ? 1 : this.rows / this.limit || 0;
    const terms = this.panel.querySelector('dl');
    for (const [i, [name, value]] of Object.entries(facts).entries()) {
      if (!terms.children[2 * i]) terms.append(document.createElement('dt'), document.createElement('dd'));
      terms.children[2 * i].textContent = name;
      terms.children[2 * i + 1].textContent = value;
    }
    const error = this.panel.querySelector('.error');
    error.hidden = !this.error;
    error.textContent = this.error ?? '';
  }
}

/** An error in words for the page. */
async function explain(error) {
  if (error.name === 'AbortError') return 'stopped';
  if (error instanceof ResponseError) {
    const text = await error.response.text().catch(() => '');
    return `${error.status} ${error.response.statusText}: ${text.trim() || error.message}`;
  }
  if (error instanceof PostgresError) return `${error.severity} ${error.code}: ${error.message}`;
  if (error instanceof TypeError) return `the server cannot be reached, or has hung up (${error.message})`;
  return `${error.name}: ${error.message}`;
}

/** Reads protocol bytes; every batch can be used as soon as its chunk is there. */
async function readRows(run, signal) {
  const result = rows(run.chunks(signal), { signal, decode: jsonDecoders });
  const showColumns = () => list.reset(
    result.columns.map(({ name, typeOid }) => ({ name, number: NUMBERS.has(typeOid) })),
    index => table[index].toArray());
  for await (const batch of result.batches()) {
    if (table.length === 0) showColumns();
    for (const row of batch) {
      row.toObject();
      table.push(row);
    }
    run.add(batch.length);
  }
  if (table.length === 0) showColumns();
}

/** Reads an object a line; those that are whole can be used. */
async function readLines(run, signal) {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of run.chunks(signal)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) JSON.parse(line);
    run.add(lines.length);
  }
}

/** Reads JSON, of which nothing can be used before its last byte. */
async function readJson(run, signal) {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of run.chunks(signal)) text += decoder.decode(chunk, { stream: true });
  run.add(run.work(() => JSON.parse(text)).length);
}

/** Draws all runs on one scale. */
function drawChart(runs) {
  const until = Math.max(1, ...runs.map(run => run.points.at(-1)?.[0] ?? 0));
  const most = Math.max(1, ...runs.map(run => run.rows));
  for (const run of runs) {
    // A line of a few hundred points looks the same as one of a few thousand.
    const step = Math.ceil(run.points.length / 400);
    const points = run.points.filter((_, i) => i % step === 0 || i === run.points.length - 1);
    $(`#chart .${run.kind}`).setAttribute('points', [[0, 0], ...points].map(([at, count]) =>
      `${(400 * at / until).toFixed(1)},${(160 - 156 * count / most).toFixed(1)}`).join(' '));
  }
  $('#scale').textContent = runs.some(run => run.rows > 0) ? `${time(until)} · ${number(most)} rows` : '';
}

/** What the runs say, in a sentence; nothing where one of them has failed, or there are no rows. */
function verdict(runs) {
  const [first, ...others] = ['rows', 'json', 'ndjson', 'agg'].map(kind => runs.find(run => run.kind === kind));
  if (runs.some(run => run.total === undefined) || first.rows === 0) return '';
  const times = (a, b) => `${(a / b).toFixed(a / b < 10 ? 1 : 0)} ×`;
  return `Beside protocol bytes, ${others.map(run => `${WAYS[run.kind].name} took ${times(run.first, first.first)
    } as long to the first row and ${times(run.total, first.total)} as long to the last`).join(', ')}.`;
}

/**
 * Runs all ways, one after the other.
 * @param {string|number} limit how many rows
 * @param {Promise} [before] what to wait for
 */
function start(limit, before = Promise.resolve()) {
  current?.controller.abort();
  const controller = new AbortController();
  const { signal } = controller;
  const runs = Object.keys(WAYS).map(kind => new Run(kind, limit));
  const state = { controller, ended: false };
  current = state;
  table = [];
  list.reset([], () => []);
  $('#stop').disabled = false;
  $('#verdict').textContent = $('#no-row').textContent = '';

  const draw = () => {
    if (current !== state) return;
    list.count = table.length;
    for (const run of runs) run.show();
    drawChart(runs);
    if (!state.ended) requestAnimationFrame(draw);
  };
  draw();

  const [first, ...others] = runs;
  state.done = before.then(() => first.measure(signal)).then(() => {
    if (current === state) list.count = table.length;
    return first;
  });
  state.all = state.done.then(async () => {
    for (const run of others) if (!signal.aborted) await run.measure(signal);
    if (current !== state) return runs;
    state.ended = true;
    draw();
    $('#stop').disabled = true;
    $('#verdict').textContent = verdict(runs);
    return runs;
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
  $('#no-row').textContent = known ? ''
    : table.length === 0 ? 'there are no rows' : `no row “${value}”: rows are 1 to ${number(table.length)}`;
  if (known) list.scrollTo(row - 1);
});

const asked = new URLSearchParams(location.search).get('limit');
if (asked !== null) $('#limit').value = asked;
// The page is drawn first, so that its own start is not measured.
start($('#limit').value, new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve))));

/** For tests, and for whoever looks with the browser's tools. */
window.demo = {
  /** @returns {number} rows received as protocol bytes */
  rows: () => table.length,
  /** @returns {object} row i, from 0 */
  row: i => table[i].toObject(),
  /** @returns {Promise<object>} what was measured of the protocol bytes, when they are all there */
  get done() { return current.done; },
  /** @returns {Promise<object[]>} what was measured of all ways, when they are done */
  get all() { return current.all; },
  /** @returns {Promise<object>} what was measured of JSON.stringify, when all are done */
  get json() { return current.all.then(runs => runs.find(run => run.kind === 'json')); },
  /** Runs all ways again. */
  run: limit => start(limit),
  /** Brings row i to the top of the table. */
  scrollTo: index => list.scrollTo(index)
};

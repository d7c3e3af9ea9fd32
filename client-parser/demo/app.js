// Reads the same rows twice: as the database's own bytes, while they arrive, and as JSON.

import { PostgresError, ResponseError, rows } from '/client-parser/index.js';
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
let current; // the run that is shown

/** One way of reading the rows: what was measured of it, and where it is shown. */
class Run {
  constructor(kind, limit) {
    this.kind = kind;
    this.limit = limit;
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

  async measure(read) {
    this.started = performance.now();
    const watch = this.#watch();
    try {
      await read(this);
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
    const seconds = (this.total ?? this.points.at(-1)?.[0]) / 1000;
    const facts = {
      'time to first row': time(this.first),
      'all rows': time(this.total),
      'rows a second': seconds > 0 ? number(this.rows / seconds) : '–',
      received: bytes(this.bytes),
      'longest wait for a frame': time(this.total && this.pause),
      'CPU time of the server': time(this.spent)
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
  const result = rows(fetch(`/rows?limit=${encodeURIComponent(run.limit)}`, { signal }), { signal });
  const showColumns = () => list.reset(
    result.columns.map(({ name, typeOid }) => ({ name, number: NUMBERS.has(typeOid) })),
    index => table[index].toArray());
  for await (const batch of result.batches()) {
    if (table.length === 0) showColumns();
    for (const row of batch) table.push(row);
    run.bytes = result.bytes;
    run.add(batch.length);
  }
  run.bytes = result.bytes;
  if (table.length === 0) showColumns();
}

/** Reads JSON, of which nothing can be used before its last byte. */
async function readJson(run, signal) {
  const response = await fetch(`/rows.json?limit=${encodeURIComponent(run.limit)}`, { signal });
  if (!response.ok) throw new ResponseError(response);
  const chunks = [];
  const reader = response.body.getReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    chunks.push(value);
    run.bytes += value.length;
  }
  const objects = JSON.parse(await new Blob(chunks).text());
  run.add(objects.length);
}

/** Draws both runs on one scale. */
function drawChart({ rowsRun, jsonRun }) {
  const all = [...rowsRun.points, ...jsonRun.points];
  const until = Math.max(1, ...[rowsRun, jsonRun].map(run => run.points.at(-1)?.[0] ?? 0));
  const most = Math.max(1, all.at(-1)?.[1] ?? 0, rowsRun.rows);
  for (const run of [rowsRun, jsonRun]) {
    // A line of a few hundred points looks the same as one of a few thousand.
    const step = Math.ceil(run.points.length / 400);
    const points = run.points.filter((_, i) => i % step === 0 || i === run.points.length - 1);
    $(`#chart .${run.kind}`).setAttribute('points', [[0, 0], ...points].map(([at, count]) =>
      `${(400 * at / until).toFixed(1)},${(160 - 156 * count / most).toFixed(1)}`).join(' '));
  }
  $('#scale').textContent = all.length > 0 ? `${time(until)} · ${number(most)} rows` : '';
}

/** What the two runs say, in a sentence. */
function verdict({ rowsRun, jsonRun }) {
  if (rowsRun.total === undefined || jsonRun.total === undefined || rowsRun.rows === 0) return '';
  const times = (a, b) => `${(a / b).toFixed(a / b < 10 ? 1 : 0)} ×`;
  const first = times(jsonRun.first, rowsRun.first);
  const all = times(jsonRun.total, rowsRun.total);
  return `JSON took ${first} as long to the first row and ${all} as long to the last, for ${
    times(jsonRun.bytes, rowsRun.bytes)} the bytes.`;
}

/**
 * Runs both ways, one after the other.
 * @param {string|number} limit how many rows
 * @param {Promise} [before] what to wait for
 */
function start(limit, before = Promise.resolve()) {
  current?.controller.abort();
  const controller = new AbortController();
  const { signal } = controller;
  const state = { controller, rowsRun: new Run('rows', limit), jsonRun: new Run('json', limit) };
  current = state;
  table = [];
  list.reset([], () => []);
  $('#stop').disabled = false;
  $('#verdict').textContent = '';

  const draw = () => {
    if (current !== state) return;
    list.count = table.length;
    state.rowsRun.show();
    state.jsonRun.show();
    drawChart(state);
    if (!state.ended) requestAnimationFrame(draw);
  };
  draw();

  state.done = before.then(() => state.rowsRun.measure(run => readRows(run, signal))).then(() => {
    if (current === state) list.count = table.length;
    return state.rowsRun;
  });
  state.json = state.done.then(async () => {
    if (!signal.aborted) await state.jsonRun.measure(run => readJson(run, signal));
    if (current !== state) return state.jsonRun;
    state.ended = true;
    draw();
    $('#stop').disabled = true;
    $('#verdict').textContent = verdict(state);
    return state.jsonRun;
  });
}

$('#controls').addEventListener('submit', event => {
  event.preventDefault();
  const limit = $('#limit').value.replace(/[\s,_.]/g, '');
  history.replaceState(null, '', `?limit=${encodeURIComponent(limit)}`);
  start(limit);
});
$('#stop').addEventListener('click', () => current.controller.abort());
$('#go').addEventListener('submit', event => {
  event.preventDefault();
  const index = Number($('#row').value.replace(/[\s,_.]/g, '')) - 1;
  if (index >= 0) list.scrollTo(index);
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
  /** @returns {Promise<object>} what was measured of the JSON, when both are done */
  get json() { return current.json; },
  /** Runs both ways again. */
  run: limit => start(limit),
  /** Brings row i to the top of the table. */
  scrollTo: index => list.scrollTo(index)
};

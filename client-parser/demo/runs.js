// What is measured of a way to read the rows, and its panel.

import { PostgresError, ResponseError } from '/client-parser/index.js';

export const $ = selector => document.querySelector(selector);
export const number = value => Math.round(value).toLocaleString('en');
const bytes = value => (value < 1e6 ? `${(value / 1e3).toFixed(1)} kB` : `${(value / 1e6).toFixed(1)} MB`);
export function time(ms) {
  if (ms === undefined) return '–';
  return ms < 1000 ? `${ms.toFixed(ms < 10 ? 1 : 0)} ms` : `${(ms / 1000).toFixed(2)} s`;
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

/** One turn of a way: what was measured of it. */
export class Run {
  #since; // when the page began to work on what it had received
  #kept = []; // what the way has made of the rows

  /** @param {string|number} limit how many rows */
  constructor(kind, way, limit) {
    this.kind = kind;
    this.way = way;
    this.limit = limit;
    this.busy = 0; // milliseconds in which the page was at work on what it had received
    this.rows = 0;
    this.bytes = 0;
    this.first = undefined; // milliseconds until a row could be used
    this.total = undefined;
    this.pause = 0; // longest time in which the page could not be drawn
    this.points = [];
    this.error = undefined;
    this.started = undefined;
  }

  get elapsed() {
    return performance.now() - this.started;
  }

  /** Takes rows that can be used from now on. */
  take(rows) {
    for (const row of rows) this.#kept.push(row);
    this.first ??= this.elapsed;
    this.points.push([this.elapsed, this.rows]);
    this.rows += rows.length;
    this.points.push([this.elapsed, this.rows]);
    this.rest();
  }

  /** The page begins to work. */
  work() {
    this.#since = performance.now();
  }

  /** The page waits for more. */
  rest() {
    if (this.#since !== undefined) this.busy += performance.now() - this.#since;
    this.#since = undefined;
  }

  /** The chunks of the answer. */
  async *chunks(signal) {
    const response = await fetch(`${this.way.path}?limit=${encodeURIComponent(this.limit)}`, { signal });
    if (!response.ok) throw new ResponseError(response);
    const reader = response.body.getReader();
    for (;;) {
      this.rest();
      const { value, done } = await reader.read();
      if (done) return;
      this.bytes += value.length;
      // `rows` waits for the browser between pieces of this size, which is not the page's work.
      for (let from = 0; from < value.length; from += 65536) {
        this.rest();
        this.work();
        yield value.subarray(from, from + 65536);
      }
    }
  }

  async measure(signal) {
    this.started = performance.now();
    const watch = this.#watch();
    try {
      await this.way.read(this, signal);
      this.rest();
      this.total = this.elapsed;
    } catch (error) {
      this.error = await explain(error);
    } finally {
      watch.end();
    }
    const spent = await fetch('/spent.json')
      .then(response => response.json())
      .catch(() => ({}));
    if (this.error === undefined) this.spent = spent[this.way.spent ?? this.kind];
    this.#kept = [];
  }

  /** Notes the longest time between two frames. */
  #watch() {
    let frame;
    let last = performance.now();
    const note = () => {
      const now = performance.now();
      this.pause = Math.max(this.pause, now - last);
      last = now;
    };
    const turn = () => {
      note();
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return {
      /** The time since the last frame counts: what was done at the end may have delayed the next one. */
      end() {
        note();
        cancelAnimationFrame(frame);
      }
    };
  }
}

/** All turns of a way, and their panel. */
export class Way {
  runs = [];
  #panel;

  constructor(kind, way, limit) {
    this.kind = kind;
    this.way = way;
    this.limit = limit;
    this.#panel = $(`#${kind}-panel`);
  }

  get last() {
    return this.runs.at(-1) ?? new Run(this.kind, this.way, this.limit);
  }
  get error() {
    return this.runs.find(run => run.error !== undefined)?.error;
  }
  get done() {
    return this.runs.filter(run => run.total !== undefined);
  }

  /** The median of a figure of the turns that are done; undefined before the first. */
  median(figure) {
    const values = this.done.map(run => run[figure]).sort((a, b) => a - b);
    return values[values.length >> 1];
  }

  /** @returns {object} what was measured, medians */
  summary() {
    const {
      kind,
      error,
      last: { rows, bytes, points }
    } = this;
    const figures = ['first', 'total', 'spent', 'busy', 'pause'].map(figure => [figure, this.median(figure)]);
    return { kind, error, rows, bytes, points, rounds: this.done.length, ...Object.fromEntries(figures) };
  }

  show() {
    const { rows, total, error, bytes: received } = this.last;
    const facts = {
      'first row': time(this.median('first') ?? this.last.first),
      'all rows': time(this.median('total')),
      'CPU of Node': time(this.median('spent')),
      'CPU of the page': time(this.median('busy')),
      'longest freeze': time(this.median('pause')),
      received: bytes(received)
    };
    this.#panel.querySelector('output').textContent = number(rows);
    const progress = this.#panel.querySelector('progress');
    const ended = error !== undefined || total !== undefined;
    if (rows === 0 && received > 0 && !ended) progress.removeAttribute('value');
    else progress.value = total !== undefined ? 1 : rows / this.limit || 0;
    const terms = this.#panel.querySelector('dl');
    for (const [i, [name, value]] of Object.entries(facts).entries()) {
      if (!terms.children[2 * i]) terms.append(document.createElement('dt'), document.createElement('dd'));
      terms.children[2 * i].textContent = name;
      terms.children[2 * i + 1].textContent = value;
    }
    const place = this.#panel.querySelector('.error');
    place.hidden = !this.error;
    place.textContent = this.error ?? '';
  }
}

// The page's part of live results: the rows of a query, which stay up to date.

import { Chunk, objectAt } from './datarow.js';
import { check } from './errors.js';
import { FrameReader } from './reader.js';
import { RowParser } from './row-parser.js';
import { ResponseError } from './rows.js';
import { text } from './text.js';

const TYPE = 'application/x-postgresql-live';

/** The first and the longest pause before the next attempt, in milliseconds. */
const FIRST = 200;
const LONGEST = 30000;

/** The most rows of a state: a copy takes few bytes, and copies of copies would grow without bound. */
const MOST = 1e6;

let latin1; // a character for each byte; Jest's jsdom has none

/** Takes the messages of states. Rows with the same bytes are the same objects. */
class StateReader {
  #chunk; // the Chunk of the last row
  #decode;
  #description;
  #keys = []; // the bytes of the rows
  #known; // rows by their bytes, while a whole state follows
  #next; // rows, keys, description and columns of the next state; undefined before the first message of a connection
  #onstate;
  #type;

  /** @param {function} onstate called when a state is whole */
  constructor(decode, onstate) {
    this.#decode = decode;
    this.#onstate = onstate;
    this.rows = [];
  }

  begin() {
    this.#next = undefined;
  }

  #add(row, key) {
    check(this.#next[0].push(row) <= MOST, `a live result of more than ${MOST} rows`);
    this.#next[1].push(key);
  }

  #read(bytes, start) {
    if (this.#chunk?.bytes !== bytes) this.#chunk = new Chunk(bytes, bytes.length, this.#type);
    return objectAt(this.#chunk, start);
  }

  message(type, bytes, start, end) {
    const key = /[TD]/.test(type) && (latin1 ||= new TextDecoder('latin1')).decode(bytes.subarray(start, end));
    check(type === 'T' || this.#next, 'a live result without a RowDescription');
    if (type === 'T') {
      this.#known = new Map(key === this.#description ? this.#keys.map((each, i) => [each, this.rows[i]]) : []);
      const parser = RowParser.of(bytes, start);
      this.#next = [[], [], key, parser.columns];
      this.#type = parser.type(0, this.#decode || {});
      this.#chunk = undefined;
    } else if (type === 'D') this.#add(this.#known?.get(key) ?? this.#read(bytes, start), key);
    else if (type === 'A') {
      // NotificationResponse: rows of the state before
      const [, from, count] = /^copy\0(\d+) (\d+)\0$/.exec(text(bytes, start + 9, end)) ?? [];
      const to = +from + +count;
      check(to <= this.rows.length, 'a copy of rows that are not there');
      for (let i = +from; i < to; i++) this.#add(this.rows[i], this.#keys[i]);
    } else if (type === 's') {
      // PortalSuspended
      [this.rows, this.#keys, this.#description, this.columns] = this.#next;
      this.#next = [[], [], this.#description, this.columns];
      this.#known = undefined;
      this.#onstate();
    }
  }
}

/**
 * Reads a live result: see live.d.ts. It connects at the first `next()`, and again when the connection is lost.
 * @returns {AsyncIterator<Array>} of arrays of rows, each a whole state; only the newest state waits
 */
export function live(url, { decode = true, timeout = 60000, signal, headers, ...init } = {}) {
  if (!(timeout > 0)) throw new TypeError('timeout must be a number of milliseconds above 0');
  let connected = false;
  let controller; // of the current request
  let failure; // `{ error }`, for the loop
  let fresh = false; // there is something that the loop has not got
  let hurry; // ends a pause
  let isOver = false;
  let pause = FIRST;
  let running;
  let states;
  const waiting = []; // for something fresh

  const wake = () => {
    for (const resolve of waiting.splice(0)) resolve();
  };

  const tell = is => {
    fresh ||= is || connected;
    connected = is;
    wake();
  };

  const end = () => {
    isOver = true;
    signal?.removeEventListener('abort', abort);
    controller?.abort();
    hurry?.();
    wake();
  };
  const abort = () => {
    failure = { error: signal.reason };
    fresh = false;
    end();
  };

  /** @returns {Promise<boolean>} whether the response came to its end; errors of the network are none of the loop's */
  async function read() {
    const current = (controller = new AbortController());
    const request = new Request(url, { cache: 'no-store', ...init, headers, signal: current.signal });
    request.headers.set('accept', TYPE);
    let timer;
    const lives = () => {
      clearTimeout(timer);
      timer = setTimeout(() => current.abort(), Math.min(timeout, 0x7fffffff));
    };
    try {
      lives();
      const response = await fetch(request).catch(() => {});
      const { status = 0 } = response ?? {};
      if (status > 399 && status < 500 && ![408, 425, 429].includes(status)) throw new ResponseError(response);
      if (!response?.ok) return false;
      check(response.headers.get('content-type') === TYPE && response.body, 'the response is no live result');
      const frames = new FrameReader(states);
      const body = response.body.getReader();
      states.begin();
      for (;;) {
        lives();
        const chunk = await body.read().catch(() => {});
        if (!chunk || chunk.done || isOver) return !!chunk;
        frames.push(chunk.value);
      }
    } finally {
      clearTimeout(timer);
      current.abort();
    }
  }

  async function run() {
    if (signal?.aborted) return abort();
    signal?.addEventListener('abort', abort);
    if (decode === true) ({ decoders: decode } = await import('./types.js'));
    states = new StateReader(decode, () => {
      pause = FIRST;
      tell(true);
    });
    while (!isOver) {
      if (!(await read()) && !isOver) tell(false);
      await new Promise(resolve => {
        const timer = setTimeout(() => hurry(), pause * (0.5 + Math.random() / 2));
        hurry = () => {
          clearTimeout(timer);
          globalThis.removeEventListener?.('online', hurry);
          resolve();
        };
        if (isOver) return hurry();
        globalThis.addEventListener?.('online', hurry);
      });
      pause = Math.min(2 * pause, LONGEST);
    }
  }

  return {
    [Symbol.asyncIterator]() {
      return this;
    },

    async next() {
      running ??= run()
        .catch(error => {
          failure ??= { error };
        })
        .finally(end);
      while (!fresh && !isOver)
        await new Promise(resolve => {
          waiting.push(resolve);
        });
      if (fresh) {
        fresh = false;
        const value = Object.defineProperties([...states.rows], {
          columns: { value: states.columns },
          connected: { value: connected }
        });
        return { value, done: false };
      }
      const failed = failure;
      failure = undefined;
      if (failed) throw failed.error;
      return { value: undefined, done: true };
    },

    async return(value) {
      fresh = false;
      end();
      return { value, done: true };
    }
  };
}

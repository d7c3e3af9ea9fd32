'use strict';

const assert = require('node:assert/strict');
const { AbortError, PostgresError } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { connected, sharedServer } = require('../support');
const { seeded } = require('../support/kit');

const SEED = 20240229;
const STEPS = 800;
const KEYS = 8;
const MAX_BYTES = 12000;
const TEXT = `SELECT v, repeat('x', v % 7 * 700) AS filler, 1 / (v % 10) AS fails
  FROM model WHERE k = $1`;

/** What each key has held: which values an answer may have that is asked for now. */
class Model {
  constructor() {
    this.now = 0;
    this.changes = 0;
    this.keys = Array.from({ length: KEYS }, () => {
      return { values: [{ v: 1, until: Infinity, change: Infinity }], forgotten: 0 };
    });
  }

  write(k, v) {
    const { values } = this.keys[k];
    Object.assign(values.at(-1), { until: this.now, change: ++this.changes });
    values.push({ v, until: Infinity, change: Infinity });
  }

  forget(k) {
    this.keys[k].forgotten = ++this.changes;
  }

  /** The values that held at some time in the window, and since the last invalidation. */
  allowed(k, window) {
    const { values, forgotten } = this.keys[k];
    const held = values.filter(({ until, change }) => until > this.now - window && change > forgotten);
    return held.map(({ v }) => v);
  }

  get current() {
    return this.keys.map(({ values }) => values.at(-1).v);
  }
}

describe('The response cache and a simple model of it', function () {
  this.timeout(30000); // its steps take two seconds on an idle machine

  it(`agree on a random mix of ${STEPS} steps (seed ${SEED})`, async () => {
    const server = await sharedServer();
    await server.sql(`DROP TABLE IF EXISTS model; CREATE TABLE model (k int PRIMARY KEY, v int); GRANT ALL ON model TO PUBLIC;
      INSERT INTO model SELECT k, 1 FROM generate_series(0, ${KEYS - 1}) AS k`);
    const writer = await connected();
    const model = new Model();
    const cache = new ResponseCache(await connected(), {
      max_bytes: MAX_BYTES,
      max_answer_bytes: 4000,
      now: () => model.now
    });
    const next = seeded(SEED);
    const { below } = next;
    const windows = k => ({ max_age: [1, 5, 20, 60][k % 4], stale_while_revalidate: [0, 5, 15][k % 3] });
    const seen = { served: 0, failed: 0, aborted: 0 };

    const windowOf = k => 1000 * (windows(k).max_age + windows(k).stale_while_revalidate);

    /** Reads; where a write may come in between, what it writes is right, too. */
    const read = async (k, meanwhile = []) => {
      const options = { tags: [`k${k}`], ...windows(k) };
      const allowed = [...model.allowed(k, windowOf(k)), ...meanwhile];
      const current = [model.current[k], ...meanwhile];
      const abort = below(10) === 0 ? new AbortController() : undefined;
      const promise = cache.query(TEXT, [k], { ...options, signal: abort && abort.signal });
      if (abort !== undefined) setImmediate(() => abort.abort());
      try {
        const {
          rows: [row]
        } = await promise;
        assert.ok(allowed.includes(Number(row.v)), `${row.v} of key ${k}, not ${allowed}`);
        assert.equal(row.filler.length, (row.v % 7) * 700);
        seen.served++;
      } catch (error) {
        if (error instanceof AbortError) {
          assert.ok(abort !== undefined);
          seen.aborted++;
        } else {
          assert.ok(error instanceof PostgresError && error.code === '22012', error.stack);
          assert.ok(
            current.some(v => v % 10 === 0),
            'an error that is no longer one'
          );
          seen.failed++;
        }
      }
    };

    const write = async (k, v, invalidate) => {
      await writer.query('UPDATE model SET v = $1 WHERE k = $2', [v, k]);
      model.write(k, v);
      if (!invalidate) return;
      cache.invalidateTag(`k${k}`);
      model.forget(k);
    };
    const some = (most, start) => Promise.all(Array.from({ length: 1 + below(most) }, start));

    for (let step = 0; step < STEPS; step++) {
      const what = below(20);
      if (what < 8) await some(8, () => read(below(KEYS)));
      else if (what < 10) {
        // reads and a write at the same time
        const k = below(KEYS);
        const v = 1 + below(30);
        const reads = some(4, () => read(k, [v]));
        await Promise.all([reads, write(k, v, below(3) > 0)]);
        await read(k);
      } else if (what < 12) {
        // around the end of a window
        const k = below(KEYS);
        await read(k);
        await write(k, 1 + below(30), false);
        model.now += Math.max(0, windowOf(k) - 1000 + below(3000));
        await some(3, () => read(k));
      } else if (what < 15) await write(below(KEYS), 1 + below(30), below(2) === 0);
      else if (what < 19) model.now += below(8000);
      else if (below(3) === 0) {
        cache.clear();
        for (let k = 0; k < KEYS; k++) model.forget(k);
      } else {
        const k = below(KEYS);
        const options = { tags: [`k${k}`], ...windows(k) };
        cache.invalidate(cache.keyOf(TEXT, [k], options));
        model.forget(k);
      }
      assert.ok(cache.bytes <= MAX_BYTES, `${cache.bytes} bytes`);
      if (cache.size === 0) assert.equal(cache.bytes, 0);
    }
    const { hits, misses, stale, evictions } = cache;
    for (const [name, count] of Object.entries({ ...seen, hits, misses, stale, evictions })) {
      assert.ok(
        count > 20,
        `${name}: only ${count}, of ${JSON.stringify({ ...seen, hits, misses, stale, evictions })}`
      );
    }
  });
});

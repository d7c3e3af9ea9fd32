'use strict';

// The operations of model.test.js. Each is given a client (or, where it can, what a transaction gives), random numbers
// and the model, does something, checks what comes of it, and tells the model which rows of its table must be there
// (true), must not (false), or may be (undefined).

const assert = require('node:assert/strict');
const { Writable } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const { AbortError, ConnectionError, TimeoutError, RowReader } = require('../..');
const { collector, seeded } = require('./kit');

/** @returns {string} of characters of one, two, three and four bytes, sometimes long */
function textOf(random) {
  const length = random.pick([0, 1, 3, 10, 30, 300, random.chance(0.05) ? 70000 : 5]);
  return Array.from({ length }, () => random.pick(['a', 'Z', '0', ' ', '\n', 'ß', '€', '𝄞', "'", '\\'])).join('');
}

/** A class of errors that an operation was to have; anything else is a failure. */
async function fails(promise, code) {
  let error;
  try {
    await promise;
  } catch (thrown) {
    error = thrown;
  }
  if (error instanceof ConnectionError || error?.code === '25P02') throw error; // the block has failed
  assert.ok(error, `should fail with ${code}`);
  assert.equal(error.code, code, error.stack);
  return error;
}

const INSERT = 'INSERT INTO model VALUES ($1, $2)';

/** A statement of one of many texts that gives back what it is given. */
const echo = random => `SELECT $1::text AS a, ${random.below(60)} AS b`;

const MINE = "current_setting('model.tenant', true) AS tenant";

/** Requests of a session with settings: each gives the rows that it was asked for, and of its tenant. */
const settled = {
  query: async (mine, text, values) => (await mine.query(text, values)).rows,
  limited: async (mine, text, values, random) =>
    (await mine.query(text, values, { signal: AbortSignal.timeout(random.pick([1, 10, 100000])) })).rows,
  batch: async (mine, text, values) =>
    (await mine.batch([[text, values], echo(seeded(1)).replace('$1::text', '1'), [text, values]]))[2].rows,
  async cursor(mine, text, values, random) {
    const rows = [];
    for await (const row of mine.cursor(text, values, { batchSize: 1 + random.below(40) })) rows.push(row);
    return rows;
  },
  async queryTo(mine, text, values) {
    const target = collector();
    await mine.queryTo(target, text, values, { as: 'json' });
    return JSON.parse(target.text);
  },
  async copyTo(mine, text, [count]) {
    let copied = '';
    for await (const chunk of mine.copyTo(`COPY (${text.replace('$1', count)}) TO STDOUT`)) copied += chunk;
    return copied
      .split('\n')
      .slice(0, -1)
      .map(line => ({ tenant: line.split('\t')[0] }));
  },
  transaction: (mine, text, values) =>
    mine.transaction(async tx => {
      await tx.transaction(inner => inner.query('SELECT 1'));
      const other = tx.with({ 'model.tenant': 'other' });
      const [theirs, { rows }] = await Promise.all([other, tx].map(session => session.query(text, values)));
      for (const { tenant } of theirs.rows) assert.equal(tenant, 'other');
      return rows;
    })
};

const operations = {
  async query(on, random) {
    const text = textOf(random);
    const format = random.below(2);
    const cache = random.chance(0.8);
    const value = random.chance(0.3) ? Buffer.from(text) : text;
    const {
      rows: [row],
      cmd,
      rowCount
    } = await on.query(echo(random), [value], format, cache);
    assert.equal(String(row.a), text);
    assert.deepEqual([cmd, rowCount], ['SELECT', 1]);
  },

  async insert(on, random, model) {
    const id = model.id();
    model.set(id, undefined);
    const inserted = await on.query(INSERT, [id, textOf(random)]).then(
      () => true,
      error => {
        if (error instanceof ConnectionError) throw error;
        model.set(id, false);
        throw error;
      }
    );
    model.set(id, inserted);
  },

  async rows(on, random) {
    const count = random.pick([0, 1, 50, 3000]);
    const { rows } = await on.query('SELECT i, repeat($2, i % 50) AS s FROM generate_series(1, $1::int) i', [
      count,
      'x'
    ]);
    assert.equal(rows.length, count);
    rows.forEach((row, index) => {
      assert.equal(row.i, index + 1);
      assert.equal(row.s.length, (index + 1) % 50);
    });
  },

  async batch(on, random, model) {
    const ids = Array.from({ length: 1 + random.below(8) }, () => model.id());
    for (const id of ids) model.set(id, undefined);
    const queries = ids.map(id => [INSERT, [id, textOf(random)]]);
    queries.push([echo(random), ['x']]);
    const bad = random.chance(0.3);
    const index = random.below(queries.length + 1);
    if (bad)
      queries.splice(
        index,
        0,
        random.pick([
          ['SELECT 1 / $1::int', [0]],
          ['SELECT wrong', []],
          [INSERT, [ids[0]]]
        ])
      );
    if (!bad) {
      const results = await on.batch(queries);
      assert.equal(results.at(-1).rows[0].a, 'x');
      for (const id of ids) model.set(id, true);
      return;
    }
    const error = await on.batch(queries).then(
      () => assert.fail('should fail'),
      thrown => thrown
    );
    // The block has failed; or a statement was lost with a DISCARD ALL, which the round knows.
    if (error instanceof ConnectionError || ['25P02', '26000'].includes(error.code)) throw error;
    assert.ok(['22012', '42703', '08P01'].includes(error.code), error.stack);
    assert.equal(error.index, index);
    for (const id of ids) model.set(id, false);
    if (on._depth !== undefined) throw error; // the block has failed
  },

  async cursor(on, random) {
    const count = random.below(300);
    const stop = random.chance(0.4) ? random.below(300) : Infinity;
    const oops = random.chance(0.3);
    let seen = 0;
    try {
      for await (const row of on.cursor('SELECT i FROM generate_series(1, $1::int) i', [count], {
        batchSize: 1 + random.below(100)
      })) {
        assert.equal(Number(row.i), ++seen);
        if (seen > stop) {
          if (oops) throw new Error('oops');
          break;
        }
        if (random.chance(0.01)) await sleep(1);
      }
    } catch (error) {
      if (error.message !== 'oops') throw error;
    }
    assert.equal(seen, Math.min(count, stop + 1));
  },

  async simpleQuery(on, random, model) {
    const [a, b] = [model.id(), model.id()];
    model.set(a, undefined);
    const text = `SELECT 1 AS one; INSERT INTO model VALUES (${a}, 'a'); `;
    if (on._depth === undefined && random.chance(0.4)) {
      await fails(on.simpleQuery(`${text} SELECT 1 / 0; INSERT INTO model VALUES (${b}, 'b')`), '22012');
      model.set(a, false);
      return model.set(b, false);
    }
    const [one, insert, empty] = await on.simpleQuery(`${text} SELECT 1 WHERE false`);
    assert.equal(one.rows[0].one, 1);
    assert.deepEqual([insert.cmd, insert.rowCount, empty.rows.length], ['INSERT', 1, 0]);
    model.set(a, true);
  },

  async 'COPY TO'(on, random) {
    const count = random.below(2000);
    const { rows, rowCount } = await on.query(
      `COPY (SELECT i, repeat('y', 20) FROM generate_series(1, ${count}) i) TO STDOUT`
    );
    assert.equal(rowCount, count);
    assert.equal(rows.length, count);
    if (count > 0) assert.equal(String(rows.at(-1)), `${count}\t${'y'.repeat(20)}\n`);
  },

  async aborted(on, random, model) {
    const abort = new AbortController();
    const id = model.id();
    model.set(id, undefined);
    const slow = random.chance(0.5);
    const text = slow
      ? 'WITH x AS (INSERT INTO model VALUES ($1, $2) RETURNING id) SELECT id, pg_sleep(0.02) FROM x'
      : `${INSERT} RETURNING id`;
    const promise = on.query(text, [id, 'x'], { signal: abort.signal });
    const timer = setTimeout(() => abort.abort(), random.below(30));
    try {
      const {
        rows: [row]
      } = await promise;
      assert.equal(Number(row.id), id);
      model.set(id, true);
    } catch (error) {
      if (!(error instanceof AbortError)) throw error;
    } finally {
      clearTimeout(timer);
    }
  },

  async 'no settings'(on) {
    const {
      rows: [row]
    } = await on.query(`SELECT ${MINE}`);
    assert.equal(row.tenant || '', '', 'settings of another request');
  },

  async statement_timeout(on) {
    const error = await fails(on.query('SELECT pg_sleep(0.5)', [], { statement_timeout: 5 }), '57014'); // a busy process may stand still for long
    assert.ok(error instanceof TimeoutError);
    if (on._depth !== undefined) throw error;
  },

  async 'pass-through'(on, random) {
    const count = random.below(3000);
    let length = 0;
    const stream = new Writable({
      highWaterMark: 1 + random.below(100000),
      write(chunk, encoding, callback) {
        length += chunk.length;
        if (random.chance(0.5)) setImmediate(callback);
        else callback();
      }
    });
    const { bytes } = await on.queryTo(stream, "SELECT repeat('z', 100) FROM generate_series(1, $1::int)", [count], {
      as: 'values'
    });
    assert.deepEqual([bytes, length], [100 * count, 100 * count]);
  }
};

/** Operations that only a connection has, not a transaction. */
const onConnection = {
  async 'COPY FROM'(on, random, model) {
    const ids = Array.from({ length: random.below(50) }, () => model.id());
    for (const id of ids) model.set(id, undefined);
    const how = random.pick(['done', 'done', 'fail', 'bad']);
    await on.query('COPY model FROM STDIN');
    for (const id of ids) {
      on.copyData(`${id}\tcopied\n`);
      if (random.chance(0.02)) await sleep(1);
    }
    if (how === 'bad') on.copyData('not a number\tx\n');
    if (how === 'fail') await on.copyFail('reason');
    else if (how === 'bad') await fails(on.copyDone(), '22P02');
    else assert.equal((await on.copyDone()).rowCount, ids.length);
    for (const id of ids) model.set(id, how === 'done');
  },

  async failing(on, random) {
    const [text, values, code] = random.pick([
      ['SELECT 1 / $1::int', [0], '22012'],
      ['SELEC', [], '42601'],
      ['SELECT $1::int', ['x'], '22P02'],
      ['INSERT INTO model VALUES (0, $1)', ['zero'], '23505'],
      ['SELECT $1::int', [], '08P01'],
      ['SELECT missing FROM model', [], '42703']
    ]);
    await fails(on.query(text, values), code);
  },

  async wrong(on) {
    await fails(on.query('SELECT $1', [new Map()]), undefined);
    await fails(on.query('SELECT $1', ['\0']), '22021');
  },

  async transaction(on, random, model) {
    await inside(on, random, model, 0);
  },

  async 'BEGIN and COMMIT'(on, random, model) {
    const ids = [model.id(), model.id()];
    for (const id of ids) model.set(id, undefined);
    const end = random.pick(['COMMIT', 'ROLLBACK']);
    const promises = ['BEGIN', ...ids, end].map(each =>
      typeof each === 'string' ? on.query(each) : on.query(INSERT, [each, 'block'])
    );
    const results = await Promise.allSettled(promises);
    const failed = results.find(({ reason }) => reason);
    // DISCARD ALL by a simple query before it makes the server forget a statement: the block fails then.
    if (failed && !['26000', '25P02'].includes(failed.reason.code)) throw failed.reason;
    for (const id of ids) model.set(id, failed === undefined && end === 'COMMIT');
  },

  async startQuery(on, random) {
    if (on.starting) return; // one at a time
    on.starting = true;
    try {
      await fetchAll(on, random);
    } finally {
      on.starting = false;
    }
  },

  async 'DISCARD ALL'(on, random) {
    const text = random.pick(['DISCARD ALL', 'DEALLOCATE ALL', '/* all */ deallocate prepare all']);
    if (random.chance(0.5)) await on.simpleQuery(text);
    else await on.query(text);
  },

  async DDL(on, random) {
    const alter = on.query(
      random.pick([
        'ALTER TABLE changing ADD COLUMN IF NOT EXISTS b int',
        'ALTER TABLE changing DROP COLUMN IF EXISTS b'
      ])
    );
    const selects = [1, 2, 3].map(() => on.query('SELECT * FROM changing'));
    const [, ...results] = await Promise.all([alter, ...selects]);
    for (const {
      rows: [row]
    } of results)
      assert.equal(row.a, 1);
  },

  async settings(on, random) {
    const tenant = String(random.below(1000));
    const isWrong = random.chance(0.2);
    const mine = on.with({ 'model.tenant': tenant, ...(isWrong && { work_mem: 'wrong' }) });
    const count = random.pick([1, 5, 100]);
    const text = `SELECT ${MINE}, ${random.below(20)} AS n FROM generate_series(1, $1::int)`;
    try {
      const rows = await settled[random.pick(Object.keys(settled))](mine, text, [count], random);
      assert.ok(!isWrong, 'should fail');
      assert.deepEqual(
        rows.map(row => row.tenant),
        Array.from({ length: count }, () => tenant)
      );
    } catch (error) {
      // 25001: a query has begun a block.
      if (!(isWrong && error.code === '22023') && error.code !== '25001' && !(error instanceof AbortError)) throw error;
    }
  },

  async 'COPY FROM with settings'(on, random, model) {
    const ids = Array.from({ length: 1 + random.below(50) }, () => model.id());
    for (const id of ids) model.set(id, undefined);
    const tenant = `tenant ${random.below(1000)}`;
    const isWrong = random.chance(0.2);
    const copy = on
      .with({ 'model.tenant': tenant, ...(isWrong && { work_mem: 'wrong' }) })
      .copyFrom('COPY model (id) FROM STDIN');
    const copied = await pipeline([ids.map(id => `${id}\n`).join('')], copy).then(
      () => true,
      error => {
        if (!(isWrong && error.code === '22023') && error.code !== '25001') throw error;
        return false;
      }
    );
    assert.ok(!(copied && isWrong), 'should fail');
    const { rows } = await on.query('SELECT v FROM model WHERE id = ANY($1)', [`{${ids}}`]);
    assert.deepEqual(
      rows.map(({ v }) => v),
      copied ? ids.map(() => tenant) : []
    );
    for (const id of ids) model.set(id, copied);
  },

  async sync(on) {
    if (!on.inQuery) await on.sync();
  },
  async close(on, random) {
    await on.close('S', `none${random.below(10)}`);
  }
};

/** Rows of a portal, some at a time, to the end or not. */
async function fetchAll(on, random) {
  const count = random.below(200);
  let seen = 0;
  on.startQuery('SELECT i FROM generate_series(1, $1::int) i', [count]);
  while (on.inQuery) {
    const { rows } = await on.getResults(1 + random.below(80), new RowReader());
    for (const row of rows) assert.equal(Number(row.i), ++seen);
    if (random.chance(0.2)) {
      await on.sync();
      assert.equal(on.inQuery, false);
      return;
    }
  }
  assert.equal(seen, count);
}

/** A transaction, or a savepoint, in which things happen; the model is told when it is over. */
async function inside(on, random, model, depth) {
  const block = model.block();
  const rollback = random.chance(0.25);
  const quiet = random.chance(0.1); // an error that the function keeps to itself
  let failed = false;
  try {
    await on.transaction(
      async tx => {
        for (let i = random.below(4); i >= 0; i--) {
          const run = random.pick([...Object.values(operations), ...(depth < 2 ? [inside, inside] : [])]);
          const together = random.chance(0.3) ? [random.fork(), random.fork()] : [random.fork()];
          const results = await Promise.allSettled(together.map(each => run(tx, each, block, depth + 1)));
          const bad = results.find(({ reason }) => reason);
          if (bad && bad.reason instanceof assert.AssertionError) throw bad.reason;
          if (bad) throw bad.reason;
        }
        if (quiet)
          await tx.query('SELECT 1 / 0').catch(error => {
            if (error instanceof ConnectionError) throw error;
          });
        if (rollback) throw new Error('roll back');
      },
      depth === 0 && random.chance(0.3) ? { isolation: 'serializable' } : undefined
    );
    assert.ok(!rollback && !quiet, 'should not have been committed');
  } catch (error) {
    if (error instanceof assert.AssertionError || error instanceof ConnectionError) throw error;
    failed = true;
    // What may go wrong: it was asked for, a query was cancelled, or the block has failed of one that was.
    const known =
      error.message === 'roll back' ||
      error instanceof AbortError ||
      ['25P02', '57014', '22012', '42703', '08P01', '26000', '22P02', '40001'].includes(error.code);
    if (!known) throw error;
  }
  block.end(!failed);
}

/** What rows there must be; in a block, when it has been committed. */
class Model {
  /**
   * @param {Model} [outer] of the block's outside
   * @param {string} [name] of who says so
   */
  constructor(outer, name = outer?.name) {
    this.outer = outer;
    this.name = name;
    this.rows = new Map();
    /** Operations of this round that are not settled, by number. */
    this.unsettled = new Map();
    this.last = 0;
  }

  /** @returns {number} of a new row */
  id() {
    return this.outer ? this.outer.id() : ++this.last;
  }

  /** @param {boolean|undefined} there undefined: it may be */
  set(id, there, name = this.name) {
    this.rows.set(id, { there, name });
    if (this.outer) this.outer.set(id, undefined, name);
  }

  block() {
    return new Model(this);
  }

  /** The same, for who is called so. */
  named(name) {
    return { id: () => this.id(), set: (id, there) => this.set(id, there, name), block: () => new Model(this, name) };
  }

  /** The block is over. */
  end(committed) {
    for (const [id, { there, name }] of this.rows) this.outer.set(id, committed ? there : false, name);
  }
}

module.exports = { Model, textOf, operations: { ...operations, ...onConnection } };

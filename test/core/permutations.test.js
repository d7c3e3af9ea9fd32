'use strict';

const assert = require('node:assert/strict');
const { PassThrough } = require('node:stream');
const { pipeline } = require('node:stream/promises');
const { connected, held, proxied, sharedServer } = require('../support');
const { hasAsyncStacks, until } = require('../support/kit');
const { orders } = require('../support/permutations');

/*
 * One connection has several users: a query that waits for a lock and is ended early, one that waits for another lock, a plain query, and a
 * transaction. Their steps come in every order. A model of the line says what each must come to.
 */

const values = ({ rows }) => rows.map(row => row.toArray().at(-1));
const copied = call => `SELECT 7 FROM (SELECT ${call} OFFSET 0) AS locked`;

/** What fails by this, and stores nothing. */
const expecting = (code, work) =>
  work().then(
    () => assert.fail(`it has not failed by ${code}`),
    error => {
      if (error.code !== code) throw error;
      return [7];
    }
  );

/** Every kind of request that can be ended early. `call` waits for the lock; each inserts its row only if it is not ended. */
const KINDS = {
  query: ({ client, call, limits }) => client.query(`SELECT ${call}, 7`, [], limits).then(values),
  'uncached query': ({ client, call, limits }) =>
    client.query(`SELECT ${call}, 7`, [], { ...limits, cache: false }).then(values),
  batch: ({ client, call, limits, insert }) =>
    client.batch([insert, `SELECT ${call}, 7`], limits).then(results => values(results[1])),
  simpleQuery: ({ client, call, limits, insert }) =>
    client.simpleQuery(`${insert}; SELECT ${call}, 7`, limits).then(results => values(results[1])),
  'query in a transaction': ({ client, call, limits, insert }) =>
    client.transaction(async tx => {
      await tx.query(insert);
      return values(await tx.query(`SELECT ${call}, 7`, [], limits));
    }, limits),
  'last query of a transaction': ({ client, call, limits, insert }) =>
    client.transaction(async tx => {
      await tx.query(insert);
      return values(await tx.commit(`SELECT ${call}, 7`, [], limits));
    }, limits),
  'only query of a transaction': ({ client, call, limits, table, id }) =>
    client.transaction(async tx => {
      const insert = `INSERT INTO ${table} SELECT ${id} FROM (SELECT ${call}) AS lock RETURNING 7`;
      return values(await tx.commit(insert, [], limits));
    }, limits),
  'failing last query of a transaction': ({ client, call, limits, insert }) =>
    expecting('22012', async () =>
      client.transaction(async tx => {
        await tx.query(insert);
        await tx.commit(`SELECT locked, 1 / n FROM (SELECT ${call} AS locked, 0 AS n OFFSET 0) AS s`, [], limits);
      }, limits)
    ),
  'last query of a transaction with a deferred constraint': ({ client, call, limits, insert, table }) =>
    expecting('23505', async () =>
      client.transaction(async tx => {
        await tx.query(insert);
        const twice = `SELECT 1 FROM (SELECT ${call} OFFSET 0) AS lock, generate_series(1, 2)`;
        await tx.commit(`INSERT INTO ${table}_later ${twice}`, [], limits);
      }, limits)
    ),
  cursor: async ({ client, call, limits }) => {
    const all = [];
    for await (const row of client.cursor(`SELECT ${call}, 7`, [], limits)) all.push(row.toArray().at(-1));
    return all;
  },
  queryTo: async ({ client, call, limits }) => {
    const { rowCount } = await client.queryTo(new PassThrough().resume(), `SELECT ${call}`, [], limits);
    return [rowCount * 7];
  },
  'pass-through': async ({ client, call, limits }) => {
    await client.query(`SELECT ${call}`, [], { ...limits, stream: new PassThrough().resume() });
    return [7];
  },
  'COPY TO STDOUT': async ({ client, call, limits }) => {
    const { rows } = await client.query(`COPY (${copied(call)}) TO STDOUT`, [], limits);
    return [Number(rows[0])];
  },
  copyTo: async ({ client, call, limits }) => {
    let text = '';
    for await (const piece of client.copyTo(`COPY (${copied(call)}) TO STDOUT`, limits)) text += piece;
    return [Number(text)];
  },
  'COPY FROM STDIN': async ({ client, call, limits, table, id }) => {
    await client.query(`COPY ${table} FROM STDIN WHERE ${call} IS NOT NULL`, [], limits);
    client.copyData(`${id}\n`);
    await client.copyDone();
    return [7];
  },
  copyFrom: async ({ client, call, limits, table, id }) => {
    const copy = client.copyFrom(`COPY ${table} FROM STDIN WHERE ${call} IS NOT NULL`, limits);
    await pipeline([`${id}\n`], copy);
    return [7];
  }
};

/** Kinds that insert their row. */
const INSERT = [
  'batch',
  'simpleQuery',
  'query in a transaction',
  'last query of a transaction',
  'only query of a transaction',
  'COPY FROM STDIN',
  'copyFrom'
];
/** Kinds that own the connection: nothing is sent behind them. */
const OWNERS = [
  'query in a transaction',
  'last query of a transaction',
  'only query of a transaction',
  'failing last query of a transaction',
  'last query of a transaction with a deferred constraint',
  'cursor',
  'COPY FROM STDIN',
  'copyFrom'
];
/** What an abort is told of. */
const REASON = new Error('reason');

let ids = 0;

/** The users of a connection, and what has come of them so far. */
class Line {
  constructor({ client, lock, other, observer, table, lose }, kind, pace) {
    Object.assign(this, { client, lock, other, observer, table, lose, kind, pace });
    this.id = ++ids;
    this.controller = new AbortController();
    this.promises = {};
    this.came = {};
    this.commit = new Promise(resolve => {
      this.open = resolve;
    });
    /** The model: who is in the line, in its order; what each must come to, of which a list has alternatives. */
    this.waiting = [];
    this.expected = {};
    this.is = { released: false, freed: false, lost: false, committed: false, cancelled: false };
  }

  ask(who, work) {
    const promise = (async () => await work())(); // so that a stack can show it
    this.promises[who] = promise.then(
      value => (this.came[who] = value),
      error => {
        this.came[who] = error.name;
        if (error.name !== 'AbortError') return;
        assert.deepEqual([error.code, error.cause], ['ABORT_ERR', REASON], this.order);
        if (hasAsyncStacks && !/^copy/.test(this.kind))
          assert.match(error.stack, /at .*permutations\.test\.js/, this.order);
      }
    );
    this.promises[who].catch(() => {});
    if (this.is.lost) this.expected[who] ??= 'ConnectionError';
    else if (this.expected[who] === undefined) this.waiting.push(who);
  }

  /** What the model says that happens by itself. */
  advance() {
    for (let who; (who = this.waiting[0]) !== undefined; this.waiting.shift()) {
      if ((who === 'slow' && !this.is.released) || (who === 'locked' && !this.is.freed)) return;
      if (who === 'transaction' && !this.is.committed) return;
      this.expected[who] ??= { slow: [7], locked: [8], plain: [2], transaction: 'done' }[who];
    }
  }

  steps = {
    ask: () => {
      const { client, table, id } = this;
      const limits = { signal: this.controller.signal };
      const insert = `INSERT INTO ${table} VALUES (${id})`;
      this.ask('slow', () => KINDS[this.kind]({ client, call: this.lock.call, limits, insert, table, id }));
    },
    wait: () => this.ask('locked', () => this.client.query(`SELECT ${this.other.call}, 8`).then(values)),
    free: async () => {
      this.is.freed = true;
      await this.other.release();
    },
    plain: () => this.ask('plain', () => this.client.query('SELECT 2').then(values)),
    begin: () =>
      this.ask('transaction', () =>
        this.client.transaction(async tx => {
          await tx.query(`INSERT INTO ${this.table} VALUES (${-this.id})`);
          await this.commit;
          return 'done';
        })
      ),
    commit: () => {
      this.is.committed = true;
      this.open();
    },
    release: async () => {
      this.is.released = true;
      await this.lock.release();
    },
    abort: () => {
      const at = this.waiting.indexOf('slow');
      if (this.expected.slow === undefined) {
        // If the lock was released before in the same moment, either may come first.
        const either = this.pace === 'at once' && this.is.released && at >= 0;
        this.expected.slow = either ? [[7], 'AbortError'] : 'AbortError';
      }
      // If nothing was sent behind it, it is cancelled. Else its answer comes when the lock is released, and is dropped.
      const isCancelled = at >= 0 && (at === this.waiting.length - 1 || OWNERS.includes(this.kind));
      if (isCancelled) this.waiting.splice(at, 1);
      this.is.cancelled = this.pace === 'apart' && isCancelled && !this.is.released;
      this.controller.abort(REASON);
    },
    lose: async () => {
      this.is.lost = true;
      for (const who of this.waiting) this.expected[who] ??= 'ConnectionError';
      this.waiting = [];
      await this.lose();
    }
  };

  /** Waits until the server and the promises are where the model is. */
  async quiet() {
    const told = Object.keys(this.expected).filter(who => this.promises[who] !== undefined);
    for (const who of told) await until(() => who in this.came, `the answer to ${who}, of ${this.order}`);
    if (this.is.lost) return;
    const isRunning = ['slow', 'locked'].includes(this.waiting[0]);
    if (!isRunning && !this.is.cancelled) return;
    // Its data may be with the server: the lock is not released before the answer to the cancel.
    if (!isRunning) await until(() => this.client.pending <= this.waiting.length, `the cancel, of ${this.order}`);
    const text = 'SELECT wait_event_type AS event FROM pg_stat_get_activity($1)';
    const isWaiting = async () => (await this.observer.query(text, [this.client.processId])).rows[0].event === 'Lock';
    await until(
      async () => (await isWaiting()) === isRunning,
      `${isRunning ? 'a' : 'the end of the'} wait for the lock, of ${this.order}`
    );
  }

  async run(order) {
    this.order = `${this.kind}, ${this.pace}: ${order.join(', ')}`;
    for (const step of order) {
      await this.steps[step]();
      if (this.pace === 'apart') {
        this.advance();
        await this.quiet();
      }
    }
    this.advance();
    assert.deepEqual(this.waiting, [], this.order);
    for (const [who, promise] of Object.entries(this.promises)) {
      await until(() => who in this.came, `the answer to ${who}, of ${this.order}`);
      await promise;
      const { [who]: expected } = this.expected;
      const isOne =
        Array.isArray(expected) &&
        expected.length > 1 &&
        expected.some(each => String(each) === String(this.came[who]));
      if (!isOne) assert.deepEqual(this.came[who], expected, `${who}, of ${this.order}`);
    }
    await this.check();
  }

  /** What is stored is what was said, and the connection is as new. */
  async check() {
    if (this.is.lost) await this.client.connect();
    await this.client.sync();
    assert.deepEqual((await this.client.query('SELECT 3')).rows[0][0], 3, this.order);
    assert.equal(this.client.pending, 0, this.order);
    const stored = values(
      await this.observer.query(`SELECT n FROM ${this.table} WHERE abs(n) = $1 ORDER BY n`, [this.id])
    );
    const expected = [];
    if (this.came.transaction === 'done') expected.push(-this.id);
    const isStored =
      String(this.came.slow) === '7' ||
      (this.came.slow === 'AbortError' && !this.is.cancelled && stored.includes(this.id));
    if (INSERT.includes(this.kind) && isStored) expected.push(this.id);
    assert.deepEqual(stored, expected, `stored by ${this.order}`);
  }
}

/** One of so many orders; with PERMUTATIONS=all every one. */
const some = (all, each) => [...all].filter((_, i) => i % each === 0 || process.env.PERMUTATIONS === 'all');

describe('The users of a connection, in every order of their steps', () => {
  const table = 'permuted';
  before(async () => {
    const server = await sharedServer();
    await server.sql(`CREATE TABLE IF NOT EXISTS ${table} (n int)`);
    await server.sql(`CREATE TABLE IF NOT EXISTS ${table}_later (n int UNIQUE DEFERRABLE INITIALLY DEFERRED)`);
  });

  for (const kind of Object.keys(KINDS)) {
    for (const pace of ['at once', 'apart']) {
      it(`come to what each must: a ${kind} is aborted, ${pace}`, async () => {
        const [client, observer] = [await connected(), await connected()];
        const [lock, other] = [await held(), await held()];
        // Not all at once, which are thousands of orders.
        for (const [each, lists] of [
          [1, [['ask', 'abort'], ['plain'], ['release']]],
          [6, [['ask', 'abort'], ['begin', 'commit'], ['release']]],
          [1, [['wait', 'ask', 'abort', 'free', 'release'], ['plain']]],
          [
            1,
            [
              ['ask', 'abort'],
              ['release', 'wait', 'free']
            ]
          ],
          [2, [['abort', 'ask'], ['plain'], ['release']]]
        ]) {
          for (const order of some(orders(lists), each)) {
            await new Line({ client, lock, other, observer, table }, kind, pace).run(order);
            await lock.hold();
            if (order.includes('free')) await other.hold();
          }
        }
      });
    }

    it(`come to what each must: a ${kind} loses its connection`, async () => {
      const { client, proxy } = await proxied();
      const observer = await connected();
      const lock = await held();
      const lose = () => {
        const { closed } = client;
        proxy.reset();
        return closed.catch(() => {});
      };
      client.on('error', () => {});
      for (const order of some(orders([['ask'], ['begin', 'commit'], ['plain'], ['lose']]), 12))
        await new Line({ client, lock, observer, table, lose }, kind, 'apart').run(order);
    });
  }
});

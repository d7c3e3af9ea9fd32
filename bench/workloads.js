'use strict';

// What is measured. A workload has
//   title       of its table
//   links       where it is measured unless --only says otherwise: unix, tcp, tls, link (a slow one)
//   operations  what one turn counts for: a number, or 'rows' or 'pending' of the context
//   turn        one turn; it throws where the result is not what it must be
// and, where it is not a matter of course,
//   once        the turn is done once and not repeated
//   own         the turn opens its connections itself
//   processes, connections   how many there are of each
//   pool        the session is a pool with its defaults
//   warmup      seconds at least that do not count, where half a second makes too few calls to be compiled
//   kept        what memory is: after a garbage collection, what the result holds
//   aims        for what our CPU per operation is divided by that of the client: at most so much
//
// `session` is a client's, see clients/README.md. `context` has ids, rows, pending, target, adapter.

const { setTimeout: sleep } = require('node:timers/promises');
const { STATEMENTS: S, OWNERS } = require('./database');
const { nullFile, nullWritable, copyChunks, copyLines } = require('./streams');

const IN_FLIGHT = 1000;
const BATCH = 100;
const HUNDREDS = 100;
const SESSIONS = 200; // in flight on each connection
const CURSOR = 1000;
const TRANSACTIONS = 20; // in flight

/** @throws {Error} unless both are the same */
function expect(actual, expected, what) {
  if (actual !== expected) throw new Error(`${what}: ${actual}, not ${expected}`);
}

/** Sends one query for each list of values, without waiting in between, and waits for all. */
function burst(session, statement, lists) {
  if (session.burst) return session.burst(statement, lists);
  return Promise.all(lists.map(values => session.query(statement, values)));
}

const makeValues = context => (context.values ??= context.ids.map(id => [id]));

/** The first row's column, where the client has rows. */
function checkId(session, result, id) {
  if (session.rows) expect(session.rows(result)[0].id, id, 'id');
}

/** A workload that reads all rows, then does something with them. */
function readingRows(title, as, use = () => {}, more) {
  return {
    title: `{rows} ten-column rows, ${title}`,
    operations: 'rows',
    async turn(session, context) {
      const table = as === 'typed' || as === 'binary' ? 'typed' : 'rows';
      const rows = await session.read(S[this.unicode ? `${table}Unicode` : table], as);
      expect(typeof rows === 'number' ? rows : rows.length, context.rows, 'rows');
      use(rows, context);
    },
    ...more
  };
}

/** A workload that writes all rows to a stream. */
const passing = (title, writable, more) => ({
  title: `{rows} ten-column rows, passed on to ${title}`,
  operations: 'rows',
  async turn(session, context) {
    const stream = writable(context);
    await session.passTo(stream, S.rows, this.binary ? 1 : 0);
    expect(stream.bytesTaken > context.rows * 60, true, 'enough bytes');
  },
  ...more
});

/** A workload that writes short results to a stream that is there, by `method` of the session. */
const passingMany = (title, statement, inFlight, method = 'passEach') => ({
  title: `Results of ${title}, passed on to a stream that stays open`,
  links: ['unix', 'tls'],
  operations: 1000,
  async turn(session, context) {
    const values = statement === S.hundred ? Array(1000).fill([]) : makeValues(context);
    const stream = (context.stream ??= nullWritable());
    const before = stream.bytesTaken;
    for (let i = 0; i < 1000; i += inFlight) await session[method](stream, statement, values.slice(i, i + inFlight));
    expect(stream.bytesTaken - before > 60000, true, 'enough bytes');
  },
  aims: { module: inFlight === 1 ? 1 : 0.85 }
});

/** A workload that copies all rows out. */
const copying = (title, statement, more) => ({
  title: `COPY TO STDOUT of {rows} rows${title}`,
  operations: 'rows',
  async turn(session, context) {
    const sink = nullWritable();
    await (this.loop ? session.copyLoop : session.copyOut).call(session, statement, sink);
    expect(sink.bytesTaken > context.rows * 60, true, 'enough bytes');
  },
  ...more
});

module.exports = {
  'select-pipelined': {
    title: 'Point select, pipelined: 1,000 in flight, a Sync each',
    links: ['unix', 'tls', 'link'],
    operations: IN_FLIGHT,
    async turn(session, context) {
      const results = await burst(session, S.select, makeValues(context));
      checkId(session, results && results[IN_FLIGHT - 1], context.ids[IN_FLIGHT - 1]);
    },
    aims: { floor: 1.35, postgres: 0.45, 'pg-pipeline': 0.35, bun: 1 }
  },

  'select-hundred': {
    title: 'Results of 100 rows, 100 in flight, a column read',
    links: ['unix', 'tls'],
    operations: HUNDREDS,
    async turn(session) {
      const results = await burst(session, S.hundred, Array(HUNDREDS).fill([]));
      if (session.rows) expect(session.rows(results[0])[99].c1.length > 0, true, 'a value');
    },
    aims: { pg: 1, 'pg-pipeline': 1, postgres: 1, bun: 1 }
  },

  'insert-pipelined': {
    title: 'Insert, pipelined: 1,000 in flight, a Sync each',
    links: ['unix', 'tls'],
    operations: IN_FLIGHT,
    turn: (session, context) =>
      burst(session, S.insert, (context.inserts ??= context.ids.map(id => [id, 'x'.repeat(32)]))),
    aims: { pg: 1, 'pg-pipeline': 1, postgres: 1, bun: 1 }
  },

  'select-batch': {
    title: 'Point select, batches of 100 with one Sync',
    links: ['unix', 'link'],
    warmup: 4,
    operations: IN_FLIGHT,
    async turn(session, context) {
      const values = makeValues(context);
      for (let i = 0; i < IN_FLIGHT; i += BATCH) {
        const results = await session.batch(S.select, values.slice(i, i + BATCH));
        checkId(session, results && results[0], context.ids[i]);
      }
    },
    aims: { floor: 1.7 }
  },

  'select-sequential': {
    title: 'Point select, one after the other',
    links: ['unix', 'tls'],
    operations: 100,
    async turn(session, context) {
      const values = makeValues(context);
      for (let i = 0; i < 100; i++) {
        if (session.burst) await session.burst(S.select, [values[i]]);
        else checkId(session, await session.query(S.select, values[i]), context.ids[i]);
      }
    },
    aims: { 'pg-pipeline': 1, pg: 1, postgres: 1, bun: 1 }
  },

  transactions: {
    title: 'Transaction of a select and an update, 20 at a time, default pools',
    links: ['unix', 'tls'],
    operations: TRANSACTIONS,
    pool: true,
    async turn(pool, context) {
      context.turn = ((context.turn ?? -1) + 1) % (OWNERS / TRANSACTIONS);
      const ids = Array.from({ length: TRANSACTIONS }, (_, i) => String(1 + context.turn * TRANSACTIONS + i));
      await Promise.all(
        ids.map(id =>
          pool.transaction(async query => {
            const [row] = pool.rows(await query(S.owner, [id]));
            await query(S.update, [row.data.slice(1) + row.data[0], id]);
          })
        )
      );
    },
    aims: { pg: 0.95 }
  },

  sessions: {
    title: 'Session: select then update, 2 processes of 4 connections, 200 sessions in flight on each',
    links: ['unix', 'tls'],
    operations: 4 * SESSIONS,
    processes: 2,
    connections: 4,
    async turn(sessions, context) {
      const one = async (session, id) => {
        const [row] = session.rows(await session.query(S.owner, [id]));
        const data = row.data.slice(1) + row.data[0];
        await session.query(S.update, [data, String(row.id)]);
      };
      // Other sessions each turn, up to a number that the floor can make bytes for before it is measured.
      context.turn = ((context.turn || 0) + 1) % 4;
      const first = (context.process * OWNERS) / 2 + context.turn * sessions.length * SESSIONS;
      await Promise.all(
        sessions.map((session, index) => {
          const ids = Array.from({ length: SESSIONS }, (_, i) => String(1 + first + index * SESSIONS + i));
          if (session.burst) {
            return session
              .burst(
                S.owner,
                ids.map(id => [id])
              )
              .then(() =>
                session.burst(
                  S.update,
                  ids.map(id => ['0123456789abcdef'.repeat(4), id])
                )
              );
          }
          return Promise.all(ids.map(id => one(session, id)));
        })
      );
    }
  },

  'session-reads': {
    title: 'Session: two selects one after the other, 200 sessions in flight',
    links: ['unix', 'tls'],
    operations: SESSIONS,
    async turn(session, context) {
      const ids = makeValues(context).slice(0, SESSIONS);
      if (session.burst) {
        await session.burst(S.select, ids);
        return session.burst(S.select, ids);
      }
      await Promise.all(
        ids.map(async values => {
          checkId(session, await session.query(S.select, values), values[0]);
          await session.query(S.select, values);
        })
      );
    }
  },

  'rows-untouched': readingRows('untouched', 'rows', undefined, {
    links: ['unix', 'tls'],
    aims: { floor: 1.8, pg: 0.3, 'pg-pipeline': 0.3, postgres: 0.25, bun: 1 }
  }),

  'rows-iterated': readingRows('untouched, in a loop over the result', 'iterated', undefined, { aims: { floor: 1.8 } }),
  'rows-one-column': readingRows(
    'one column read',
    'rows',
    rows => {
      if (typeof rows === 'number') return;
      let length = 0;
      for (const row of rows) length += row.c5.length;
      expect(length > 0, true, 'a length');
    },
    { aims: { floor: 3, pg: 0.2 } }
  ),

  'rows-objects': readingRows(
    'as objects of strings',
    'objects',
    (rows, context) => {
      expect(rows[context.rows - 1].c10.length, 32, 'length of c10');
    },
    { aims: { pg: 0.6, 'pg-pipeline': 0.6, postgres: 0.5 } }
  ),

  'rows-objects-typed': readingRows(
    'ten types, as objects of defaults',
    'typed',
    (rows, context) => {
      expect(rows[context.rows - 1].hash.length, 32, 'length of hash');
    },
    { links: ['unix', 'tls'], aims: { pg: 0.6, 'pg-pipeline': 0.6, postgres: 0.5 } }
  ),

  'rows-arrays': readingRows('as arrays of strings', 'arrays', (rows, context) => {
    expect(rows[context.rows - 1].length, 10, 'columns');
  }),
  'rows-binary': readingRows(
    'ten types in binary format, as objects of defaults',
    'binary',
    (rows, context) => {
      expect(rows[context.rows - 1].hash.length, 32, 'length of hash');
    },
    { links: ['unix', 'tls'] }
  ),

  'rows-kept': readingRows(
    'kept, {wire} MiB on the wire; memory after a collection',
    'rows',
    (rows, context) => {
      context.kept = rows;
    },
    { once: true, kept: true }
  ),

  'pass-null': passing('a null Writable', nullWritable, { links: ['unix', 'tls'], aims: { floor: 1.5 } }),
  'pass-binary': passing('a null Writable, in binary format', nullWritable, { binary: true }),
  'pass-file': passing('a file', () => nullFile(), { links: ['unix', 'tls'] }),
  'pass-one': passingMany('one row, one after the other', S.select, 1),
  'pass-one-pipelined': passingMany('one row, 100 in flight', S.select, 100),
  'query-to-one': passingMany('one row by queryTo, one after the other', S.select, 1, 'passEachTo'),
  'query-to-one-pipelined': passingMany('one row by queryTo, 100 in flight', S.select, 100, 'passEachTo'),
  'pass-hundred': passingMany('100 rows, one after the other', S.hundred, 1),
  'pass-hundred-pipelined': passingMany('100 rows, 100 in flight', S.hundred, 100),

  'copy-out': copying('', S.copyOut, { links: ['unix', 'tls'], aims: { floor: 1.8, pg: 1 } }),
  'copy-out-csv': copying(' as CSV', S.copyOutCsv),
  'copy-out-binary': copying(' in binary format', S.copyOutBinary),
  'copy-out-iterated': copying(', in a loop', S.copyOut, { loop: true, aims: { floor: 1.8 } }),

  'copy-in': {
    title: 'COPY FROM STDIN of {rows} rows, written as a file is read',
    links: ['unix', 'tls'],
    operations: 'rows',
    warmup: 2,
    async turn(session, context) {
      const chunks = context.chunks || (context.chunks = copyChunks(context.rows));
      await session.copyIn(S.copyIn, chunks);
    },
    aims: { floor: 1.25, pg: 0.5 }
  },

  'copy-in-rows': {
    title: 'COPY FROM STDIN of {rows} rows, each written by itself',
    operations: 'rows',
    async turn(session, context) {
      const lines = context.lines || (context.lines = copyLines(context.rows));
      await session.copyIn(S.copyIn, lines);
    },
    aims: { floor: 1.25, pg: 0.5 }
  },

  cursor: {
    title: '{rows} ten-column rows, 1,000 at a time (cursor)',
    links: ['unix', 'tls'],
    operations: 'rows',
    async turn(session, context) {
      let count = 0;
      await session.cursor(S.rows, CURSOR, rows => {
        count += rows;
      });
      expect(count, context.rows, 'rows');
    }
  },

  'early-exit': {
    title: 'A loop over {rows} rows that ends at the first',
    links: ['unix', 'tls'],
    operations: 1,
    turn: session => session.firstOf(S.rows, 100)
  },

  cancel: {
    title: 'A query that is cancelled while it runs',
    links: ['unix', 'tls'],
    operations: 1,
    async turn(session) {
      const { ended, cancel } = session.running('SELECT pg_sleep(10)');
      const failed = ended.then(
        () => false,
        () => true
      );
      await sleep(2); // the server ignores what comes before the query has begun
      await cancel();
      expect(await failed, true, 'cancelled');
    }
  },

  connect: {
    title: 'Connect, select one row, close',
    links: ['unix', 'tls', 'link'],
    operations: 1,
    own: true,
    warmup: 4,
    async turn(adapter, context) {
      const id = await adapter.firstRow(context.target, S.select, [context.ids[0]]);
      if (id !== undefined) expect(id, context.ids[0], 'id');
    }
  },

  pending: {
    title: '{pending} point selects pending at once',
    operations: 'pending',
    once: true,
    async turn(session, context) {
      const values = makeValues(context);
      if (session.repeat) return session.repeat(S.select, values, context.pending);
      let open = context.pending;
      await new Promise((resolve, reject) => {
        const done = () => {
          if (--open === 0) resolve();
        };
        for (let i = 0; i < context.pending; i++) {
          session.query(S.select, values[i % IN_FLIGHT]).then(done, reject);
        }
      });
    },
    aims: { postgres: 0.5 }
  },

  require: {
    title: 'Loading the library',
    operations: 1,
    once: true,
    own: true,
    cold: true,
    turn: adapter => adapter.load()
  }
};

// Those that make strings of all columns: the others read no name.
for (const name of ['rows-objects', 'rows-objects-typed']) {
  const workload = module.exports[name];
  module.exports[`${name}-unicode`] = {
    ...workload,
    title: `${workload.title}, with an umlaut in each row`,
    links: ['unix'],
    unicode: true
  };
}

for (const workload of Object.values(module.exports)) workload.links = workload.links || ['unix'];

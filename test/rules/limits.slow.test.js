'use strict';

// A program that is busy finds its timers due before its sockets are read. What has arrived by then counts.

const assert = require('node:assert/strict');
const { Client } = require('../..');
const pg = require('../../lib/pg');
const { Pool } = require('../../lib/pool');
const { sharedServer } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');
const { collector } = require('../support/kit');
const { SESSIONS, table } = require('./kit');

/** Milliseconds of a limit, which the program is busy for longer than, while the answer arrives. */
let limit;

const ANSWERED = 'SELECT 1 AS one FROM pg_sleep(0.02)';

function work() {
  for (const end = performance.now() + 2.3 * limit; performance.now() < end;);
}

/** When the program is busy: from where it works. */
const TIMES = {
  'an immediate': () => void setImmediate(work),
  'a timer': () => void setTimeout(work, 1),
  'the same tick': () => process.nextTick(work)
};

/** Where a server is too slow for the first limit, the second one counts. Code that counts the busy time fails by each. */
async function byEither(first, second, test) {
  try {
    limit = first;
    await test();
  } catch {
    limit = second;
    await test();
  }
}

const config = async more => ({ ...(await sharedServer()).config, ...more });
const pool = async (options, more) => endAfterTest(new Pool(await config(more), options));

async function pgClient(more) {
  const client = new pg.Client(await config(more));
  afterTest(() => client.end());
  return client;
}

async function pgPool(more) {
  const made = new pg.Pool(await config(more));
  afterTest(() => made.end());
  return made;
}

/** A query of a pool of quickgres/pg, once what its connection is prepared by has begun. */
async function preparing(options) {
  let begun;
  const preparation = new Promise(resolve => {
    begun = resolve;
  });
  const it = await pgPool({ connectionTimeoutMillis: limit, ...options(() => begun()) });
  const asked = it.query(ANSWERED);
  await preparation;
  return { asked };
}

const statement = () => ({ statement_timeout: limit });

/** What waits for the only connection of a pool. */
async function behind(transaction, asked) {
  const [, result] = await Promise.all([transaction, asked]);
  return result;
}

/** Each begins something with a limit, and resolves to what it waits for: `{ asked }`, a promise of its result. */
const BEGINNINGS = {
  async connect_timeout() {
    const client = endAfterTest(new Client(await config({ connect_timeout: limit / 1000 })));
    return { asked: client.connect().then(() => client.query(ANSWERED)) };
  },
  async 'statement_timeout of a client'() {
    const client = endAfterTest(new Client(await config()));
    await client.connect();
    return { asked: client.query(ANSWERED, [], statement()) };
  },
  async 'statement_timeout of a transaction'() {
    const client = endAfterTest(new Client(await config()));
    await client.connect();
    return { asked: client.transaction(tx => tx.query(ANSWERED), statement()) };
  },
  async 'statement_timeout of a pool'() {
    const it = await pool();
    await it.query('SELECT 1');
    return { asked: it.query(ANSWERED, [], statement()) };
  },
  async 'statement_timeout while a pool connects'() {
    return { asked: (await pool()).query(ANSWERED, [], statement()) };
  },
  async 'statement_timeout while the only connection is in use'() {
    const it = await pool({ size: 1 });
    await it.query('SELECT 1');
    return {
      asked: behind(
        it.transaction(tx => tx.query(ANSWERED)),
        it.query(ANSWERED, [], statement())
      )
    };
  },
  async 'acquire_timeout while a pool connects'() {
    return { asked: (await pool({ acquire_timeout: limit })).query(ANSWERED) };
  },
  async 'acquire_timeout while the only connection is in use'() {
    const it = await pool({ acquire_timeout: limit, size: 1 });
    await it.query('SELECT 1');
    return {
      asked: behind(
        it.transaction(tx => tx.query(ANSWERED)),
        it.query(ANSWERED)
      )
    };
  },
  async 'acquire_timeout of an owner'() {
    const it = await pool({ acquire_timeout: limit, size: 1 });
    await it.query('SELECT 1');
    return {
      asked: behind(
        it.transaction(tx => tx.query(ANSWERED)),
        it.transaction(tx => tx.query(ANSWERED))
      )
    };
  },
  async 'query_timeout of a client of quickgres/pg'() {
    const client = await pgClient({ query_timeout: limit });
    await client.connect();
    return { asked: client.query(ANSWERED) };
  },
  async 'query_timeout of a Submittable of quickgres/pg'() {
    const client = await pgClient({ query_timeout: limit });
    await client.connect();
    const query = new pg.Query(ANSWERED);
    const asked = new Promise((resolve, reject) => {
      query.on('error', reject);
      query.on('end', resolve);
    });
    client.query(query);
    return { asked };
  },
  async 'query_timeout of a Submittable of another package'() {
    const client = await pgClient({ query_timeout: limit });
    await client.connect();
    const asked = new Promise((resolve, reject) => {
      client.query({
        submit(connection) {
          connection.parse({ text: ANSWERED });
          connection.bind({});
          connection.describe();
          connection.execute({});
          connection.sync();
        },
        handleRowDescription() {},
        handleDataRow: ({ fields }) => assert.deepEqual(fields.map(String), ['1']),
        handleCommandComplete() {},
        handleReadyForQuery: () => resolve(),
        handleError: reject
      });
    });
    return { asked };
  },
  async 'query_timeout of a pool of quickgres/pg'() {
    const it = await pgPool({ query_timeout: limit });
    await it.query('SELECT 1');
    return { asked: it.query(ANSWERED) };
  },
  async 'connectionTimeoutMillis of a client of quickgres/pg'() {
    const client = await pgClient({ connectionTimeoutMillis: limit });
    return { asked: client.connect().then(() => client.query(ANSWERED)) };
  },
  async 'connectionTimeoutMillis of a pool of quickgres/pg'() {
    return { asked: (await pgPool({ connectionTimeoutMillis: limit })).query(ANSWERED) };
  },
  async 'connectionTimeoutMillis of connect() of a pool of quickgres/pg'() {
    const it = await pgPool({ connectionTimeoutMillis: limit });
    const taken = it.connect();
    return {
      asked: taken.then(async client => {
        try {
          return await client.query(ANSWERED);
        } finally {
          client.release();
        }
      })
    };
  },
  async 'connectionTimeoutMillis while the onConnect of a pool of quickgres/pg asks'() {
    return preparing(begun => ({ onConnect: client => (begun(), client.query(ANSWERED)) }));
  },
  async 'connectionTimeoutMillis while the verify of a pool of quickgres/pg asks'() {
    return preparing(begun => ({ verify: (client, done) => (begun(), client.query(ANSWERED, done)) }));
  }
};

/** Methods that have a statement_timeout: each resolves when its answer has come. */
const METHODS = {
  query: session => session.query(ANSWERED, [], statement()),
  'query alone': session => session.query(ANSWERED, [], { ...statement(), alone: true }),
  'query into a stream': session => session.query(ANSWERED, [], { ...statement(), stream: collector() }),
  queryTo: session => session.queryTo(collector(), ANSWERED, [], statement()),
  batch: session => session.batch([['SELECT 2'], [ANSWERED]], statement()),
  simpleQuery: session => session.simpleQuery(ANSWERED, statement()),
  describe: session => session.describe(ANSWERED, statement()),
  transaction: session => session.transaction(tx => tx.query(ANSWERED), statement()),
  commit: session => session.transaction(tx => tx.commit(ANSWERED, [], statement())),
  'a query of a transaction': session => session.transaction(tx => tx.query(ANSWERED, [], statement()))
};

describe('Limits', function () {
  this.timeout(30000);
  table(
    'A limit that passes while the program is busy loses nothing that has arrived',
    { BEGINNINGS, TIMES },
    (begin, busy) =>
      byEither(150, 1500, async () => {
        const { asked } = await begin();
        busy();
        const result = await asked;
        if (result !== undefined) assert.equal(result.rows?.[0].one ?? 1, 1);
      })
  );

  table(
    'A limit of a method that passes while the program is busy loses nothing that has arrived',
    { METHODS, SESSIONS },
    (ask, use) =>
      byEither(80, 800, () =>
        use(async session => {
          await session.query('SELECT 1');
          const asked = ask(session);
          setImmediate(work);
          await asked;
        })
      ),
    {
      'simpleQuery, with': 'a session made by with() has none',
      'simpleQuery, with of a pool': 'a session made by with() has none'
    }
  );
});

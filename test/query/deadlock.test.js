'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { UsageError } = require('../..');
const { gc } = require('../gc');
const { connected } = require('../support');

const DEADLOCK = { name: 'UsageError', code: '40P01', message: /deadlock/ };
const SERIES = 'SELECT generate_series(1, 100) AS i';

/** Fails, instead of hanging, when a promise does not settle. */
function settles(promise) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error('it hangs')), 5000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Every way to ask for something and await it, each with what it is called. */
const AWAITS = {
  query: client => client.query('SELECT 1'),
  'query, by an async function': async client => (await client.query('SELECT 1')).rows,
  'query with a callback': client => client.query('SELECT 1').then(({ rows }) => rows),
  'query with finally': client => client.query('SELECT 1').finally(() => {}),
  'query with catch': client => client.query('SELECT 1').catch(error => { throw error; }),
  'several queries': client => Promise.all([client.query('SELECT 1'), client.query('SELECT 2')]),
  'query with options': client => client.query('SELECT 1', [], { statement_timeout: 100000 }),
  batch: client => client.batch([['SELECT 1']]),
  simpleQuery: client => client.simpleQuery('SELECT 1'),
  transaction: client => client.transaction(async tx => { await tx.query('SELECT 1'); }),
  'a cursor’s row': client => client.cursor(SERIES, [], { batchSize: 10 }).next(),
  'a cursor’s rows': async client => {
    for await (const row of client.cursor(SERIES, [], { batchSize: 10 })) assert.ok(row);
  },
  'COPY FROM STDIN': client => client.query('COPY t FROM STDIN'),
  sync: client => client.sync(),
  close: client => client.close('S', 'x')
};

/** Every owner of the connection, with code inside it. */
const INSIDES = {
  'a transaction': (client, work) => client.transaction(tx => work(tx)),
  'a transaction, later': (client, work) => client.transaction(async tx => {
    await tx.query('SELECT 1');
    await sleep(1);
    await work(tx);
  }),
  'a savepoint': (client, work) => client.transaction(tx => tx.transaction(nested => work(nested))),
  'a cursor’s loop': async (client, work) => {
    for await (const row of client.cursor(SERIES, [], { batchSize: 10 })) await work(row);
  },
  'a cursor’s loop, later': async (client, work) => {
    let seen = 0;
    for await (const row of client.cursor(SERIES, [], { batchSize: 10 })) {
      await turn();
      if (++seen === 35) await work(row);
    }
  },
  'the loop of startQuery': async (client, work) => {
    client.startQuery(SERIES);
    try {
      while (client.inQuery) {
        await client.getResults(10);
        await work();
      }
    } finally {
      await client.sync();
    }
  },
  'the loop of startQuery, later': async (client, work) => {
    client.startQuery(SERIES);
    try {
      await client.getResults(10);
      await client.getResults(10);
      await sleep(1);
      await work();
    } finally {
      await client.sync();
    }
  },
  'a COPY FROM STDIN': async (client, work) => {
    await client.query('COPY t FROM STDIN');
    try {
      client.copyData('1\n');
      await turn();
      await work();
    } finally {
      await client.copyFail();
    }
  }
};

describe('A deadlock of one’s own making is found', () => {
  for (const [inside, run] of Object.entries(INSIDES)) {
    it(`inside ${inside}, whatever is awaited`, async () => {
      const client = await connected();
      await client.query('CREATE TEMP TABLE t (i int)');
      for (const [name, ask] of Object.entries(AWAITS)) {
        if (name === 'sync' && inside.includes('startQuery')) continue; // it ends the query
        await settles(assert.rejects(run(client, () => ask(client)), DEADLOCK, name));
        assert.equal((await settles(client.query('SELECT 1 AS one'))).rows[0].one, '1', name);
        assert.equal(client.pending, 0, name);
      }
    });
  }

  it('when the end of the client is awaited', async () => {
    const client = await connected();
    await settles(assert.rejects(client.transaction(async tx => {
      await tx.query('SELECT 1');
      await client.end();
    }), DEADLOCK));
    await settles(client.end());
    assert.equal(client.state, 'closed');
  });

  it('when a transaction awaits its parent’s queries inside a savepoint', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      await settles(assert.rejects(tx.transaction(async () => { await tx.query('SELECT 1'); }), DEADLOCK));
      await settles(assert.rejects(tx.transaction(async () => { await tx.transaction(() => {}); }), DEADLOCK));
      await tx.query('SELECT 1');
    });
  });

  it('when two cursors outside a transaction are to go on side by side', async () => {
    const client = await connected();
    const [one, two] = [1, 2].map(() => client.cursor(SERIES, [], { batchSize: 10 }));
    const both = async () => {
      for await (const row of one) assert.equal(row.i, (await two.next()).value.i);
    };
    await settles(assert.rejects(both(), DEADLOCK));
    assert.equal((await settles(client.query('SELECT 1 AS one'))).rows[0].one, '1');
  });

  it('and tells who waits for whom', async () => {
    const client = await connected();
    async function asksTheWrongOne() { await client.query('SELECT 1'); }
    const error = await client.transaction(asksTheWrongOne).catch(thrown => thrown);
    assert.ok(error instanceof UsageError);
    assert.match(error.message, /until the transaction is over/);
    assert.match(error.stack, /^UsageError: deadlock: .*\n(.*\n)*.*at asksTheWrongOne .*deadlock\.test\.js/);
  });
});

describe('No deadlock is', () => {
  it('a promise that nothing is done with at its end', async () => {
    const client = await connected();
    let outside;
    await client.transaction(async () => {
      const promise = client.query('SELECT 1 AS a');
      outside = promise.finally(undefined);
      promise.catch(() => {});
    });
    assert.equal((await outside).rows[0].a, '1');
  });

  it('a query that nobody awaits inside', async () => {
    const client = await connected();
    for (const [inside, run] of Object.entries(INSIDES)) {
      const outside = [];
      const results = [];
      await client.query('CREATE TEMP TABLE IF NOT EXISTS t (i int)');
      await settles(run(client, async () => {
        if (outside.length > 20) return;
        outside.push(client.query('SELECT 1 AS one'));
        client.query('SELECT 2 AS two').then(({ rows: [row] }) => results.push(row.two), error => results.push(error));
        client.query('SELECT 3 AS three').finally(() => results.push('3')).catch(() => {});
        client.query('SELECT 4').catch(() => {});
        await turn();
      }));
      for (const { rows: [row] } of await settles(Promise.all(outside))) assert.equal(row.one, '1', inside);
      await client.sync();
      await turn(); // callbacks may be some microtasks behind
      assert.ok(results.length > 0, inside);
      assert.deepEqual(results.filter(result => result !== '2' && result !== '3'), [], inside);
    }
  });

  it('a query that is awaited when the owner is over', async () => {
    const client = await connected();
    let query;
    await client.transaction(async () => { query = client.query('SELECT 1 AS one'); });
    assert.equal((await query).rows[0].one, '1');
    for await (const row of client.cursor(SERIES, [], { batchSize: 10 })) {
      query = client.query('SELECT 2 AS two');
      if (row.i === '5') break;
    }
    assert.equal((await query).rows[0].two, '2');
    client.startQuery(SERIES);
    await client.getResults(10);
    query = client.query('SELECT 3 AS three');
    await client.sync();
    assert.equal((await query).rows[0].three, '3');
  });

  it('a query that is awaited while the owner is about to end', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    client.startQuery(SERIES);
    await client.getResults(10);
    const synced = client.sync();
    await settles(client.query('SELECT 1'));
    await synced;
    await client.query('COPY t FROM STDIN');
    client.copyData('1\n');
    const copied = client.copyDone();
    await settles(client.query('SELECT 1'));
    assert.equal((await copied).rowCount, 1);
    const cursor = client.cursor(SERIES, [], { batchSize: 10 });
    assert.equal((await cursor.next()).done, false);
    const returned = cursor.return();
    await turn();
    await settles(client.query('SELECT 1'));
    await returned;
    let late;
    await client.transaction(async () => { late = turn().then(() => client.query('SELECT 1')); });
    await settles(late);
  });

  it('a query of code that runs beside', async () => {
    const client = await connected();
    await client.query('CREATE TEMP TABLE t (i int)');
    for (const [inside, run] of Object.entries(INSIDES)) {
      for (let i = 0; i < 3; i++) {
        const beside = async () => {
          for (let j = 0; j < 5; j++) {
            await client.query('SELECT 1');
            if (j % 2) await turn();
          }
        };
        const works = [];
        if (i === 1) works.push(beside());
        works.push(run(client, async () => { await turn(); }), beside(), beside());
        await settles(Promise.all(works)).catch(error => assert.fail(`${inside}: ${error.stack}`));
      }
    }
  });

  it('a query of a handler that was there before', async () => {
    const client = await connected();
    const elsewhere = new AsyncResource('elsewhere');
    const queries = [];
    await settles(client.transaction(async tx => {
      elsewhere.runInAsyncScope(() => queries.push((async () => { await client.query('SELECT 1'); })()));
      await tx.query('SELECT 2');
    }));
    await settles(Promise.all(queries));
  });

  it('anything on another connection', async () => {
    const [one, two] = [await connected(), await connected()];
    await settles(one.transaction(async tx => {
      await two.query('SELECT 1');
      await two.transaction(async other => {
        await other.query('SELECT 1');
        await tx.query('SELECT 1');
      });
      for await (const row of two.cursor(SERIES, [], { batchSize: 10 })) if ((await tx.query('SELECT 1')).rowCount) assert.ok(row);
    }));
  });
});

describe('Finding deadlocks', () => {
  it('leaves other contexts of the program as they are', async () => {
    const client = await connected();
    const storage = new AsyncLocalStorage();
    await storage.run('mine', async () => {
      await client.transaction(async tx => {
        await tx.query('SELECT 1');
        assert.equal(storage.getStore(), 'mine');
      });
      for await (const row of client.cursor(SERIES, [], { batchSize: 10 })) assert.ok(row && storage.getStore() === 'mine');
      assert.equal(storage.getStore(), 'mine');
    });
  });

  it('piles nothing up in a loop that goes on for long', async function () {
    this.timeout(60000);
    const client = await connected();
    const round = async count => {
      for (let i = 0; i < count; i++) {
        for await (const row of client.cursor('SELECT 1', [], { batchSize: 1 })) assert.ok(row);
        await client.transaction(async () => {});
        client.startQuery('SELECT 1');
        await client.getResults(1);
        await client.sync();
      }
      gc();
      return process.memoryUsage().heapUsed;
    };
    await round(300);
    const before = await round(300);
    const after = await round(1500);
    assert.ok(after - before < 2000000, `${after - before} bytes more`);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const path = require('node:path');
const { finished } = require('node:stream/promises');
const { promisify } = require('node:util');
const { once } = require('node:events');
const { setImmediate: turn } = require('node:timers/promises');
const { skipBefore } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { UsageError, PostgresError } = require('../..');
const { Pool } = require('../../lib/pool');
const { ANSWER, commandComplete, connected, faked, message, proxied, sharedServer } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');

/** A client with an empty table. */
async function prepared(config) {
  const client = await connected(config);
  await client.query('CREATE TEMP TABLE t (i int)');
  return client;
}

const ints = async client => (await client.query('SELECT i FROM t ORDER BY i')).rows.map(row => Number(row.i));
const insert = (on, i) => on.query('INSERT INTO t VALUES ($1)', [i]);

const text = 'INSERT INTO t VALUES (1)';
const ignore = () => {};

/** Functions whose first request fails with BEGIN; some of them do not throw its error. */
const OPENINGS = {
  'a query': tx => tx.query(text),
  'queries at once': tx => Promise.all([tx.query(text), tx.query(text)]),
  'a careless query': async tx => {
    await tx.query(text).catch(ignore);
    await tx.query(text).catch(ignore);
  },
  'careless queries at once': tx => Promise.allSettled([tx.query(text), tx.query(text), tx.simpleQuery(text)]),
  'a batch': tx => tx.batch([text, text]),
  'a simple query': tx => tx.simpleQuery(text).catch(ignore),
  'a careless savepoint': tx => tx.transaction(nested => nested.query(text)).catch(ignore),
  'a careless query of a savepoint': tx => tx.transaction(nested => nested.query(text).catch(ignore)),
  savepoints: tx => Promise.allSettled([tx.transaction(nested => nested.query(text)), tx.query(text)]),
  settings: tx => tx.with({ 'my.x': 1 }).query(text).catch(ignore),
  'a cursor': tx => Promise.allSettled([tx.cursor(text).next(), tx.query(text)]),
  copyFrom: async tx => {
    await finished(tx.copyFrom('COPY t FROM STDIN').end('1\n')).catch(ignore);
    await tx.query(text).catch(ignore);
  },
  commit: tx => tx.commit(text),
  'commit behind a query': tx => Promise.allSettled([tx.query(text), tx.commit(text)]),
  'COMMIT alone': () => {}
};

/** A client of a server on which BEGIN fails. @param {function(string)} told what is sent behind it */
const refusing = told =>
  faked(async conversation => {
    let [type] = (await conversation.request()).slice(-1); // the Flush behind BEGIN, or Sync
    conversation.say(ANSWER.error('57014', 'canceling statement due to user request'));
    while (type !== 'S') ({ type } = await conversation.read());
    conversation.say(ANSWER.ready);
    for (;;) {
      const request = await conversation.request();
      told(request);
      conversation.say(request === 'CS' ? message('3') : ANSWER.described(), ANSWER.ready);
    }
  });

describe('a transaction whose BEGIN fails', () => {
  for (const [name, open] of Object.entries({
    query: (tx, options) => tx.query(text, [], options),
    batch: (tx, options) => tx.batch([text], options),
    simpleQuery: (tx, options) => tx.simpleQuery(text, options),
    savepoint: (tx, options) => tx.transaction(nested => nested.query(text, [], options)),
    'query with settings': (tx, options) => tx.with({ 'my.x': 1 }).query(text, [], options)
  })) {
    it(`by the cancel of a ${name}: rejects with 25P02 and why, as do later queries, which are not sent`, async () => {
      let behind = '';
      const client = await refusing(request => (behind += request));
      const controller = new AbortController();
      const cause = { name: 'AbortError' };
      const rolledBack = error => error.code === '25P02' && error.cause.name === 'AbortError';
      await assert.rejects(
        client.transaction(async tx => {
          const first = assert.rejects(open(tx, { signal: controller.signal }), cause);
          const second = assert.rejects(tx.query(text), rolledBack);
          await turn();
          controller.abort();
          await Promise.all([first, second]);
          await assert.rejects(tx.query(text), rolledBack);
        }),
        rolledBack
      );
      assert.equal(behind, '');
    });
  }
  for (const [name, work] of Object.entries(OPENINGS)) {
    for (const settings of [undefined, { 'my.y': 1 }]) {
      if (/COMMIT alone|simple/.test(name) && settings !== undefined) continue; // nothing is sent
      it(`${name}${settings ? ', with settings' : ''}: rejects, and nothing is sent outside of the block`, async () => {
        let behind = '';
        const client = await refusing(request => (behind += request));
        const session = settings === undefined ? client : client.with(settings);
        await assert.rejects(session.transaction(work), { name: 'PostgresError', code: '57014' });
        assert.equal(behind, '');
        assert.equal(client.transactionStatus, 'I');
        await client.close('S', 'none');
        assert.equal(behind, 'CS');
      });
    }
  }
});

describe('transaction', () => {
  it('commits when its function returns, and resolves to what that returned', async () => {
    const client = await prepared();
    const result = await client.transaction(async tx => {
      await insert(tx, 1);
      return { any: 'thing' };
    });
    assert.deepEqual(result, { any: 'thing' });
    assert.equal(await client.transaction(() => 'not async'), 'not async');
    assert.deepEqual(await ints(client), [1]);
  });

  it('rolls back when its function throws, and rejects with what that threw', async () => {
    const client = await prepared();
    const thrown = new Error('thrown');
    await assert.rejects(
      client.transaction(async tx => {
        await insert(tx, 1);
        throw thrown;
      }),
      error => error === thrown
    );
    await assert.rejects(
      client.transaction(() => {
        throw thrown;
      }),
      error => error === thrown
    );
    await assert.rejects(
      client.transaction(tx => tx.query('SELECT 1 / 0')),
      { code: '22012' }
    );
    assert.deepEqual(await ints(client), []);
  });

  it('rejects with what its function threw, even undefined', async () => {
    const client = await connected();
    for (const thrown of [undefined, null, 0, '']) {
      const [{ status, reason }] = await Promise.allSettled([
        client.transaction(async tx => {
          await tx.query('SELECT 1');
          throw thrown;
        })
      ]);
      assert.deepEqual([status, reason], ['rejected', thrown]);
    }
  });

  it('rejects when a query in it has failed and its function did not throw', async () => {
    const client = await prepared();
    await assert.rejects(
      client.transaction(async tx => {
        await insert(tx, 1);
        await tx.query('SELECT 1 / 0').catch(() => {});
        await tx.query('SELECT 2').catch(() => {});
      }),
      error =>
        error instanceof UsageError &&
        error.code === '25P02' &&
        /rolled back/.test(error.message) &&
        error.cause.code === '22012'
    );
    assert.deepEqual(await ints(client), []);
  });

  it('tells that an aborted query is why it was rolled back', async () => {
    const client = await prepared();
    const controller = new AbortController();
    await assert.rejects(
      client.transaction(async tx => {
        const aborted = tx.query('SELECT pg_sleep(10)', [], { signal: controller.signal });
        controller.abort();
        await aborted.catch(() => {});
      }),
      ({ code, cause }) => code === '25P02' && cause.name === 'AbortError'
    );
  });

  it('rejects when the commit fails', async () => {
    const client = await prepared();
    await client.query('CREATE TEMP TABLE u (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)');
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query('INSERT INTO u VALUES (1), (1)');
      }),
      error => error instanceof PostgresError && error.code === '23505'
    );
    assert.equal((await client.query('SELECT * FROM u')).rows.length, 0);
  });

  it('takes an isolation level, and whether it only reads', async () => {
    const client = await connected();
    const shown = options =>
      client.transaction(async tx => {
        const names = ['isolation', 'read_only', 'deferrable'];
        const shows = await Promise.all(names.map(name => tx.query(`SHOW transaction_${name}`)));
        return shows.map(({ rows: [row] }) => row[0]);
      }, options);
    assert.deepEqual(await shown(), ['read committed', 'off', 'off']);
    assert.deepEqual(await shown({ isolation: 'repeatable read' }), ['repeatable read', 'off', 'off']);
    assert.deepEqual(await shown({ isolation: 'SERIALIZABLE', readOnly: true, deferrable: true }), [
      'serializable',
      'on',
      'on'
    ]);
    assert.deepEqual(await shown({ readOnly: false, deferrable: false }), ['read committed', 'off', 'off']);
    await assert.rejects(shown({ isolation: 'serializable; DROP TABLE t' }), TypeError);
    await assert.rejects(
      client.transaction(tx => tx.query('CREATE TABLE never ()'), { readOnly: true }),
      { code: '25006' }
    );
    await assert.rejects(client.transaction('no function'), TypeError);
    assert.equal(client.pending, 0);
  });

  it('lets nobody else’s queries in between', async () => {
    const client = await prepared();
    const seen = [];
    let ask;
    const outside = new Promise(resolve => {
      ask = resolve;
    })
      .then(() => client.query('SELECT count(*) AS n FROM t'))
      .then(({ rows: [row] }) => seen.push(row.n));
    await client.transaction(async tx => {
      await insert(tx, 1);
      ask();
      await turn();
      await insert(tx, 2);
      await turn();
      assert.deepEqual(seen, []);
      await tx.query('DELETE FROM t WHERE i = 1');
    });
    await outside;
    assert.deepEqual(seen, [1]);
  });

  it('pipelines its queries, and waits for those that its function did not', async () => {
    const client = await prepared();
    await client.transaction(async tx => {
      await Promise.all([1, 2, 3].map(i => insert(tx, i)));
      insert(tx, 4);
      tx.batch([['INSERT INTO t VALUES (5)']]);
      tx.simpleQuery('INSERT INTO t VALUES (6)');
    });
    assert.deepEqual(await ints(client), [1, 2, 3, 4, 5, 6]);
  });

  it('rejects when one that its function did not wait for fails', async () => {
    const client = await prepared();
    let failed;
    await assert.rejects(
      client.transaction(async tx => {
        await insert(tx, 1);
        failed = assert.rejects(tx.query('SELECT 1 / 0'), { code: '22012' });
      }),
      { code: '25P02' }
    );
    await failed;
    assert.deepEqual(await ints(client), []);
  });

  it('is over for good when its function has returned', async () => {
    const client = await prepared();
    let kept;
    await client.transaction(async tx => {
      kept = tx;
    });
    const over = { name: 'UsageError', code: '25P01' };
    await assert.rejects(kept.query('SELECT 1'), over);
    await assert.rejects(kept.batch([['SELECT 1']]), over);
    await assert.rejects(kept.simpleQuery('SELECT 1'), over);
    await assert.rejects(
      kept.transaction(() => {}),
      over
    );
    await assert.rejects(kept.cursor('SELECT 1').next(), over);
    await assert.rejects(once(kept.copyTo('COPY t TO STDOUT'), 'end'), over);
    await assert.rejects(
      client.transaction(async tx => {
        kept = tx;
        throw new Error('thrown');
      })
    );
    await assert.rejects(kept.query('SELECT 1'), over);
  });

  it('takes nothing more while it commits', async () => {
    const client = await prepared();
    const late = await client.transaction(async tx => ({
      inserted: new Promise(resolve => setImmediate(() => resolve(insert(tx, 1)))).catch(({ code }) => code)
    }));
    assert.equal(await late.inserted, '25P01');
    assert.deepEqual(await ints(client), []);
  });

  it('ends what its function has left open', async () => {
    const client = await prepared();
    await client.transaction(async tx => {
      await tx.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 }).next();
      tx.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 })
        .next()
        .catch(() => {});
    });
    for (const leave of [
      tx =>
        new Promise(resolve => {
          tx.copyFrom('COPY t FROM STDIN')
            .on('error', () => {})
            .write('1\n', resolve);
        }),
      async tx => {
        await tx.query('SELECT 1');
        tx.copyFrom('COPY t FROM STDIN').on('error', () => {});
      }
    ])
      await assert.rejects(client.transaction(leave), { code: '25P02' });
    assert.deepEqual(await ints(client), []);
  });

  it('works though all statements are forgotten in it', async () => {
    const client = await prepared();
    for (let i = 0; i < 2; i++) {
      await client.transaction(async tx => {
        await insert(tx, i);
        await tx.query('DEALLOCATE ALL');
        await tx.transaction(async nested => {
          await insert(nested, i + 10);
        });
      });
    }
    assert.deepEqual(await ints(client), [0, 1, 10, 11]);
  });
});

describe('A transaction with a signal or a time limit', () => {
  /** Settles by its limit, and the connection goes on. */
  async function limited(client, work, check = { name: 'TimeoutError', code: '57014' }) {
    await assert.rejects(client.transaction(work, { statement_timeout: 30 }), check);
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    assert.equal(client.transactionStatus, 'I');
    assert.deepEqual(await ints(client), []);
    assert.equal(client.pending, 0);
  }

  it('rejects at once, whatever its function waits for; what is under way is cancelled, and rolled back', async () => {
    const client = await prepared();
    const never = new Promise(() => {});
    await limited(client, async tx => {
      await insert(tx, 1);
      await tx.query('SELECT pg_sleep(60)');
    });
    await limited(client, tx => tx.query('SELECT pg_sleep(60)'));
    await limited(client, () => never);
    await limited(client, async tx => {
      await insert(tx, 1);
      await tx.transaction(async nested => {
        await insert(nested, 2);
        await Promise.all([nested.query('SELECT pg_sleep(60)'), insert(nested, 3)]);
      });
    });
    await limited(client, async tx => {
      await insert(tx, 1);
      await tx.transaction(() => never);
    });
    await limited(client, async tx => {
      for await (const row of tx.cursor('SELECT pg_sleep(60)')) assert.ok(row);
    });
    await limited(client, async tx => {
      await once(tx.copyFrom('COPY t FROM STDIN'), 'finish');
    });
    await limited(client, async tx => {
      await once(tx.copyTo('COPY (SELECT pg_sleep(60)) TO STDOUT').resume(), 'end');
    });
  });

  it('takes no more requests then, and shows its caller', async () => {
    const client = await prepared();
    const controller = new AbortController();
    const reason = new Error('reason');
    let kept;
    async function caller() {
      await client.transaction(
        async tx => {
          kept = tx;
          controller.abort(reason);
          await insert(tx, 1);
        },
        { signal: controller.signal }
      );
    }
    await assert.rejects(
      caller(),
      error => error.name === 'AbortError' && error.cause === reason && /at async caller/.test(error.stack)
    );
    await assert.rejects(insert(kept, 2), { name: 'AbortError' });
    await assert.rejects(
      client.transaction(() => assert.fail('is not called'), { signal: controller.signal }),
      { name: 'AbortError' }
    );
    assert.deepEqual(await ints(client), []);
  });

  it('is passed over when its turn has not come', async () => {
    const client = await prepared();
    const first = client.transaction(async tx => {
      await tx.query('SELECT pg_sleep(0.1)');
    });
    await assert.rejects(
      client.transaction(() => assert.fail('is not called'), { statement_timeout: 20 }),
      { code: '57014', sent: false }
    );
    await first;
    await client.transaction(tx => insert(tx, 1), { statement_timeout: 60000 });
    assert.deepEqual(await ints(client), [1]);
  });

  it('is rolled back though the limit is over before ROLLBACK could be sent, or the function left a savepoint behind', async () => {
    const { client, wire } = await proxied();
    await client.query('SELECT 1');
    const mine = new Error('mine');
    wire.stall();
    await assert.rejects(
      client.transaction(
        tx => {
          tx.query('SELECT 2').catch(() => {});
          throw mine;
        },
        { statement_timeout: 20 }
      ),
      mine
    );
    wire.resume();
    await client.query('SELECT 1');
    assert.equal(client.transactionStatus, 'I');
    const { pipeline } = client[LEASE];
    const whole = client.transaction(tx => {
      pipeline.hold();
      tx.transaction(nested => nested.query('SELECT 3')).catch(() => {});
      setTimeout(() => pipeline.unhold(), 10);
      throw mine;
    });
    await assert.rejects(whole, mine);
    await client.query('SELECT 1');
    assert.equal(client.transactionStatus, 'I');
  });

  it('settles on a connection that is silent; so does one with a query that has a limit', async () => {
    const { client, wire } = await proxied();
    const limits = { statement_timeout: 20 };
    await client.query('SELECT 1');
    wire.stall();
    await assert.rejects(
      client.transaction(tx => tx.query('SELECT 1', [], limits)),
      { code: '57014' }
    );
    await assert.rejects(
      client.transaction(tx => tx.query('SELECT 1'), limits),
      { code: '57014' }
    );
    assert.ok(client[LEASE].pipeline.silentSince > 0);
    client.destroy();
    for (const work of [
      tx => tx.query('SELECT 1', [], limits),
      tx => tx.transaction(nested => nested.query('SELECT 1', [], limits))
    ]) {
      const { client, wire } = await proxied();
      await assert.rejects(
        client.transaction(async tx => {
          await tx.query('SELECT 1');
          wire.stall();
          await work(tx);
        }),
        { code: '57014' }
      );
      client.destroy();
    }
    const committing = await proxied();
    await assert.rejects(
      committing.client.transaction(
        async tx => {
          await tx.query('SELECT 1');
          committing.wire.stall();
        },
        { statement_timeout: 100 }
      ),
      { code: '57014', sent: true }
    );
    committing.client.destroy();
  });

  it('says that it may be committed if it is aborted during COMMIT, and before that it is not', async () => {
    const { client, wire } = await proxied();
    const watcher = await connected();
    await client.query('CREATE TABLE committed (i int)');
    const run = async abortIn => {
      const controller = new AbortController();
      await assert.rejects(
        client.transaction(
          async tx => {
            await tx.query('INSERT INTO committed VALUES (1)');
            if (abortIn === 'function') controller.abort();
            wire.stall('toClient');
            setTimeout(() => controller.abort(), 50);
          },
          { signal: controller.signal }
        ),
        { name: 'AbortError', sent: abortIn === 'COMMIT' }
      );
      wire.resume();
      await client.sync();
      return Number((await watcher.query('SELECT count(*) FROM committed')).rows[0][0]);
    };
    try {
      assert.equal(await run('function'), 0);
      assert.equal(await run('COMMIT'), 1);
    } finally {
      await watcher.query('DROP TABLE committed');
    }
  });
});

describe('The first transaction of a program', () => {
  it('works without a descriptor for a file', async () => {
    const program = `const { Client } = require('.');
      const client = new Client(JSON.parse(process.argv.at(-1)));
      client.connect().then(async () => {
        const fs = require('node:fs');
        try { for (;;) fs.openSync('/dev/null'); } catch {}
        console.log(await client.transaction(async tx => (await tx.query('SELECT 1 AS one')).rows[0].one));
        process.exit();
      });`;
    const command = [
      '-c',
      'ulimit -n 100; exec "$0" -e "$1" "$2"',
      process.execPath,
      program,
      JSON.stringify((await sharedServer()).config)
    ];
    const { stdout } = await promisify(execFile)('bash', command, { cwd: path.join(__dirname, '../..') });
    assert.equal(stdout, '1\n');
  });
});

describe('A transaction in a transaction', () => {
  it('is a savepoint: what fails in it is undone, and the rest goes on', async () => {
    const client = await prepared();
    await client.transaction(async tx => {
      await insert(tx, 1);
      assert.equal(
        await tx.transaction(async nested => {
          await insert(nested, 2);
          return 'kept';
        }),
        'kept'
      );
      await assert.rejects(
        tx.transaction(async nested => {
          await insert(nested, 3);
          await nested.query('SELECT 1 / 0');
        }),
        { code: '22012' }
      );
      await assert.rejects(
        tx.transaction(async nested => {
          await insert(nested, 4);
          await nested.query('SELECT 1 / 0').catch(() => {});
        }),
        { code: '25P02' }
      );
      await insert(tx, 5);
    });
    assert.deepEqual(await ints(client), [1, 2, 5]);
  });

  it('may be several deep', async () => {
    const client = await prepared();
    await client.transaction(async one => {
      await insert(one, 1);
      await one.transaction(async two => {
        await insert(two, 2);
        await two.transaction(async three => {
          await insert(three, 3);
        });
        await two
          .transaction(async three => {
            await insert(three, 4);
            throw new Error('only this');
          })
          .catch(() => {});
        await insert(two, 5);
      });
    });
    assert.deepEqual(await ints(client), [1, 2, 3, 5]);
  });

  it('takes its turn among several', async () => {
    const client = await prepared();
    const order = [];
    await client.transaction(async tx => {
      await Promise.allSettled(
        [1, 2, 3, 4].map(i =>
          tx.transaction(async nested => {
            order.push(i);
            await insert(nested, i);
            await turn();
            if (i % 2 === 0) throw new Error('even');
            order.push(i);
          })
        )
      );
    });
    assert.deepEqual(order, [1, 1, 2, 3, 3, 4]);
    assert.deepEqual(await ints(client), [1, 3]);
  });

  it('lets go of its savepoints, however many fail', async function () {
    skipBefore(this, 14, 'pg_backend_memory_contexts');
    const client = await prepared();
    const memory = async on => {
      const {
        rows: [row]
      } = await on.query("SELECT count(*) AS n FROM pg_backend_memory_contexts WHERE name = 'CurTransactionContext'");
      return Number(row.n);
    };
    await client.transaction(async tx => {
      const before = await memory(tx);
      for (let i = 0; i < 100; i++) await assert.rejects(tx.transaction(() => Promise.reject(new Error('thrown'))));
      assert.ok((await memory(tx)) <= before + 1);
    });
  });

  it('rejects when the connection is lost, whatever its function waits for', async () => {
    const server = await sharedServer();
    const cause = new Error('enough');
    for (const [lose, check] of [
      [client => client.destroy(cause), { name: 'ConnectionError', code: '08006', cause, sent: false }],
      [client => client.destroy(), { name: 'ConnectionError', code: '08003' }],
      [client => server.sql(`SELECT pg_terminate_backend(${client.processId})`), { name: 'ConnectionError' }]
    ]) {
      const client = await prepared();
      client.on('error', () => {});
      let go;
      const held = new Promise(resolve => {
        go = resolve;
      });
      const levels = [
        client.transaction(async tx => {
          levels.push(
            tx.transaction(async deep => {
              await insert(deep, 1);
              await held;
              await assert.rejects(insert(deep, 2));
              throw new Error('nobody listens any more');
            })
          );
          await lose(client);
          await held;
        })
      ];
      await assert.rejects(levels[0], check);
      await assert.rejects(
        levels[0],
        /while the function of transaction\(\) was running: nothing of the transaction stays$/
      );
      await assert.rejects(levels[1], check);
      go();
      await turn();
    }
  });

  it('rejects with what its function makes of a lost connection', async () => {
    const client = await prepared();
    const mine = new Error('mine');
    await assert.rejects(
      client.transaction(async tx => {
        const query = tx.query('SELECT pg_sleep(10)');
        client.destroy();
        await query.catch(() => {
          throw mine;
        });
      }),
      mine
    );
  });

  it('loses the connection as its parent does', async () => {
    const client = await prepared();
    const server = await sharedServer();
    const errors = [];
    const outer = client.transaction(async tx => {
      const nested = tx.transaction(async deep => {
        await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
        await deep.query('SELECT 1');
      });
      await nested.catch(error => errors.push(error));
      await tx.query('SELECT 1').catch(error => errors.push(error));
      await tx.transaction(() => {}).catch(error => errors.push(error));
      await tx
        .cursor('SELECT 1')
        .next()
        .catch(error => errors.push(error));
      await tx.batch(['SELECT 1']).catch(error => errors.push(error));
    });
    await assert.rejects(outer, { name: 'ConnectionError' });
    assert.equal(errors.length, 5);
    for (const error of errors) {
      assert.equal(error.name, 'ConnectionError');
      assert.ok(['57P01', 'ECONNRESET', 'EPIPE', '08006'].includes(error.code), error.code);
    }
  });
});

describe('A block that its function ends by hand', () => {
  for (const text of ['COMMIT', 'ROLLBACK', 'END', 'ABORT']) {
    it(`by ${text}: everything in it settles, and the queries of others go on`, async () => {
      const client = await prepared();
      const settled = [];
      const note = (name, promise) =>
        promise.then(
          () => settled.push([name, 'ok']),
          error => settled.push([name, error.code])
        );
      const whole = note(
        'transaction',
        client.transaction(async tx => {
          await insert(tx, 1);
          note('by hand', tx.query(text));
          note('behind', tx.query('SELECT 1'));
          note(
            'savepoint',
            tx.transaction(nested => nested.query('SELECT 1'))
          );
          note('cursor', tx.cursor('SELECT 1').next());
          note('copy', finished(tx.copyFrom('COPY t FROM STDIN')));
          await turn();
          await tx.query('SELECT 2');
        })
      );
      const others = [
        client.query('SELECT 3 AS three'),
        client.transaction(async tx => (await tx.query('SELECT 4 AS four')).rows[0].four)
      ];
      await whole;
      assert.deepEqual(
        settled.filter(([name]) => name === 'by hand' || name === 'transaction'),
        [
          ['by hand', '25P01'],
          ['transaction', '25P01']
        ]
      );
      assert.deepEqual(
        (await Promise.all(others)).map(result => result.rows?.[0].three ?? result),
        [3, 4]
      );
      await turn();
      assert.deepEqual(settled.map(([name]) => name).sort(), [
        'behind',
        'by hand',
        'copy',
        'cursor',
        'savepoint',
        'transaction'
      ]);
      assert.equal(client.transactionStatus, 'I');
      assert.equal(client.pending, 0);
      assert.deepEqual(await ints(client), text === 'COMMIT' || text === 'END' ? [1] : []);
    });
  }

  it('says what to do instead', async () => {
    const client = await prepared();
    await assert.rejects(
      client.transaction(tx => tx.query('COMMIT')),
      {
        name: 'UsageError',
        code: '25P01',
        message: /in transaction\(\), return from the function to commit, throw to roll back/
      }
    );
    await assert.rejects(
      client.transaction(tx => tx.batch(['SELECT 1', 'ROLLBACK'])),
      { code: '25P01' }
    );
    await assert.rejects(
      client.transaction(tx => tx.simpleQuery('COMMIT; BEGIN; COMMIT')),
      { code: '25P01' }
    );
    await assert.rejects(
      client.transaction(tx => tx.transaction(nested => nested.query('COMMIT'))),
      { code: '25P01' }
    );
    await assert.rejects(
      client.transaction(tx => tx.simpleQuery('COMMIT; SELECT 1/0')),
      { code: '22012' },
      'unless it has failed itself'
    );
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  });

  for (const [what, end] of [
    ['query', (tx, text) => tx.query(text)],
    ['simpleQuery', (tx, text) => tx.simpleQuery(`SELECT 1; ${text}`)],
    ['batch', (tx, text) => tx.batch(['SELECT 1', text])]
  ]) {
    it(`by ${what} of AND CHAIN, which begins another: the transaction rejects, and what comes behind is rolled back`, async () => {
      const client = await prepared();
      const pool = new Pool((await sharedServer()).config, { size: 1 });
      endAfterTest(pool);
      for (const session of [client, pool]) {
        for (const text of [
          'ROLLBACK AND CHAIN',
          'ABORT /* now */ AND -- then\n CHAIN',
          'COMMIT AND CHAIN',
          'END AND CHAIN'
        ]) {
          await assert.rejects(
            session.transaction(async tx => {
              await tx.simpleQuery('CREATE TEMP TABLE IF NOT EXISTS t (i int)');
              await tx.query('SAVEPOINT a');
              await tx.query('ROLLBACK /* keeps the block */ TO a');
              await insert(tx, 1);
              const chained = end(tx, text);
              const behind = assert.rejects(insert(tx, 2), session === client ? { code: '25P01' } : Error); // without the table
              await assert.rejects(chained, { name: 'UsageError', code: '25P01' });
              await behind;
              await assert.rejects(insert(tx, 3), { code: '25P01' });
            }),
            { name: 'UsageError', code: '25P01' }
          );
          const {
            rows: [{ none }]
          } = await session.query("SELECT (to_regclass('pg_temp.t') IS NULL)::text AS none");
          assert.equal(none, String(session === pool && /^[RA]/.test(text)));
          if (session === client) assert.equal(client.transactionStatus, 'I');
        }
      }
      assert.deepEqual(await ints(client), [1, 1]);
    });
  }

  it('by no PREPARE TRANSACTION: it is refused, and nothing of it is sent', async () => {
    const client = await prepared();
    const pool = new Pool((await sharedServer()).config, { size: 1 });
    endAfterTest(pool);
    const text = " prepare Transaction 'mine'";
    for (const session of [client, pool]) {
      for (const end of [
        tx => tx.query(text),
        tx => tx.query(`/* first */ PREPARE -- and\n TRANSACTION 'mine'`),
        tx => tx.simpleQuery(text),
        tx => tx.batch(['SELECT 1', text]),
        tx => tx.transaction(nested => nested.query(text))
      ]) {
        const refusal = { name: 'UsageError', code: '0A000', message: /PREPARE TRANSACTION would end/ };
        await session.transaction(async tx => {
          await assert.rejects(end(tx), refusal);
          await tx.query('SELECT 1');
        });
      }
    }
    await client.query('BEGIN');
    const own = await client.query(text).catch(error => error); // 55000 if the server has no such transactions
    await client.query(own.cmd ? "ROLLBACK PREPARED 'mine'" : 'ROLLBACK');
    assert.ok(own.cmd === 'PREPARE TRANSACTION' || own.code === '55000');
  });

  it('by PREPARE TRANSACTION, whatever block comes behind it in the same request', async () => {
    let asked = '';
    const client = await faked(async conversation => {
      const say = (types, ...answer) => {
        asked += types;
        conversation.say(...answer);
      };
      const inBlock = message('Z', 'T');
      say(await conversation.request(), ANSWER.described(), commandComplete('BEGIN'));
      say(await conversation.request(), commandComplete('PREPARE TRANSACTION'), commandComplete('BEGIN'), inBlock);
      say(await conversation.request(), commandComplete('ROLLBACK'), ANSWER.ready);
    });
    await assert.rejects(
      client.transaction(tx => tx.simpleQuery("SELECT; PREPARE TRANSACTION 'a'; BEGIN")),
      { code: '25P01' }
    );
    while (client.transactionStatus !== 'I') await turn();
    assert.equal(asked, 'PDBEHQQ');
  });

  it('by a query that its function does not wait for: the transaction rejects, and the next one is whole', async () => {
    const client = await prepared();
    for (const text of ['ROLLBACK', 'ROLLBACK AND CHAIN']) {
      for (const mine of [undefined, new Error('mine')]) {
        const first = client.transaction(tx => {
          insert(tx, 1).catch(() => {});
          tx.query(text).catch(() => {});
          tx.transaction(nested => insert(nested, 2)).catch(() => {});
          if (mine !== undefined) throw mine;
        });
        const next = client.transaction(tx => insert(tx, 3));
        await assert.rejects(first, mine ?? { name: 'UsageError', code: '25P01' });
        await next;
        assert.equal(client.transactionStatus, 'I');
      }
    }
    assert.deepEqual(await ints(client), [3, 3, 3, 3]);
  });

  it('inside a savepoint: what is asked later of either rejects with the reason', async () => {
    const client = await prepared();
    const late = [];
    await assert.rejects(
      client.transaction(tx =>
        tx.transaction(async nested => {
          await nested.query('COMMIT').catch(() => {});
          for (const session of [nested, tx])
            await session.query('SELECT 1').catch(({ message }) => late.push(message));
        })
      ),
      { code: '25P01' }
    );
    assert.deepEqual(
      late.map(message => message.slice(0, 32)),
      Array(2).fill('this ended the transaction block')
    );
  });

  it('with a statement that was lost, and with an open portal behind it: nothing hangs', async () => {
    const client = await prepared();
    await client.query('SELECT $1::int AS i', [1]);
    const whole = client.transaction(async tx => {
      await tx.query("DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$");
      const lost = tx.query('SELECT $1::int AS i', [2]);
      const cursor = tx.cursor('SELECT generate_series(1, 10)', [], { batchSize: 2 }).next();
      const fetched = tx.cursor('SELECT generate_series(1, 10)').next();
      assert.deepEqual(
        (await Promise.allSettled([lost, cursor, fetched])).map(({ reason }) => reason.code),
        ['26000', '25P02', '25P02']
      );
      await assert.rejects(tx.query('ROLLBACK'), { code: '25P01' });
      await tx.query('SELECT 1');
    });
    const behind = client.query('SELECT $1::int AS i', [3]);
    await assert.rejects(whole, { code: '25P01' });
    assert.equal((await behind).rows[0].i, 3);
    assert.equal(client.pending, 0);
  });
});

describe('The retries of a transaction', () => {
  const pooled = async options => {
    const pool = new Pool({ ...(await sharedServer()).config }, options);
    endAfterTest(pool);
    return pool;
  };
  const failing = (code, calls) => tx => {
    calls.push(tx);
    return tx.query(`DO $$ BEGIN RAISE SQLSTATE '${code}'; END $$`);
  };

  it('call the function again after a serialization failure and a deadlock, up to so many times, and reject with the last error', async () => {
    const client = await connected();
    for (const session of [client, await pooled({ size: 1 }), client.with({ 'a.b': 1 })]) {
      for (const [code, retries, count] of [
        ['40001', 2, 3],
        ['40P01', 1, 2],
        ['40001', 0, 1],
        ['40001', undefined, 1],
        ['22012', 3, 1]
      ]) {
        const calls = [];
        await assert.rejects(session.transaction(failing(code, calls), { retries }), { name: 'PostgresError', code });
        assert.equal(new Set(calls).size, count);
      }
    }
    assert.equal(client.transactionStatus, 'I');
  });

  it('make transactions that count in one table count right, and each has the options', async () => {
    const pool = await pooled({ size: 6 });
    await pool.query('DROP TABLE IF EXISTS counters');
    await pool.query('CREATE TABLE counters AS SELECT 0 AS n');
    let calls = 0;
    await Promise.all(
      Array.from({ length: 5 }, () =>
        pool.transaction(
          async tx => {
            calls++;
            const {
              rows: [{ n, level }]
            } = await tx.query("SELECT n, current_setting('transaction_isolation') AS level FROM counters");
            assert.equal(level, 'serializable');
            await tx.query('UPDATE counters SET n = $1', [Number(n) + 1]);
          },
          { isolation: 'serializable', retries: 100 }
        )
      )
    );
    assert.equal(Number((await pool.query('SELECT n FROM counters')).rows[0].n), 5);
    assert.ok(calls >= 5);
    await pool.query('DROP TABLE counters');
  });

  it('come also if the function keeps the error to itself or wraps it, and resolve to what the last call returns', async () => {
    const client = await connected();
    for (const keep of [
      () => {},
      cause => {
        throw new Error('mine', { cause });
      }
    ]) {
      let calls = 0;
      const result = await client.transaction(
        async tx => {
          if (++calls < 3) await tx.query("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$").catch(keep);
          return calls;
        },
        { retries: 5 }
      );
      assert.deepEqual([result, calls], [3, 3]);
    }
  });

  it('come after a prepared statement whose columns have changed, and after no other 0A000', async () => {
    const client = await connected();
    const server = await sharedServer();
    await server.sql('DROP TABLE IF EXISTS widened; CREATE TABLE widened AS SELECT 1 AS a');
    const text = 'SELECT * FROM widened';
    for (const session of [client, await pooled({ size: 1 }), client.with({ 'a.b': 1 })]) {
      for (const method of ['query', 'commit']) {
        await session.query(text);
        await server.sql('ALTER TABLE widened ADD b int');
        const [row] = await session.transaction(tx => tx[method](text), { retries: 1 });
        assert.deepEqual(row.toObject?.() ?? row, { a: 1, b: null });
        await server.sql('ALTER TABLE widened DROP b');
      }
    }
    const calls = [];
    await assert.rejects(client.transaction(failing('0A000', calls), { retries: 5 }), { code: '0A000' });
    assert.equal(calls.length, 1);
  });

  it('do not come for an error that the server has not reported on this transaction', async () => {
    const client = await connected();
    const other = await connected();
    const mine = Object.assign(new Error('mine'), { code: '40001' });
    for (const [fail, check] of [
      [
        () => {
          throw mine;
        },
        error => error === mine
      ],
      [
        () => {
          throw new Error('wrapped', { cause: mine });
        },
        { message: 'wrapped' }
      ],
      [() => failing('40001', [])(other), { name: 'PostgresError', code: '40001' }],
      [
        tx => tx.transaction(failing('40001', [])).catch(() => failing('40P01', [])(other)),
        { name: 'PostgresError', code: '40P01' }
      ]
    ]) {
      let calls = 0;
      await assert.rejects(
        client.transaction(
          async tx => {
            calls++;
            await tx.query('SELECT 1');
            await fail(tx);
          },
          { retries: 3 }
        ),
        check
      );
      assert.equal(calls, 1);
    }
  });

  it('come for what the server reports on COMMIT, and in a savepoint', async () => {
    const client = await prepared();
    await client.simpleQuery(`CREATE FUNCTION pg_temp.conflict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '40001'; END $$;
      CREATE CONSTRAINT TRIGGER conflict AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.i < 2) EXECUTE FUNCTION pg_temp.conflict()`);
    for (const run of [
      insert,
      (tx, i) => tx.transaction(nested => (i > 1 ? insert(nested, i) : failing('40001', [])(nested)))
    ]) {
      let calls = 0;
      await client.transaction(tx => run(tx, calls++), { retries: 2 });
      assert.equal(calls, 3);
    }
    assert.deepEqual(await ints(client), [2, 2]);
  });

  it('have one time limit and one signal together, also in the pauses', async () => {
    for (const session of [await connected(), await pooled({ size: 1 })]) {
      const calls = [];
      const late = await session
        .transaction(failing('40001', calls), { retries: 1000, statement_timeout: 200 })
        .catch(error => error);
      assert.deepEqual([late.name, late.code], ['TimeoutError', '57014']);
      assert.match(late.message, /statement_timeout of 200 ms/);
      const abort = new AbortController();
      const aborted = session.transaction(
        tx => {
          setTimeout(() => abort.abort(), 30);
          return failing('40001', calls)(tx);
        },
        { retries: 1000, signal: abort.signal }
      );
      await assert.rejects(aborted, { name: 'AbortError' });
      assert.equal((await session.query('SELECT 1')).rowCount, 1);
    }
  });

  it('come after pauses of a second at most', async () => {
    const client = await connected();
    const { setTimeout: wait } = global;
    const pauses = [];
    afterTest(() => {
      global.setTimeout = wait;
    });
    global.setTimeout = (callback, time, ...args) => {
      if (time > 0 && time < 3000) pauses.push(time); // ROLLBACK is waited for for 3 s
      return wait(callback, time < 3000 ? 0 : time, ...args);
    };
    await assert.rejects(client.transaction(failing('40001', []), { retries: 12 }), { code: '40001' });
    global.setTimeout = wait;
    const longest = Math.max(...pauses);
    assert.ok(longest > 250 && longest <= 1000, `${pauses}`);
  });

  it('leave no timer, and nothing that may be done, when the signal ends a pause', async () => {
    const client = await connected();
    const abort = new AbortController();
    const timers = () => process.getActiveResourcesInfo().filter(each => each === 'Timeout').length;
    let calls = 0;
    let during;
    const end = () => {
      during = timers();
      abort.abort();
    };
    const again = client.transaction(
      tx => {
        if (++calls === 6) setTimeout(setImmediate, 80, end); // the pause is longer than 160 ms
        return failing('40001', [])(tx);
      },
      { retries: 1000, signal: abort.signal }
    );
    await assert.rejects(again, { name: 'AbortError', sent: false });
    assert.equal(calls, 6);
    assert.ok(timers() < during);
  });

  it('are an integer from 0; a savepoint is not repeated, since it fails with its transaction', async () => {
    const client = await connected();
    for (const retries of [-1, 1.5, '1', NaN, null])
      await assert.rejects(
        client.transaction(() => {}, { retries }),
        TypeError
      );
    let calls = 0;
    const failing = client.transaction(tx =>
      tx.transaction(
        inner => {
          calls++;
          return inner.query("DO $$ BEGIN RAISE SQLSTATE '40001'; END $$");
        },
        { retries: 5 }
      )
    );
    await assert.rejects(failing, { code: '40001' });
    assert.equal(calls, 1);
  });
});

describe('The options of a savepoint', () => {
  it('are accepted if its transaction has them, and else refused before the function is called', async () => {
    const client = await connected();
    const modes = { isolation: ['serializable', 'SERIALIZABLE'], readOnly: [true, true], deferrable: [true, true] };
    for (const [name, [own, other]] of Object.entries(modes)) {
      await client.transaction(
        async tx => {
          assert.equal(
            await tx.transaction(inner => inner.transaction(() => 7, { [name]: other }), { [name]: own }),
            7
          );
        },
        { [name]: own }
      );
      await client.transaction(async tx => {
        await assert.rejects(
          tx.transaction(() => assert.fail('called'), { [name]: own }),
          { name: 'UsageError', code: '25001', message: new RegExp(`^${name} .*without ${name}`) }
        );
      });
    }
    await client.transaction(
      async tx => {
        assert.equal(await tx.transaction(() => 7, { readOnly: false, deferrable: false, isolation: undefined }), 7);
        await assert.rejects(
          tx.transaction(() => 7, { isolation: 'serializable' }),
          { code: '25001', message: /begun with isolation: repeatable read/ }
        );
      },
      { isolation: 'repeatable read' }
    );
  });
});

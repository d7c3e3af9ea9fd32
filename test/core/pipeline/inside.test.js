'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { PassThrough } = require('node:stream');
const { promisify } = require('node:util');
const { setImmediate: turn } = require('node:timers/promises');
const { LEASE } = require('../../../lib/core/internal');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { connected, sharedServer } = require('../../support');
const { gc } = require('../../support/gc');
const { endAfterTest } = require('../../support/hooks');

/** What asks the outer client for something, by name. */
const ASKS = {
  query: client => client.query('SELECT 1'),
  'query with options': client => client.query('SELECT 1', [], { signal: new AbortController().signal }),
  batch: client => client.batch(['SELECT 1']),
  simpleQuery: client => client.simpleQuery('SELECT 1'),
  transaction: client => client.transaction(() => {}),
  cursor: client => client.cursor('SELECT 1').next(),
  startQuery: async client => client.startQuery('SELECT 1'),
  'COPY FROM STDIN': client => client.query('COPY t FROM STDIN'),
  copyFrom: client => new Promise((resolve, reject) => client.copyFrom('COPY t FROM STDIN').on('error', reject)),
  copyTo: client => new Promise((resolve, reject) => client.copyTo('COPY t TO STDOUT').on('error', reject)),
  listen: client => client.listen('news').ready,
  queryTo: client => client.queryTo(new PassThrough(), 'SELECT 1'),
  sync: client => client.sync(),
  close: client => client.close('S', 'x'),
  end: client => client.end()
};

const REFUSED = {
  name: 'UsageError',
  code: '25001',
  message: /^inside the function of transaction\(\), use its argument \("tx"\)/
};

describe('Inside the function of a transaction', () => {
  for (const [name, ask] of Object.entries(ASKS)) {
    it(`the outer client refuses ${name} at once, and nothing hangs`, async () => {
      const client = await connected();
      await client.query('CREATE TEMP TABLE t (i int)');
      const rejections = [];
      const count = error => rejections.push(error);
      process.on('unhandledRejection', count);
      try {
        await client.transaction(async tx => {
          await assert.rejects((async () => ask(client))(), REFUSED);
          assert.equal((await tx.query('SELECT 1 AS one')).rows[0].one, 1);
        });
        await turn();
        assert.deepEqual(rejections, []);
      } finally {
        process.removeListener('unhandledRejection', count);
      }
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.equal(client.pending, 0);
    });
  }

  it('promises have ids in Node.js 20, which cost time; behind the last one they soon have none', async () => {
    // In a process of its own, since nothing else in it may turn them on.
    const program = `const { executionAsyncId } = require('node:async_hooks');
      const { setTimeout: sleep } = require('node:timers/promises');
      const { Client } = require('.');
      const isOn = async () => {
        const ids = new Set();
        for (let i = 0; i < 3; i++) {
          await Promise.resolve().then(() => {});
          ids.add(executionAsyncId());
        }
        return ids.size > 1;
      };
      (async () => {
        const config = JSON.parse(process.argv.at(-1));
        const [client, other] = [new Client(config), new Client(config)];
        await client.connect();
        await other.connect();
        let isOnInside;
        const mine = new Error('mine');
        for (const [work, options] of [
          [() => {}], [() => { throw mine; }], [() => Promise.reject(mine)], [tx => tx.transaction(() => {})],
          [() => new Promise(() => {}), { statement_timeout: 10 }], [() => client.destroy()]
        ]) {
          await other.transaction(async () => {
            await client.transaction(work, options).catch(() => {});
            isOnInside = await isOn();
          });
          while (await isOn()) await sleep(10);
        }
        console.log(isOnInside);
        await other.end();
      })();`;
    const args = ['-e', program, JSON.stringify((await sharedServer()).config)];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: path.join(__dirname, '../../..'),
      timeout: 20000
    });
    assert.equal(stdout.trim(), String(parseInt(process.versions.node) < 24));
  });

  it('a query of the outer client that nobody awaits is one unhandled rejection, also with .then(f.bind(null))', async () => {
    const client = await connected();
    const rejections = [];
    const count = error => rejections.push(error);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', count);
    try {
      function called() {
        assert.fail('called');
      }
      for (const forget of [
        () => {
          client.query('SELECT 1');
        },
        () => {
          client.query('SELECT 1').then(called.bind(null));
        },
        () => {
          client.query('SELECT 1').then(called);
        }
      ]) {
        await client.transaction(async tx => {
          await tx.query('SELECT 1');
          forget();
        });
        await turn();
        assert.deepEqual(
          rejections.map(({ name, code }) => [name, code]),
          [['UsageError', '25001']]
        );
        rejections.length = 0;
      }
    } finally {
      process.removeListener('unhandledRejection', count);
      for (const each of others) process.on('unhandledRejection', each);
    }
  });

  it('another client may be asked, and this one inside the function of its transaction', async () => {
    const client = await connected();
    const other = await connected();
    await client.transaction(async tx => {
      assert.equal((await other.query('SELECT 1 AS one')).rows[0].one, 1);
      await other.transaction(async () => {
        assert.equal((await tx.query('SELECT 2 AS two')).rows[0].two, 2);
        await assert.rejects(client.query('SELECT 1'), REFUSED);
        await assert.rejects(other.query('SELECT 1'), REFUSED);
      });
    });
  });

  it('of a savepoint, the transaction around it is refused as well, and the savepoint goes on', async () => {
    const client = await connected();
    await client.transaction(async tx => {
      await tx.transaction(async nested => {
        await assert.rejects(tx.query('SELECT 1'), REFUSED);
        await assert.rejects(client.query('SELECT 1'), REFUSED);
        await assert.rejects(once(tx.copyTo('COPY users TO STDOUT'), 'close'), REFUSED);
        assert.equal((await nested.query('SELECT 1 AS one')).rows[0].one, 1);
      });
      assert.equal((await tx.query('SELECT 2 AS two')).rows[0].two, 2);
    });
  });

  it('code may be started that outlives it, and asks the client when it is over', async () => {
    const client = await connected();
    let later, begin;
    const begun = new Promise(resolve => {
      begin = resolve;
    });
    await client.transaction(async tx => {
      later = begun.then(() => client.query('SELECT 3 AS three'));
      await tx.query('SELECT 1');
    });
    const owner = client.transaction(() => begun.then(turn)); // what it asks then waits for this one, not for itself
    begin();
    assert.equal((await later).rows[0].three, 3);
    await owner;
  });

  it('of one that waits to begin, nothing is refused: its function has not been called', async () => {
    const client = await connected();
    const [first, second] = [
      client.transaction(() => turn()),
      client.transaction(async tx => (await tx.query('SELECT 1 AS one')).rows[0].one)
    ];
    const behind = client.query('SELECT 2 AS two');
    assert.deepEqual([await first, await second, (await behind).rows[0].two], [undefined, 1, 2]);
  });

  it('a connection that was lost does not refuse what a new one is asked', async () => {
    const client = await connected();
    await client
      .transaction(async () => {
        client.destroy();
        await client.connect();
        assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, '1');
      })
      .catch(error => assert.equal(error.name, 'ConnectionError'));
    assert.ok(client instanceof Client);
  });
});

describe('A program without a transaction', () => {
  it('is inside of none, though an open portal keeps its queries waiting', () => {
    const file = require.resolve('../../../lib/core/pipeline/inside');
    const loaded = require.cache[file];
    delete require.cache[file];
    try {
      assert.equal(require(file).waitsForItself({}), false);
    } finally {
      require.cache[file] = loaded;
    }
  });
});

describe('A transaction that is over', () => {
  it('is not kept by code that it has started, though that starts the next one, and so on', async () => {
    const client = await connected();
    const pool = endAfterTest(new Pool((await sharedServer()).config, { size: 4 }));
    for (const session of [client, pool]) {
      const kept = [];
      await new Promise((done, fail) => {
        const run = left => {
          const one = session.transaction(async tx => {
            kept.push(new WeakRef(tx), new WeakRef(tx[LEASE]));
            if (left === 0) {
              await turn();
              gc(); // here, since the running code alone keeps what is around it
              return done();
            }
            (session === client ? one : Promise.resolve()).then(() => run(left - 1)); // in a pool, while this one is not over
            await tx.query('SELECT 1');
          });
          one.catch(fail);
        };
        run(50);
      });
      const alive = kept.filter(each => each.deref() !== undefined).length;
      assert.ok(alive < 20, `${alive} of ${kept.length} are kept`);
    }
  });
});

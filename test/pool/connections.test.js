'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { tracingChannel } = require('node:diagnostics_channel');
const { execFile } = require('node:child_process');
const { EventEmitter, once } = require('node:events');
const net = require('node:net');
const { Duplex, PassThrough } = require('node:stream');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { inspect, promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { Client, ConnectionError } = require('../..');
const { Pool } = require('../../lib/pool');
const { Connection } = require('../../lib/pool/connection');
const { FakeServer } = require('../support/connecting');
const { afterTest, endAfterTest } = require('../support/hooks');
const { ANSWER, GREETING, commandComplete, connected, held, message, sharedServer } = require('../support');
const { table } = require('../rules/kit');
const { onFrames } = require('../support/kit');
const { heldTimers, opened, pass, until } = require('./pools');

const idOf = async asked => (await asked).rows[0].id;
const ID = 'SELECT pg_backend_pid() AS id';

/** Has `count` connections of a pool to itself; resolves when all are there, to what gives them back. */
async function occupy(pool, count) {
  const releases = [];
  await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise(taken => {
          releases.push(pool.connection(client => new Promise(release => taken(releases.push(release)))));
        })
    )
  );
  return () => Promise.all(releases.map(each => (typeof each === 'function' ? each() : each)));
}

/** Runs a program with a pool of the shared server. @returns {Promise<string>} what it prints until it ends by itself */
async function run(code, options = {}) {
  const pool = `new (require(${JSON.stringify(require.resolve('../../lib/pool'))}).Pool)(${JSON.stringify((await sharedServer()).config)}, ${JSON.stringify(options)})`;
  return (await promisify(execFile)(process.execPath, ['-e', `const pool = ${pool}; ${code}`], { timeout: 20000 }))
    .stdout;
}

/** Makes a pool know a text that has needed so many milliseconds whenever it was executed. */
function executed(pool, text, time) {
  const known = pool[LEASE].knownTexts.of(text);
  for (let i = 0; i < 1000; i++) known.answered(time);
}

describe('The connections of a pool', () => {
  describe('for queries', () => {
    /** On how many connections so many run at a time. */
    const spread = async (pool, text, count) =>
      new Set(await Promise.all(Array.from({ length: count }, () => idOf(pool.query(text))))).size;

    it('are shared by reads that together need less than half a millisecond', async () => {
      const pool = await opened();
      await occupy(pool, 9).then(release => release());
      await until(() => pool.stats.idle === 9);
      executed(pool, ID, 0.01);
      assert.equal(await spread(pool, ID, 50), 1);
      assert.equal(pool.stats.connected, 9);
    });

    it('have few queries behind others whose text was executed a few times, however quick these were', async () => {
      const pool = await opened();
      await occupy(pool, 9).then(release => release());
      await until(() => pool.stats.idle === 9);
      const { call, release } = await held();
      const text = `${ID}, ${call}`;
      for (let i = 0; i < 5; i++) pool[LEASE].knownTexts.of(text).answered(0); // a round trip was measured too long
      const asked = Array.from({ length: 40 }, () => pool.query(text));
      await until(() => pool.stats.connected === 10 && pool.stats.idle === 0);
      assert.ok(pool.stats.waiting >= 20, inspect(pool.stats));
      await release();
      await Promise.all(asked);
    });

    it('get queries that follow each other for half a millisecond, rather than one each', async () => {
      const pool = await opened();
      await occupy(pool, 9).then(release => release());
      await until(() => pool.stats.idle === 9);
      const used = [];
      const { addUser } = Connection.prototype;
      afterTest(() => Object.assign(Connection.prototype, { addUser }));
      Connection.prototype.addUser = function (...given) {
        used.push(this);
        return addUser.apply(this, given);
      };
      executed(pool, ID, 0.1);
      await Promise.all(Array.from({ length: 200 }, () => pool.query(ID)));
      const turns = used.filter((each, i) => each !== used[i - 1]).length;
      assert.ok(turns <= 40, `${turns}`);
      assert.ok(new Set(used).size >= 9);
    });

    it('are as many as there can be for those that need longer', async () => {
      const pool = await opened();
      const { call, release } = await held();
      const text = `${ID}, ${call}`;
      pool[LEASE].knownTexts.of(text).answered(1000);
      const asked = Array.from({ length: 12 }, () => pool.query(text));
      await until(() => pool.stats.pending === 10);
      assert.equal(pool.stats.waiting, 2);
      await release();
      assert.equal(new Set(await Promise.all(asked.map(idOf))).size, 10);
    });

    it('with a new text are all: one each, and the others wait for what the first answers show', async () => {
      const pool = await opened();
      const { call, release } = await held();
      const asked = Array.from({ length: 12 }, () => pool.query(`SELECT ${call}`));
      await until(() => pool.stats.pending === 10);
      assert.deepEqual([pool.stats.waiting, pool.stats.owned], [2, 0]);
      await release();
      await Promise.all(asked);
    });

    it('that wait for a row keep nothing from an answer that the owner of its lock needs, at once and later', async () => {
      const server = await sharedServer();
      await server.sql('CREATE TABLE rows_to_lock AS SELECT 1 AS id, 0 AS n');
      const CHANGE = 'UPDATE rows_to_lock SET n = n + 1 WHERE id = $1';
      const cases = [2, 4, 8].flatMap(waiters =>
        [1, 30].flatMap(pause => [true, false].map(isInside => ({ waiters, pause, isInside })))
      );
      for (const { waiters, pause, isInside } of cases) {
        const pool = await opened();
        for (let i = 0; i < 5; i++) await Promise.all([pool.query(CHANGE, [2]), pool.query('SELECT 1')]);
        const ask = async () => {
          await sleep(pause);
          await pool.query(CHANGE, [2]); // of another tenant
          for (const text of ['SELECT 1', 'SELECT 2', 'SELECT 1']) await pool.query(text);
        };
        let lock, locked;
        const isLocked = new Promise(resolve => {
          lock = resolve;
        });
        const answered = isInside ? undefined : isLocked.then(ask);
        await pool.transaction(async tx => {
          await tx.query(CHANGE, [1]);
          locked = Array.from({ length: waiters }, () => pool.query(CHANGE, [1]));
          lock();
          await (answered ?? ask());
        });
        await Promise.all(locked);
        await pool.end();
      }
      await server.sql('DROP TABLE rows_to_lock');
    });

    it('are known for the time that they need, though the program is always busy', async () => {
      const pool = await opened({ size: 3 });
      const text = 'SELECT pg_backend_pid() AS id FROM pg_sleep(0.05)';
      const turn = () => {
        for (const since = performance.now(); performance.now() - since < 1;);
        timer = setImmediate(turn);
      };
      let timer = setImmediate(turn);
      afterTest(() => clearImmediate(timer));
      for (let i = 0; i < 5; i++) await pool.query(text);
      assert.ok(pool[LEASE].knownTexts.of(text).average > 20);
    });

    it('that wait for rows have no read behind them', async () => {
      const server = await sharedServer();
      await server.sql('CREATE TABLE more_rows AS SELECT 1 AS id, 0 AS n');
      const pool = await opened();
      const CHANGE = 'UPDATE more_rows SET n = n + 1 WHERE id = $1';
      for (let i = 0; i < 5; i++) await Promise.all([pool.query(CHANGE, [2]), pool.query('SELECT 1')]);
      let locked;
      await pool.transaction(async tx => {
        await tx.query(CHANGE, [1]);
        locked = Array.from({ length: 8 }, () => pool.query(CHANGE, [1]));
        await Promise.all(Array.from({ length: 200 }, () => pool.query('SELECT 1')));
      });
      await Promise.all(locked);
      await pool.end();
      await server.sql('DROP TABLE more_rows');
    });

    it('that wait for LOCK TABLE keep nothing from an answer that the function with the lock needs', async () => {
      const server = await sharedServer();
      await server.sql('CREATE TABLE locked_table AS SELECT 1 AS id');
      for (const [size, pause] of [
        [10, 1],
        [10, 30],
        [2, 1]
      ]) {
        const pool = await opened({ size });
        for (let i = 0; i < 5; i++) await Promise.all([pool.query('TABLE locked_table'), pool.query('SELECT 1')]);
        let lock;
        const isLocked = new Promise(resolve => {
          lock = resolve;
        });
        const readers = isLocked.then(() => Promise.all([1, 2, 3, 4].map(() => pool.query('TABLE locked_table'))));
        await pool.transaction(async tx => {
          await tx.query('LOCK locked_table');
          lock();
          await sleep(pause);
          const asked = pool.query('SELECT 1', [], { statement_timeout: size > 2 ? 9000 : 50 });
          if (size > 2) await asked;
          else await assert.rejects(asked, { code: '57014' }); // no connection is left
        });
        await readers;
        await pool.end();
      }
      await server.sql('DROP TABLE locked_table');
    });

    it('are not held up by what the program itself was busy with', async () => {
      const pool = await opened();
      const known = pool[LEASE].knownTexts.of(ID);
      let took = 0;
      for (let i = 0; i < 20; i++) {
        const begun = performance.now();
        const asked = pool.query(ID);
        await new Promise(setImmediate);
        for (const end = performance.now() + 15; performance.now() < end;); // its answer may come meanwhile
        await asked;
        took += (performance.now() - begun) / 20;
      }
      assert.ok(known.average < took - 10, `${known.average} of ${took}`);
    });

    it('that were late are not shared: quick ones are answered beside them', async () => {
      const pool = await opened();
      for (let i = 0; i < 5; i++) await pool.query('SELECT 1');
      const { call, release } = await held();
      const asked = Array.from({ length: 9 }, (_, i) => pool.query(`SELECT ${call}, ${i}`));
      await until(() => pool.stats.pending === 9);
      await Promise.all(Array.from({ length: 20 }, () => pool.query('SELECT 1')));
      assert.equal(pool.stats.pending, 9);
      await release();
      await Promise.all(asked);
    });

    it('that wait for a lock keep no other from a connection that is left, nor a transaction', async () => {
      const pool = await opened({ size: 2 });
      const { call, release } = await held();
      const locked = pool.query(`SELECT ${call}`);
      for (let i = 0; i < 3; i++) await pool.query(`SELECT ${i}`);
      assert.equal(await pool.transaction(async tx => (await tx.query("SELECT 'done' AS it")).rows[0].it), 'done');
      await release();
      await locked;
    });

    it('wait in the pool while all have late answers, and go where the first one comes', async () => {
      const pool = await opened({ size: 2 });
      for (let i = 0; i < 3; i++) await pool.query('SELECT 1');
      const [first, second] = [await held(), await held()];
      const locked = [first, second].map(({ call }) => pool.query(`SELECT ${call}`));
      await until(() => pool.stats.pending === 2);
      await sleep(200); // until both are late
      const quick = pool.query('SELECT 1');
      assert.equal(pool.stats.waiting, 1);
      await second.release();
      await quick;
      assert.equal(pool.stats.pending, 1);
      await first.release();
      await Promise.all(locked);
    });
  });

  describe('that are opened while a waiting query is given another one', () => {
    /**
     * A pool at a distance of 100 ms, two of whose queries wait, since one connection is owned and the other one is left
     * to an owner that waits as well. When the owned one is lost, the first query goes behind a read, and a connection
     * is opened for the rest: the listener is called then.
     */
    const QUICK = 'SELECT $1::int AS n';
    const whenGiven = async listener => {
      const proxy = await startProxy({ target: await sharedServer(), delay: 50 });
      afterTest(() => proxy.stop());
      const pool = await opened({ size: 2 }, { host: proxy.host, port: proxy.port }, { reserved: 0 });
      pool.on('error', () => {});
      const release = await occupy(pool, 2);
      await release();
      const { call, release: answer } = await held();
      const read = `SELECT ${call}`;
      for (const text of [read, QUICK]) executed(pool, text, 5);
      pool[LEASE].knownTexts.of(read).isRead = true; // though it waits for a lock
      let lose;
      const owner = pool.connection(async client => {
        await client.query('SELECT 1');
        await new Promise(resolve => {
          lose = () => resolve(client.destroy());
        });
      });
      await until(() => lose);
      const reads = pool.query(read);
      const waits = pool.transaction(tx => tx.query('SELECT 2 AS n'));
      const stops = [new AbortController(), new AbortController()];
      const asked = stops.map(({ signal }, i) => pool.query(QUICK, [i], { signal }));
      await until(() => pool.stats.waiting === 3);
      const more = [];
      pool.once('connect', client => {
        assert.ok(pool.stats.waiting >= 2, 'the first one is being given a connection');
        listener({ pool, client, stops, more });
      });
      lose();
      await owner;
      await answer();
      const answers = await Promise.all(
        [...asked, waits, reads, ...more].map(each =>
          each.then(
            ({ rows }) => rows[0].n ?? 'read',
            error => error.name
          )
        )
      );
      return { pool, answers };
    };

    table(
      'None is lost or given twice, whatever a listener of `connect` does then',
      {
        listener: {
          'asks nothing': [() => {}, [0, 1, 2, 'read']],
          'asks the pool': [({ pool, more }) => more.push(pool.query('SELECT 3 AS n')), [0, 1, 2, 'read', 3]],
          'has the pool replace all': [({ pool }) => pool.renew(), [0, 1, 2, 'read']],
          'aborts the query': [({ stops }) => stops[0].abort(), ['AbortError', 1, 2, 'read']],
          'aborts the next one': [({ stops }) => stops[1].abort(), [0, 'AbortError', 2, 'read']],
          'ends the pool': [({ pool }) => pool.end(), [0, 1, 2, 'read']],
          'closes the connection': [({ client }) => client.destroy(), [0, 1, 2, 'read']],
          'destroys the pool': [({ pool }) => pool.destroy(), Array(4).fill('ConnectionError')]
        }
      },
      async ([listener, expected]) => {
        const { pool, answers } = await whenGiven(listener);
        assert.deepEqual(answers, expected);
        assert.deepEqual(pool.stats.holders, []);
      }
    );
  });

  describe('that nobody uses', () => {
    it('do not keep a program alive: it ends without end(), but not before what is pending', async () => {
      assert.equal(await run("pool.query('SELECT pg_sleep(0.1)').then(() => console.log('answered'))"), 'answered\n');
      assert.equal(
        await run(
          "pool.query('SELECT 1').then(() => setTimeout(() => pool.query('SELECT 1').then(() => console.log('again')), 200))"
        ),
        'again\n'
      );
      assert.equal(
        await run("pool.query('SELECT 1').then(() => pool.end()).then(() => console.log('ended'))"),
        'ended\n'
      );
    });

    it('do not end a program in which a request waits without a limit while its connection is restored', async () => {
      const work =
        "pool.connection(client => client.query('BEGIN')); pool.transaction(tx => tx.query('SELECT 1')).then(() => console.log('answered'))";
      assert.equal(await run(work, { size: 1, acquire_timeout: 0 }), 'answered\n');
    });

    it('keep a program alive until idle_timeout if the policy says so, and so does listen', async () => {
      const after =
        "const start = performance.now(); process.on('exit', () => console.log(performance.now() - start > 400));";
      assert.equal(
        await run(`${after} pool[Symbol.for('quickgres.lease')].policy.exitsOnIdle = false; pool.query('SELECT 1')`, {
          idle_timeout: 500
        }),
        'true\n'
      );
      assert.equal(
        await run(`${after} const listener = pool.listen('news'); setTimeout(() => listener.return(), 500).unref()`),
        'true\n'
      );
    });

    it('are looked after by one timer, which has an end: mocked ones run until there is none', async () => {
      for (const least of [0, 2]) {
        const pool = await opened({}, {}, { least });
        const clients = [];
        pool.on('connect', client => clients.push(client));
        const timers = heldTimers();
        await Promise.all([1, 2, 3].map(i => pool.query(`SELECT ${i}`)));
        await Promise.all(clients.map(client => client.sync()));
        // A connection that is being opened has a timer of its own.
        while (pool.stats.idle < pool.stats.connected || timers.length > 1) await new Promise(setImmediate);
        let count = 0;
        for (; timers.length > 0 && count < 100; count++) {
          timers.shift().callback();
          await new Promise(setImmediate); // the alarm rings when sockets were read
        }
        assert.ok(count < 30, `${count}`);
        timers.restore();
        await until(() => pool.stats.connected === 0);
      }
    });
  });

  describe('that somebody owns', () => {
    /** What would be a part of an owner's block, or fail in it. */
    const OTHERS = {
      query: pool => pool.query('SELECT 1'),
      batch: pool => pool.batch(['SELECT 1']),
      'with().query': pool => pool.with({ application_name: 'other' }).query('SELECT 1'),
      transaction: pool => pool.transaction(tx => tx.query('SELECT 1'))
    };

    it('are theirs alone, also if they come when the answer to what was given up has just come', async () => {
      for (const [what, ask] of Object.entries(OTHERS)) {
        const pool = await opened({ size: 1 });
        let only;
        pool.on('connect', client => {
          only = client;
        });
        await pool.query('SELECT 1');
        const stop = new AbortController();
        const asked = pool.query('SELECT pg_sleep(60)', [], { signal: stop.signal });
        stop.abort();
        await assert.rejects(asked, { name: 'AbortError' });
        await only.sync();
        let isInside = true;
        let answered;
        await pool.connection(async client => {
          await client.query('BEGIN');
          for (let i = 0; i < 5; i++) await new Promise(setImmediate);
          answered = ask(pool).then(() => assert.equal(isInside, false, what));
          answered.catch(() => {});
          await client.query('SELECT 1');
          await client.query('ROLLBACK');
          isInside = false;
        });
        await answered;
      }
    });

    it('get no plain queries meanwhile, and one is left for these', async () => {
      const pool = await opened({ size: 3 });
      const release = await occupy(pool, 2);
      const ids = new Set(await Promise.all(Array.from({ length: 20 }, () => idOf(pool.query(ID)))));
      assert.equal(ids.size, 1);
      assert.deepEqual([pool.stats.owned, pool.stats.connected], [2, 3]);
      await release();
    });

    it('leave one to plain queries that no slow reader holds up', async () => {
      const pool = await opened({ size: 3 });
      const target = new PassThrough();
      const written = pool.queryTo(target, "SELECT repeat('x', 1000) FROM generate_series(1, 20000)", [], {
        buffer: 1
      });
      await until(() => target.writableNeedDrain); // and so its connection is held up
      const owners = [1, 2].map(() => pool.transaction(() => until(() => target.destroyed)));
      await until(() => pool.stats.owned > 0);
      for (let i = 0; i < 5; i++) await pool.query('SELECT 1');
      assert.deepEqual([pool.stats.owned, pool.stats.waiting], [1, 1]);
      target.destroy();
      await written.catch(() => {});
      await Promise.all(owners);
    });

    it('may have been asked something by who listens to "connect"', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 5000 });
      pool.on('connect', client => client.query("SELECT pg_sleep(0.1), set_config('a.b', 'set', false)"));
      const {
        rows: [row]
      } = await pool.transaction(tx => tx.query("SELECT current_setting('a.b') AS it"));
      assert.equal(row.it, 'set');
    });

    it('may have been asked several things by who listens to "connect", one after the other: no timer has to tell that they are over', async () => {
      const pool = await opened({ size: 1 });
      const seen = [];
      pool.on('connect', async client => {
        for (const n of [1, 2, 3]) seen.push((await client.query('SELECT $1::int AS n', [n])).rows[0].n);
      });
      const timers = heldTimers();
      assert.equal((await pool.query('SELECT 4 AS n')).rows[0].n, 4);
      assert.deepEqual(seen, [1, 2, 3]);
      await pool.listen('news').ready;
      timers.restore();
    });

    it('may have been asked several things by who listens to "connect" when several answers are read at once', async () => {
      const texts = [];
      const fake = await new FakeServer(async conversation => {
        await conversation.first();
        conversation.say(GREETING);
        for (let answers = []; ;) {
          const { type, body } = await conversation.read();
          if (type === 'P') {
            texts.push(/SELECT \d/.exec(body.toString('latin1'))[0]);
            answers.push(ANSWER.described(), commandComplete('SELECT 0'));
          }
          if (type === 'S') answers.push(ANSWER.ready);
          // That of the listener comes with that of the pool's Sync.
          if (type !== 'S' || (texts.length < 3 && answers.length < 4)) continue;
          conversation.say(...answers);
          answers = [];
        }
      }).listen();
      afterTest(() => fake.stop());
      const pool = await opened({ size: 1 }, { ...fake.config, require_auth: 'none' });
      pool.on('connect', async client => {
        await client.query('SELECT 1');
        for (let i = 0; i < 50; i++) await undefined;
        await client.query('SELECT 2');
      });
      await pool.query('SELECT 3');
      assert.deepEqual(texts, ['SELECT 1', 'SELECT 2', 'SELECT 3']);
    });

    it('may be asked later by who listens to "connect": no timer has to tell that it is over', async () => {
      const pool = await opened({ size: 1 });
      let kept;
      pool.on('connect', client => {
        kept = client;
      });
      await pool.query('SELECT 1');
      await until(() => pool.stats.idle === 1);
      const { call, release } = await held();
      const timers = heldTimers();
      const later = kept.query(`SELECT ${call}`);
      const asked = [pool.query('SELECT 2'), pool.transaction(() => {})];
      assert.equal(pool.stats.waiting, 2);
      await release();
      await Promise.all([later, ...asked]);
      timers.restore();
    });

    it('are replaced if what a listener of "connect" asks is not answered', async () => {
      const pool = await opened({ size: 1 }, {}, { silence: 100 });
      const lost = once(pool, 'error');
      pool.once('connect', client => client.query('SELECT pg_sleep(60)').catch(() => {}));
      assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.equal((await lost)[0].message, 'the server was silent for 100 ms');
    });

    it('are in no transaction block, though who listens to "connect" has left one', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 5000 });
      pool.on('connect', client => client.query('BEGIN'));
      assert.equal(await pool.transaction(() => 5), 5);
    });

    it('are waited for until the signal aborts, also while they are being opened', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({}, { host: proxy.host, port: proxy.port });
      const controller = new AbortController();
      proxy.stall();
      pool.once('connect', () => setTimeout(() => controller.abort(), 20));
      await assert.rejects(
        pool.transaction(() => {}, { signal: controller.signal }),
        { name: 'AbortError' }
      );
      await assert.rejects(
        pool.connection(() => {}, { signal: controller.signal }),
        { name: 'AbortError' }
      );
      proxy.resume();
      await pool.end();
      await proxy.stop();
    });

    it('may be all, where none is reserved for plain queries', async () => {
      const pool = await opened({ size: 2 }, {}, { reserved: 0 });
      const release = await occupy(pool, 2);
      assert.equal(pool.stats.owned, 2);
      const asked = pool.query('SELECT 1 AS n');
      assert.equal(pool.stats.waiting, 1);
      await release();
      assert.equal((await asked).rows[0].n, 1);
    });

    it('are left as they are, where it is to be so', async () => {
      const pool = await opened({ size: 1 });
      await pool.connection(
        async client => {
          await client.query('SET search_path TO kept');
          await client.query('BEGIN; SELECT 1 / 0', []).catch(() => client.query('BEGIN'));
        },
        { reset: false }
      );
      assert.equal((await pool.query('SHOW search_path')).rows[0].search_path, 'kept');
      assert.equal(await pool.connection(client => client.transactionStatus), 'I');
    });

    it('are waited for in order', async () => {
      const pool = await opened({ size: 2 });
      const release = await occupy(pool, 1);
      const order = [];
      const waiting = [1, 2, 3, 4].map(i => pool.transaction(() => order.push(i)));
      assert.equal(pool.stats.waiting, 4);
      await release();
      await Promise.all(waiting);
      assert.deepEqual(order, [1, 2, 3, 4]);
    });

    it('are waited for no longer than acquire_timeout, or until the signal aborts', async () => {
      const pool = await opened({ size: 2, acquire_timeout: 500 });
      await Promise.all([1, 2].map(() => pool.query('SELECT pg_sleep(0.05)'))); // both are open
      const release = await occupy(pool, 1);
      await assert.rejects(
        pool.transaction(() => {}),
        error => {
          const message = error.message.replace(/ for \d+ ms:/, ' for 500 ms:');
          assert.deepEqual([error.name, error.code, error.sent], ['TimeoutError', '53300', false]);
          assert.equal(
            message,
            'no connection for 500 ms (acquire_timeout): size 2, open 2, owned 1. Longest in use: owned for 500 ms: ' +
              'nothing was sent. Inside a transaction or a loop over a cursor, use tx'
          );
          return true;
        }
      );
      const controller = new AbortController();
      const asked = pool.connection(() => {}, { signal: controller.signal });
      controller.abort(new Error('not any more'));
      await assert.rejects(asked, error => error.name === 'AbortError' && error.cause.message === 'not any more');
      await assert.rejects(
        pool.transaction(() => {}, { signal: AbortSignal.abort() }),
        { name: 'AbortError' }
      );
      await assert.rejects(
        pool.transaction(() => {}, { signal: 5 }),
        { name: 'TypeError', message: /signal must be/ }
      );
      assert.equal(pool.stats.waiting, 0);
      await release();
      await assert.rejects(
        pool.transaction(() => assert.fail(), { signal: AbortSignal.abort() }),
        { name: 'AbortError' }
      );
    });

    it('are waited for by a function that the error shows', async () => {
      async function asking(pool) {
        await pool.query('SELECT 1');
      }
      const cases = [
        [{ host: 'localhost', port: 1 }, 20_000, 'ConnectionError'],
        [{ socket: () => new Promise(() => {}) }, 20, 'TimeoutError']
      ];
      for (const [config, acquire_timeout, name] of cases) {
        const pool = new Pool(config, { acquire_timeout });
        await assert.rejects(asking(pool), error => error.name === name && /at async asking/.test(error.stack), name);
        pool.destroy();
      }
    });

    it('leave no timer of the waiting behind', async () => {
      const pool = await opened({ size: 1 });
      const timers = () => process.getActiveResourcesInfo().filter(each => each === 'Timeout').length;
      await pool.query('SELECT 1'); // opens it
      const before = timers();
      const release = await occupy(pool, 1);
      const asked = pool.query('SELECT 1');
      const limited = pool.query('SELECT 1', [], { statement_timeout: 60000 });
      assert.equal(timers(), before + 1);
      await Promise.all([release(), asked, limited]);
      assert.equal(timers(), before);
    });

    it('are waited for until acquire_timeout where none can be made any more, and the error tells why', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({ acquire_timeout: 400 }, { host: proxy.host, port: proxy.port });
      const errors = [];
      pool.on('error', error => errors.push(error));
      await pool.query('SELECT 1');
      proxy.refuse();
      proxy.reset();
      await until(() => errors.length > 0);
      await Promise.all(
        [pool.query('SELECT 1'), pool.transaction(() => {})].map(asked =>
          assert.rejects(asked, error => {
            assert.deepEqual([error.name, error.code, error.sent], ['TimeoutError', '08001', false]);
            assert.match(
              error.message,
              /^no connection for 400 ms \(acquire_timeout\): the last attempt .* has failed$/
            );
            assert.match(error.cause.message, /connect ECONNREFUSED/);
            return error.cause.code === 'ECONNREFUSED' && errors.includes(error.cause);
          })
        )
      );
      await proxy.stop();
    });

    it('are made room for, when plain queries never leave one idle', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 5000 });
      let over = false;
      const traffic = Array.from({ length: 10 }, async () => {
        // The next one is asked before the last one is answered.
        for (let last = pool.query('SELECT 1'); last !== undefined;) {
          const next = over ? undefined : pool.query('SELECT pg_sleep(0.002)');
          await last;
          last = next;
        }
      });
      for (let i = 0; i < 5; i++) {
        await pool.transaction(async tx => {
          assert.equal(pool.stats.owned, 1);
          await tx.query('SELECT 1');
        });
      }
      over = true;
      await Promise.all(traffic);
    });

    it('are shared again when who has waited for them gives up', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 1000 });
      await pool.query('SELECT 1');
      const { call, release } = await held();
      const slow = pool.query(`SELECT ${call}`);
      await assert.rejects(
        pool.transaction(() => {}),
        { code: '53300' }
      );
      const other = pool.query('SELECT 1 AS n');
      assert.equal(pool.stats.waiting, 0);
      await release();
      assert.equal((await other).rows[0].n, 1);
      await slow;
    });

    it('leave the other to plain queries, though somebody waits for one more', async () => {
      const pool = await opened({ size: 2, acquire_timeout: 5000 });
      await Promise.all([1, 2].map(() => pool.query('SELECT pg_sleep(0.05)')));
      const locks = [await held(), await held()];
      const slow = locks.map(({ call }) => pool.query(`SELECT ${call}`));
      const answers = [];
      const first = pool.transaction(async () => {
        await locks[1].release();
        answers.push((await pool.query('SELECT 1 AS n')).rows[0].n);
      });
      const second = pool.transaction(() => answers.push('second'));
      await locks[0].release();
      await Promise.all([...slow, first, second]);
      assert.deepEqual(answers, [1, 'second']);
    });

    it('that a plain query holds are told by the error of a full pool, with its text but no literals', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 500 });
      const { call, release } = await held();
      const slow = pool.query(`SELECT 'secret', ${call}`);
      const shown = `SELECT '…', ${call.replace(/\d+(?=[,)])/g, '…')}`;
      await until(() => pool.stats.pending === 1);
      await assert.rejects(
        pool.transaction(() => {}),
        error =>
          error.code === '53300' &&
          error.message.includes(`shared for `) &&
          error.message.includes(` ms: ${shown}. Inside`)
      );
      assert.deepEqual(
        pool.stats.holders.map(({ owned, text }) => [owned, text]),
        [[false, shown]]
      );
      await release();
      await slow;
    });

    it('of a pool of one are waited for by plain queries, too', async () => {
      const pool = await opened({ size: 1, acquire_timeout: 500 });
      await pool.transaction(async tx => {
        await tx.query('SELECT 1');
        await assert.rejects(pool.query('SELECT 1'), { name: 'TimeoutError', code: '53300' });
      });
      assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
    });

    it('of a pool that begins are theirs alone: a plain query meets nothing of their session', async () => {
      const pool = await opened({ size: 1 }, { require_auth: 'none' });
      const names = await Promise.all([
        pool.connection(async client => {
          await client.query("SET application_name = 'own'");
          await client.query('SELECT 1');
          return (await client.query('SHOW application_name')).one().application_name;
        }),
        pool.query('SHOW application_name').then(result => result.one().application_name)
      ]);
      assert.deepEqual(names, ['own', '']);
    });

    it('of a pool of one are shared as soon as it is the turn of a plain query', async () => {
      const pool = await opened({ size: 1 });
      let over = false;
      const owners = Array.from({ length: 3 }, async () => {
        while (!over) await pool.transaction(tx => tx.query('SELECT 1'));
      });
      for (let i = 0; i < 5; i++) assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
      over = true;
      await Promise.all(owners);
    });

    it('may be destroyed by their owner with an error, which nobody else gets', async () => {
      const pool = await opened({ size: 1 });
      const owner = pool.connection(client => client.destroy(new Error('mine')));
      assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
      await owner;
    });

    it('are closed where they cannot be given back', async () => {
      const pool = await opened({ size: 1 });
      const first = await pool.connection(client => {
        client.destroy();
        return client.processId;
      });
      assert.notEqual(await idOf(pool.query(ID)), String(first));
    });

    it('are rolled back when the block has failed, or is still at work', async () => {
      const pool = await opened({ size: 1 });
      await pool.connection(async client => {
        await client.query('BEGIN');
        await client.query('SELECT 1 / 0').catch(() => {});
      });
      await pool.connection(async client => {
        client.query('BEGIN');
        client.query('CREATE TABLE left_open (i int)');
      });
      const {
        rows: [row]
      } = await pool.query("SELECT to_regclass('left_open') AS it");
      assert.equal(row.it, null);
    });
  });

  describe('are closed', () => {
    it('by renew() and max_lifetime even if one transaction follows another', async () => {
      const pool = await opened({ size: 1 });
      const ids = new Set();
      const use = async times => {
        for (; times > 0; times--) ids.add(await pool.transaction(tx => idOf(tx.query(ID))));
      };
      await Promise.all([use(10), use(10)]);
      const more = [use(10), use(10)];
      pool.renew();
      await Promise.all(more);
      assert.equal(ids.size, 2);
    });

    it('when they have not been used for idle_timeout', async () => {
      const pool = await opened({ idle_timeout: 30 });
      await Promise.all([1, 2, 3].map(() => pool.query('SELECT 1')));
      await until(() => pool.stats.connected === 0);
      assert.equal((await pool.query('SELECT 1 AS n')).rows[0].n, 1);
    });

    it('not when connecting took longer than idle_timeout: a new one serves the request that waits for it', async () => {
      const pool = new Pool((await sharedServer()).config, { idle_timeout: 1 }); // connecting takes longer
      endAfterTest(pool);
      let connects = 0;
      pool.on('connect', () => connects++);
      await pool.query('SELECT 1');
      assert.equal(connects, 1);
    });

    it('when they have not been used for idle_timeout since a transaction that waited for them was aborted', async () => {
      const pool = await opened({ size: 1, idle_timeout: 30 });
      const { call, release } = await held();
      const asked = pool.query(`SELECT ${call}`);
      await until(() => pool.stats.pending === 1);
      const controller = new AbortController();
      const aborted = assert.rejects(
        pool.transaction(() => {}, { signal: controller.signal }),
        { name: 'AbortError' }
      );
      controller.abort();
      await aborted;
      await release();
      await asked;
      await until(() => pool.stats.connected === 0);
    });

    it('by renew(), when what they were asked is over: prepared statements take the types of a migration', async () => {
      const server = await sharedServer();
      await server.sql('DROP TABLE IF EXISTS renewed; CREATE TABLE renewed (at timestamp)');
      const pool = await opened({ size: 2 });
      const insert = () =>
        pool.query('INSERT INTO renewed VALUES ($1) RETURNING pg_backend_pid() AS id, pg_typeof(at) AS type', [
          '2026-01-01 00:00+05'
        ]);
      const before = (await insert()).rows[0].id;
      const slow = pool.query('SELECT pg_backend_pid() AS id, pg_sleep(0.2)');
      await server.sql('ALTER TABLE renewed ALTER at TYPE timestamptz; TRUNCATE renewed');
      pool.renew();
      const {
        rows: [after]
      } = await insert();
      assert.notEqual(after.id, before);
      assert.ok((await slow).rows[0].id > 0);
      const [{ at }] = await server.sql("SELECT at AT TIME ZONE 'UTC' AS at FROM renewed");
      assert.equal(at, '2025-12-31 19:00:00');
      await server.sql('DROP TABLE renewed');
    });

    it('when they have not been used for idle_timeout since a query that took longer', async () => {
      const pool = await opened({ size: 1, idle_timeout: 20 });
      const { call, release } = await held();
      const other = await connected();
      const timers = heldTimers();
      const fire = () => {
        for (const { callback } of timers.splice(0)) callback();
      };
      const query = pool.query(`SELECT ${call}`);
      while (pool.stats.connected === 0) await other.query('SELECT 1');
      pass(30);
      fire();
      await release();
      await query;
      assert.ok(Math.min(...timers.map(({ delay }) => delay)) <= 20);
      pass(30);
      fire();
      while (pool.stats.connected > 0) await other.query('SELECT 1');
    });

    it('by idle_timeout, but for as many as the policy leaves', async () => {
      const pool = await opened({ size: 3, idle_timeout: 10 }, {}, { least: 2 });
      await Promise.all([1, 2, 3].map(() => pool.connection(client => client.query('SELECT pg_sleep(0.01)'))));
      await until(() => pool.stats.connected === 2);
      await sleep(50); // the third one may have been opened only now
      await until(() => pool.stats.connected <= 2);
      assert.equal(pool.stats.connected, 2);
    });

    it('when they are older than max_lifetime, though they have served no request', async () => {
      const pool = await opened({ max_lifetime: 30 });
      const opening = once(pool, 'connect');
      const over = new AbortController();
      const asked = pool.query('SELECT 1', [], { signal: over.signal });
      const [client] = await opening;
      over.abort();
      await assert.rejects(asked, { name: 'AbortError' });
      await until(() => client.state === 'open');
      await client.closed;
    });

    it('not when connecting took longer than max_lifetime: a new one serves the request that waits for it', async () => {
      const pool = await opened({ max_lifetime: 1 });
      let connects = 0;
      pool.on('connect', () => connects++);
      await pool.query('SELECT 1');
      assert.equal(connects, 1);
    });

    it('when they are older than max_lifetime, without anybody noticing', async () => {
      const pool = await opened({ size: 2, max_lifetime: 50 });
      const ids = new Set();
      while (ids.size < 6) ids.add(await idOf(pool.query(ID)));
    });
  });

  describe('that are lost', () => {
    it('while a query of a listener of `connect` runs are replaced: requests wait for the next one', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({ size: 1 }, { host: proxy.host, port: proxy.port });
      let attempts = 0;
      pool.on('connect', async client => {
        if (++attempts > 2) return;
        const first = client.query('SELECT 1');
        const running = client.query('SELECT pg_sleep(60)').catch(() => {});
        await first;
        proxy.reset();
        await running;
      });
      assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
      assert.equal(attempts, 3);
      await pool.end();
      await proxy.stop();
    });

    it('are replaced, and requests that were not sent go to another by themselves', async () => {
      const server = await sharedServer();
      const pool = await opened({ size: 2 });
      const ids = await Promise.all([idOf(pool.query(ID)), idOf(pool.query(ID))]);
      const lost = [once(pool, 'error')];
      await server.sql(`SELECT pg_terminate_backend(pid) FROM unnest('{${ids}}'::int[]) pid`);
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) => pool.query('SELECT $1::int AS i', [i], { idempotent: true }))
      );
      assert.deepEqual(
        results.map(({ rows: [{ i }] }) => Number(i)),
        Array.from({ length: 50 }, (_, i) => i)
      );
      assert.match((await lost[0])[0].message, /terminating connection/);
    });

    it('reject what the server was executing; what was sent behind that goes to another one', async () => {
      const server = await sharedServer();
      const pool = await opened({ size: 1 });
      const id = await idOf(pool.query(ID));
      const results = Promise.allSettled([
        pool.query('SELECT 1 AS n, pg_sleep(0.3)'),
        pool.query('SELECT 2 AS n', [], { idempotent: true }),
        pool.query('SELECT 3 AS n'),
        pool.query('SELECT 4 AS n', [], { signal: new AbortController().signal }),
        pool.query('SELECT 5 AS n'),
        pool.batch(['SELECT 6 AS n'], { idempotent: true }).then(([result]) => result),
        pool.transaction(() => 7)
      ]);
      await until(
        async () =>
          (await server.sql(`SELECT FROM pg_stat_activity WHERE pid = ${id} AND state = 'active'`)).length === 1
      );
      await server.sql(`SELECT pg_terminate_backend(${id})`);
      const short = (await results).map(({ reason, value }) => (reason ? reason.sent : (value.rows?.[0].n ?? value)));
      assert.deepEqual(short, [true, 2, 3, 4, 5, 6, 7]);
    });

    it('are asked again by queryTo that may be repeated, as long as its target has got nothing', async () => {
      const server = await sharedServer();
      const pool = await opened({ size: 1 });
      /** The outcome of queryTo whose connection is lost when it is time. */
      const outcome = async (text, options, isTime) => {
        const id = await idOf(pool.query(ID));
        let written = '';
        const target = new PassThrough().on('data', data => {
          written += data;
        });
        const asked = pool.queryTo(target, text, [], { as: 'json', ...options }).then(
          () => written,
          ({ sent }) => sent
        );
        await until(() => isTime(written, id));
        await server.sql(`SELECT pg_terminate_backend(${id})`);
        return asked;
      };
      const SLOW = 'SELECT 1 AS n FROM pg_sleep(0.3)';
      const isAsleep = async (written, id) =>
        (await server.sql(`SELECT FROM pg_stat_activity WHERE pid = ${id} AND query = '${SLOW}'`)).length === 1;
      assert.equal(await outcome(SLOW, { idempotent: true }, isAsleep), '[{"n":1}]');
      assert.equal(await outcome(SLOW, {}, isAsleep), true);
      assert.equal(await outcome(SLOW, { idempotent: true, end: false }, isAsleep), true);
      const LONG = "SELECT repeat('x', 1000), CASE i WHEN 1000 THEN pg_sleep(60) END FROM generate_series(1, 1000) i";
      for (const as of ['json', 'protocol']) {
        assert.equal(await outcome(LONG, { idempotent: true, as }, written => written !== ''), true);
      }
    });

    it('end the function of a transaction or connection, which is called again only where it may be', async () => {
      const server = await sharedServer();
      const pool = await opened({ size: 2 });
      const lose = async tx => server.sql(`SELECT pg_terminate_backend(${await idOf(tx.query(ID))})`);
      let calls = 0;
      const work = async tx => {
        if (++calls % 3 !== 0) await lose(tx);
        await tx.query('SELECT 1');
        return calls;
      };
      await assert.rejects(pool.transaction(work), { name: 'ConnectionError' });
      assert.equal(calls, 1);
      assert.equal(await pool.transaction(work, { idempotent: true }), 3);
      await assert.rejects(pool.connection(work), { name: 'ConnectionError' });
      assert.equal(await pool.connection(work, { idempotent: true }), 6);
    });
  });

  it('that are lost wait for the end of the function of a transaction no longer than its limits', async () => {
    const server = await sharedServer();
    const pool = await opened({ size: 2 });
    const lasting = async tx => {
      await server.sql(`SELECT pg_terminate_backend(${await idOf(tx.query(ID))})`);
      await new Promise(() => {});
    };
    await assert.rejects(pool.transaction(lasting, { idempotent: true, statement_timeout: 200 }), {
      name: 'TimeoutError',
      code: '57014'
    });
    await assert.rejects(pool.transaction(lasting, { idempotent: true, signal: AbortSignal.timeout(200) }), {
      name: 'AbortError'
    });
  });

  it('that are lost call the function of a transaction again only when the first call is over', async () => {
    const server = await sharedServer();
    const pool = await opened({ size: 2 });
    const told = [];
    const result = await pool.transaction(
      async tx => {
        told.push('begun');
        if (told.length > 1) return 'done';
        const { id } = (await tx.query(ID)).rows[0];
        const asked = tx.query('SELECT pg_sleep(10)').catch(() => {});
        await server.sql(`SELECT pg_terminate_backend(${id})`);
        await asked;
        for (let i = 0; i < 10; i++) await pool.query('SELECT 1');
        told.push('over');
      },
      { idempotent: true }
    );
    assert.deepEqual([result, told], ['done', ['begun', 'over', 'begun']]);
  });

  it('that end right behind the answer of a simple query do not make it say that it was rolled back', async () => {
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      conversation.say(GREETING);
      await conversation.read();
      conversation.say(
        commandComplete('INSERT 0 1'),
        ANSWER.ready,
        message('E', 'SFATAL\0VFATAL\0C57P01\0Mthe end\0\0')
      );
    }).listen();
    const pool = await opened({ size: 1 }, { ...fake.config });
    const [{ cmd }] = await pool.simpleQuery('INSERT INTO t VALUES (1)');
    assert.equal(cmd, 'INSERT');
    await pool.end();
    await fake.stop();
  });

  it('that break the protocol in the packet which opened them reject requests with the reason', async () => {
    let openings = 0;
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      conversation.say(GREETING, ++openings === 1 ? message('?') : '');
      for (;;) conversation.say((await conversation.read()).type === 'Q' ? commandComplete('SET') : '', ANSWER.ready);
    }).listen();
    const pool = await opened({ size: 2 }, { ...fake.config });
    await assert.rejects(pool.simpleQuery('SET x.y = 1'), /no connection: protocol violation/);
    assert.equal((await pool.simpleQuery('SET x.y = 1'))[0].cmd, 'SET');
    await pool.end();
    await fake.stop();
  });

  describe('to a server that is not there', () => {
    it('are tried again until it is', async () => {
      const target = await startServer({ external: false });
      const proxy = await startProxy({ target });
      const pool = new Pool({ ...target.config, host: proxy.host, port: proxy.port });
      try {
        await pool.query('SELECT 1');
        const lost = once(pool, 'error');
        proxy.refuse();
        proxy.reset();
        await lost;
        const values = [1];
        const asked = [
          pool.query('SELECT $1::int AS n', values),
          pool.transaction(() => 2),
          pool.batch([['SELECT $1::int AS n', values]])
        ];
        const [error] = await once(pool, 'error');
        assert.equal(error.code, 'ECONNREFUSED');
        values[0] = 5; // it was 1 when it was given
        await proxy.accept();
        const [query, transaction, [batched]] = await Promise.all(asked);
        assert.deepEqual([query.rows[0].n, transaction, batched.rows[0].n], [1, 2, 1]);
        await target.restart();
        assert.equal((await pool.query('SELECT 1 AS n', [], { idempotent: true })).rows[0].n, 1);
      } finally {
        pool.destroy();
        await proxy.stop();
        await target.stop();
      }
    });

    it('are tried at once for a request behind the first attempt, which is not repeated', async () => {
      const pool = await opened({}, { host: '127.0.0.1', port: 1 });
      await assert.rejects(pool.query('SELECT 1'), { code: 'ECONNREFUSED' });
      let begun = 0;
      pool.on('connect', () => begun++);
      const again = assert.rejects(pool.query('SELECT 1'), { code: 'ECONNREFUSED' });
      assert.equal(begun, 1);
      await again;
    });

    it('are opened side by side again when one has answered', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({ size: 4 }, { host: proxy.host, port: proxy.port });
      await pool.query('SELECT 1');
      let failures = 0;
      pool.on('error', () => failures++);
      proxy.refuse();
      proxy.cut();
      await until(() => pool.stats.connected === 0);
      const waiting = pool.query('SELECT 1');
      await until(() => failures >= 2);
      proxy.accept();
      await waiting;
      let begun = 0;
      pool.on('connect', () => begun++);
      const works = Array.from({ length: 3 }, () => pool.transaction(tx => tx.query('SELECT 1')));
      assert.equal(begun, 2); // beside the one that is open
      await Promise.all(works);
      await pool.end();
      await proxy.stop();
    });

    it('are not opened any more when a listener of `connect` has destroyed the pool', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      afterTest(() => proxy.stop());
      const pool = await opened({ size: 9 }, { host: proxy.host, port: proxy.port });
      await pool.query('SELECT 1');
      const failed = once(pool, 'error').then(() => once(pool, 'error')); // the connection, and an attempt
      proxy.refuse();
      proxy.cut();
      await until(() => pool.stats.connected === 0);
      const transaction = () => pool.transaction(tx => tx.query('SELECT 1'));
      const asked = [transaction()];
      await failed;
      asked.push(...Array.from({ length: 5 }, transaction));
      let begun = 0;
      pool.on('connect', () => {
        // One at a time, until there was an answer: then one for each that waits.
        if (++begun === 2) proxy.next().then(connection => connection.stall());
        if (begun === 3) pool.destroy();
      });
      proxy.accept();
      await Promise.allSettled(asked);
      assert.equal(begun, 3);
    });

    it('are tried one at a time, with pauses, however many ask', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      let attempts = 0;
      const pool = await opened({ size: 8, acquire_timeout: 500 }, { host: proxy.host, port: proxy.port });
      await pool.query('SELECT 1');
      const lost = once(pool, 'error');
      proxy.refuse();
      proxy.reset();
      await lost;
      pool.on('error', () => {
        attempts++;
      });
      const results = await Promise.allSettled(
        Array.from({ length: 300 }, (_, i) => (i % 2 ? pool.query('SELECT 1') : pool.transaction(() => {})))
      );
      for (const { reason } of results) assert.equal(reason?.code, '08001');
      assert.ok(attempts <= 8 + 10, `${attempts}`); // pauses of 25 to 50 ms, then twice as long each
      await proxy.stop();
    });

    it('are tried with pauses that are twice as long each time, up to two seconds', async () => {
      const timers = heldTimers();
      const socket = async () => {
        throw new ConnectionError('nothing there');
      };
      const pool = new Pool({ socket }, { acquire_timeout: 0 });
      pool[LEASE].reached = true;
      const asked = assert.rejects(pool.query('SELECT 1'), { code: '08003' });
      for (const longest of [50, 100, 200, 400, 800, 1600, 2000, 2000]) {
        const pause = () => timers.find(({ isUnreferenced }) => !isUnreferenced); // the other one is the alarm's
        while (pause() === undefined) await new Promise(setImmediate);
        const [{ callback, delay }] = timers.splice(timers.indexOf(pause()), 1);
        assert.ok(delay >= longest / 2 && delay <= longest, `${delay} of ${longest}`);
        callback();
      }
      pool.destroy();
      await asked;
    });

    it('are tried with pauses, also while another one answers', async () => {
      const { config } = await sharedServer();
      let attempts = 0;
      const socket = async () => {
        if (++attempts > 1) throw new ConnectionError('no more');
        const connected = net.connect(config.port, config.host);
        await once(connected, 'connect');
        return connected;
      };
      const timers = heldTimers();
      const pool = endAfterTest(new Pool({ ...config, sslmode: 'disable', socket }, { size: 4 }));
      const ask = () => Promise.all(Array.from({ length: 10 }, () => pool.query('SELECT pg_sleep(0.001)')));
      for (let i = 0; i < 10; i++) await ask();
      assert.ok(attempts <= 1 + 3 + 3, `${attempts}`); // at once, and once more when the first one has answered
      for (let i = 0; i < 3; i++) {
        const before = attempts;
        for (const { callback, delay } of timers.splice(0)) if (delay <= 2000) callback();
        await ask();
        await ask();
        assert.equal(attempts, before + 1);
      }
      timers.restore();
    });

    for (const [who, drop] of [
      [
        'the server takes connections and drops them',
        client => client.query('SELECT pg_terminate_backend(pg_backend_pid())').catch(() => {})
      ],
      ['who listens to "connect" destroys them', client => client.destroy()]
    ]) {
      it(`are tried with pauses, too, where ${who}`, async () => {
        const pool = await opened({ size: 4, acquire_timeout: 300 });
        let attempts = 0;
        pool.on('connect', client => {
          if (++attempts < 1000) drop(client);
        });
        await Promise.allSettled(Array.from({ length: 20 }, () => pool.query('SELECT 1')));
        assert.ok(attempts <= 4 + 10, `${attempts}`); // pauses of 25 to 50 ms, then twice as long each
      });
    }

    it('are not waited for by plain queries when one is silent: they go behind others', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({ size: 2, acquire_timeout: 0 }, { host: proxy.host, port: proxy.port });
      await pool.query('SELECT 1');
      pool.once('connect', () => proxy.next().then(connection => connection.stall()));
      let over = false;
      const opening = once(pool, 'connect');
      const text = 'SELECT pg_sleep(0.001)';
      Object.assign(pool[LEASE].knownTexts.of(text), { average: 9, executions: 1000, answered() {} }); // not twice in 10 ms
      const asked = Array.from({ length: 5 }, async () => {
        while (!over) await pool.query(text);
      });
      await opening;
      pass(1000);
      await until(() => pool.stats.pending === 2);
      assert.equal(pool.stats.connected, 1);
      over = true;
      await Promise.all(asked);
      await pool.end(); // nor by this
      await proxy.stop();
    });

    it('are tried on when who has asked for them waits no longer', async () => {
      const proxy = await startProxy({ target: await sharedServer() });
      const pool = await opened({ acquire_timeout: 50 }, { host: proxy.host, port: proxy.port }, { silence: 40 });
      let attempts = 0;
      pool.on('connect', () => {
        attempts++;
      });
      proxy.stall();
      await assert.rejects(
        pool.query('SELECT 1'),
        error =>
          error.name === 'TimeoutError' &&
          error.code === '08001' &&
          error.sent === false &&
          /has not answered the attempt to connect/.test(error.cause.message)
      );
      await sleep(150); // in which the pool looks after its connections 15 times
      proxy.resume();
      await until(() => pool.stats.connected === 1);
      assert.equal(attempts, 1);
      await pool.end();
      await proxy.stop();
    });

    it('are told of at once, until there was one', async () => {
      const pool = await opened({ acquire_timeout: 0 }, { port: 1 });
      for (let round = 0; round < 3; round++) {
        await assert.rejects(pool.query('SELECT 1'), error => {
          assert.deepEqual([error.name, error.code, error.sent], ['ConnectionError', 'ECONNREFUSED', false]);
          return error.syscall === 'connect' && !('cause' in error);
        });
        await assert.rejects(
          pool.transaction(() => {}),
          { code: 'ECONNREFUSED' }
        );
        await assert.rejects(pool.cursor('SELECT 1').next(), { code: 'ECONNREFUSED' });
        await assert.rejects(pool.listen('news').ready, { code: 'ECONNREFUSED' });
      }
    });

    it('are waited for while the server starts, also where there was none before', async () => {
      const starting = await new FakeServer(async conversation => {
        await conversation.first();
        conversation.say(message('E', 'SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'));
        conversation.end?.();
      }).listen();
      const pool = await opened({ acquire_timeout: 300 }, starting.config);
      await assert.rejects(
        pool.query('SELECT 1'),
        error => error.name === 'TimeoutError' && error.code === '08001' && error.cause.code === '57P03'
      );
      await starting.stop();
    });

    it('are not missed by plain queries while there are others', async () => {
      const server = await sharedServer();
      await server.sql('CREATE ROLE locked_out LOGIN');
      const pool = await opened({ size: 3 }, { user: 'locked_out' });
      await pool.query('SELECT 1');
      await server.sql('ALTER ROLE locked_out NOLOGIN');
      const refused = once(pool, 'error');
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) => pool.query('SELECT $1::int AS n, pg_sleep(0.001)', [i]))
      );
      assert.deepEqual(
        answers.map(({ rows: [{ n }] }) => Number(n)),
        Array.from({ length: 20 }, (_, i) => i)
      );
      assert.equal((await refused)[0].code, '28000');
      await pool.end();
      await server.sql('DROP ROLE locked_out');
    });

    it('have the error of the server', async () => {
      const server = await sharedServer();
      await server.sql('CREATE ROLE crowd LOGIN CONNECTION LIMIT 0');
      const pool = await opened({}, { user: 'crowd' });
      await assert.rejects(pool.query('SELECT 1'), {
        message: /^no connection: \S+: .*: too many connections for role "crowd"$/,
        code: '53300'
      });
      await pool.end();
      await server.sql('DROP ROLE crowd');
    });

    it('are not tried again where the server says no, or the config makes no sense', async () => {
      await assert.rejects((await opened({}, { database: 'nowhere' })).query('SELECT 1'), {
        name: 'PostgresError',
        code: '3D000'
      });
      await assert.rejects(
        (await opened({}, { database: 'nowhere' })).transaction(() => {}),
        { name: 'PostgresError', code: '3D000' }
      );
      let may = true; // as where a platform takes away the right to read the environment
      const { config } = await sharedServer();
      const get = () => {
        if (may) return 'x';
        throw new Error('not allowed');
      };
      const pool = new Pool(
        Object.defineProperty({ ...config }, 'fallback_application_name', { get, enumerable: true })
      );
      may = false;
      await assert.rejects(pool.query('SELECT 1'), { name: 'Error', message: 'not allowed' });
      await pool.end();
      const cursor = (await opened({}, { database: 'nowhere' })).cursor('SELECT 1');
      await assert.rejects(cursor.next(), { code: '3D000' });
    });

    it('reject with a TimeoutError if connect_timeout has passed', async () => {
      const silent = await new FakeServer(async () => {}).listen();
      const pool = new Pool({ ...silent.config, connect_timeout: 0.05 });
      await assert.rejects(pool.query('SELECT 1'), {
        name: 'TimeoutError',
        code: '08001',
        sent: false,
        message: /^no connection: .*\(connect_timeout\)$/
      });
      await pool.end();
      silent.stop();
    });
  });

  it('tell tracers of who waits for them', async () => {
    const told = [];
    const channel = tracingChannel('quickgres:pool');
    const waits = [];
    const subscriber = {
      start: ({ why, waiting }) => told.push({ why, waiting }),
      asyncEnd: wait => waits.push(wait) && told.push('over')
    };
    channel.subscribe(subscriber);
    const pool = await opened({ size: 2 });
    const release = await occupy(pool, 1);
    assert.deepEqual(told.splice(0), [{ why: 'owner', waiting: 1 }, 'over']); // until it was opened
    const waiting = pool.transaction(() => {});
    assert.deepEqual(told, [{ why: 'owner', waiting: 1 }]);
    await release();
    await waiting;
    assert.equal(told[1], 'over');
    channel.unsubscribe(subscriber);
    for (const wait of waits) assert.ok(wait.waited >= 0 && JSON.stringify(wait).length < 99, JSON.stringify(wait)); // plain data
  });
});

/** The flights of a Client: its first query goes with the last message of a login that `require_auth` names. */
const LOGINS = {
  trust: { user: 'trust', method: 'none', named: [1, 2], unnamed: [2, 2] },
  password: { user: 'password', method: 'password', named: [1, 2], unnamed: [3, 3] },
  SCRAM: { user: 'scram', method: 'scram-sha-256', named: [2, 3], unnamed: [4, 4] }
};

describe('The start of a pool', () => {
  let server;
  let proxy;
  let holder;

  before(async () => {
    const secret = { password: 'secret' };
    const hba = ['local all all trust', 'host all trust all trust', 'host all password all password'];
    server = await startServer({
      users: { trust: {}, password: secret, scram: secret, nobody: secret },
      hba: [...hba, 'host all all all scram-sha-256']
    });
    proxy = await startProxy({ target: server, delay: 10 });
    holder = await server.session();
    await holder.query('CREATE TABLE held AS SELECT 1; GRANT SELECT ON held TO PUBLIC');
  });

  after(async () => {
    holder?.close();
    await proxy?.stop();
    await server?.stop();
  });

  const config = more => ({ host: proxy.host, port: proxy.port, database: 'postgres', password: 'secret', ...more });

  /** On how many connections a query waits for the table. */
  const waiting = async () =>
    Number(
      (await holder.query("SELECT count(*) AS n FROM pg_locks WHERE relation = 'held'::regclass AND NOT granted"))[0].n
    );

  table(
    'takes as many round trips as that of a client',
    {
      session: { Client: given => new Client(given), Pool: given => new Pool(given) },
      queries: { '1 query': [1, 0], '20 queries': [20, 1] },
      login: LOGINS,
      method: { 'require_auth names it': 'named', 'require_auth does not': 'unnamed' }
    },
    async (open, [count, at], login, method) => {
      const require_auth = method === 'named' ? login.method : 'none,password,scram-sha-256';
      // No connection has an answer before all are asked, however long one of them takes to open.
      await holder.query('BEGIN; LOCK held');
      const before = proxy.connections.length;
      const session = open(config({ sslmode: 'disable', user: login.user, require_auth }));
      if (session instanceof Client) session.connect();
      const asked = Array.from({ length: count }, (_, i) => session.query('SELECT $1::int AS i FROM held', [i]));
      const connected = session instanceof Client ? 1 : Math.min(count, 10);
      await until(async () => (await waiting()) === connected, 'all connections to be asked');
      await holder.query('COMMIT');
      for (const [i, { rows }] of (await Promise.all(asked)).entries()) assert.equal(rows[0].i, i);
      const flights = Math.max(...proxy.connections.slice(before).map(({ stats }) => stats.flights.toServer));
      session.destroy();
      assert.equal(flights, login[method][at]);
    }
  );

  /** Servers that refuse the first attempts. @returns {Promise<FakeServer>} with the `texts` that were carried out */
  const refusing = async (count, refuse) => {
    const texts = [];
    let attempts = 0;
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      if (++attempts <= count) return refuse(conversation);
      conversation.say(GREETING);
      for (;;) {
        const { type, body } = await conversation.read();
        if (type === 'P') texts.push(/SELECT \d/.exec(body.toString('latin1'))[0]);
        if (type === 'P') conversation.say(ANSWER.described(), commandComplete('SELECT 0'));
        if (type === 'S') conversation.say(ANSWER.ready);
      }
    }).listen();
    afterTest(() => fake.stop());
    return Object.assign(fake, { texts });
  };
  it('asks a query again, once, whose attempt was refused while the server was starting', async () => {
    const fake = await refusing(2, conversation => {
      conversation.say(message('E', 'SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0'));
      conversation.socket.end();
    });
    const pool = await opened({ size: 1 }, { ...fake.config, require_auth: 'none' });
    await Promise.all([pool.query('SELECT 1'), pool.query('SELECT 2')]);
    assert.deepEqual(fake.texts.sort(), ['SELECT 1', 'SELECT 2']);
  });

  for (const count of [1, 20])
    it(`rejects ${count} asked with a wrong password after one attempt a connection, with the server's error`, async () => {
      const attempts = proxy.connections.length;
      const pool = new Pool(config({ user: 'nobody', password: 'wrong', require_auth: 'scram-sha-256' }), { size: 3 });
      const results = await Promise.allSettled(Array.from({ length: count }, () => pool.query('SELECT 1')));
      for (const { reason } of results) assert.deepEqual([reason?.name, reason?.code], ['PostgresError', '28P01']);
      assert.equal(proxy.connections.length - attempts, Math.min(count, 3));
      await pool.end();
    });

  it('of a client rejects its query with sent: false where the server refuses the password', async () => {
    const client = new Client(config({ user: 'nobody', password: 'wrong', require_auth: 'scram-sha-256' }));
    client.connect().catch(() => {});
    await assert.rejects(client.query('SELECT 1'), { name: 'ConnectionError', code: '28P01', sent: false });
  });

  it('reports a query as sent that the server may have carried out when it hung up', async () => {
    const fake = await refusing(1, conversation => conversation.socket.end());
    const pool = await opened({ size: 1 }, { ...fake.config, require_auth: 'none' });
    await assert.rejects(pool.query('SELECT 1'), { name: 'ConnectionError', sent: true });
    await pool.query('SELECT 2');
    assert.deepEqual(fake.texts, ['SELECT 2']);
  });

  /**
   * Servers without a network: what they say is read while they say it.
   * @returns {{socket: function(): Duplex, servers: object[]}} each with the `texts` that it is asked, which it answers at once while it
   *   `answers`, and `greet`
   */
  function local() {
    const servers = [];
    const socket = () => {
      const input = new EventEmitter();
      const stream = new Duplex({
        read() {},
        write(chunk, encoding, callback) {
          input.emit('data', chunk);
          callback();
        }
      });
      const names = new Map();
      const server = { texts: [], answers: true, greet: () => stream.push(GREETING) };
      let described;
      onFrames(
        input,
        ({ type, body }) => {
          const [first, second] = body.toString('latin1').split('\0');
          if (type === '') return false;
          if (type === 'P') {
            names.set(first, second);
            described = ANSWER.described();
          }
          if (type === 'B') server.texts.push(names.get(second));
          if (!server.answers) return;
          if (type === 'E') stream.push(Buffer.concat([described ?? ANSWER.bindComplete, commandComplete('SELECT 0')]));
          if (type === 'E') described = undefined;
          if (type === 'S') stream.push(ANSWER.ready);
        },
        true
      );
      servers.push(server);
      return stream;
    };
    return { servers, socket };
  }

  it('spreads its queries over connections that open in the same turn of the loop', async () => {
    const { servers, socket } = local();
    const pool = endAfterTest(new Pool({ user: 'me', sslmode: 'disable', socket }, { size: 3 }));
    const asked = Array.from({ length: 6 }, (_, i) => pool.query(`SELECT ${i}`));
    await until(() => servers.length === 3);
    await turn();
    for (const server of servers) server.greet();
    await Promise.all(asked);
    assert.deepEqual(
      servers.map(({ texts }) => texts.length),
      [2, 2, 2]
    );
  });

  it('sends nothing behind a write while another connection becomes ready', async () => {
    const { servers, socket } = local();
    const pool = endAfterTest(new Pool({ user: 'me', sslmode: 'disable', socket }, { size: 2 }));
    const asked = [pool.query('UPDATE one')];
    await until(() => servers.length === 1);
    await turn();
    const [first] = servers;
    first.greet();
    await asked[0];
    for (let i = 0; i < 99; i++) for (const text of ['SELECT', 'UPDATE one']) await pool.query(text);
    first.answers = false;
    const before = first.texts.length;
    asked.push(
      pool.query('UPDATE one').catch(() => {}),
      pool.query('SELECT')
    );
    await until(() => servers.length === 2);
    await turn();
    servers[1].greet();
    // In each turn of the promises between its first word and its first query.
    for (let i = 0; i < 20; i++, await undefined) asked.push(pool.query('SELECT'));
    await Promise.all(asked.slice(2));
    assert.deepEqual(first.texts.slice(before), ['UPDATE one']);
    pool.destroy();
  });

  it('limits a query that went with it by acquire_timeout and by its signal', async () => {
    const fake = await refusing(Infinity, () => {});
    const pool = await opened({ size: 1, acquire_timeout: 60 }, { ...fake.config, require_auth: 'none' });
    await assert.rejects(pool.query('SELECT 1'), { name: 'TimeoutError', code: '08001', sent: true });
    pool.destroy();
    const other = await opened({ size: 1 }, { ...fake.config, require_auth: 'none' });
    await assert.rejects(other.query('SELECT 1', [], { signal: AbortSignal.timeout(60) }), { name: 'AbortError' });
    other.destroy();
  });

  it('asks a query in the context of its caller', async () => {
    const storage = new AsyncLocalStorage();
    const contexts = [];
    const channel = tracingChannel('quickgres:query');
    const subscriber = { start: () => contexts.push(storage.getStore()) };
    channel.subscribe(subscriber);
    afterTest(() => channel.unsubscribe(subscriber));
    const pool = endAfterTest(new Pool(config({ user: 'trust', require_auth: 'none' })));
    const asked = ['a', 'b'].map(name =>
      storage.run(name, () => pool.query('SELECT 1').then(() => storage.getStore()))
    );
    assert.deepEqual(await Promise.all(asked), ['a', 'b']);
    assert.deepEqual(contexts.sort(), ['a', 'b']);
  });

  it('sends writes on connections of their own', async () => {
    const pool = await opened({ size: 2 });
    const { call, release } = await held();
    const works = [1, 2, 3].map(() =>
      pool.query(`WITH w AS (SELECT 1 FROM pg_advisory_xact_lock_shared(77)) SELECT ${call} FROM w`)
    );
    await until(() => pool.stats.pending === 2 && pool.stats.waiting === 1);
    await release();
    await Promise.all(works);
  });
});

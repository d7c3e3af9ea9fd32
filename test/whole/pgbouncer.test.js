'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setImmediate: turn, setTimeout: sleep } = require('node:timers/promises');
const { pipeline } = require('node:stream/promises');
const { startPgBouncer, startProxy, skipUnless } = require('pg-test-fixtures');
const { Client, AbortError } = require('../..');
const { Pool } = require('../../lib/pool');
const pg = require('../../lib/pg');
const { sharedServer } = require('../support');
const { afterTest, endAfterTest } = require('../support/hooks');
const { collector, seeded, until } = require('../support/kit');

/** Waits until the server runs a query that sleeps. */
const sleeping = async () => {
  const server = await sharedServer();
  const text = "SELECT FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep(60)%'";
  await until(async () => (await server.sql(text)).length > 0, 'a query to run');
};

/** What a connection through a pooler can do, in each of its modes. */
const PARTS = {
  async queries(client) {
    const results = await Promise.all(Array.from({ length: 500 }, (_, i) => client.query('SELECT $1::int AS i', [i])));
    results.forEach(({ rows: [row] }, i) => assert.equal(row.i, i));
  },
  async 'queries in one round trip, with types of parameters'(client) {
    const {
      rows: [row]
    } = await client.query('SELECT $1 + 1 AS n', [Buffer.from([0, 0, 0, 7])], {
      paramTypes: [23],
      format: 1,
      cache: false
    });
    assert.equal(row.n, 8);
  },
  async 'arrays of the types of the database'(client) {
    assert.deepEqual((await client.query("SELECT '{a,NULL}'::pooled_mood[] AS moods")).rows[0].moods, ['a', null]);
  },
  async errors(client) {
    const works = Array.from({ length: 200 }, (_, i) => client.query('SELECT 100 / $1::int AS n', [i % 7]));
    const results = await Promise.allSettled(works);
    results.forEach(({ reason, value }, i) => {
      if (i % 7 === 0) assert.equal(reason.code, '22012');
      else assert.equal(value.rows[0].n, Math.floor(100 / (i % 7)));
    });
    await assert.rejects(client.query('SELEC'), { code: '42601' });
  },
  async batch(client) {
    const results = await client.batch([['SELECT 1 AS a'], ['SELECT $1::text AS a', ['x']]]);
    assert.deepEqual(
      results.map(({ rows: [row] }) => row.a),
      [1, 'x']
    );
    await assert.rejects(client.batch([['INSERT INTO pooled VALUES (99)'], ['SELECT 1 / 0']]), {
      code: '22012',
      index: 1
    });
    assert.equal((await client.query('SELECT count(*) AS n FROM pooled WHERE i = 99')).rows[0].n, 0);
  },
  async 'settings of requests'(client) {
    const text = "SELECT current_setting('app.tenant', true) AS tenant";
    const tenants = Array.from({ length: 100 }, (_, i) => (i % 2 ? `tenant ${i}` : ''));
    const results = await Promise.all(
      tenants.map(tenant => (tenant ? client.with({ 'app.tenant': tenant }) : client).query(text))
    );
    assert.deepEqual(
      results.map(({ rows: [row] }) => row.tenant ?? ''),
      tenants
    );
    const [
      ,
      {
        rows: [row]
      }
    ] = await client.with({ 'app.tenant': 'one' }).batch(['SELECT 1', text]);
    assert.equal(row.tenant, 'one');
  },
  async simpleQuery(client) {
    const [one, two] = await client.simpleQuery('SELECT 1 AS a; SELECT 2 AS a');
    assert.deepEqual([one.rows[0].a, two.rows[0].a], [1, 2]);
  },
  async 'COPY out and in'(client) {
    const { rows } = await client.query('COPY (SELECT i FROM generate_series(1, 1000) i) TO STDOUT');
    await client.query('COPY pooled FROM STDIN');
    for (const row of rows) client.copyData(row);
    const behind = turn().then(() => client.query('SELECT 1'));
    assert.equal((await client.copyDone()).rowCount, 1000);
    await behind;
    await client.query('DELETE FROM pooled');
  },
  async 'pass-through'(client) {
    const stream = collector();
    await client.queryTo(stream, "SELECT repeat('x', 1000) FROM generate_series(1, 1000)", [], { as: 'values' });
    assert.equal(stream.taken, 1000000);
  },
  async cancellation(client) {
    for (let i = 0; i < 3; i++) {
      const abort = new AbortController();
      const slow = client.query('SELECT pg_sleep(60)', [], { signal: abort.signal, alone: true });
      const behind = client.query('SELECT 1 AS one');
      setTimeout(() => abort.abort(), 20);
      await assert.rejects(slow, AbortError);
      assert.equal((await behind).rows[0].one, 1);
    }
    await assert.rejects(client.query('SELECT pg_sleep(60)', [], { statement_timeout: 20 }), { code: '57014' });
  }
};

let runs = 0;

/** Cursors and transactions. */
const CURSORS = {
  async 'a last query and its commit in one flight'(client) {
    const id = 1000 + runs++;
    const insert = `INSERT INTO pooled VALUES (${id})`;
    const count = async () => (await client.query('SELECT count(*) AS n FROM pooled WHERE i = $1', [id])).rows[0].n;
    for (const fail of ['SELECT 1 / 0', 'INSERT INTO pooled_later VALUES (1), (1)']) {
      await assert.rejects(
        client.transaction(async tx => {
          await tx.query(insert);
          await tx.commit(fail);
        }),
        { code: fail.startsWith('SELECT') ? '22012' : '23505' }
      );
      assert.equal(await count(), 0);
    }
    await client.transaction(tx => tx.commit(insert));
    assert.equal((await client.query('DELETE FROM pooled WHERE i = $1', [id])).rowCount, 1);
  },
  async 'a cursor outside a transaction'(client) {
    let sum = 0;
    for await (const row of client.cursor('SELECT i FROM generate_series(1, 100) i', [], { batchSize: 7 }))
      sum += Number(row.i);
    assert.equal(sum, 5050);
  },
  async 'a cursor right behind a query'(client) {
    client.query('SELECT pg_sleep(0.01)').catch(() => {});
    let count = 0;
    for await (const row of client.cursor('SELECT i FROM generate_series(1, 100) i', [], { batchSize: 7 }))
      count += row.columnCount;
    assert.equal(count, 100);
  },
  async startQuery(client) {
    client.startQuery('SELECT i FROM generate_series(1, 100) i');
    assert.equal((await client.getResults(10)).rows.length, 10);
    await client.sync();
  },
  async 'a cursor with settings'(client) {
    const text = "SELECT current_setting('app.tenant', true) AS tenant FROM generate_series(1, 20)";
    for await (const { tenant } of client.with({ 'app.tenant': 'two' }).cursor(text, [], { batchSize: 7 }))
      assert.equal(tenant, 'two');
  }
};

const IN_TRANSACTIONS = {
  async transactions(client) {
    await client.transaction(async tx => {
      await tx.query('INSERT INTO pooled VALUES (1)');
      await tx.transaction(nested => nested.query('SELECT 1 / 0')).catch(error => assert.equal(error.code, '22012'));
      await tx.query('INSERT INTO pooled VALUES (2)');
    });
    await assert.rejects(
      client.transaction(async tx => {
        await tx.query('INSERT INTO pooled VALUES (3)');
        throw new Error('thrown');
      }),
      { message: 'thrown' }
    );
    await Promise.all(['BEGIN', 'INSERT INTO pooled VALUES (4)', 'ROLLBACK'].map(text => client.query(text)));
    assert.deepEqual((await client.query('DELETE FROM pooled RETURNING i')).rows.map(row => row.i).sort(), [1, 2]);
  },
  async 'settings of transactions'(client) {
    const text = "SELECT current_setting('app.tenant', true) AS tenant";
    const {
      rows: [row]
    } = await client
      .with({ 'app.tenant': 'three' })
      .transaction(async tx => (await tx.query('SELECT 1')) && tx.query(text));
    assert.equal(row.tenant, 'three');
    assert.equal((await client.query(text)).rows[0].tenant || '', '');
  },
  async 'cursors in a transaction'(client) {
    await client.transaction(async tx => {
      const [one, two] = [1, 2].map(() => tx.cursor('SELECT i FROM generate_series(1, 50) i', [], { batchSize: 7 }));
      let seen = 0;
      for await (const row of one) {
        assert.equal(row.i, (await two.next()).value.i);
        seen++;
      }
      assert.equal(seen, 50);
    });
  },
  async 'COPY in a transaction'(client) {
    await client.transaction(async tx => {
      await pipeline(['5\n'], tx.copyFrom('COPY pooled FROM STDIN'));
      assert.equal((await tx.query('DELETE FROM pooled')).rowCount, 1);
    });
  }
};

const IN_SESSIONS = {
  async notifications(client) {
    await client.query('LISTEN pooled');
    const notified = once(client, 'notification');
    await client.query("NOTIFY pooled, 'hello'");
    const [{ channel, payload }] = await notified;
    assert.deepEqual([channel, payload], ['pooled', 'hello']);
    await client.query('UNLISTEN *');
  },
  async settings(client) {
    await client.query("SET search_path = 'elsewhere'");
    assert.equal((await client.query('SHOW search_path')).rows[0][0], 'elsewhere');
    await client.query('DISCARD ALL');
    await client.query('CREATE TEMP TABLE mine (i int)');
    await client.query('SELECT * FROM mine');
  }
};

const MODES = {
  session: { parts: { ...PARTS, ...CURSORS, ...IN_TRANSACTIONS, ...IN_SESSIONS }, config: {} },
  transaction: { parts: { ...PARTS, ...CURSORS, ...IN_TRANSACTIONS }, config: { statement_cache: 0 } },
  statement: { parts: PARTS, config: { statement_cache: 0 } }
};

for (const [mode, { parts, config }] of Object.entries(MODES)) {
  describe(`PgBouncer in ${mode} mode`, () => {
    let bouncer;
    let client;

    before(async function () {
      skipUnless(this, 'pgbouncer');
      const server = await sharedServer();
      await server.sql(
        "DROP TABLE IF EXISTS pooled, pooled_later; DROP TYPE IF EXISTS pooled_mood; CREATE TABLE pooled (i int); CREATE TYPE pooled_mood AS ENUM ('a'); " +
          'CREATE TABLE pooled_later (i int UNIQUE DEFERRABLE INITIALLY DEFERRED)'
      );
      bouncer = await startPgBouncer({ target: server, mode, poolSize: 3 });
    });

    beforeEach(async () => {
      client = new Client({ ...bouncer.config, ...config });
      await client.connect();
    });

    afterEach(() => client.end());
    after(async () => {
      await bouncer?.stop();
      await (await sharedServer()).sql('DROP TYPE IF EXISTS pooled_mood');
    });

    for (const [name, part] of Object.entries(parts)) it(`carries ${name}`, () => part(client));

    it('carries several clients at once', async () => {
      // In session mode a client keeps its session to its end: there must be one for each.
      const others = await Promise.all(
        [1, 2].map(async () => {
          const other = new Client({ ...bouncer.config, ...config });
          await other.connect();
          return other;
        })
      );
      const works = { ...PARTS, ...(mode === 'statement' ? undefined : CURSORS) };
      delete works['COPY out and in']; // they share the table
      await Promise.all(
        [client, ...others].map(async each => {
          for (const part of Object.values(works)) await part(each);
        })
      );
      await Promise.all(others.map(other => other.end()));
    });

    it('rejects everything when it goes away, and is connected to again', async () => {
      const pending = Promise.allSettled([
        client.query('SELECT pg_sleep(60)'),
        client.query('SELECT 1'),
        client.transaction(() => {})
      ]);
      await sleeping();
      const { closed } = client;
      await bouncer.kill();
      for (const { reason } of await pending) assert.equal(reason.name, 'ConnectionError');
      await closed;
      await bouncer.start();
      await client.connect();
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    });

    it('rejects everything when the server goes away', async () => {
      const pending = Promise.allSettled([client.query('SELECT pg_sleep(60)'), client.query('SELECT 1')]);
      await sleeping();
      await (
        await sharedServer()
      ).sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)%'");
      assert.equal((await pending)[0].status, 'rejected');
      if (client.state === 'closed') await client.connect();
      assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    });
  });
}

describe('What a mode of PgBouncer cannot carry', () => {
  const bouncers = [];
  const through = async (mode, config, options) => {
    const bouncer = await startPgBouncer({ target: await sharedServer(), mode, poolSize: 2, ...options });
    bouncers.push(bouncer);
    return () => {
      const client = new Client({ ...bouncer.config, ...config });
      return client.connect().then(() => client);
    };
  };

  before(function () {
    skipUnless(this, 'pgbouncer');
  });
  afterEach(async () => {
    for (const bouncer of bouncers.splice(0)) await bouncer.stop();
  });

  it('in statement mode is a transaction: it rejects, and the client can go on or connect again', async () => {
    const open = await through('statement', { statement_cache: 0 });
    const client = await open();
    await assert.rejects(
      client.transaction(tx => tx.query('SELECT 1')),
      error => {
        assert.match(`${error.message} ${error.cause?.message}`, /transaction/i);
        return true;
      }
    );
    if (client.state === 'closed') await client.connect();
    assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
    await client.end();
  });

  it('in statement mode is a transaction, which each one in a pool is told', async () => {
    await through('statement');
    const pool = new Pool({ ...bouncers[0].config, statement_cache: 0 }, { size: 1, acquire_timeout: 5000 });
    const texts = ['SELECT 1', 'SELECT 1 / 0', 'SELECT 1'];
    const results = await Promise.allSettled(texts.map(text => pool.transaction(tx => tx.query(text))));
    for (const { reason } of results)
      assert.match(`${reason.code} ${reason.message}`, /^08P01 .*transaction blocks not allowed/);
    assert.equal((await pool.query('SELECT 1 AS one')).rows[0].one, 1);
    await pool.end();
  });

  it('in transaction mode is the cache of statements: never is a statement of another client used for one’s own', async () => {
    const open = await through('transaction');
    const clients = await Promise.all([1, 2, 3, 4].map(open));
    const failures = [];
    await Promise.all(
      clients.map(async (client, n) => {
        for (let i = 0; i < 200; i++) {
          const works = [1, 2, 3].map(k =>
            client.query(`SELECT ${n} AS n, ${k} AS k, $1::int AS i`, [i]).then(({ rows: [row] }) => {
              assert.deepEqual(row.toArray(), [n, k, i]);
            })
          );
          for (const { reason } of await Promise.allSettled(works)) if (reason) failures.push(reason);
        }
      })
    );
    for (const error of failures) assert.equal(error.code, '26000', error.stack);
    // One at a time each is prepared again where it is lost.
    for (let i = 0; i < 50; i++) {
      for (const client of clients) await client.query(`SELECT ${i % 5} AS a`);
    }
    await Promise.all(clients.map(client => client.end()));
  });

  it('in transaction mode is listen, which rejects with what to do and leaves no LISTEN behind', async () => {
    const open = await through('transaction', { statement_cache: 0 }, { poolSize: 1 });
    const client = await open();
    const connecting = new Client({ ...bouncers[0].config, statement_cache: 0 });
    connecting.connect().catch(() => {});
    const pool = new Pool({ ...bouncers[0].config, statement_cache: 0 });
    for (const session of [client, connecting, pool]) {
      const news = session.listen('news');
      await assert.rejects(news.ready, { name: 'ConnectionError', code: '0A000', message: /listen on the direct URL/ });
      await assert.rejects(news.next(), { code: '0A000' });
    }
    assert.equal((await client.query('SELECT count(*) AS n FROM pg_listening_channels()')).rows[0].n, 0);
    await Promise.all([client.end(), connecting.end(), pool.end()]);
  });

  it('in session mode is listen without the option session, with which it works', async () => {
    const open = await through('session', {}, { poolSize: 4 });
    const client = await open();
    const pool = new Pool(bouncers[0].config);
    for (const session of [client, pool]) {
      await assert.rejects(session.listen('news').ready, { code: '0A000', message: /\{ session: true \}/ });
      const news = session.listen('news', { session: true });
      await news.ready;
      await session.query("NOTIFY news, 'hello'");
      assert.equal((await news.next()).value.payload, 'hello');
      await news.return();
    }
    await Promise.all([client.end(), pool.end()]);
  });

  it('are settings in the config, which it refuses: the error says what to do', async () => {
    const open = await through('transaction', { search_path: 'elsewhere' });
    await assert.rejects(open(), { code: '08P01', hint: /ALTER ROLE … SET/ });
    const pool = endAfterTest(new Pool({ ...bouncers[0].config, statement_timeout: 1000 }));
    await assert.rejects(pool.query('SELECT 1'), { code: '08P01', hint: /ALTER ROLE … SET/ });
  });

  it('in transaction mode is not a cursor, with settings or without, though it is the first request of a pool and of its connections', async () => {
    await through('transaction');
    for (const size of [1, 4]) {
      const pool = new Pool(bouncers[0].config, { size });
      const counts = await Promise.all(
        Array.from({ length: 4 }, async (_, i) => {
          const session = i % 2 ? pool : pool.with({ 'app.tenant': i });
          let count = 0;
          for await (const row of session.cursor('SELECT i FROM generate_series(1, 100) i', [], { batchSize: 7 }))
            count += Object.keys(row).length;
          return count;
        })
      );
      assert.deepEqual(counts, [100, 100, 100, 100]);
      await pool.end();
    }
  });

  it('in transaction mode are prepared statements: a pool that has lost one uses no names, and says so once', async () => {
    await through('transaction');
    const pools = [1, 2].map(() => new Pool({ ...bouncers[0].config, application_name: 'lost' }, { size: 6 }));
    const warnings = [];
    const listen = warning => warnings.push(warning.message);
    require('../../lib/core/pipeline/statements').Statements.hasWarned = false;
    process.on('warning', listen);
    // At the same time, so that each of PgBouncer's connections is asked.
    const COUNT = 'SELECT pg_backend_pid() AS pid, (SELECT count(*) FROM pg_prepared_statements) AS n, pg_sleep(0.1)';
    const prepared = async () =>
      new Map(
        (
          await Promise.all(Array.from({ length: 6 }, () => pools[0].query(COUNT, [], { cache: false, alone: true })))
        ).map(({ rows: [{ pid, n }] }) => [pid, n])
      );
    const round = () =>
      Promise.all(
        pools.map(async pool => {
          const results = [];
          for (let i = 0; i < 25; i++) {
            results.push(
              ...(await Promise.allSettled(
                [1, 2, 3, 4].map(n => pool.transaction(tx => tx.query(`SELECT ${n}, $1::int`, [i])))
              ))
            );
          }
          return results.filter(({ reason }) => reason !== undefined).map(({ reason }) => reason);
        })
      );
    const failures = (await round()).flat();
    for (const { code, hint } of failures)
      assert.deepEqual([code, /set statement_cache: 0/.test(hint)], ['26000', true]);
    const before = await prepared();
    assert.deepEqual(await round(), [[], []]);
    const more = [...(await prepared())].filter(([pid, n]) => before.has(pid) && n > before.get(pid));
    assert.deepEqual(more, []);
    process.off('warning', listen);
    assert.equal(warnings.filter(message => message.includes('statement_cache: 0')).length, 1);
    await Promise.all(pools.map(pool => pool.end()));
  });

  it('in transaction mode are requests in flight together: at a loss the one that was written is sent, the others are not', async () => {
    const target = await sharedServer();
    await through('transaction');
    const proxy = await startProxy({ target: bouncers[0] });
    afterTest(() => proxy.stop());
    await target.sql('CREATE TABLE IF NOT EXISTS pooled_once (i int); TRUNCATE pooled_once');
    const config = { ...bouncers[0].config, port: proxy.port };
    const SESSIONS = {
      client: new Client(config),
      pool: new Pool(config, { size: 1 }),
      transaction: new Client(config),
      'pool of quickgres/pg': new pg.Pool({ ...config, max: 1 })
    };
    const running =
      "SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT INTO pooled_once%' AND wait_event = 'PgSleep'";
    for (const [name, session] of Object.entries(SESSIONS)) {
      if (session instanceof Client) await session.connect();
      session.on?.('error', () => {});
      await Promise.all([1, 2, 3].map(() => session.query('SELECT 1'))); // it is known now that there is one at a time
      const insert = (tx, i) => tx.query(`INSERT INTO pooled_once SELECT ${i} FROM pg_sleep(${i === 1 ? 60 : 0})`);
      const insertAll = tx => [1, 2, 3].map(i => insert(tx, i));
      const asked =
        name === 'transaction'
          ? await new Promise(resolve => void session.transaction(tx => resolve(insertAll(tx))).catch(() => {}))
          : insertAll(session);
      const over = Promise.allSettled(asked);
      await until(async () => (await target.sql(running)).length > 0, 'the INSERT to run');
      for (const connection of proxy.open) connection.reset();
      const sent = (await over).map(({ status, reason }) => reason?.sent ?? status);
      // A pool repeats what was not sent.
      const isPool = name.includes('pool');
      assert.deepEqual(sent, isPool ? [true, 'fulfilled', 'fulfilled'] : [true, false, false], name);
      const rows = await target.sql('SELECT i FROM pooled_once WHERE i > 1');
      assert.equal(rows.length, isPool ? 2 : 0);
      await target.sql(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO pooled_once%'`
      );
      await target.sql('TRUNCATE pooled_once');
      await session.end().catch(() => {});
    }
    await target.sql('DROP TABLE pooled_once');
  });

  it('in transaction mode is what belongs to a session', async () => {
    const open = await through('transaction', { statement_cache: 0 });
    const [one, two] = [await open(), await open()];
    await one.query("SET search_path = 'elsewhere'");
    // Two queries at once have two servers, of which one has the setting: it stays with the server's session.
    const ask = client => client.query("SELECT current_setting('search_path') AS path, pg_sleep(0.02)");
    await until(
      async () => (await Promise.all([one, two].map(ask))).some(result => result.one().path === 'elsewhere'),
      'a client to get the server with the setting'
    );
    await one.query('DISCARD ALL');
    await Promise.all([one.end(), two.end()]);
  });
});

describe('Behind PgBouncer in transaction mode, with default options, no answer reaches another client', () => {
  const ANSWERS = 1000;
  let bouncer;

  before(async function () {
    skipUnless(this, 'pgbouncer');
    const settings = { max_prepared_statements: 200 };
    bouncer = await startPgBouncer({ target: await sharedServer(), poolSize: 3, settings });
  });
  after(() => bouncer?.stop());

  /** Sessions that ask side by side, and check whose answers they get, until each has had enough. */
  const askers = {
    async client(config) {
      const client = endAfterTest(new Client(config));
      await client.connect();
      return client;
    },
    pool: config => endAfterTest(new Pool(config, { size: 3 })),
    'pool of quickgres/pg'(config) {
      const pool = new pg.Pool({ ...config, max: 3 });
      afterTest(() => pool.end());
      return pool;
    }
  };

  async function askAll(session, name) {
    const text = `SELECT '${name}' AS who, $1::int AS i`;
    for (let i = 0; i < ANSWERS; i += 4) {
      const each = [i, i + 1, i + 2, i + 3];
      const results = await Promise.all(each.map(n => session.query(text, [n])));
      assert.deepEqual(
        results.map(({ rows: [{ who, i: n }] }) => [who, Number(n)]),
        each.map(n => [name, n])
      );
    }
  }

  /** Runs something again and again beside the sessions that ask. */
  async function beside(disturb) {
    let isOver = false;
    const disturbing = (async () => {
      for (let i = 0; !isOver; i++) await disturb(i);
    })();
    try {
      await Promise.all(Object.entries(askers).map(async ([name, open]) => askAll(await open(bouncer.config), name)));
    } finally {
      isOver = true;
      await disturbing;
    }
  }

  it('though clients leave with requests unanswered', async () => {
    const CONFIGS = [{}, { require_auth: 'none' }];
    const random = seeded(77);
    await beside(async i => {
      const config = { ...bouncer.config, ...CONFIGS[i % 2] };
      const session = i % 3 ? new Client(config).on('error', () => {}) : new Pool(config, { size: 2 });
      if (session instanceof Client) session.connect().catch(() => {});
      const asked = [1, 2, 3, 4].map(n => session.query(`SELECT 'left' AS who, ${n} AS i, pg_sleep(0.00${n})`));
      await sleep(random.below(12));
      session.destroy();
      await Promise.allSettled(asked);
    });
  }).timeout(30000);

  it('though others copy', async () => {
    const pools = [1, 2].map(() => endAfterTest(new Pool(bouncer.config, { size: 2 })));
    const copied = async (pool, i) => {
      const chunks = await pool.copyTo(`COPY (SELECT ${i}, generate_series(1, 20)) TO STDOUT`).toArray();
      const expected = Array.from({ length: 20 }, (_, n) => `${i}\t${n + 1}\n`);
      assert.equal(Buffer.concat(chunks).toString(), expected.join(''));
    };
    await beside(i =>
      Promise.all(
        pools.flatMap(pool => [
          copied(pool, i),
          ...[1, 2, 3, 4, 5, 6, 7, 8].map(async n => {
            const { rows } = await pool.query('SELECT $1::int AS n', [n]);
            assert.deepEqual({ ...rows[0] }, { n });
          })
        ])
      )
    );
  }).timeout(30000);
});

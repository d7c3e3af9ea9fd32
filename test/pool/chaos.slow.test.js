'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { PassThrough, Writable } = require('node:stream');
const { text: textOf } = require('node:stream/consumers');
const { pipeline } = require('node:stream/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const { have, startNginx, startProxy, startServer } = require('pg-test-fixtures');
const { ConnectionError } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { Pool } = require('../../lib/pool');
const { seeded } = require('../support/kit');

/** For how long, in seconds; `CHAOS_SECONDS=600` for a real search. */
const SECONDS = Number(process.env.CHAOS_SECONDS || 10);
const SEED = Number(process.env.CHAOS_SEED || (process.env.CI ? 1 : Math.floor(Math.random() * 2 ** 32)));

/** How many ask at a time. */
const USERS = 200;

/** What takes longer hangs, in milliseconds. */
const HANGS = 60000;

/**
 * A key of the cache that is not answered for so many milliseconds, while the others are so many times, is dead:
 * connections are silent for 6000.
 */
const DEAD = 20000;
const ALIVE = 100;

/** There are three rows of each. */
const TENANTS = 1000;
const NOTES = 'SELECT tenant FROM notes';

const WRITE = 'INSERT INTO ledger VALUES ($1)';

/** Requests of a session with settings, each of which gives the three rows of its tenant; the policy shows no other. */
const OF_TENANTS = {
  async query(mine) {
    return (await mine.query(NOTES)).rows;
  },
  async retried(mine) {
    return (await mine.query(NOTES, [], { idempotent: true })).rows;
  },
  async batch(mine) {
    return (await mine.batch(['SELECT pg_sleep(0.001)', NOTES]))[1].rows;
  },
  async transaction(mine) {
    return mine.transaction(
      async tx => {
        await tx.transaction(inner => inner.query('SELECT 1'));
        return (await tx.query(NOTES)).rows;
      },
      { idempotent: true }
    );
  },
  async 'settings of the transaction'(mine, tenant) {
    return mine.transaction(
      async tx => {
        const other = (tenant + 1) % TENANTS;
        const [own, theirs, again] = await Promise.all(
          [tx, tx.with({ 'app.tenant': other }), tx].map(session => session.query(NOTES))
        );
        for (const { tenant: found } of theirs.rows) assert.equal(Number(found), other);
        assert.deepEqual(again.rows, own.rows);
        return own.rows;
      },
      { idempotent: true }
    );
  },
  async cursor(mine) {
    const rows = [];
    for await (const row of mine.cursor(NOTES, [], { batchSize: 1 })) rows.push(row);
    return rows;
  },
  async queryTo(mine) {
    const target = new PassThrough();
    const [json] = await Promise.all([textOf(target), mine.queryTo(target, NOTES, [], { as: 'json' })]);
    return JSON.parse(json);
  },
  async copyTo(mine) {
    const copied = await textOf(mine.copyTo(`COPY (${NOTES}) TO STDOUT`));
    return copied
      .split('\n')
      .slice(0, -1)
      .map(tenant => ({ tenant }));
  },
  async aborted(mine) {
    return (await mine.query(`${NOTES} WHERE pg_sleep(0.01) IS NOT NULL`, [], { signal: AbortSignal.timeout(15) }))
      .rows;
  },
  async wrong(mine, tenant) {
    await assert.rejects(
      mine.with({ work_mem: 'wrong' }).query(NOTES),
      error => isLoss(error) || error.code === '22023'
    );
    return [tenant, tenant, tenant].map(tenant => ({ tenant }));
  }
};

/** What users do: each knows the answer that is its own; `write(id)` tells the ledger of what is written. */
const KINDS = {
  async query({ pool, id }) {
    assert.equal((await pool.query('SELECT $1::int AS id', [id])).rows[0].id, String(id));
  },
  async retried({ pool, id }) {
    const {
      rows: [row]
    } = await pool.query('SELECT $1::int AS id, pg_sleep(0.02)', [id], { idempotent: true });
    assert.equal(row.id, String(id));
  },
  async batch({ pool, id }) {
    const results = await pool.batch([
      ['SELECT $1::int AS id', [id]],
      ['SELECT $1::int + 1 AS id', [id]]
    ]);
    assert.deepEqual(
      results.map(({ rows: [row] }) => row.id),
      [String(id), String(id + 1)]
    );
  },
  async insert({ pool, id, ledger }) {
    await ledger.write(id, () => pool.query(WRITE, [id]));
  },
  async transaction({ pool, id, ledger, random }) {
    const fails = random.chance(0.2);
    await ledger
      .write(
        id,
        () =>
          pool.transaction(async tx => {
            await tx.query(WRITE, [id]);
            if (random.chance(0.3)) await sleep(random.below(20));
            assert.equal((await tx.query('SELECT id FROM ledger WHERE id = $1', [id])).rows.length, 1);
            if (fails) throw new Error('changed my mind');
          }),
        fails
      )
      .catch(error => {
        if (error.message !== 'changed my mind') throw error;
      });
  },
  async connection({ pool, id }) {
    await pool.connection(async client => {
      await client.query(`SET application_name = 'user ${id}'`);
      if (id % 3 === 0) await client.query('BEGIN');
      assert.equal((await client.query('SHOW application_name')).rows[0].application_name, `user ${id}`);
    });
  },
  async cursor({ pool, id, random }) {
    const leave = random.below(400);
    let next = id;
    for await (const { n } of pool.cursor('SELECT generate_series($1::int, $1::int + 300) AS n', [id], {
      batchSize: 50
    })) {
      assert.equal(n, String(next++));
      if (next - id === leave) break;
    }
  },
  async queryTo({ pool, id, random }) {
    let bytes = 0;
    const target = new Writable({
      write(chunk, encoding, callback) {
        bytes += chunk.length;
        if (random.chance(0.2)) setTimeout(callback, random.below(10));
        else callback();
      }
    });
    const { rowCount } = await pool.queryTo(
      target,
      'SELECT repeat($1, 20) FROM generate_series(1, 500)',
      [String(id)],
      { as: 'values' }
    );
    assert.deepEqual([rowCount, bytes], [500, 10000 * String(id).length]);
  },
  async copy({ pool, id, ledger }) {
    await ledger.write(id, () => pipeline([`${id}\n`], pool.copyFrom('COPY ledger FROM STDIN')));
    const copied = pool.copyTo(`COPY (SELECT ${id}) TO STDOUT`);
    let text = '';
    for await (const chunk of copied) text += chunk;
    assert.equal(text, `${id}\n`);
  },
  async 'by HTTP'({ web, id, random }) {
    const leaving = random.chance(0.1) ? AbortSignal.timeout(random.below(30)) : undefined;
    const { status, text } = await web.get(id, leaving).catch(cause => {
      throw new ConnectionError('no whole answer', { cause });
    });
    if ([500, 502, 504].includes(status)) throw new ConnectionError(`status ${status}`);
    assert.deepEqual([status, text], [200, web.expected(id)]);
  },
  async cached({ cache, id, random, answered }) {
    const key = id % 4;
    const options = random.chance(0.8) ? { statement_timeout: 500 } : {};
    const {
      rows: [row]
    } = await cache.query('SELECT $1::int AS key, pg_sleep(0.005)', [key], options).catch(error => {
      const { time, count } = (answered[key] ??= { time: performance.now(), count: answered.count });
      const others = answered.count - count;
      assert.ok(
        performance.now() < time + DEAD || others < ALIVE,
        `the key ${key} is dead, others had ${others} answers`
      );
      throw error.code === '57014' ? new ConnectionError('late', { cause: error }) : error;
    });
    answered[key] = { time: performance.now(), count: ++answered.count };
    assert.equal(row.key, String(key));
  },
  async timeout({ pool }) {
    await assert.rejects(
      pool.query('SELECT pg_sleep(20)', [], { statement_timeout: 20 }),
      error => isLoss(error) || error.code === '57014'
    );
  },
  async abort({ pool, random }) {
    const asked = pool.query('SELECT pg_sleep(20)', [], { signal: AbortSignal.timeout(1 + random.below(30)) });
    await assert.rejects(asked, error => isLoss(error) || error.name === 'AbortError');
  }
};

for (const [name, ask] of Object.entries(OF_TENANTS)) {
  KINDS[`${name} of a tenant`] = async ({ pool, id }) => {
    const tenant = id % TENANTS;
    const rows = await ask(pool.with({ role: 'web', 'app.tenant': tenant }), tenant).catch(error => {
      if (error.name !== 'AbortError') throw error;
      return Array(3).fill({ tenant });
    });
    assert.deepEqual(
      rows.map(row => Number(row.tenant)),
      [tenant, tenant, tenant]
    );
  };
}

/** Whether an error is one that faults may cause. */
const isLoss = error =>
  error instanceof ConnectionError || error.code === '57P01' || error.cause instanceof ConnectionError;

/** Who has written what, as far as the writers know. */
class Ledger {
  certain = new Set();
  possible = new Set();

  async write(id, work, fails = false) {
    try {
      await work();
      this.certain.add(id);
    } catch (error) {
      if (error.sent !== false && !fails) this.possible.add(id);
      throw error;
    }
  }
}

/** An HTTP server that sends results of the pool, behind nginx, which speaks HTTP/1.0 with it. */
class Web {
  /** What went wrong and no fault explains. */
  broken = [];
  #nginx;
  #port;

  async start(pool) {
    this.server = http.createServer(async (request, response) => {
      try {
        const text = "SELECT $1::int AS id, repeat('x', 100) AS filler FROM generate_series(1, 3000)";
        await respond(pool, request, response, text, [request.url.slice(1)], { as: 'ndjson' });
      } catch (error) {
        if (!isLoss(error) && error.name !== 'AbortError') this.broken.push(error);
        if (!response.headersSent) response.writeHead(500).end();
      }
    });
    await new Promise(resolve => {
      this.server.listen(0, '127.0.0.1', resolve);
    });
    if (have('nginx')) await this.restart();
    else console.log('      nginx is not installed: HTTP without it');
  }

  async restart() {
    await this.#nginx?.stop();
    this.#nginx = await startNginx({ target: `http://127.0.0.1:${this.server.address().port}` });
    this.#port = this.#nginx.port;
  }

  async get(id, signal) {
    const response = await fetch(`http://127.0.0.1:${this.#port ?? this.server.address().port}/${id}`, { signal });
    return { status: response.status, text: await response.text() };
  }

  expected(id) {
    return `{"id":${id},"filler":"${'x'.repeat(100)}"}\n`.repeat(3000);
  }

  async stop() {
    await this.#nginx?.stop();
    this.server.close().closeAllConnections();
  }
}

/** What goes wrong. */
const FAULTS = {
  async nginx({ web }) {
    if (have('nginx')) await web.restart();
  },
  async restart({ server }) {
    await server.restart();
  },
  async kill({ server }) {
    await server.sql(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
    );
  },
  async reset({ proxy }) {
    proxy.reset();
  },
  async cut({ proxy }) {
    proxy.cut();
  },
  async stall({ proxy, random }) {
    proxy.stall();
    await sleep(random.below(1500));
    proxy.resume();
  },
  async halfOpen({ proxy, random }) {
    const dead = [...proxy.open].filter(() => random.chance(0.5));
    for (const each of dead) each.stall();
    await sleep(random.below(2000));
    for (const each of dead) each.reset();
  },
  async silence({ proxy, random }) {
    // of open connections; new ones work. What has no limit of its own is lost much later
    const dead = [...proxy.open].filter(() => random.chance(0.7));
    for (const each of dead) each.stall();
    setTimeout(() => {
      for (const each of dead) each.reset();
    }, 6000);
  },
  async vanish({ proxy, random }) {
    await proxy.vanish();
    await sleep(random.below(1500));
    await proxy.appear();
  },
  async refuse({ proxy, random }) {
    proxy.refuse();
    proxy.reset();
    await sleep(random.below(1000));
    await proxy.accept();
  }
};

describe('A Pool in chaos', () => {
  it(`loses nothing silently, answers nothing twice, leaves nothing hanging or behind (seed ${SEED})`, async function () {
    this.timeout((SECONDS + 180) * 1000);
    // A client of one method rides its first queries with the last message of authentication.
    const server = await startServer({
      external: false,
      auth: 'scram-sha-256',
      users: { me: { password: 'secret', attributes: 'SUPERUSER' } }
    });
    const proxy = await startProxy({ target: server });
    await server.sql('CREATE TABLE ledger (id int)');
    await server.sql(`CREATE TABLE notes AS SELECT i % ${TENANTS} AS tenant FROM generate_series(1, ${3 * TENANTS}) i; CREATE ROLE web; GRANT SELECT ON notes TO web;
      ALTER TABLE notes ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON notes USING (tenant = current_setting('app.tenant')::int)`);
    const random = seeded(SEED);
    const pool = new Pool(
      {
        decode: false,
        ...server.config,
        host: proxy.host,
        port: proxy.port,
        user: 'me',
        password: 'secret',
        require_auth: 'scram-sha-256',
        application_name: 'chaos'
      },
      { size: 10, max_lifetime: 3000, idle_timeout: 1000 }
    );
    const ofCache = new Pool(
      { ...server.config, host: proxy.host, port: proxy.port, user: 'me', password: 'secret', decode: false },
      { size: 3 }
    );
    const cache = new ResponseCache(ofCache, { max_age: 0.1, stale_while_revalidate: 0 });
    const web = new Web();
    await web.start(pool);
    const answered = { count: 0 }; // answers of the cache, and the last one of each key
    const ledger = new Ledger();
    const counts = {};
    const until = performance.now() + SECONDS * 1000;
    const isOver = () => performance.now() >= until && ledger.certain.size > 100; // a busy machine needs longer
    let ids = 1000;
    const user = async () => {
      const own = random.fork();
      while (!isOver()) {
        const kind = own.pick(Object.keys(KINDS));
        const id = ids++;
        const count = (counts[kind] ??= { done: 0, lost: 0 });
        const over = new AbortController();
        try {
          await Promise.race([
            KINDS[kind]({ pool, cache, web, id, ledger, answered, random: own }),
            sleep(HANGS, undefined, { signal: over.signal, ref: false }).then(() =>
              assert.fail(`${kind} hangs: ${JSON.stringify(pool.stats)}`)
            )
          ]);
          count.done++;
        } catch (error) {
          if (error instanceof assert.AssertionError || !isLoss(error)) {
            error.message = `${kind} ${id}: ${error.message}`;
            throw error;
          }
          count.lost++;
        } finally {
          over.abort();
        }
        await sleep(own.below(10));
      }
    };
    const faults = async () => {
      while (!isOver()) {
        await sleep(200 + random.below(1500));
        const name = random.pick(Object.keys(FAULTS));
        counts[name] = (counts[name] ?? 0) + 1;
        await FAULTS[name]({ server, proxy, web, random });
      }
    };
    try {
      await Promise.all([faults(), ...Array.from({ length: USERS }, user)]);
      assert.equal((await pool.query('SELECT 1 AS one', [], { idempotent: true })).rows[0].one, '1');
      assert.deepEqual(web.broken, []);
      await web.stop();
      await Promise.all([pool, ofCache].map(each => each.end()));
      assert.deepEqual(pool.stats, { size: 10, connected: 0, idle: 0, owned: 0, pending: 0, waiting: 0, holders: [] });
      if (SECONDS > 60) console.log(JSON.stringify(counts));

      // A backend notices that its client is gone when it writes to it: what only sleeps is ended.
      const BACKENDS = "FROM pg_stat_activity WHERE application_name = 'chaos'";
      await server.sql(`SELECT pg_terminate_backend(pid) ${BACKENDS} AND query LIKE '%pg_sleep(20)%'`);
      for (const until = performance.now() + HANGS; ; await sleep(50)) {
        const left = await server.sql(`SELECT state, wait_event, query ${BACKENDS}`);
        if (left.length === 0) break;
        assert.ok(performance.now() < until, JSON.stringify(left));
      }
      const written = (await server.sql('SELECT id FROM ledger')).map(({ id }) => Number(id));
      const unique = new Set(written);
      assert.equal(unique.size, written.length, 'something was written twice');
      for (const id of ledger.certain) assert.ok(unique.has(id), `${id} was written, and is not there`);
      for (const id of unique)
        assert.ok(ledger.certain.has(id) || ledger.possible.has(id), `${id} is there, and was not written`);
    } finally {
      pool.destroy();
      ofCache.destroy();
      await web.stop();
      await proxy.stop();
      await server.stop();
    }
  });
});

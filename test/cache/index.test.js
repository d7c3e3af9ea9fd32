'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Writable } = require('node:stream');
const { startProxy } = require('pg-test-fixtures');
const { LEASE } = require('../../lib/core/internal');
const { Client, AbortError, ConnectionError, PostgresError, RowReader } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { Channels } = require('../../lib/core/listen');
const { Pool } = require('../../lib/pool');
const { connected, held, proxied, sharedServer } = require('../support');
const { shorten } = require('../support/hooks');

/** Every query gets another number: the same number twice came from memory. */
const NEXT = 'SELECT random() AS n';
const TYPES = `SELECT i, 'name ' || i AS name, NULL AS nothing, decode(md5(i::text), 'hex') AS bytes
  FROM generate_series(1, 3) AS i`;
const LARGE = 'SELECT i, md5(i::text) AS hash FROM generate_series(1, 20000) AS i';

/** A target that takes one piece at a time, each in a turn of its own, and does with it what it likes. */
class Slow extends Writable {
  constructor(writes = false) {
    super({ highWaterMark: 1 });
    this.writes = writes;
    this.chunks = [];
    this.most = 0;
  }

  get bytes() {
    return Buffer.concat(this.chunks);
  }

  _write(chunk, encoding, callback) {
    this.most = Math.max(this.most, this.writableLength);
    this.chunks.push(Buffer.from(chunk));
    if (this.writes) chunk.fill(0);
    setImmediate(callback);
  }
}

async function written(session, text, values, options = {}) {
  const target = new Slow(session instanceof ResponseCache);
  const result = await session.queryTo(target, text, values, options);
  return { ...result, data: target.bytes, most: target.most };
}

describe('A ResponseCache of a client', () => {
  let server;
  let client;
  let cache;
  let clock;

  before(async () => {
    server = await sharedServer();
  });

  beforeEach(async () => {
    clock = 0;
    client = await connected();
    cache = new ResponseCache(client, { now: () => clock });
  });

  /** The number that a query got. */
  const next = async (options, text = NEXT, values = []) => (await cache.query(text, values, options)).rows[0].n;

  it('never gives an answer to other settings, whatever the options', async () => {
    const text = "SELECT current_setting('app.tenant', true) AS tenant";
    const options = [
      {},
      { format: 1 },
      { cache: false },
      { tags: ['a'] },
      { max_age: 0.001, stale_while_revalidate: 100 },
      { signal: AbortSignal.timeout(10000) },
      { statement_timeout: 10000 },
      { paramTypes: [] },
      { alone: true },
      { idempotent: true }
    ];
    const sessions = ['one', 'two', "one', 'app.tenant', 'two"].map(tenant => [
      tenant,
      cache.with({ 'app.user': 'me' }).with({ 'app.tenant': tenant })
    ]);
    sessions.push(['', cache]);
    for (const each of options) {
      for (let round = 0; round < 3; round++, clock += 10) {
        // asked, from memory or old, and again
        await Promise.all(
          sessions.map(async ([tenant, session]) => {
            const {
              rows: [row]
            } = await session.query(text, [], each);
            assert.equal(String(row.tenant ?? ''), tenant);
            const { idempotent, ...other } = each;
            for (const as of ['json', 'values', 'ndjson', 'protocol']) {
              if (other.format === 1 && as.endsWith('json')) continue;
              const { data } = await written(session, text, [], { ...other, as });
              assert.ok(data.includes(tenant) && (tenant !== 'one' || !data.includes('two')), `${data}`);
            }
          })
        );
      }
    }
    assert.ok(cache.hits > 0 && cache.stale > 0);
    const keys = sessions.map(([, session]) => session.keyOf(text));
    assert.equal(new Set(keys).size, sessions.length);
    cache.invalidate(keys[0]);
    const { hits } = cache;
    await Promise.all(sessions.map(([, session]) => session.query(text)));
    assert.equal(cache.hits, hits + sessions.length - 1);
    assert.throws(() => new ResponseCache(client.with({ 'app.tenant': 1 })), {
      name: 'TypeError',
      message: /cache\.with/
    });
  });

  it('asks the database for a long answer each time, with the settings', async () => {
    const small = new ResponseCache(client, { max_answer_bytes: 10 });
    const mine = small.with({ 'app.tenant': 'mine' });
    const text = "SELECT current_setting('app.tenant', true) AS tenant, repeat('x', 100) AS rest";
    for (let i = 0; i < 2; i++) {
      assert.equal((await mine.query(text)).rows[0].tenant, 'mine');
      assert.match((await written(mine, text, [], { as: 'json' })).data.toString(), /mine/);
      assert.equal((await small.query(text)).rows[0].tenant || '', '');
    }
  });

  it('asks once for 1,000 who miss at the same time', async () => {
    const got = await Promise.all(Array.from({ length: 1000 }, () => next()));
    assert.equal(new Set(got).size, 1);
    assert.deepEqual([cache.misses, cache.hits], [1000, 0]);
    assert.equal(await next(), got[0]);
    assert.equal(cache.hits, 1);
  });

  it('refreshes once for a herd after max_age, which gets the old answer', async () => {
    const old = await next();
    clock = 61000;
    const got = await Promise.all(Array.from({ length: 1000 }, () => next()));
    assert.deepEqual([...new Set(got)], [old]);
    await client.sync();
    await new Promise(setImmediate);
    const refreshed = await next();
    assert.notEqual(refreshed, old);
    assert.equal(await next(), refreshed);
    assert.equal(cache.stale, 1000);
  });

  it('has an answer for its text, its parameters with types and formats, and the result format', async () => {
    const text = 'SELECT random() AS n, $1::text';
    const ways = [
      [text, ['1']],
      [text, ['2']],
      [text, [null]],
      [text, [Buffer.from('1')]],
      [`${text} `, ['1']],
      [text, ['1'], { paramTypes: [] }],
      [text, ['1'], { format: Client.BINARY }],
      [text, ['1'], { tags: ['t'] }],
      [text, ['1'], { max_age: 1 }]
    ];
    const all = async () => {
      const list = [];
      for (const [query, values, options] of ways) list.push(String(await next(options, query, values)));
      return list;
    };
    const got = await all();
    assert.equal(cache.size, ways.length);
    assert.deepEqual(await all(), got);
    assert.equal(cache.hits, ways.length);
    assert.equal(String(await next({}, text, [1])), got[0], 'a number is sent as its text');
  });

  it('has the server refuse all that writes', async () => {
    await server.sql('CREATE TABLE kept (a int); CREATE SEQUENCE numbers; GRANT ALL ON kept, numbers TO PUBLIC');
    for (const text of [
      'INSERT INTO kept VALUES (1) RETURNING a',
      'WITH x AS (INSERT INTO kept VALUES (1) RETURNING a) SELECT * FROM x',
      'SELECT a FROM kept FOR UPDATE',
      "SELECT nextval('numbers')",
      'SELECT 1 AS a INTO own',
      'TRUNCATE kept',
      'EXPLAIN ANALYZE INSERT INTO kept VALUES (1)',
      'CREATE TEMP TABLE own (a int)'
    ])
      await assert.rejects(cache.query(text), error => error instanceof PostgresError && error.code === '25006', text);
    assert.equal(cache.size, 0);
    assert.equal((await cache.query('SELECT count(*) AS n FROM kept')).rows[0].n, 0);
  });

  it('keeps nothing but results of SELECT', async () => {
    for (const text of [
      'SHOW TimeZone',
      'EXPLAIN SELECT 1',
      'COPY users TO STDOUT',
      '',
      "SET TimeZone = 'UTC'",
      'NOTIFY nobody'
    ]) {
      await Promise.all([cache.query(text), cache.query(text)]);
      assert.equal(cache.size, 0, text);
    }
    for (const text of [
      '-- a comment\n WITH x AS (SELECT 1) SELECT * FROM x',
      'VALUES (1)',
      'TABLE users',
      '(SELECT 1)',
      'SELECT'
    ]) {
      await cache.query(text);
    }
    assert.equal(cache.size, 5);
  });

  it('forgets all when something was set, and goes on being read-only whatever was', async () => {
    const zone = () => next({}, "SELECT current_setting('TimeZone') AS n");
    const before = await zone();
    await cache.query("SET TimeZone = 'Asia/Tokyo'");
    assert.equal(await zone(), 'Asia/Tokyo');
    assert.equal(await zone(), 'Asia/Tokyo');
    for (const text of [
      'RESET ALL',
      'DISCARD ALL',
      'SET default_transaction_read_only = off',
      'SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE'
    ]) {
      await cache.query(text, [], { cache: false });
      await assert.rejects(cache.query('CREATE TABLE never (a int)'), { code: '25006' }, text);
    }
    assert.equal(await zone(), before);
  });

  it('keeps no error, and all who wait get it', async () => {
    const fail = () => cache.query('SELECT 1 / $1::int', ['0']);
    const results = await Promise.allSettled([fail(), fail(), fail()]);
    for (const { reason } of results) assert.ok(reason instanceof PostgresError && reason.code === '22012');
    assert.equal(cache.size, 0);
  });

  it('rejects wrong input as the client would, and sends nothing', async () => {
    for (const [ask, message] of [
      [() => cache.query('SELECT $1', [new Map()]), /values\[0\] is an object of class Map/],
      [() => cache.query('SELECT 1', [], { format: 2 }), /format must be/],
      [() => cache.query('SELECT 1', [], { stream: new Slow() }), /there is no option stream here/],
      [() => cache.query('SELECT 1', [], { paramTypes: 'x' }), /paramTypes must be/],
      [() => cache.queryTo(new Slow(), NEXT, [], { as: 'x' }), /as must be/],
      [() => cache.queryTo(new Slow(), NEXT, [], { unknown: 1 }), /there is no option unknown here/],
      [() => cache.queryTo(5, NEXT), /the target must be a writable stream/]
    ])
      await assert.rejects(ask(), { name: 'TypeError', message });
    assert.equal(cache.size, 0);
  });

  it('leaves no timer behind where the target is none', async () => {
    const timers = () => process.getActiveResourcesInfo().filter(each => each === 'Timeout').length;
    await new Promise(setImmediate); // the test's own is set
    const before = timers();
    await assert.rejects(cache.queryTo(5, NEXT, [], { statement_timeout: 60000 }), TypeError);
    assert.equal(timers(), before);
  });

  it('ends only the waiting of whose signal aborts or whose time is over', async () => {
    const abort = new AbortController();
    const text = `${NEXT}, pg_sleep(0.2)`;
    const ways = [{ signal: abort.signal }, { statement_timeout: 20 }, {}];
    const waiting = Promise.allSettled(ways.map(options => next(options, text)));
    setImmediate(() => abort.abort());
    const [first, second, third] = await waiting;
    assert.ok(first.reason instanceof AbortError);
    assert.equal(second.reason.code, '57014');
    assert.equal(third.status, 'fulfilled');
    assert.equal(await next({}, text), third.value);
    await assert.rejects(next({ signal: AbortSignal.abort() }, text), AbortError);
  });

  it('takes another connection after one that has gone silent under requests with a limit, and its pool ends', async () => {
    const proxy = await startProxy({ target: server });
    const pool = new Pool({ ...server.config, host: proxy.host, port: proxy.port }, { size: 1 });
    pool[LEASE].policy.silence = 40;
    const pooled = new ResponseCache(pool);
    await pooled.query(NEXT);
    for (const connection of proxy.open) connection.stall();
    const late = { code: '57014' };
    await assert.rejects(pooled.query('SELECT 1 AS n', [], { statement_timeout: 20 }), late);
    assert.equal((await pooled.query('SELECT 1 AS n')).rows[0].n, 1);
    await pool.end();
    await proxy.stop();
  });

  it('answers while the client connects, and rejects what it does not know when that is closed', async () => {
    const other = new Client(server.config);
    const early = new ResponseCache(other);
    const connecting = other.connect();
    const [
      {
        rows: [{ n }]
      }
    ] = await Promise.all([early.query(NEXT), early.query('SELECT 2')]);
    await connecting;
    await assert.rejects(early.query("SELECT nextval('x')"), PostgresError);
    await other.end();
    assert.equal((await early.query(NEXT)).rows[0].n, n, 'what it knows, it gives');
    await assert.rejects(early.query('SELECT 3'), ConnectionError);
    await other.connect();
    assert.notEqual((await early.query(NEXT)).rows[0].n, n);
    await assert.rejects(early.query('CREATE TABLE never (a int)'), { code: '25006' });
    await other.end();
  });

  it('goes on after a client that was not connected, and after one that was lost', async () => {
    const other = new Client(server.config);
    const early = new ResponseCache(other);
    await assert.rejects(early.query(NEXT), /call connect\(\) first/);
    await other.connect();
    const waiting = assert.rejects(early.query('SELECT pg_sleep(60)'), { code: '57P01' });
    await server.sql(`SELECT pg_terminate_backend(${other.processId})`);
    await waiting;
    await other.closed;
    await other.connect();
    assert.equal((await early.query('SELECT 1 AS n')).rows[0].n, 1);
    const destroyed = assert.rejects(early.query('SELECT pg_sleep(60)'), ConnectionError);
    other.destroy();
    await destroyed;
  });

  it('gives rows that are the same, and whose bytes nobody can change', async () => {
    for (const format of [Client.STRING, Client.BINARY]) {
      const fresh = await client.query(TYPES, [], { format });
      for (let i = 0; i < 3; i++) {
        const reader = await cache.query(TYPES, [], { format });
        assert.ok(reader instanceof RowReader);
        assert.deepEqual([reader.cmd, reader.rowCount], ['SELECT', 3]);
        assert.deepEqual(
          reader.rows.map(row => row.toObject()),
          fresh.rows.map(row => row.toObject())
        );
        assert.deepEqual(
          reader.rows.map(row => row.rowBuffer),
          fresh.rows.map(row => row.rowBuffer)
        );
        assert.deepEqual(reader.rowParser.columns, fresh.rowParser.columns);
        for (const row of reader.rows) row.rowBuffer.fill(0);
        reader.rows.length = 0;
      }
    }
    assert.equal(cache.hits, 4);
  });

  it('decodes', async () => {
    const decode = { 17: value => value.length };
    for (let i = 0; i < 2; i++) {
      const { rows } = await cache.query(TYPES, [], { decode });
      assert.equal(rows[0].bytes, 34);
      const {
        rows: [, second]
      } = await cache.query(TYPES, [], { decode: true });
      assert.equal(second.i, 2);
    }
    assert.equal(cache.size, 1);
  });

  it('decodes as the config of its client says', async () => {
    const decoding = new ResponseCache(await connected({ decode: true }));
    for (let i = 0; i < 2; i++) assert.equal((await decoding.query('SELECT 1 AS one')).rows[0].one, 1);
    assert.equal((await decoding.query('SELECT 1 AS one', [], { decode: false })).rows[0].one, '1');
    const pool = new Pool(server.config);
    assert.equal((await new ResponseCache(pool).query('SELECT 1 AS one')).rows[0].one, 1);
    await pool.end();
  });

  it('makes the sessions of a pool read-only that were open before', async () => {
    const pool = new Pool(server.config, { size: 1 });
    await pool.query('SELECT 1');
    const pooled = new ResponseCache(pool);
    assert.equal((await pooled.query('SHOW transaction_read_only')).rows[0].transaction_read_only, 'on');
    await pool.end();
  });

  it('gives rows that can be passed on as values', async () => {
    const {
      rows: [row]
    } = await cache.query("SELECT 'x' AS a");
    assert.equal((await cache.query('SELECT $1::text AS a', row)).rows[0].a, 'x');
  });

  for (const [name, text] of [
    ['small', TYPES],
    ['large', LARGE],
    ['empty', 'SELECT 1 AS a WHERE false']
  ]) {
    it(`gives a slow target the bytes of a fresh answer in every form: ${name}`, async () => {
      for (const options of [{}, { format: 1 }, { as: 'values' }, { as: 'values', separator: '\n' }]) {
        const fresh = await written(client, text, [], options);
        for (let i = 0; i < 3; i++) {
          const { most, ...cached } = await written(cache, text, [], options);
          assert.ok(cached.data.equals(fresh.data), 'bytes differ');
          assert.deepEqual({ ...cached, data: '', most }, { ...fresh, data: '', most });
          assert.ok(most < 200000, `${most} bytes at a time`);
        }
      }
    });
  }

  it('leaves the target open where it is to', async () => {
    const target = new Slow();
    for (let i = 0; i < 2; i++) {
      await cache.queryTo(target, LARGE, [], { end: false, as: 'values' });
      assert.equal(target.writableEnded, false);
    }
    const { length } = target.bytes;
    assert.equal(target.bytes.subarray(0, length / 2).equals(target.bytes.subarray(length / 2)), true);
  });

  it('writes to a WHATWG stream, and stops where a target goes away or a signal aborts', async () => {
    const { readable, writable } = new TransformStream();
    const [text] = await Promise.all([
      new Response(readable).text(),
      cache.queryTo(writable, LARGE, [], { as: 'values' })
    ]);
    assert.equal(text.length, (await written(client, LARGE, [], { as: 'values' })).data.length);
    class Going extends Slow {
      _write(chunk, encoding, callback) {
        this.onchunk(chunk, callback);
      }
    }
    const gone = new Going();
    gone.onchunk = () => gone.destroy();
    await assert.rejects(cache.queryTo(gone, LARGE), AbortError);
    const failing = new Going();
    failing.onchunk = (chunk, callback) => callback(new Error('full'));
    await assert.rejects(cache.queryTo(failing, LARGE), /full/);
    const abort = new AbortController();
    const stuck = new Going();
    stuck.onchunk = () => abort.abort();
    await assert.rejects(cache.queryTo(stuck, LARGE, [], { signal: abort.signal }), AbortError);
    assert.equal(stuck.destroyed, true);
    const last = new AbortController();
    const unfinished = new Writable({
      write(chunk, encoding, callback) {
        callback();
      },
      final() {
        last.abort();
      }
    });
    await assert.rejects(cache.queryTo(unfinished, 'SELECT 1', [], { signal: last.signal }), AbortError);
    assert.equal(client.pending, 0);
  });

  it('rejects, and nothing is uncaught, where a target fails while the answer is awaited', async () => {
    for (const error of [new Error('failed early'), undefined]) {
      const target = new Slow();
      const { call, release } = await held();
      const waiting = cache.queryTo(target, `${NEXT}, ${call}`);
      setImmediate(() => target.destroy(error));
      await assert.rejects(waiting, error ?? AbortError);
      assert.equal(target.chunks.length, 0);
      await release();
    }
  });

  it('does not keep what is too long, has nobody ask for it twice at once, and gives it to everybody', async () => {
    cache = new ResponseCache(client, { max_bytes: 100000, now: () => clock });
    const all = await Promise.all(Array.from({ length: 5 }, () => written(cache, LARGE)));
    const fresh = await written(client, LARGE);
    for (const { data, rowCount } of all) {
      assert.ok(data.equals(fresh.data));
      assert.equal(rowCount, 20000);
    }
    const row = "SELECT repeat('x', 1000000) AS x";
    for (let i = 0; i < 2; i++) {
      const { rows } = await cache.query(row);
      assert.equal(rows[0].x.length, 1000000);
    }
    assert.ok(cache.bytes < 3000, `${cache.bytes} bytes to remember that`);
    const { misses } = cache;
    await cache.query(row);
    assert.equal(cache.misses, misses + 1);
    const { readable, writable } = new TransformStream();
    const [text] = await Promise.all([
      new Response(readable).text(),
      cache.queryTo(writable, row, [], { as: 'values' })
    ]);
    assert.equal(text.length, 1000000);
  });

  describe('invalidated', () => {
    it('by what a trigger notifies', async () => {
      await server.sql(`CREATE TABLE watched (id int, name text); GRANT ALL ON watched TO PUBLIC;
        CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_notify('changes', TG_TABLE_NAME); RETURN NULL; END $$;
        CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON watched
          FOR EACH STATEMENT EXECUTE FUNCTION changed();`);
      const writer = await connected();
      await cache.listen('changes');
      const count = () => next({ tags: ['watched'] }, 'SELECT count(*) AS n FROM watched');
      assert.equal(await count(), 0);
      for (let i = 1; i <= 3; i++) {
        const heard = once(client, 'notification');
        await writer.query("INSERT INTO watched VALUES (1, 'x')");
        await heard;
        assert.equal(await count(), i);
        assert.equal(await count(), i);
      }
      assert.equal(cache.hits, 3);
      const untagged = await next();
      const heard = once(client, 'notification');
      await server.sql('NOTIFY changes');
      await heard;
      assert.equal(cache.size, 1);
      assert.equal(await next(), untagged);
    });

    it('when the connection that listens is lost; the next one listens', async () => {
      const stop = await cache.listen('changes');
      const tagged = () => next({ tags: ['t'] });
      const n = await tagged();
      assert.equal(await tagged(), n);
      await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
      await client.closed;
      assert.equal(cache.size, 0);
      await client.connect();
      const after = await tagged();
      assert.equal(await tagged(), after);
      const heard = once(client, 'notification');
      await server.sql("NOTIFY changes, 't'");
      await heard;
      assert.notEqual(await tagged(), after);
      await stop();
      assert.equal((await client.query('SELECT pg_listening_channels()')).rows.length, 0);
    });

    it('when the network has gone dark: a server that says nothing is asked, and does not answer', async () => {
      shorten(Channels, 'silenceLimit', 20);
      const { client: distant, wire } = await proxied();
      const dark = new ResponseCache(distant);
      const { setInterval: repeat } = global;
      const intervals = [];
      shorten(global, 'setInterval', (callback, time, ...args) => {
        intervals.push(time);
        return repeat(callback, 5, ...args);
      });
      const stop = await dark.listen('changes');
      await dark.query(NEXT, [], { tags: ['t'] });
      await stop();
      await dark.listen('changes');
      await dark.query(NEXT, [], { tags: ['t'] });
      assert.deepEqual([dark.size, distant.state], [1, 'open']);
      wire.stall();
      assert.match((await distant.closed).message, /the server was silent/);
      assert.equal(dark.size, 0);
      assert.deepEqual(intervals, [30000, 30000]);
    });

    it('through a pool, which listens on a connection of its own, and on the next when that is lost', async () => {
      const pool = new Pool(server.config, { size: 2 });
      const pooled = new ResponseCache(pool);
      const tagged = async () => (await pooled.query(NEXT, [], { tags: ['t'] })).objects[0].n;
      const before = await tagged(); // its connections are open
      const stop = await pooled.listen('pooled');
      const first = await tagged();
      assert.notEqual(first, before, 'what was known before is forgotten');
      assert.equal(await tagged(), first);
      const forgotten = async from => {
        while ((await tagged()) === from) await new Promise(setImmediate);
      };
      const other = await pooled.query(NEXT, [], { tags: ['u'] });
      await server.sql("NOTIFY pooled, 't'");
      await forgotten(first);
      assert.equal((await pooled.query(NEXT, [], { tags: ['u'] })).objects[0].n, other.objects[0].n);
      const second = await tagged();
      await server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN \"pooled%'");
      await forgotten(second);
      const third = await tagged();
      await server.sql("NOTIFY pooled, 't'");
      await forgotten(third);
      await stop();
      const LEFT = "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN \"pooled%'";
      while ((await pool.query(LEFT)).objects.length > 0) await new Promise(setImmediate); // a backend ends after its connection
      const last = new Promise(resolve => {
        pooled.once('error', resolve);
      });
      await pooled.listen('pooled');
      pool.destroy(new Error('no more'));
      assert.match((await last).cause.message, /no more/);
      for (const channel of [5, 'a\0b']) await assert.rejects(pooled.listen(channel), Error);
    });

    it('in time for what was asked before: it is not kept', async () => {
      await cache.listen('changes');
      const slow = () => next({ tags: ['t'] }, `${NEXT}, pg_sleep(0.2)`);
      const before = slow();
      await server.sql("NOTIFY changes, 't'"); // is told when the query is over
      const stale = await before;
      while (cache.size > 0) await once(client, 'notification');
      assert.notEqual(await slow(), stale);
    });
  });

  it('asks nothing of the server on a hit, and its first query is one flight', async () => {
    const { client: other, proxy } = await proxied();
    const distant = new ResponseCache(other);
    const { toServer: before } = proxy.stats.flights;
    const {
      rows: [{ n }]
    } = await distant.query(NEXT);
    const { toServer } = proxy.stats.flights;
    assert.equal(toServer, before + 1);
    assert.equal((await distant.query(NEXT)).rows[0].n, n);
    assert.equal(proxy.stats.flights.toServer, toServer);
  });
});

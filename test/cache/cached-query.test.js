'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Writable } = require('node:stream');
const { launchBrowser, skipUnless, startProxy, SERVER_VERSION } = require('pg-test-fixtures');
const { Client, AbortError, ConnectionError, PostgresError, ResponseCache, RowReader } = require('../..');
const { connected, sharedServer } = require('../support');

const FOLDER = path.join(__dirname, '../../client-parser');

/** Every query takes the next number: the same number twice came from memory. */
const NEXT = "SELECT nextval('asked')::int AS n";
const TYPES = `SELECT i, 'name ' || i AS name, NULL AS nothing, decode(md5(i::text), 'hex') AS bytes
  FROM generate_series(1, 3) AS i`;
const LARGE = 'SELECT i, md5(i::text) AS hash FROM generate_series(1, 20000) AS i';

/** A target that takes one piece at a time, each in a turn of its own. */
class Slow extends Writable {
  constructor(writes = false) {
    super({ highWaterMark: 1 });
    this.writes = writes;
    this.chunks = [];
    this.most = 0;
  }

  get bytes() { return Buffer.concat(this.chunks); }

  _write(chunk, encoding, callback) {
    this.most = Math.max(this.most, this.writableLength);
    this.chunks.push(Buffer.from(chunk));
    if (this.writes) chunk.fill(0); // whoever gets a chunk may do with it what he likes
    setImmediate(callback);
  }
}

async function written(client, text, values, options = {}) {
  const target = new Slow(options.response_cache !== undefined);
  const result = await client.queryTo(target, text, values, options);
  return { ...result, data: target.bytes, most: target.most };
}

describe('A query with response_cache', () => {
  let server;
  let cache;
  let clock;

  before(async () => {
    server = await sharedServer();
    await server.sql('CREATE SEQUENCE asked');
    await server.sql('GRANT ALL ON SEQUENCE asked TO PUBLIC');
  });

  beforeEach(() => {
    clock = 0;
    cache = new ResponseCache({ now: () => clock });
  });

  /** The number that a query got. */
  const next = async (client, options, text = NEXT, values = []) => {
    return (await client.query(text, values, { response_cache: cache, ...options })).rows[0].n;
  };

  it('is asked once by 1,000 who miss at the same time', async () => {
    const clients = await Promise.all([connected(), connected()]);
    const got = await Promise.all(Array.from({ length: 1000 }, (_, i) => next(clients[i % 2])));
    assert.equal(new Set(got).size, 1);
    assert.deepEqual([cache.misses, cache.hits], [1000, 0]);
    assert.equal(await next(clients[1]), got[0]);
    assert.equal(cache.hits, 1);
  });

  it('is asked once where the misses have to wait behind a query that has a signal', async () => {
    const client = await connected();
    const fence = client.query('SELECT pg_sleep(0.1)', [], { signal: new AbortController().signal });
    const got = await Promise.all(Array.from({ length: 1000 }, () => next(client)));
    assert.equal(new Set(got).size, 1);
    await fence;
  });

  it('is refreshed once by a herd after max_age, which gets the old answer', async () => {
    const client = await connected();
    const old = await next(client);
    clock = 61000;
    const got = await Promise.all(Array.from({ length: 1000 }, () => next(client)));
    assert.deepEqual([...new Set(got)], [old]);
    await client.sync();
    await new Promise(setImmediate);
    assert.equal(await next(client), String(Number(old) + 1));
    assert.equal(cache.stale, 1000);
  });

  it('is cached for nobody who did not ask for it', async () => {
    const client = await connected();
    await next(client);
    const { rows: [{ n }] } = await client.query(NEXT);
    assert.notEqual(n, await next(client));
  });

  it('has an answer for its text, its parameters with types and formats, and the result format', async () => {
    const client = await connected();
    const text = "SELECT nextval('asked')::int AS n, $1::text";
    const ways = [
      [text, ['1']], [text, ['2']], [text, [null]], [text, [Buffer.from('1')]], [`${text} `, ['1']],
      [text, ['1'], { paramTypes: [25] }], [text, ['1'], { format: Client.BINARY }],
      [text, ['1'], { tags: ['t'] }], [text, ['1'], { max_age: 1 }]
    ];
    const all = async () => {
      const list = [];
      for (const [query, values, options] of ways) list.push(String(await next(client, options, query, values)));
      return list;
    };
    const got = await all();
    assert.equal(cache.size, ways.length);
    assert.deepEqual(await all(), got);
    assert.equal(cache.hits, ways.length);
    assert.equal(await next(client, {}, text, [1]), got[0], 'a number is sent as its text');
  });

  it('has other answers for another user, database or setting', async () => {
    await server.sql('CREATE ROLE other LOGIN');
    await server.sql('CREATE DATABASE elsewhere');
    const text = 'SELECT current_user AS n, current_database(), now()';
    const first = await connected();
    const configs = [{ user: 'other' }, { database: 'elsewhere' }, { TimeZone: 'Asia/Tokyo' },
      { search_path: 'x' }, { options: '-c app.tenant=1' }, { application_name: 'same answer' }];
    await next(first, {}, text);
    const sizes = [];
    for (const config of configs) {
      await next(await connected(config), {}, text);
      sizes.push(cache.size);
    }
    assert.deepEqual(sizes, [2, 3, 4, 5, 6, 6]);
  });

  it('shares answers by a setting that the server reports, when it is set later', async () => {
    const [a, b] = await Promise.all([connected(), connected()]);
    const n = await next(a);
    await a.query("SET TIME ZONE 'Asia/Tokyo'");
    const tokyo = await next(a);
    assert.notEqual(tokyo, n);
    assert.equal(await next(b), n);
    await b.query("SET TimeZone = 'Asia/Tokyo'");
    assert.equal(await next(b), tokyo);
  });

  for (const text of ["SET app.tenant = '1'", 'SET ROLE other', "SELECT set_config('app.tenant', '1', false)",
    '/* a comment */ SET work_mem = 1024', "DO $$ BEGIN PERFORM 1; END $$", 'DISCARD ALL', 'RESET ALL',
    'CREATE TEMP TABLE hiding (a int)', 'SELECT 1 AS a INTO TEMP TABLE hiding2',
    "UPDATE pg_settings SET setting = 'escape' WHERE name = 'bytea_output'"]) {
    it(`shares no answers any more after: ${text}`, async () => {
      const [a, b] = await Promise.all([connected(), connected()]);
      const n = await next(a);
      await Promise.allSettled([a.query(text), b.simpleQuery(`SELECT 1; ${text}`)]);
      await a.query('RESET ROLE').catch(() => {});
      const [own, others] = [await next(a), await next(b)];
      assert.equal(new Set([n, own, others]).size, 3);
      assert.equal(await next(a), own, 'but with itself');
    });
  }

  it('shares no answers any more after a prepared statement that may have set something, however it is run', async () => {
    const TENANT = "SELECT current_setting('app.tenant', true) AS n";
    const client = await connected({ 'app.tenant': '1' });
    await client.query("PREPARE become AS SELECT set_config('app.tenant', $1, false) AS n");
    let tenant = 1;
    const tenants = [];
    for (const run of ["EXECUTE become('2')", "EXPLAIN ANALYZE EXECUTE become('3')",
      "CREATE TEMP TABLE became AS EXECUTE become('4')", "CREATE TABLE became AS EXECUTE become('5')"]) {
      assert.equal(await next(client, {}, TENANT), String(tenant));
      await client.query(run, [], { cache: false });
      tenants.push(await next(client, {}, TENANT));
      tenant++;
    }
    assert.deepEqual(tenants, ['2', '3', '4', '5']);
  });

  it('is not cached where names may mean temporary tables first', async () => {
    for (const config of [{ search_path: 'pg_temp, public' }, {}]) {
      const pair = await Promise.all([connected(config), connected(config)]);
      for (const [i, client] of pair.entries()) {
        await client.query('SET search_path = pg_temp, public');
        await client.query(`CREATE TABLE own AS SELECT ${i} AS n`);
        assert.equal(await next(client, {}, 'SELECT n FROM own'), String(i));
      }
    }
    // Older servers do not report search_path: such a connection has answers, but shares none.
    if (SERVER_VERSION >= 18) assert.equal(cache.size, 0);
  });

  it('waits for no SET that is under way: it is asked by itself', async () => {
    const client = await connected();
    const n = await next(client);
    const [, between] = await Promise.all([client.query("SET TimeZone = 'Asia/Tokyo'"), next(client)]);
    assert.notEqual(between, n);
    assert.equal(cache.size, 1);
  });

  it('still shares after SET LOCAL, UPDATE … SET and transactions', async () => {
    const client = await connected();
    const n = await next(client);
    await client.transaction(async tx => {
      await tx.query("SET LOCAL app.tenant = '1'");
      await tx.query('UPDATE users SET name = name WHERE false');
    });
    assert.equal(await next(client), n);
  });

  it('is neither answered from memory nor kept inside a transaction, however it was begun', async () => {
    const client = await connected();
    const n = await next(client);
    await client.transaction(async tx => {
      assert.notEqual(await next(tx), n);
      await tx.transaction(async inner => assert.notEqual(await next(inner), n));
    });
    const sent = [client.query('BEGIN'), next(client), client.query('COMMIT'), next(client)];
    const [, inside, , behind] = await Promise.all(sent);
    assert.notEqual(inside, n);
    assert.notEqual(behind, n);
    await client.simpleQuery('SELECT 1; START TRANSACTION');
    assert.notEqual(await next(client), n);
    await client.query('COMMIT');
    assert.equal(await next(client), n);
    assert.equal(cache.size, 1);
  });

  it('keeps nothing but results of SELECT', async () => {
    const client = await connected();
    await server.sql('CREATE TABLE kept (a int)');
    const options = { response_cache: cache };
    const two = text => Promise.all([client.query(text, [], options), client.query(text, [], options)]);
    await two('INSERT INTO kept VALUES (1) RETURNING a');
    await two('WITH x AS (INSERT INTO kept VALUES (1) RETURNING a) SELECT * FROM x');
    await two('/* SELECT */ UPDATE kept SET a = a RETURNING a');
    for (const lock of ['UPDATE', 'NO KEY UPDATE', 'SHARE', 'KEY SHARE OF kept']) await two(`SELECT a FROM kept FOR ${lock}`);
    await two('SHOW TimeZone');
    await two('COPY kept TO STDOUT');
    await two('');
    assert.equal(cache.size, 0);
    const { rows: [{ n }] } = await client.query('SELECT count(*) AS n FROM kept');
    assert.equal(n, '4', 'each was carried out');
    await two('-- a comment\n WITH x AS (SELECT 1) SELECT * FROM x');
    await two('VALUES (1)');
    await two('TABLE kept');
    assert.equal(cache.size, 3);
  });

  it('keeps no error, and all who wait get it', async () => {
    const client = await connected();
    const fail = () => client.query('SELECT 1 / $1::int', ['0'], { response_cache: cache });
    const results = await Promise.allSettled([fail(), fail(), fail()]);
    for (const { reason } of results) assert.ok(reason instanceof PostgresError && reason.code === '22012');
    assert.equal(cache.size, 0);
  });

  it('rejects wrong input as ever, and what is no cache', async () => {
    const client = await connected();
    const ask = (text, values, options) => client.query(text, values, { response_cache: cache, ...options });
    await assert.rejects(ask(1), /text must be a string/);
    await assert.rejects(ask('SELECT $1', [{}]), /values\[0\] is of type Object/);
    await assert.rejects(ask('SELECT $1', 1), /values must be an array/);
    await assert.rejects(ask(NEXT, [], { tags: 't' }), /tags must be/);
    await assert.rejects(ask(NEXT, [], { max_age: -1 }), /max_age must be/);
    await assert.rejects(ask(NEXT, [], { signal: 1 }), /signal must be/);
    await assert.rejects(ask(NEXT, [], { response_cache: true }), /response_cache must be a ResponseCache/);
    await assert.rejects(ask(NEXT, [], { stream: new Slow() }), /queryTo/);
    const wrong = { response_cache: cache, as: 'x' };
    await assert.rejects(client.queryTo(new Slow(), NEXT, [], wrong), /as must be/);
  });

  it('ends only the waiting of whose signal aborts or whose time is over', async () => {
    const client = await connected();
    const abort = new AbortController();
    const text = `${NEXT}, pg_sleep(0.2)`;
    const ways = [{ signal: abort.signal }, { statement_timeout: 20 }, {}];
    const waiting = ways.map(options => next(client, options, text));
    setImmediate(() => abort.abort());
    const [first, second, third] = await Promise.allSettled(waiting);
    assert.ok(first.reason instanceof AbortError);
    assert.equal(second.reason.code, '57014');
    assert.equal(third.status, 'fulfilled');
    assert.equal(await next(client, {}, text), third.value);
    await assert.rejects(next(client, { signal: AbortSignal.abort() }, text), AbortError);
  });

  it('is asked anew by those of other connections when the connection that asks is lost', async () => {
    const [a, b] = await Promise.all([connected(), connected()]);
    const text = `${NEXT}, pg_sleep(0.1)`;
    const own = next(a, {}, text);
    const others = next(b, {}, text);
    a.destroy();
    await assert.rejects(own, ConnectionError);
    assert.match(await others, /^\d+$/);
  });

  it('runs by itself while the client is connecting, and rejects when it is closed', async () => {
    const client = new Client(server.config);
    const connecting = client.connect();
    await next(client);
    await connecting;
    assert.equal(cache.size, 0);
    await client.end();
    await assert.rejects(next(client), ConnectionError);
  });

  it('gives rows that are the same, and whose bytes nobody can change', async () => {
    const client = await connected();
    for (const format of [Client.STRING, Client.BINARY]) {
      const fresh = await client.query(TYPES, [], { format });
      for (let i = 0; i < 3; i++) {
        const reader = await client.query(TYPES, [], { format, response_cache: cache });
        assert.ok(reader instanceof RowReader);
        assert.deepEqual([reader.cmd, reader.rowCount], ['SELECT', 3]);
        assert.deepEqual(reader.rows.map(row => row.toObject()), fresh.rows.map(row => row.toObject()));
        assert.deepEqual(reader.rows.map(row => row.rowBuffer), fresh.rows.map(row => row.rowBuffer));
        assert.deepEqual(reader.rowParser.columns, fresh.rowParser.columns);
        for (const row of reader.rows) {
          row.rowBuffer.fill(0);
          for (const value of [...row, row.bytes, row.get('bytes'), row[3]]) {
            if (Buffer.isBuffer(value)) value.fill(0);
          }
        }
        assert.throws(() => { reader.rowParser.columns[0].name = 'x'; }, TypeError);
        reader.rowParser.buffer.fill(0);
        reader.rowParser.description(format).fill(0);
        reader.rows.length = 0;
      }
    }
    assert.equal(cache.hits, 4);
  });

  it('decodes, and gives decoders copies', async () => {
    const client = await connected();
    const write = (buf, start, end) => buf.fill(1, start, end).subarray(start, end);
    const decode = { 17: [write, write] };
    for (const format of [Client.STRING, Client.BINARY]) {
      for (let i = 0; i < 2; i++) {
        const { rows } = await client.query(TYPES, [], { format, decode, response_cache: cache });
        assert.equal(rows[0].bytes[0], 1);
      }
      const { rows } = await client.query(TYPES, [], { format, decode: true, response_cache: cache });
      assert.equal(rows[1].i, 2);
      assert.equal(Buffer.from(rows[0].bytes).toString('hex'), 'c4ca4238a0b923820dcc509a6f75849b');
    }
  });

  it('gives packets to a target that has only write, and rows that can be passed on as values', async () => {
    const client = await connected();
    const packets = async options => {
      const got = [];
      const write = packet => got.push(Buffer.from(packet)) && packet.fill(0);
      await client.query(TYPES, [], { stream: { write }, ...options });
      return Buffer.concat(got);
    };
    const fresh = await packets();
    (await client.query(TYPES, [], { response_cache: cache })).rowParser.buffer.fill(0); // the description of all
    for (let i = 0; i < 3; i++) assert.deepEqual(await packets({ response_cache: cache }), fresh);
    const { rows: [row] } = await client.query("SELECT 'x' AS a", [], { response_cache: cache });
    assert.equal((await client.query('SELECT $1::text AS a', row, { response_cache: cache })).rows[0].a, 'x');
  });

  for (const [name, text] of [['small', TYPES], ['large', LARGE], ['empty', 'SELECT 1 AS a WHERE false']]) {
    it(`gives a slow target the bytes of a fresh answer in every form: ${name}`, async () => {
      const client = await connected();
      for (const options of [{}, { format: 1 }, { as: 'values' }, { as: 'values', separator: '\n' }]) {
        const fresh = await written(client, text, [], options);
        for (let i = 0; i < 3; i++) {
          const { most, ...cached } = await written(client, text, [], { ...options, response_cache: cache });
          assert.ok(cached.data.equals(fresh.data), 'bytes differ');
          assert.deepEqual({ ...cached, data: '', most }, { ...fresh, data: '', most });
          assert.ok(most < 200000, `${most} bytes at a time`);
        }
      }
    });
  }

  it('leaves the target open where it is to', async () => {
    const client = await connected();
    const target = new Slow();
    for (let i = 0; i < 2; i++) {
      await client.queryTo(target, LARGE, [], { response_cache: cache, end: false, as: 'values' });
      assert.equal(target.writableEnded, false);
    }
    const { length } = target.bytes;
    assert.equal(target.bytes.subarray(0, length / 2).equals(target.bytes.subarray(length / 2)), true);
  });

  it('writes to a WHATWG stream, and stops where a target goes away or a signal aborts', async () => {
    const client = await connected();
    const { readable, writable } = new TransformStream();
    const [text] = await Promise.all([new Response(readable).text(),
      client.queryTo(writable, LARGE, [], { response_cache: cache, as: 'values' })]);
    assert.equal(text.length, (await written(client, LARGE, [], { as: 'values' })).data.length);
    class Going extends Slow {
      _write(chunk, encoding, callback) { this.onchunk(chunk, callback); }
    }
    const gone = new Going();
    gone.onchunk = () => gone.destroy();
    await assert.rejects(client.queryTo(gone, LARGE, [], { response_cache: cache }), AbortError);
    const abort = new AbortController();
    const stuck = new Going();
    stuck.onchunk = () => abort.abort();
    const options = { response_cache: cache, signal: abort.signal };
    await assert.rejects(client.queryTo(stuck, LARGE, [], options), AbortError);
    const last = new AbortController();
    const unfinished = new Writable({ write(chunk, encoding, callback) { callback(); }, final() { last.abort(); } });
    await assert.rejects(client.queryTo(unfinished, 'SELECT 1', [], { ...options, signal: last.signal }), AbortError);
    assert.equal(client._pipeline.pending, 0);
  });

  it('is not kept where it is too long, for nobody asked twice at once, and everybody gets it', async () => {
    const client = await connected();
    cache = new ResponseCache({ max_bytes: 100000, now: () => clock });
    const ask = () => {
      const target = new Slow();
      const promise = client.queryTo(target, LARGE, [], { response_cache: cache });
      return promise.then(() => ({ data: target.bytes }));
    };
    const all = await Promise.all(Array.from({ length: 5 }, ask));
    const fresh = await written(client, LARGE);
    for (const { data } of all) assert.ok(data.equals(fresh.data));
    const row = "SELECT repeat('x', 1000000) AS x";
    for (let i = 0; i < 2; i++) {
      const { rows } = await client.query(row, [], { response_cache: cache });
      assert.equal(rows[0].x.length, 1000000);
    }
    assert.ok(cache.bytes < 3000, `${cache.bytes} bytes to remember that`);
    const before = cache.misses;
    await client.query(row, [], { response_cache: cache });
    assert.equal(cache.misses, before + 1);
  });

  describe('invalidated', () => {
    it('by key, by tag, and all', async () => {
      const client = await connected();
      const ways = [() => cache.invalidate(cache.keyOf(client, NEXT, [], { tags: ['a', 'b'] })),
        () => cache.invalidateTag('b'), () => cache.clear()];
      for (const way of ways) {
        const n = await next(client, { tags: ['a', 'b'] });
        cache.invalidateTag('c');
        assert.equal(await next(client, { tags: ['a', 'b'] }), n);
        way();
        assert.notEqual(await next(client, { tags: ['a', 'b'] }), n);
      }
      assert.equal(cache.keyOf(new Client(), NEXT), undefined);
    });

    it('by what a trigger notifies', async () => {
      await server.sql(`CREATE TABLE watched (id int, name text);
        CREATE FUNCTION changed() RETURNS trigger LANGUAGE plpgsql AS $$
          BEGIN PERFORM pg_notify('changes', TG_TABLE_NAME); RETURN NULL; END $$;
        CREATE TRIGGER changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON watched
          FOR EACH STATEMENT EXECUTE FUNCTION changed();`);
      const [client, listener] = await Promise.all([connected(), connected()]);
      await cache.listen(listener, 'changes');
      const count = () => next(client, { tags: ['watched'] }, 'SELECT count(*) AS n FROM watched');
      assert.equal(await count(), '0');
      for (let i = 1; i <= 3; i++) {
        const heard = once(listener, 'notification');
        await client.query("INSERT INTO watched VALUES (1, 'x')");
        await heard;
        assert.equal(await count(), String(i));
        assert.equal(await count(), String(i));
      }
      assert.equal(cache.hits, 3);
      const untagged = await next(client);
      const heard = once(listener, 'notification');
      await server.sql('NOTIFY changes');
      await heard;
      assert.equal(cache.size, 1);
      assert.equal(await next(client), untagged);
    });

    it('when the connection that listens is lost, until one listens again', async () => {
      const [client, listener] = await Promise.all([connected(), connected()]);
      const errors = [];
      cache.on('error', (error, about) => errors.push(about));
      await cache.listen(listener, 'changes');
      const tagged = () => next(client, { tags: ['t'] });
      const n = await tagged();
      const untagged = await next(client);
      const under = next(client, { tags: ['t'] }, `${NEXT}, pg_sleep(0.2)`);
      assert.equal(await tagged(), n);
      await server.sql(`SELECT pg_terminate_backend(${listener.processId})`);
      await listener.closed;
      assert.deepEqual(errors, [{ channel: 'changes' }]);
      await under;
      assert.equal(cache.size, 1);
      assert.notEqual(await tagged(), await tagged());
      assert.equal(await next(client), untagged);
      const again = await connected();
      const stop = await cache.listen(again, 'changes');
      assert.equal(await tagged(), await tagged());
      await stop();
      assert.equal(cache.guarded, true, 'nobody is to listen');
      assert.equal(await tagged(), await tagged());
    });

    it('still when others who listened by the same client have stopped', async () => {
      const [client, listener] = await Promise.all([connected(), connected()]);
      const other = new ResponseCache();
      const stops = [await other.listen(listener, 'changes'), await cache.listen(listener, 'changes')];
      const loop = listener.listen('changes');
      const stop = await cache.listen(listener, 'changes');
      for (const end of [...stops, () => loop.return()]) {
        const n = await next(client, { tags: ['t'] });
        await end();
        const last = await next(client, { tags: ['t'] });
        if (end !== stops[1]) assert.equal(last, n);
        const heard = once(listener, 'notification');
        await server.sql("NOTIFY changes, 't'");
        await heard;
        assert.notEqual(await next(client, { tags: ['t'] }), last);
      }
      await stop();
      assert.equal((await listener.query('SELECT pg_listening_channels()')).rows.length, 0);
      assert.equal(listener.listenerCount('notification'), 0);
      assert.equal(listener.listenerCount('end'), 0);
    });

    it('in time for what was asked before: it is not kept', async () => {
      const [client, listener] = await Promise.all([connected(), connected()]);
      await cache.listen(listener, 'changes');
      const slow = () => next(client, { tags: ['t'] }, `${NEXT}, pg_sleep(0.2)`);
      const before = slow();
      const heard = once(listener, 'notification');
      await server.sql("NOTIFY changes, 't'");
      await heard;
      const after = slow();
      assert.notEqual(await before, await after);
      assert.equal(await slow(), await after);
    });
  });

  describe('answering HTTP', () => {
    let web;
    let client;

    beforeEach(async () => {
      client = await connected();
      web = http.createServer((request, response) => {
        const { pathname } = new URL(request.url, 'http://localhost');
        if (pathname === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html>');
        if (pathname.startsWith('/client-parser/')) {
          response.setHeader('content-type', 'text/javascript');
          return response.end(fs.readFileSync(path.join(FOLDER, path.basename(pathname))));
        }
        const options = {
          '/fresh': {},
          '/cached': { response_cache: cache },
          '/tagged': { response_cache: cache, tags: ['t'] },
          '/values': { response_cache: cache, as: 'values' },
          '/none': { response_cache: cache, emptyStatus: 404 }
        }[pathname];
        client.respond(request, response, pathname === '/none' ? 'SELECT 1 WHERE false' : LARGE, [], options);
      });
      web.listen(0, '127.0.0.1');
      await once(web, 'listening');
    });

    afterEach(() => {
      web.close();
      web.closeAllConnections();
    });

    const get = (url, headers = {}) => fetch(`http://127.0.0.1:${web.address().port}${url}`, {
      headers: { 'accept-encoding': 'identity', ...headers }
    });

    it('sends the same bytes, with an ETag and what is left of the windows', async () => {
      const fresh = Buffer.from(await (await get('/fresh')).arrayBuffer());
      for (const [now, control] of [[0, 'max-age=60, stale-while-revalidate=15'],
        [10500, 'max-age=49, stale-while-revalidate=15'], [65000, 'max-age=0, stale-while-revalidate=10']]) {
        clock = now;
        const response = await get('/cached');
        assert.equal(response.headers.get('cache-control'), `private, ${control}`);
        assert.match(response.headers.get('etag'), /^W\/"[\w-]{22}"$/);
        assert.ok(Buffer.from(await response.arrayBuffer()).equals(fresh));
      }
      assert.equal((await get('/tagged')).headers.get('cache-control'), 'private, no-cache');
      assert.equal((await get('/fresh')).headers.get('etag'), null);
      const none = await get('/none');
      assert.deepEqual([none.status, none.headers.get('etag')], [404, null]);
    });

    it('says 304 to whom has the answer', async () => {
      const etag = (await get('/cached')).headers.get('etag');
      for (const known of [etag, `"x", ${etag}`, etag.slice(2), '*']) {
        const response = await get('/cached', { 'if-none-match': known });
        assert.deepEqual([response.status, await response.text()], [304, '']);
        assert.equal(response.headers.get('etag'), etag);
        assert.equal(response.headers.get('content-type'), null);
      }
      assert.equal((await get('/cached', { 'if-none-match': '"x"' })).status, 200);
      assert.equal((await get('/values', { 'if-none-match': etag })).status, 200, 'another form of it');
    });

    it('compresses as without it', async () => {
      const response = await get('/cached', { 'accept-encoding': 'gzip' });
      assert.equal(response.headers.get('content-encoding'), 'gzip');
      assert.equal(await response.text(), await (await get('/fresh')).text());
    });

    it('is read alike by Chromium', async function () {
      skipUnless(this, 'chromium');
      await get('/cached');
      const browser = await launchBrowser();
      try {
        const page = await browser.newPage();
        await page.goto(`http://localhost:${web.address().port}/`);
        const [fresh, cached] = await page.evaluate(() => Promise.all(['/fresh', '/cached'].map(async url => {
          const { rows } = await import('/client-parser/index.js');
          const values = [];
          for await (const row of rows(fetch(url), { decode: true })) values.push(row.toArray());
          return values;
        })));
        assert.equal(cached.length, 20000);
        assert.deepEqual(cached, fresh);
        assert.ok(cache.hits > 0);
      } finally {
        await browser.close();
      }
    });
  });

  it('asks nothing of the server on a hit', async () => {
    const proxy = await startProxy({ target: server });
    const client = new Client({ ...server.config, host: proxy.host, port: proxy.port });
    await client.connect();
    const n = await next(client);
    const { toServer } = proxy.stats.flights;
    assert.equal(await next(client), n);
    assert.equal(proxy.stats.flights.toServer, toServer);
    await client.end();
    await proxy.stop();
  });
});

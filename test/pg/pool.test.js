'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { tracingChannel } = require('node:diagnostics_channel');
const { once } = require('node:events');
const path = require('node:path');
const { inspect, promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');
const { sharedServer } = require('../support');
const { hasAsyncStacks } = require('../support/kit');
const pg = require('../../lib/pg');

describe('A pool of quickgres/pg', () => {
  let server, pool;
  before(async () => {
    server = await sharedServer();
  });
  beforeEach(() => {
    pool = new pg.Pool(server.config);
  });
  afterEach(() => pool.ending || pool.end());

  it('asks, by promise or callback, with the results of a client', async () => {
    assert.deepEqual((await pool.query('SELECT $1::int AS n', [5])).rows, [{ n: 5 }]);
    assert.deepEqual((await pool.query({ text: 'SELECT 1', rowMode: 'array' })).rows, [[1]]);
    const result = await new Promise((resolve, reject) =>
      pool.query('SELECT 6 AS n', (error, each) => (error ? reject(error) : resolve(each)))
    );
    assert.deepEqual(result.rows, [{ n: 6 }]);
    const calls = [];
    await new Promise(resolve =>
      pool.query({ text: 'SELECT 7 AS n', callback: (...call) => resolve(calls.push(call)) })
    );
    await pool.query('SELECT 1');
    assert.deepEqual(
      calls.map(([error, each]) => [error, each.rows]),
      [[undefined, [{ n: 7 }]]]
    );
    await assert.rejects(
      pool.query('SELECT nothing'),
      error => error instanceof pg.DatabaseError && error.code === '42703'
    );
    await assert.rejects(pool.query('SELECT $1', 5), /values must be an array/);
    await assert.rejects(pool.query(null), { name: 'TypeError', message: /null or undefined query/ });
    assert.deepEqual((await pool.query({ name: 'n', text: 'SELECT 1 AS a' })).rows, [{ a: 1 }]);
    assert.deepEqual((await pool.query({ name: 'n' })).rows, [{ a: 1 }]);
  });

  it('takes an object whose text and values are getters of its class, as the template tags of other packages make them', async () => {
    class Statement {
      #values = [5];
      get text() {
        return 'SELECT $1::int AS n';
      }
      get values() {
        return this.#values;
      }
    }
    assert.deepEqual((await pool.query(new Statement())).rows, [{ n: 5 }]);
    class Named extends Statement {
      get name() {
        return 'five';
      }
    }
    assert.deepEqual((await pool.query(new Named())).rows, [{ n: 5 }]);
    assert.deepEqual((await pool.query({ name: 'five', values: [6] })).rows, [{ n: 6 }]);
    class Rows extends Statement {
      get rowMode() {
        return 'array';
      }
      get types() {
        return { getTypeParser: () => text => `${text}!` };
      }
    }
    assert.deepEqual((await pool.query(new Rows())).rows, [['5!']]);
    class Limited extends Statement {
      get text() {
        return 'SELECT pg_sleep($1)';
      }
      get query_timeout() {
        return 1;
      }
    }
    await assert.rejects(pool.query(new Limited()), /timeout/i);
  });

  it('emits the events of a Query, and resolves to its result', async () => {
    for (const text of ['SELECT 1 AS n', 'SELECT 1 AS n; SELECT 2 AS n']) {
      const query = new pg.Query(text);
      const events = [];
      query.on('row', ({ n }) => events.push(n)).on('end', result => events.push(result));
      const result = await pool.query(query);
      const results = [result].flat();
      assert.deepEqual(events, [...results.map(({ rows: [{ n }] }) => n), result]);
    }
  });

  it('asks for several statements, and what concerns a session, on a connection of their own', async () => {
    const [one, two] = await pool.query('SELECT 1 AS n; SELECT 2 AS n');
    assert.deepEqual([one.rows, two.rows], [[{ n: 1 }], [{ n: 2 }]]);
    assert.equal((await pool.query("SET application_name = 'me'")).command, 'SET');
    await assert.rejects(pool.query('COPY users FROM STDIN'), pg.DatabaseError);
    await assert.rejects(pool.query('SELECT 1; SELECT nothing'), { code: '42703' });
  });

  it('asks on the client of the connect of a subclass, which may have made settings', async () => {
    const set = client => client.query("SET application_name = 'tenant'").then(() => client);
    class ByPromise extends pg.Pool {
      async connect() {
        return set(await super.connect());
      }
    }
    class ByCallback extends pg.Pool {
      connect(callback) {
        const taken = super.connect().then(set);
        return callback ? void taken.then(client => callback(undefined, client, client.release), callback) : taken;
      }
    }
    for (const Own of [ByPromise, ByCallback]) {
      pool = new Own({ ...server.config, max: 1 });
      for (const text of ['SHOW application_name', { text: 'SHOW application_name', values: [] }]) {
        assert.deepEqual((await pool.query(text)).rows, [{ application_name: 'tenant' }]);
      }
      await assert.rejects(pool.query('SELECT nothing'), { code: '42703' });
      assert.deepEqual([pool.totalCount, pool.idleCount], [1, 1]);
      await pool.end();
      const down = new Own({ ...server.config, port: 1 });
      await assert.rejects(down.query('SELECT 1'), { code: 'ECONNREFUSED' });
      await down.end();
    }
  });

  it('refuses a text that leaves a transaction block open, and rolls it back', async () => {
    pool = new pg.Pool({ ...server.config, max: 1 });
    await pool.query('CREATE TABLE blocks (n int)');
    const refusal = {
      name: 'UsageError',
      code: '25001',
      message: 'the text left a transaction block open, which is rolled back: use pool.connect()'
    };
    try {
      for (const text of [
        'BEGIN',
        '/* a */ ;begin isolation level serializable',
        'START TRANSACTION',
        'BEGIN; INSERT INTO blocks VALUES (1)',
        'BEGIN; COMMIT; BEGIN; INSERT INTO blocks VALUES (2)'
      ]) {
        await assert.rejects(pool.query(text), refusal, text);
        await assert.rejects(
          new Promise((resolve, reject) => pool.query(text, error => (error ? reject(error) : resolve()))),
          refusal,
          text
        );
      }
      await assert.rejects(pool.query({ text: 'BEGIN', name: 'begin' }), refusal);
      await assert.rejects(pool.query(new pg.Query('BEGIN')), refusal);
      await assert.rejects(pool.query('BEGIN; SELECT nothing'), { code: '42703' });
      const results = await pool.query('BEGIN; INSERT INTO blocks VALUES (3); COMMIT');
      assert.deepEqual(
        results.map(({ command }) => command),
        ['BEGIN', 'INSERT', 'COMMIT']
      );
      await pool.query('BEGIN; INSERT INTO blocks VALUES (4); ROLLBACK');
      assert.deepEqual((await pool.query('SELECT n FROM blocks')).rows, [{ n: 3 }]);
    } finally {
      await pool.query('DROP TABLE blocks');
    }
    assert.deepEqual([pool.totalCount, pool.idleCount], [1, 1]);
  });

  it('refuses a Client of another library, and a callback that is no function', () => {
    assert.throws(() => new pg.Pool({ Client: class {} }), {
      name: 'TypeError',
      message: /^Client must be a class that extends the Client of quickgres\/pg/
    });
    assert.throws(() => pool.query('SELECT 1', [], 5), { name: 'TypeError', message: 'callback is not a function' });
    class Own extends pg.Client {}
    assert.equal(new pg.Pool({ Client: Own }).Client, Own);
  });

  it('waits for a Client whose connect() gives a promise and calls nobody back', async () => {
    class Own extends pg.Client {
      async connect() {
        await super.connect();
        this.isOwn = true;
      }
    }
    const own = new pg.Pool({ ...pool.options, Client: Own });
    const client = await own.connect();
    assert.equal(client.isOwn, true);
    client.release();
    await own.end();
    const failing = new pg.Pool({
      ...pool.options,
      Client: class extends pg.Client {
        async connect() {
          throw new Error('not so');
        }
      }
    });
    await assert.rejects(failing.query('SELECT 1'), { message: 'not so' });
    await failing.end();
  });

  it('gives up what a signal aborts', async () => {
    const slow = pool.query({ text: 'SELECT pg_sleep(100)', signal: AbortSignal.timeout(20) });
    await assert.rejects(slow, { name: 'AbortError' });
    assert.equal((await pool.query({ text: 'SELECT 1', signal: new AbortController().signal })).rowCount, 1);
  });

  it('calls back with undefined where there is no error, as it does with a client', async () => {
    assert.equal(await new Promise(resolve => pool.query('SELECT 1', resolve)), undefined);
    assert.equal(await new Promise(resolve => pool.query('SELECT 1; SELECT 2', resolve)), undefined);
    assert.equal(
      await new Promise(resolve =>
        pool.connect((error, client, release) => {
          release();
          resolve(error);
        })
      ),
      undefined
    );
    assert.equal(await new Promise(resolve => pool.end(resolve)), undefined);
  });

  it('is not hindered by columns that change', async () => {
    await pool.query('CREATE TABLE altered_by_pool (a int)');
    try {
      const ask = () =>
        Promise.all([
          pool.query('SELECT * FROM altered_by_pool WHERE $1', [true]),
          pool.query('INSERT INTO altered_by_pool VALUES ($1) RETURNING *', [1])
        ]);
      await ask();
      await pool.query('ALTER TABLE altered_by_pool ADD b int');
      const results = await ask();
      assert.deepEqual(
        results.map(({ fields }) => fields.length),
        [2, 2]
      );
      assert.equal((await pool.query('SELECT * FROM altered_by_pool')).rowCount, 2);
    } finally {
      await pool.query('DROP TABLE altered_by_pool');
    }
  });

  describe('in the tracing channel', () => {
    const { asyncEnd, start } = tracingChannel('quickgres:query');
    let begun, over;
    const onstart = ({ text }) => begun.push(text);
    const onend = query => over.push(query);
    beforeEach(() => {
      [begun, over] = [[], []];
      start.subscribe(onstart);
      asyncEnd.subscribe(onend);
    });
    afterEach(() => {
      start.unsubscribe(onstart);
      asyncEnd.unsubscribe(onend);
    });

    it('begins a query with the call, and counts its wait for a connection', async () => {
      const pool = new pg.Pool({ ...server.config, max: 1 });
      const client = await pool.connect();
      const waiting = pool.query({ text: 'SELECT $1::int AS n', values: [1] });
      await new Promise(setImmediate);
      assert.deepEqual(begun, ['SELECT $1::int AS n']);
      const before = performance.now();
      while (performance.now() - before < 2);
      client.release();
      await waiting;
      assert.equal(over.length, 1);
      const [{ duration, processId, result, text, waited }] = over;
      assert.deepEqual([text, result], ['SELECT $1::int AS n', { cmd: 'SELECT', rowCount: 1 }]);
      assert.ok(waited >= 2 && duration > waited && processId > 0);
      await pool.end();
    });

    it('has one event of a query that needs two attempts, and of one that gets no connection', async () => {
      const text = 'SELECT 1 AS a; SELECT 2 AS b';
      assert.equal((await pool.query(text)).length, 2);
      assert.equal((await pool.query('SET lock_timeout = 0')).command, 'SET');
      const nowhere = new pg.Pool({ ...server.config, host: '127.0.0.1', port: 1 });
      const error = await nowhere.query('SELECT 3').catch(error => error);
      assert.equal(error.code, 'ECONNREFUSED');
      assert.deepEqual(begun, [text, 'SET lock_timeout = 0', 'SELECT 3']);
      assert.deepEqual(
        over.map(query => query.error ?? query.result.rowCount),
        [2, 0, error]
      );
      assert.equal(over[2].waited, undefined);
      await nowhere.end();
    });
  });

  it('asks many at once on at most `max` connections', async () => {
    pool = new pg.Pool({ ...server.config, max: 3 });
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        pool.query('SELECT $1::int AS n, pg_backend_pid() AS pid', [i]).then(({ rows }) => rows[0])
      )
    );
    assert.deepEqual(
      results.map(({ n }) => n),
      Array.from({ length: 100 }, (_, i) => i)
    );
    assert.ok(new Set(results.map(({ pid }) => pid)).size <= 3);
    assert.ok(pool.totalCount <= 3);
  });

  it('gives a client for itself, until it is released', async () => {
    const client = await pool.connect();
    await client.query('BEGIN');
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [1, 0, 0]);
    const {
      rows: [{ pid }]
    } = await pool.query('SELECT pg_backend_pid() AS pid');
    assert.notEqual(pid, client.processID);
    client.release();
    assert.deepEqual([pool.totalCount, pool.idleCount], [2, 2]);
    assert.throws(() => client.release(), /already been released to the pool/);
    await new Promise((resolve, reject) =>
      pool.connect((error, each, release) => {
        release();
        if (error) reject(error);
        else resolve(each.release);
      })
    );
  });

  it('leaves a client to whom has it: who had it before releases it no more', async () => {
    pool = new pg.Pool({ ...server.config, max: 1 });
    const { release } = await pool.connect();
    release();
    const client = await pool.connect();
    assert.throws(() => release(), /already been released to the pool/);
    assert.deepEqual([pool.totalCount, pool.idleCount], [1, 0]);
    client.release();
    assert.equal(pool.idleCount, 1);
  });

  it('gives all `max` clients at once, and the settings of a session stay', async () => {
    pool = new pg.Pool({ ...server.config, max: 2 });
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    assert.notEqual(clients[0].processID, clients[1].processID);
    const third = pool.connect();
    const query = pool.query('SELECT 1 AS n');
    await new Promise(setImmediate);
    assert.equal(pool.waitingCount, 2);
    await Promise.all(clients.map(client => client.query('SET lock_timeout = 1234')));
    for (const client of clients) client.release();
    assert.deepEqual((await query).rows, [{ n: 1 }]);
    const client = await third;
    assert.deepEqual((await client.query('SHOW lock_timeout')).rows, [{ lock_timeout: '1234ms' }]);
    client.release();
  });

  it('has the class by which a query of its clients is cancelled, as Kysely does', () => {
    assert.equal(pool.Client, pg.Client);
  });

  it('closes a client that is released with an error, or true', async () => {
    const client = await pool.connect();
    const removed = once(pool, 'remove');
    client.release(true);
    assert.equal((await removed)[0], client);
    assert.equal(pool.totalCount, 0);
    assert.equal((await pool.query('SELECT 1')).rowCount, 1);
  });

  it('tells what it does, before anything is asked of a new client', async () => {
    const told = [];
    for (const event of ['connect', 'acquire', 'release', 'remove']) pool.on(event, () => told.push(event));
    pool.on('connect', client => client.query("SET application_name = 'first'"));
    assert.deepEqual((await pool.query("SELECT current_setting('application_name') AS name")).rows, [
      { name: 'first' }
    ]);
    const client = await pool.connect();
    client.release(new Error('no more'));
    await pool.end();
    assert.deepEqual(told, ['connect', 'acquire', 'release', 'acquire', 'release', 'remove']);
  });

  it('connects its clients by Client.prototype.connect, which tracers hook, and they tell the parameters of the server', async () => {
    const { connect } = pg.Client.prototype;
    const seen = [];
    pg.Client.prototype.connect = function (...args) {
      this.connection.on('parameterStatus', ({ parameterName }) => seen.push(parameterName));
      this.once('connect', () => seen.push('connect'));
      return connect.apply(this, args);
    };
    try {
      await pool.query('SELECT 1');
      await pool.query('SELECT 1');
      assert.ok(seen.includes('server_version'));
      assert.deepEqual(
        seen.filter(each => each === 'connect'),
        ['connect']
      );
      pg.Client.prototype.connect = callback => callback(new Error('not now'));
      const other = new pg.Pool({ ...server.config, max: 1 });
      await assert.rejects(other.query('SELECT 1'), { message: 'not now' });
      await other.end();
    } finally {
      pg.Client.prototype.connect = connect;
    }
    const client = await pool.connect();
    await assert.rejects(client.connect(), /Client has already been connected/);
    client.release();
  });

  it('calls onConnect and verify for each new client before others use it, and rejects who waits where they fail', async () => {
    const order = [];
    pool = new pg.Pool({
      ...server.config,
      max: 1,
      onConnect: async client => {
        await client.query("SET application_name = 'one'");
        await client.query("SET application_name = 'two'");
        order.push('onConnect');
      },
      verify: (client, done) =>
        client
          .query('SELECT 1')
          .then(() => {
            order.push('verify');
          })
          .then(done, done)
    });
    const names = await Promise.all([1, 2].map(() => pool.query("SELECT current_setting('application_name') AS name")));
    assert.deepEqual(
      names.map(({ rows: [{ name }] }) => name),
      ['two', 'two']
    );
    (await pool.connect()).release();
    assert.deepEqual(order, ['onConnect', 'verify']);
    const fail = error => ({
      onConnect: async () => {
        throw error;
      }
    });
    const error = new Error('not fit');
    for (const [hook, thrown] of [
      [fail(error), error],
      [{ verify: (client, done) => done(error) }, error],
      [fail('not fit'), 'not fit'],
      [fail(undefined), undefined]
    ]) {
      const other = new pg.Pool({ ...server.config, max: 1, ...hook });
      await assert.rejects(other.connect(), given => given === thrown);
      await assert.rejects(other.query('SELECT 1'), given => given === thrown);
      assert.equal(other.totalCount, 0);
      await other.end();
    }
  });

  it('rejects at once in an outage, also where it was connected before, and goes on after it', async () => {
    const own = await startServer({ external: false });
    const other = new pg.Pool({ ...own.config, host: '127.0.0.1', port: own.port });
    try {
      await other.query('SELECT 1');
      await own.kill();
      await assert.rejects(other.query('SELECT 1'));
      await assert.rejects(other.query('SELECT 1'), { code: 'ECONNREFUSED' });
      await own.start();
      assert.equal((await other.query('SELECT 1')).rowCount, 1);
    } finally {
      await other.end();
      await own.stop();
    }
  });

  it('replaces a connection after maxUses', async () => {
    pool = new pg.Pool({ ...server.config, max: 1, maxUses: 2 });
    const pids = [];
    for (let i = 0; i < 4; i++) pids.push((await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid);
    assert.deepEqual([pids[0] === pids[1], pids[1] === pids[2], pids[2] === pids[3]], [true, false, true]);
  });

  it('marks an expended client, and says that it goes', async () => {
    const said = [];
    pool = new pg.Pool({ ...server.config, max: 1, maxUses: 1, log: text => said.push(text) });
    const client = await pool.connect();
    client.release();
    assert.deepEqual([client._ending, said.at(-1), pool.totalCount], [true, 'remove expended client', 0]);
  });

  it('leaves `min` clients open', async () => {
    pool = new pg.Pool({ ...server.config, max: 3, min: 1, idleTimeoutMillis: 5 });
    const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const gone = [once(pool, 'remove')];
    for (const client of clients) client.release();
    await Promise.all(gone);
    while (pool.totalCount > 1) await once(pool, 'remove');
    await new Promise(resolve => {
      setTimeout(resolve, 50);
    });
    assert.deepEqual([pool.totalCount, pool.idleCount, pool._clients.length], [1, 1, 1]);
  });

  it('closes an idle client that emits an error, and tells of it', async () => {
    const client = await pool.connect();
    assert.equal(client.listenerCount('error'), 0);
    client.release();
    const told = once(pool, 'error');
    client.emit('error', new Error('on purpose'));
    const [error, whose] = await told;
    assert.deepEqual(
      [error.message, error.client === client, whose === client, pool.totalCount],
      ['on purpose', true, true, 0]
    );
    assert.deepEqual((await pool.query('SELECT 1 AS n')).rows, [{ n: 1 }]);
  });

  it('counts a client whose connection has gone until it is released', async () => {
    const client = await pool.connect();
    const over = once(client.connection.stream, 'end');
    client.connection.end();
    assert.equal((await once(client, 'error'))[0].message, 'Connection terminated unexpectedly');
    await over;
    assert.equal(pool.totalCount, 1);
    client.release();
    assert.equal(pool.totalCount, 0);
  });

  it('lets a program end that has allowExitOnIdle, once nobody uses it', async () => {
    const program = `const { Pool } = require('./lib/pg');
      new Pool({ ...${JSON.stringify(server.config)}, allowExitOnIdle: true }).query('SELECT 1 AS n').then(({ rows }) => console.log(rows[0].n))`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', program], {
      cwd: path.join(__dirname, '..', '..'),
      timeout: 20000
    });
    assert.equal(stdout, '1\n');
  });

  it('is wrapped by a Proxy or inherited from, and so are its clients', async () => {
    const wrapped = [new Proxy(pool, {}), new Proxy({}, { get: (_, name) => pool[name] }), Object.create(pool)];
    for (const each of wrapped) {
      assert.deepEqual((await each.query('SELECT 1 AS n')).rows, [{ n: 1 }]);
      const client = await each.connect();
      for (const one of [new Proxy(client, {}), Object.create(client)])
        assert.deepEqual((await one.query('SELECT 2 AS n')).rows, [{ n: 2 }]);
      client.release();
      assert.equal(each.totalCount, 1);
    }
    assert.equal(pool.idleCount, 1);
  });

  it('counts expired clients that are taken, says when it has ended, and logs what it does', async () => {
    const logged = [];
    const other = new pg.Pool({
      ...server.config,
      maxLifetimeSeconds: 0.001,
      log: (...messages) => logged.push(...messages)
    });
    const client = await other.connect();
    while (other.expiredCount === 0) await new Promise(setImmediate);
    assert.deepEqual([other.expiredCount, other.ended], [1, false]);
    client.release();
    await other.end();
    assert.deepEqual([other.expiredCount, other.ended], [0, true]);
    assert.ok(logged.includes('connecting new client'));
  });

  it('refuses a function in the place of a query, and makes promises of the class that it is given', async () => {
    const error = await new Promise(resolve => pool.query(resolve));
    assert.match(error.message, /Passing a function as the first parameter to pool\.query is not supported/);
    class Own extends Promise {}
    const other = new pg.Pool({ ...server.config, Promise: Own });
    assert.ok(other.query('SELECT 1').catch(() => {}) instanceof Own);
    assert.ok(other.end() instanceof Own);
  });

  it('tells at once that it cannot connect, and connects when it can', async () => {
    const down = await startServer({ external: false });
    pool = new pg.Pool({ ...down.config });
    pool.on('connect', client => client.query('SELECT 1')); // rejects, and nobody listens
    await down.stop();
    await assert.rejects(pool.query('SELECT 1'), { code: 'ECONNREFUSED' });
    await assert.rejects(pool.connect(), ({ code, stack }) => {
      assert.equal(code, 'ECONNREFUSED');
      return !hasAsyncStacks || stack.includes(__filename);
    });
    await assert.rejects(new Promise((resolve, reject) => pool.connect(reject)), { code: 'ECONNREFUSED' });
    await pool.end();
  });

  it('waits for a client no longer than connectionTimeoutMillis', async () => {
    pool = new pg.Pool({ ...server.config, max: 1, connectionTimeoutMillis: 300 });
    const client = await pool.connect();
    const late = error => {
      assert.deepEqual([error.message, error.code], ['timeout exceeded when trying to connect', '53300']);
      assert.match(error.cause.message, /acquire_timeout.*owned 1\./);
      return true;
    };
    await assert.rejects(pool.connect(), late);
    await assert.rejects(pool.query('SELECT 1'), late);
    client.release();
    assert.equal((await pool.query('SELECT 1')).rowCount, 1);
  });

  it('waits no longer than connectionTimeoutMillis for a client that is connected, and not ready: its verify calls back late', async () => {
    let ready;
    const verify = (client, done) => {
      ready = done;
    };
    const slow = new pg.Pool({ ...server.config, max: 1, verify });
    slow.options.connectionTimeoutMillis = 10; // after the pool took it, so that it does not limit the connecting
    const late = { message: 'timeout exceeded when trying to connect' };
    await assert.rejects(slow.query('SELECT 1'), late);
    await assert.rejects(slow.connect(), late);
    slow.options.connectionTimeoutMillis = 0;
    const asked = slow.query('SELECT 2 AS n');
    while (ready === undefined) await new Promise(setImmediate);
    ready();
    assert.equal((await asked).rows[0].n, 2);
    assert.equal(slow.totalCount, 1);
    await slow.end();
  });

  it('gives a client that was released to who comes next, and to queries', async () => {
    const pids = new Set();
    for (let times = 0; times < 3; times++) {
      const client = await pool.connect();
      pids.add(client.processID);
      client.release();
      assert.equal(pool.idleCount + pool.waitingCount, 1);
      if (times === 1) pids.add((await pool.query('SELECT pg_backend_pid() AS pid')).rows[0].pid);
    }
    assert.deepEqual([pids.size, pool.totalCount], [1, 1]);
  });

  it('asks a Query as a query, and submits anything else to a client of its own, until it is over', async () => {
    pool = new pg.Pool({ ...server.config, max: 1 });
    assert.deepEqual((await pool.query(new pg.Query('SELECT $1::int AS n', [5]))).rows, [{ n: 5 }]);
    const told = [];
    const submitted = {
      submit(connection) {
        connection.parse({ text: 'SELECT 6 AS n' });
        connection.bind({ values: [] });
        connection.once('rowDescription', () => connection.execute({ rows: 0 }));
      },
      handleRowDescription() {},
      handleDataRow: ({ fields }) => told.push(...fields),
      handleError: error => told.push(error),
      handleCommandComplete(message, connection) {
        connection.sync();
      },
      handleReadyForQuery: () => told.push('ready')
    };
    assert.equal(await pool.query(submitted), submitted);
    assert.deepEqual([told, pool.idleCount], [['6', 'ready'], 1]);
    await pool.query({
      submit() {
        throw new Error('no');
      },
      handleError: ({ message }) => told.push(message)
    });
    assert.deepEqual([told.at(-1), pool.idleCount], ['no', 1]);
  });

  it('takes its options as numbers or their texts, and defaults for none', async () => {
    const { options } = new pg.Pool(
      'postgres://there/db?max=5&idleTimeoutMillis=0&connectionTimeoutMillis=7&maxLifetimeSeconds=1'
    );
    assert.deepEqual([options.max, options.idleTimeoutMillis], [5, 0]);
    const none = new pg.Pool({
      max: 0,
      idleTimeoutMillis: null,
      connectionTimeoutMillis: null,
      maxLifetimeSeconds: undefined
    });
    assert.deepEqual([none.options.max, none.options.idleTimeoutMillis], [10, 10000]);
  });

  it('counts a connection that is being made, and those who wait for none of them', async () => {
    pool = new pg.Pool({ ...server.config, max: 2 });
    const taken = Array.from({ length: 5 }, () => pool.connect());
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [2, 0, 3]);
    const [first, second] = [await taken[0], await taken[1]];
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [2, 0, 3]);
    first.release();
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [2, 0, 2]);
    second.release();
    for (const client of taken.slice(2)) (await client).release();
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [2, 2, 0]);
    (await pool.connect()).release(true);
    assert.deepEqual([pool.totalCount, pool.idleCount, pool.waitingCount], [1, 1, 0]);
  });

  it('closes what nobody has used for idleTimeoutMillis', async () => {
    pool = new pg.Pool({ ...server.config, idleTimeoutMillis: 10 });
    const removed = once(pool, 'remove');
    await pool.query('SELECT 1');
    await removed;
    assert.equal(pool.totalCount, 0);
  });

  it('tells of an idle connection that is lost, and goes on; a taken one tells who has it', async () => {
    const client = await pool.connect();
    const kill = () => server.sql(`SELECT pg_terminate_backend(${client.processID})`);
    client.release();
    const lost = once(pool, 'error').catch(error => [error]);
    await kill();
    assert.equal((await lost)[0].code, '57P01');
    const other = await pool.connect();
    assert.equal(other.listenerCount('error'), 0); // TypeORM counts them
    const told = once(other, 'error').catch(error => [error]);
    const removals = [];
    const over = new Promise(resolve => other.once('end', resolve));
    pool.once('remove', client => removals.push(client));
    await server.sql(`SELECT pg_terminate_backend(${other.processID})`);
    assert.equal((await told)[0].code, '57P01');
    await over;
    assert.deepEqual(removals, []); // before it is released
    other.release();
    assert.deepEqual(removals, [other]);
    const {
      rows: [{ pid }]
    } = await pool.query('SELECT pg_backend_pid() AS pid');
    const removed = new Promise(resolve => pool.once('remove', resolve));
    await server.sql(`SELECT pg_terminate_backend(${pid})`); // and nobody listens
    await removed;
    assert.equal((await pool.query('SELECT 1')).rowCount, 1);
  });

  it('rejects a query whose connection is killed, and emits no error', async () => {
    const errors = [];
    pool.on('error', error => errors.push(error));
    const removed = once(pool, 'remove');
    const asked = assert.rejects(pool.query('SELECT pg_sleep(100) AS killed'), { code: '57P01' });
    const kill =
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%AS killed'";
    while ((await server.sql(kill)).length === 0);
    await asked;
    await removed;
    await new Promise(setImmediate);
    assert.deepEqual(errors, []);
  });

  it('emits an error for a session that is killed under a client which is released with its query', async () => {
    const errors = [];
    pool.on('error', error => errors.push(error.message));
    const taken = await pool.connect();
    const released = taken.query('SELECT pg_sleep(100)').catch(() => taken.release());
    const over = new Promise(resolve => taken.once('end', resolve));
    await server.sql(`SELECT pg_terminate_backend(${taken.processID})`);
    await released;
    await over;
    assert.deepEqual(errors, ['Connection terminated unexpectedly']);
    (await pool.connect()).release(true);
    await new Promise(setImmediate);
    assert.equal(errors.length, 1);
  });

  it('fails no client that it does not need any more: its tracer would tell of an error', async () => {
    const outcomes = [];
    class Traced extends pg.Client {
      connect(callback) {
        super.connect(error => {
          outcomes.push(error);
          callback(error);
        });
      }
    }
    let count = 0;
    const proxy = await startProxy({
      target: server,
      onConnection: wire => {
        if (count++ === 1) wire.stall('toServer');
      }
    });
    pool = new pg.Pool({ ...server.config, host: proxy.host, port: proxy.port, max: 2, Client: Traced });
    await Promise.all([pool.query('SELECT pg_sleep(0.05)'), pool.query('SELECT 1')]); // the second takes the connection of the first
    await pool.end();
    assert.equal(count, 2);
    assert.deepEqual(outcomes, [null, null]);
    await proxy.stop();
  });

  it('ends when all has been released, and once', async () => {
    const client = await pool.connect();
    const ended = pool.end();
    await assert.rejects(pool.end(), /Called end on pool more than once/);
    await assert.rejects(pool.connect(), /Cannot use a pool after calling end on the pool/);
    await assert.rejects(pool.query('SELECT 1'), /Cannot use a pool after calling end on the pool/);
    assert.equal((await client.query('SELECT 1')).rowCount, 1);
    client.release();
    await ended;
  });

  it('opens connections with the password that its options have then', async () => {
    const asked = [];
    pool = new pg.Pool({ ...server.config, password: 'first' });
    const one = await pool.connect();
    pool.options.password = () => {
      asked.push('second');
      return 'second';
    };
    const two = await pool.connect();
    assert.deepEqual([one.password, typeof two.password, asked], ['first', 'function', ['second']]);
    for (const each of [one, two]) each.release();
    await pool.end();
  });

  it('opens as many connections as the max of its options is then', async () => {
    pool = new pg.Pool({ ...server.config, max: 1 });
    const taken = await pool.connect();
    pool.options.max = 2;
    const other = await pool.connect();
    assert.deepEqual([pool.options.max, pool.totalCount, Object.keys(pool.options).includes('max')], [2, 2, true]);
    for (const each of [taken, other]) each.release();
  });

  it('shows no password', () => {
    pool = new pg.Pool({
      ...server.config,
      password: 'hidden',
      oauth_token: 'hidden',
      sslpassword: 'hidden',
      connectionString: server.url.replace('//', '//a:hidden@')
    });
    assert.ok(!inspect(pool, { depth: 9 }).includes('hidden'));
    assert.ok(!JSON.stringify(pool).includes('hidden'));
  });
});

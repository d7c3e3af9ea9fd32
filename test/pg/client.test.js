'use strict';

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const { inspect, promisify } = require('node:util');
const { startProxy, startServer } = require('pg-test-fixtures');
const { sharedServer } = require('../support');
const pg = require('../../lib/pg');

describe('A client of quickgres/pg', () => {
  let server, client;
  before(async () => {
    server = await sharedServer();
  });
  beforeEach(async () => {
    client = new pg.Client(server.config);
    await client.connect();
  });
  afterEach(() => client.end());

  const killed = () => server.sql(`SELECT pg_terminate_backend(${client.processID})`);

  it('makes promises of the class that the config names', async () => {
    class Own extends Promise {}
    const client = new pg.Client({ ...server.config, Promise: Own });
    for (const work of [() => client.connect(), () => client.query('SELECT 1'), () => client.end()]) {
      const promise = work();
      assert.ok(promise instanceof Own);
      await promise;
    }
  });

  it('connects once, by a promise of itself or a callback', async () => {
    const other = new pg.Client(server.url);
    const connected = once(other, 'connect');
    assert.equal(await other.connect(), other);
    await connected;
    await assert.rejects(other.connect(), /Client has already been connected\. You cannot reuse a client\./);
    await other.end();
    const third = new pg.Client(server.config);
    await new Promise((resolve, reject) => third.connect(error => (error ? reject(error) : resolve())));
    await new Promise(resolve => third.end(resolve));
  });

  it('tells by promise or callback why it cannot connect', async () => {
    const nowhere = { ...server.config, port: 1 };
    await assert.rejects(new pg.Client({ ...nowhere, host: '127.0.0.1' }).connect(), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
      address: '127.0.0.1',
      port: 1
    });
    const error = await new Promise(resolve => new pg.Client(nowhere).connect(resolve));
    assert.equal(error.code, 'ECONNREFUSED');
    for (const port of [99999, -1, 'none']) {
      const message = `Port should be >= 0 and < 65536. Received type number (${Number(port)}).`;
      await assert.rejects(new pg.Client({ ...server.config, port }).connect(), {
        name: 'RangeError',
        code: 'ERR_SOCKET_BAD_PORT',
        message
      });
      await assert.rejects(new pg.Pool({ ...server.config, port }).query('SELECT 1'), { code: 'ERR_SOCKET_BAD_PORT' });
    }
    const unknown = new pg.Client({ ...server.config, database: 'nowhere' });
    await assert.rejects(unknown.connect(), each => each instanceof pg.DatabaseError && each.code === '3D000');
    const nobody = new pg.Client({ ...server.config, user: 'nobody here' }); // the words of the server, and no others
    await assert.rejects(nobody.connect(), {
      name: 'error',
      code: '28000',
      message: 'role "nobody here" does not exist'
    });
  });

  it('gives up a server that says nothing for connectionTimeoutMillis', async () => {
    const silent = require('node:net')
      .createServer(() => {})
      .listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const waiting = new pg.Client({ host: '127.0.0.1', port: silent.address().port, connectionTimeoutMillis: 20 });
    await assert.rejects(waiting.connect(), { message: 'timeout expired' });
    silent.close();
  });

  it('asks, by text and values, by config, and by callback', async () => {
    const { rows } = await client.query('SELECT $1::int AS a, $2::text[] AS b', [5, ['x', null]]);
    assert.deepEqual(rows, [{ a: 5, b: ['x', null] }]);
    const result = await client.query({ text: 'SELECT 1 AS a, 2 AS a', rowMode: 'array' });
    assert.deepEqual(result.rows, [[1, 2]]);
    const given = await new Promise((resolve, reject) => {
      assert.equal(
        client.query('SELECT 7 AS n', (error, each) => (error ? reject(error) : resolve(each))),
        undefined
      );
    });
    assert.deepEqual(given.rows, [{ n: 7 }]);
    const failed = await new Promise(resolve => client.query('SELECT $1::int', ['x'], resolve));
    assert.equal(failed.code, '22P02');
  });

  it('gives an array for several statements, and what describes each result', async () => {
    const [created, inserted, selected] = await client.query(
      "CREATE TEMP TABLE pets (id int, name varchar(9)); INSERT INTO pets VALUES (1, 'Rex'), (2, NULL); SELECT * FROM pets"
    );
    assert.deepEqual([created.command, created.rowCount, created.rows, created.fields], ['CREATE', null, [], []]);
    assert.deepEqual([inserted.command, inserted.rowCount, inserted.oid], ['INSERT', 2, 0]);
    assert.deepEqual(selected.rows, [
      { id: 1, name: 'Rex' },
      { id: 2, name: null }
    ]);
    assert.equal(selected.rowCount, 2);
    const [, { tableID, ...field }] = selected.fields;
    assert.deepEqual(field, {
      name: 'name',
      columnID: 2,
      dataTypeID: 1043,
      dataTypeSize: -1,
      dataTypeModifier: 13,
      format: 'text'
    });
    assert.ok(tableID > 0);
    const empty = await client.query('');
    assert.deepEqual([empty.command, empty.rowCount, empty.rows], [null, null, []]);
  });

  it('rejects with the error of the server, as node-postgres has it', async () => {
    await client.query('CREATE TEMP TABLE pets (name text CONSTRAINT names UNIQUE)');
    const error = await client.query('INSERT INTO pets VALUES ($1), ($1)', ['Rex']).catch(each => each);
    assert.ok(error instanceof pg.DatabaseError && error instanceof Error);
    const { name, code, severity, constraint, table, detail, line } = error;
    assert.deepEqual(
      [name, code, severity, constraint, table, detail, typeof line],
      ['error', '23505', 'ERROR', 'names', 'pets', 'Key (name)=(Rex) already exists.', 'string']
    );
    assert.equal((await client.query('SELECT nothing').catch(each => each)).position, '8');
  });

  it('rejects what cannot be asked', async () => {
    assert.throws(() => client.query(null), { name: 'TypeError', message: /null or undefined query/ });
    assert.throws(() => client.query('SELECT 1', [], 5), { name: 'TypeError', message: /callback is not a function/ });
    await assert.rejects(client.query({}), /either text or a name/);
    await assert.rejects(client.query('SELECT $1', 'x'), /values must be an array/);
    await assert.rejects(client.query('SELECT $1', [new Date(NaN)]), /invalid Date/);
    await assert.rejects(client.query('COPY users FROM STDIN'), pg.DatabaseError);
    await assert.rejects(
      client.query({ text: 'COPY users FROM STDIN', queryMode: 'extended' }),
      /No source stream defined/
    );
    assert.deepEqual((await client.query('SELECT 1 AS a')).rows, [{ a: 1 }]);
  });

  it('prepares a statement by its name, whose text may be left out then, and is one', async () => {
    const text = 'SELECT $1::int AS n';
    assert.deepEqual((await client.query({ name: 'one', text, values: [1] })).rows, [{ n: 1 }]);
    assert.deepEqual((await client.query({ name: 'one', values: [2] })).rows, [{ n: 2 }]);
    await assert.rejects(
      client.query({ name: 'one', text: 'SELECT 5' }),
      /must be unique - 'one' was used for a different statement/
    );
    await assert.rejects(client.query({ name: 'two', text: 'SELECT nothing' }), { code: '42703' });
    assert.deepEqual((await client.query({ name: 'two', text: 'SELECT 5 AS n' })).rows, [{ n: 5 }]);
    assert.equal((await client.query('SELECT FROM pg_prepared_statements')).rowCount, 2);
  });

  it('sends NULL for a hole in the list of values, by a client and by a pool', async () => {
    const values = [];
    values[1] = 'b';
    const pool = new pg.Pool(server.config);
    for (const session of [client, pool])
      assert.deepEqual((await session.query('SELECT $1::text AS a, $2::text AS b', values)).rows, [
        { a: null, b: 'b' }
      ]);
    await pool.end();
  });

  it('prepares nothing else, so that columns may change within a transaction', async () => {
    await client.query('BEGIN');
    await client.query('CREATE TABLE altered_by_client (a int)');
    const ask = () => client.query('SELECT * FROM altered_by_client WHERE $1', [true]);
    assert.equal((await ask()).fields.length, 1);
    await client.query('ALTER TABLE altered_by_client ADD b int');
    assert.equal((await ask()).fields.length, 2);
    await client.query('ROLLBACK');
    assert.equal((await client.query('SELECT FROM pg_prepared_statements')).rowCount, 0);
  });

  it('quotes names and texts as a tool that has only the client does', async () => {
    const [name, text] = ['a"b', "it's \\"];
    const { rows } = await client.query(`SELECT ${client.escapeLiteral(text)} AS ${client.escapeIdentifier(name)}`);
    assert.deepEqual(rows, [{ [name]: text }]);
  });

  it('shows tracers whether a request runs', async () => {
    assert.deepEqual(client.queryQueue, []);
    const last = client.query('SELECT 1');
    assert.equal(client.queryQueue.length, 1);
    await last;
    assert.deepEqual(client.queryQueue, []);
  });

  it('lets a program end with unref(), and not with ref()', async () => {
    const run = async calls =>
      (
        await promisify(execFile)(process.execPath, [
          '-e',
          `const { Client } = require(${JSON.stringify(require.resolve('../../lib/pg'))});
          const client = new Client(${JSON.stringify(server.url)});
          client.connect().then(() => {
            ${calls};
            setTimeout(() => client.end().then(() => console.log('kept')), 100).unref();
          });`
        ])
      ).stdout;
    assert.equal(await run('client.unref()'), '');
    assert.equal(await run('client.unref(); client.ref()'), 'kept\n');
  });

  it('reads values by parsers of its own, of a query, in binary, and tells what a parser throws', async () => {
    client.setTypeParser(23, value => `<${value}>`);
    assert.deepEqual((await client.query('SELECT 1 AS a')).rows, [{ a: '<1>' }]);
    assert.equal(client.getTypeParser(23)('2'), '<2>');
    const seen = [];
    const types = { getTypeParser: (oid, format) => value => seen.push([oid, format, value.length]) };
    await client.query({ text: 'SELECT $1::int8 AS a', values: [1], types, binary: true });
    assert.deepEqual(seen, [[20, 'binary', 8]]);
    const ofText = { getTypeParser: (oid, format) => (format === 'text' ? value => `${oid}:${value}` : undefined) };
    assert.deepEqual((await client.query({ text: 'SELECT 1::int8 AS a', types: ofText })).rows, [{ a: '20:1' }]);
    await assert.rejects(
      client.query({ text: 'SELECT $1::int8 AS a', values: [1], types: ofText, binary: true }),
      /^TypeError: parse is not/
    );
    client.setTypeParser(23, () => {
      throw new Error('no');
    });
    await assert.rejects(client.query('SELECT 1'), /^Error: no$/);
    assert.deepEqual((await client.query("SELECT 'x' AS a")).rows, [{ a: 'x' }]);
  });

  it('tells the package pg-pool whether it can be used again', async () => {
    assert.equal(client._queryable, true);
    await client.end();
    assert.equal(client._queryable, false);
  });

  it('has the stream to the server, and tells how long a notice is', async () => {
    const { connection } = client;
    const { stream } = connection;
    assert.equal(stream.remotePort, server.port);
    for (const name of ['setNoDelay', 'ref', 'unref', 'pause', 'resume']) assert.equal(typeof stream[name], 'function');
    const noticed = once(client, 'notice');
    await client.query("DO $$ BEGIN RAISE NOTICE 'x'; END $$");
    const [{ name, length, message }] = await noticed;
    assert.deepEqual([name, message, length > 60], ['notice', 'x', true]);
    const over = new Promise(resolve => client.once('end', resolve));
    stream.destroy();
    await over;
    assert.equal(typeof connection.stream.destroy, 'function');
  });

  it('gives a query of its class to events', async () => {
    const query = client.query(new pg.Query('SELECT n FROM generate_series(1, 3) n'));
    const rows = [];
    query.on('row', ({ n }) => rows.push(n));
    const [result] = await once(query, 'end');
    assert.deepEqual([rows, result.rowCount, result.rows], [[1, 2, 3], 3, []]);
    await assert.rejects(once(client.query(new pg.Query('SELECT nothing')), 'end'), { code: '42703' });
  });

  it('emits the rows of a Query as they arrive, and keeps none of them', async () => {
    for (const rowMode of [undefined, 'array']) {
      // The server sends a row only when 8 kB are full.
      const query = client.query(
        new pg.Query({ text: "SELECT n, repeat('x', 9000) FROM generate_series(1, 99) n", rowMode, values: [] })
      );
      const rows = [];
      const seen = new Promise(resolve =>
        query.on('row', (row, { fields, rows: kept }) => {
          rows.push(row);
          resolve([Object.values(row)[0], fields[0].name, kept.length]);
        })
      );
      const isOver = once(query, 'end').then(([result]) => result);
      assert.deepEqual(await Promise.race([seen, isOver]), [1, 'n', 0]);
      const { command, rowCount, rows: kept } = await isOver;
      assert.deepEqual([command, rowCount, kept, rows.length], ['SELECT', 99, [], 99]);
      assert.equal(Array.isArray(rows[0]), rowMode === 'array');
    }
    const unheard = client.query(new pg.Query('SELECT n FROM generate_series(1, 3000) n'));
    assert.equal((await once(unheard, 'end'))[0].rows.length, 3000);
  });

  it('emits no more rows of a Query than were read while the stream to the server is paused', async () => {
    const { stream } = client.connection;
    const query = client.query(new pg.Query("SELECT repeat('x', 1000) FROM generate_series(1, 50000) n"));
    const isOver = once(query, 'end');
    let count = 0;
    await new Promise(resolve =>
      query.on('row', () => {
        if (++count === 100) resolve(stream.pause());
      })
    );
    const read = count;
    await server.sql('SELECT 1');
    assert.equal(count, read);
    stream.resume();
    await isOver;
    assert.equal(count, 50000);
  });

  it('emits the rows that come before an error, and keeps rows for a callback', async () => {
    const failing = client.query(new pg.Query('SELECT 1 / (3 - n) AS n FROM generate_series(1, 3) n'));
    const rows = [];
    failing.on('row', ({ n }) => rows.push(n));
    await assert.rejects(once(failing, 'end'), { code: '22012' });
    assert.deepEqual(rows, [0, 1]);
    const kept = await new Promise((resolve, reject) => {
      client
        .query(new pg.Query('SELECT 1 AS n', (error, result) => (error ? reject(error) : resolve(result))))
        .on('row', row => rows.push(row));
    });
    assert.deepEqual([kept.rows, rows.at(-1)], [[{ n: 1 }], { n: 1 }]);
  });

  it('rejects a query with what a getTypeParser throws, which may be no error, and goes on', async () => {
    for (const thrown of [new Error('no parser'), 'no parser', undefined, { message: {} }]) {
      const getTypeParser = () => {
        throw thrown;
      };
      await assert.rejects(client.query({ text: 'SELECT 1', types: { getTypeParser } }), error => error === thrown);
      assert.equal((await client.query({ text: 'SELECT WHERE false', types: { getTypeParser } })).rowCount, 0);
    }
    assert.equal((await client.query('SELECT 1 AS a')).rows[0].a, 1);
  });

  it('rejects a Query with the error of a type parser, and goes on', async () => {
    client.setTypeParser(23, () => {
      throw new Error('no number');
    });
    const query = client.query(new pg.Query('SELECT n FROM generate_series(1, 3000) n'));
    query.on('row', () => assert.fail('a row'));
    await assert.rejects(once(query, 'end'), { message: 'no number' });
    assert.deepEqual((await client.query("SELECT 'x' AS a")).rows, [{ a: 'x' }]);
  });

  it('ends a query after query_timeout, and goes on', async () => {
    await assert.rejects(client.query({ text: 'SELECT pg_sleep(100)', query_timeout: 20 }), {
      message: 'Query read timeout'
    });
    assert.equal((await client.query('SELECT 1')).rowCount, 1);
  });

  it('tells of notices, notifications and the transaction', async () => {
    const notice = once(client, 'notice');
    await client.query("DO $$ BEGIN RAISE NOTICE 'look'; END $$");
    assert.equal((await notice)[0].message, 'look');
    const notification = once(client, 'notification');
    await client.query("LISTEN here; NOTIFY here, 'it'");
    const [{ channel, payload, processId }] = await notification;
    assert.deepEqual([channel, payload, processId], ['here', 'it', client.processID]);
    assert.equal(client.getTransactionStatus(), 'I');
    await client.query('BEGIN');
    assert.equal(client.getTransactionStatus(), 'T');
  });

  it('tells of a connection that is lost: its queries, then who listens, then those who ask later', async () => {
    const order = [];
    client.on('error', error => order.push(error.message));
    client.on('end', () => order.push('end'));
    const sleeping = client.query('SELECT pg_sleep(100)').catch(error => order.push(`query ${error.code}`));
    const ended = new Promise(resolve => client.once('end', resolve));
    await killed();
    await Promise.all([sleeping, ended]);
    assert.deepEqual(order, ['query 57P01', 'Connection terminated unexpectedly', 'end']);
    await assert.rejects(client.query('SELECT 1'), {
      message: 'Client has encountered a connection error and is not queryable'
    });
  });

  it('tells of no loss if a query rejects with it and its caller ends the client, as Slonik does', async () => {
    const errors = [];
    client.on('error', error => errors.push(error));
    const ended = assert.rejects(client.query('SELECT pg_sleep(100)'), { code: '57P01' }).then(() => client.end());
    await killed();
    await ended;
    assert.deepEqual(errors, []);
  });

  it("tells the server's reason and the loss by two events if no query was under way", async () => {
    const told = [];
    client.on('error', error => told.push(error));
    const ended = new Promise(resolve => client.once('end', resolve));
    await killed();
    await ended;
    assert.ok(told[0] instanceof pg.DatabaseError);
    assert.deepEqual(
      told.map(({ code, message }) => code ?? message),
      ['57P01', 'Connection terminated unexpectedly']
    );
    assert.equal(told[1].cause, told[0]);
  });

  it('needs nobody to listen when the connection is lost', async () => {
    const ended = new Promise(resolve => client.once('end', resolve));
    await killed();
    await ended;
  });

  it('ends at once where a query is under way', async () => {
    const sleeping = client.query('SELECT pg_sleep(100)').catch(error => error);
    await client.end();
    assert.equal((await sleeping).message, 'Connection terminated');
    await assert.rejects(client.query('SELECT 1'), { message: 'Client was closed and is not queryable' });
  });

  it('is asked before connect() where that follows at once, and says so where it does not', async () => {
    const other = new pg.Client(server.config);
    const early = other.query('SELECT 1 AS n');
    await other.connect();
    assert.deepEqual((await early).rows, [{ n: 1 }]);
    await other.end();
    const never = new pg.Client(server.config);
    for (let times = 0; times < 2; times++) {
      await assert.rejects(never.query('SELECT 1'), {
        message: 'not connected: call connect() first',
        code: '08003',
        sent: false
      });
    }
  });

  it('gives null where there is no error to who calls back', async () => {
    assert.equal(await new Promise(resolve => client.query('SELECT 1', resolve)), null);
    const other = new pg.Client(server.config);
    assert.equal(await new Promise(resolve => other.connect(resolve)), null);
    await other.end();
  });

  it('gives up what a signal aborts', async () => {
    const controller = new AbortController();
    const slow = client.query({ text: 'SELECT pg_sleep(100)', signal: controller.signal });
    controller.abort();
    await assert.rejects(slow, { name: 'AbortError' });
    assert.equal((await client.query('SELECT 1')).rowCount, 1);
  });

  it("rejects with the error of the config's own functions, as it was thrown, in a pool as well", async () => {
    const secured = await startServer({ tls: true, auth: 'scram-sha-256', external: false });
    const own = Object.assign(new Error('no secret today', { cause: new Error('closed') }), { code: 'VAULT' });
    const throwing = [
      () => {
        throw own;
      },
      async () => {
        throw own;
      }
    ];
    const ssl = { rejectUnauthorized: true, ca: secured.tls.ca.cert };
    for (const config of [
      ...throwing.map(password => ({ password })),
      { ssl: { ...ssl, checkServerIdentity: () => own } }
    ]) {
      for (const make of [each => new pg.Client(each), each => new pg.Pool(each)]) {
        const made = make({ ...secured.config, ...config });
        await assert.rejects(made.connect(), error => error === own);
        await made.end();
      }
    }
    for (const config of [
      { password: () => Promise.reject('text') },
      { ssl: { ...ssl, checkServerIdentity: () => 'text' } }
    ]) {
      const odd = new pg.Client({ ...secured.config, ...config });
      await assert.rejects(odd.connect(), error => error === 'text');
    }
    for (const nothing of [undefined, null, false, '']) {
      const content = new pg.Client({ ...secured.config, ssl: { ...ssl, checkServerIdentity: () => nothing } });
      await content.connect();
      await content.end();
    }
    await secured.stop();
  });

  it("emits the events of a Query in the caller's asynchronous context", async () => {
    const context = new AsyncLocalStorage();
    const pool = new pg.Pool({ ...server.config, max: 1 });
    await context.run('connection', () => pool.query('SELECT 1'));
    for (const one of [client, pool]) {
      for (const text of ['SELECT 1', 'SELECT 1; SELECT 2', 'SELECT 1/0', 'SELECT', 'SELECT $1::int / 0']) {
        const seen = new Set();
        await new Promise(over =>
          context.run(text, () => {
            const query = new pg.Query(text, text.includes('$') ? [1] : undefined);
            query.on('row', () => seen.add(context.getStore()));
            for (const last of ['end', 'error']) query.on(last, () => over(seen.add(context.getStore())));
            one.query(query, error => error && over(seen.add(context.getStore())));
          })
        );
        assert.deepEqual([...seen], [text]);
      }
    }
    await pool.end();
  });

  it('drains when nothing is pending any more', async () => {
    const drained = once(client, 'drain');
    const results = [];
    for (let n = 0; n < 3; n++) client.query('SELECT', () => results.push(n));
    await drained;
    assert.deepEqual(results, [0, 1, 2]);
  });

  it('calls back and resolves promises in the order of the queries', async () => {
    const order = [];
    const note = each => () => {
      order.push(each);
    };
    client.query('SELECT 1', note('text'));
    client.query('SELECT $1::int', [2], note('values'));
    client.query(new pg.Query('SELECT 3')).on('end', note('events'));
    await client.query('SELECT 4').then(note('promise'));
    client.query('SELECT 5', note('last'));
    await client.query('SELECT 6');
    assert.deepEqual(order, ['text', 'values', 'events', 'promise', 'last']);
  });

  it('runs what a callback begins before the next callback of the same packet', async () => {
    for (const one of [client, new pg.Pool({ ...server.config, max: 1 })]) {
      const order = [];
      const ask = n =>
        new Promise(resolve =>
          one.query('SELECT 1', async () => {
            order.push(`${n} called`);
            process.nextTick(() => order.push(`${n} ticked`));
            for (let i = 0; i < 20; i++) await undefined;
            order.push(`${n} awaited`);
            resolve();
          })
        );
      await Promise.all([ask(1), ask(2), one.query('SELECT 1').then(() => order.push('3 resolved'))]);
      if (one !== client) await one.end();
      const expected = ['1 called', '1 awaited', '1 ticked', '2 called', '2 awaited', '2 ticked', '3 resolved'];
      assert.deepEqual(
        one === client ? order : order.filter(each => each !== '3 resolved'),
        one === client ? expected : expected.slice(0, -1)
      );
    }
  });

  it('drains also for who listens since the last callback', async () => {
    await new Promise(resolve => client.query('SELECT', () => client.on('drain', resolve)));
  });

  it('drains on resumeDrain() if it was paused', async () => {
    await client.query('SELECT');
    let drains = 0;
    client.on('drain', () => drains++);
    client.resumeDrain();
    assert.equal(drains, 0);
    client.pauseDrain();
    await client.query('SELECT');
    await new Promise(setImmediate);
    assert.equal(drains, 0);
    client.resumeDrain();
    assert.equal(drains, 1);
  });

  it('drains once, where what is asked next rejects at once', async () => {
    let drains = 0;
    client.on('drain', () => drains++);
    for (let times = 0; times < 3; times++) await assert.rejects(client.query({}), /either text or a name/);
    await new Promise(setImmediate);
    assert.equal(drains, 1);
  });

  it('has emitted end when the promise of end() resolves', async () => {
    const client = new pg.Client(server.config);
    await client.connect();
    let isOver = false;
    client.on('end', () => {
      isOver = true;
    });
    await client.end();
    assert.equal(isOver, true);
  });

  it('says good-bye to the server when nothing is under way', async () => {
    const proxy = await startProxy({ target: server, record: true });
    const other = new pg.Client({ ...server.config, host: proxy.host, port: proxy.port });
    await other.connect();
    await other.query('SELECT 1');
    await other.end();
    await proxy.stop();
    assert.equal(Buffer.from(proxy.connections[0].recorded.toServer).subarray(-5).toString('hex'), '5800000004'); // Terminate
  });

  it('tells that it has ended when it could not connect, or its stream was destroyed', async () => {
    const nowhere = new pg.Client({ ...server.config, port: 1 });
    const ended = once(nowhere, 'end');
    await assert.rejects(nowhere.connect(), { code: 'ECONNREFUSED' });
    await ended;
    const events = [];
    for (const name of ['error', 'end']) client.on(name, error => events.push(error?.message ?? name));
    const over = new Promise(resolve => client.once('end', resolve));
    const asked = assert.rejects(client.query('SELECT pg_sleep(100)'), {
      message: 'Connection terminated unexpectedly'
    });
    client.connection.stream.destroy();
    await Promise.all([asked, over]);
    assert.deepEqual(events, ['Connection terminated unexpectedly', 'end']);
  });

  it('copies by streams of this library', async () => {
    await client.query('CREATE TEMP TABLE copied (a int)');
    const target = client.copyFrom('COPY copied FROM STDIN');
    target.end('1\n2\n');
    await once(target, 'finish');
    assert.equal((await client.copyTo('COPY copied TO STDOUT').toArray()).join(''), '1\n2\n');
  });

  it('shows no password', () => {
    const secret = new pg.Client({ ...server.config, password: 'hidden' });
    assert.ok(!inspect(secret, { depth: 9 }).includes('hidden'));
    assert.equal(secret.password, 'hidden');
  });

  it('connects over TLS, and tells parameters of the server as they are reported', async () => {
    const secured = await startServer({ tls: true, external: false });
    const other = new pg.Client({ ...secured.config, ssl: { rejectUnauthorized: false } });
    const names = [];
    other.connection.on('parameterStatus', ({ parameterName }) => names.push(parameterName));
    try {
      await other.connect();
      assert.ok(names.includes('server_version'));
      const { rows } = await other.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      assert.deepEqual(rows, [{ ssl: true }]);
      await assert.rejects(new pg.Client({ ...secured.config, ssl: true }).connect(), /certificate/);
    } finally {
      await other.end();
      await secured.stop();
    }
  });
});

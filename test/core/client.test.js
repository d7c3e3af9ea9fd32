'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const net = require('node:net');
const { inspect, promisify } = require('node:util');
const quickgres = require('quickgres');
const { Client, RowReader, RowParser, PostgresError, ConnectionError, AbortError, UsageError } = quickgres;
const { activity, sharedServer, connected, proxied, faked, message } = require('../support');
const { gc } = require('../support/gc');
const { endAfterTest } = require('../support/hooks');
const { until } = require('../support/kit');

describe('The package', () => {
  it('gives the same by require, by import, and by its own name', async () => {
    const imported = await import('quickgres');
    assert.equal(require('../..'), quickgres);
    assert.equal(imported.default, quickgres);
    const names = ['Client', 'RowReader', 'RowParser', 'PostgresError', 'ConnectionError', 'AbortError', 'UsageError'];
    for (const name of names) assert.equal(typeof quickgres[name], 'function', name);
    for (const name in quickgres) assert.equal(imported[name], quickgres[name], name);
    assert.deepEqual(Object.keys(imported).sort(), [...Object.keys(quickgres), 'default'].sort());
    assert.deepEqual([Client.STRING, Client.BINARY], [0, 1]);
    assert.equal(require('quickgres/package.json').name, 'quickgres');
  });
});

describe('Client', () => {
  it('leaves no closed client, its config, or result with types of its own to the large garbage collection', async () => {
    const { config } = await sharedServer();
    const LENGTH = 10000;
    const ROUNDS = 40;
    const enlarge = object => Object.assign(object, { filler: new Array(LENGTH).fill(0) });
    const round = async () => {
      const client = enlarge(new Client({ ...config, password: enlarge(() => '') }));
      await client.connect();
      enlarge(await client.query("SELECT ARRAY['a'::information_schema.sql_identifier]"));
      await client.end();
    };
    const used = () => {
      for (let i = 0; i < 2; i++) gc({ type: 'minor' }); // the second one moves what the first one has left
      return process.memoryUsage().heapUsed;
    };
    for (let i = 0; i < 5; i++) await round(); // compiles
    gc();
    const before = used();
    for (let i = 0; i < ROUNDS; i++) await round();
    const kept = (used() - before) / ROUNDS / (LENGTH * 8);
    assert.ok(kept < 0.8, `${kept.toFixed(2)} of the three objects of a round are kept`);
  });

  it('connects as its config says: an object, a URL, or a list of parameters', async () => {
    const server = await sharedServer();
    const { host, port, user, database } = server;
    for (const config of [
      { ...server.config },
      server.url,
      `host=${host} port=${port} user=${user} dbname=${database}`,
      { host: server.socketDirectory, port, user, database }
    ]) {
      const client = new Client(config);
      await client.connect();
      const {
        rows: [row]
      } = await client.query('SELECT current_user, current_database()');
      assert.deepEqual(row.toArray(), [user, database]);
      await client.end();
    }
  });

  it('shows who awaits where it could not connect', async () => {
    const { config, port } = await sharedServer();
    async function begin(more) {
      await new Client({ ...config, ...more }).connect();
    }
    async function leave() {
      const client = new Client(config);
      setImmediate(() => client.destroy());
      await client.connect();
    }
    await assert.rejects(leave(), ({ stack }) =>
      /^ConnectionError: the client was destroyed\n(?:.*\n)*.*at async leave /.test(stack)
    );
    const refused = await begin({ port: port === 1 ? 2 : 1 }).catch(error => error);
    const unknown = await begin({ database: 'nowhere' }).catch(error => error);
    assert.match(
      refused.stack,
      /^ConnectionError: 127\.0\.0\.1:\d: .*ECONNREFUSED.*\n(.*\n)*.*at async begin .*client\.test\.js/
    );
    assert.match(
      unknown.stack,
      /^PostgresError: .*: database "nowhere" does not exist\n(.*\n)*.*at async begin .*client\.test\.js/
    );
  });

  it('connects where connect() says, instead', async () => {
    const server = await sharedServer();
    const { user, database } = server;
    for (const args of [[server.port, server.host], [server.socketPath], [String(server.port), server.host]]) {
      const client = new Client({ user, database, host: 'nowhere.invalid', port: 1 });
      await client.connect(...args);
      assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
      await client.end();
    }
  });

  it('gives parameters that it does not know to the server', async () => {
    const client = await connected({ application_name: 'public surface', search_path: 'pg_catalog', work_mem: '3MB' });
    const {
      rows: [row]
    } = await client.query(`SELECT current_setting('application_name'),
      current_setting('search_path'), current_setting('work_mem')`);
    assert.deepEqual(row.toArray(), ['public surface', 'pg_catalog', '3MB']);
    assert.equal(client.serverParameters.application_name, 'public surface');
  });

  it('has the parameters that the server reports, and follows their changes', async () => {
    const client = await connected();
    assert.match(client.serverParameters.server_version, /^\d+/);
    assert.equal(client.serverParameters.client_encoding, 'UTF8');
    assert.equal(client.serverParameters.toString, undefined, 'and nothing else');
    const changes = [];
    client.on('parameter', (name, value) => changes.push([name, value]));
    await client.query("SET TimeZone = 'Asia/Kolkata'");
    assert.deepEqual(changes, [['TimeZone', 'Asia/Kolkata']]);
    assert.equal(client.serverParameters.TimeZone, 'Asia/Kolkata');
  });

  it("knows the server's process", async () => {
    const client = await connected();
    const {
      rows: [[pid]]
    } = await client.query('SELECT pg_backend_pid()');
    assert.equal(client.processId, Number(pid));
    assert.equal(client.backendKey.readInt32BE(), client.processId);
  });

  it('emits notices with their fields', async () => {
    const client = await connected();
    const notices = [];
    const packets = [];
    client.on('notice', notice => notices.push(notice));
    client.onNotice = packet => packets.push(packet);
    await client.query("DO $$ BEGIN RAISE NOTICE 'look ä' USING HINT = 'closer', ERRCODE = 'QG001'; END $$");
    await client.query("DO $$ BEGIN RAISE WARNING 'again'; END $$");
    assert.deepEqual(
      notices.map(({ severity, message, hint, code }) => [severity, message, hint, code]),
      [
        ['NOTICE', 'look ä', 'closer', 'QG001'],
        ['WARNING', 'again', undefined, '01000']
      ]
    );
    assert.equal(packets.length, 2);
    assert.ok(packets.every(packet => packet[0] === 'N'.charCodeAt() && packet.readUInt32BE(1) === packet.length - 1));
  });

  it('emits notifications, also those of others while nothing is asked', async () => {
    const server = await sharedServer();
    const client = await connected();
    await client.query('LISTEN "some jobs"');
    const own = once(client, 'notification');
    await client.query(`SELECT pg_notify('some jobs', 'ä€')`);
    assert.deepEqual(await own, [{ processId: client.processId, channel: 'some jobs', payload: 'ä€' }]);
    const others = once(client, 'notification');
    await server.sql('NOTIFY "some jobs"');
    const [{ processId, payload }] = await others;
    assert.notEqual(processId, client.processId);
    assert.equal(payload, '');
  });

  it('goes on when a listener throws, and lets the program know', async () => {
    const client = await connected();
    const listeners = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    const thrown = [];
    process.on('uncaughtException', error => thrown.push(error.message));
    try {
      client.on('notice', () => {
        throw new Error('in notice');
      });
      client.onNotice = () => {
        throw new Error('in onNotice');
      };
      client.onNotification = () => {
        throw new Error('in onNotification');
      };
      client.on('parameter', () => {
        throw new Error('in parameter');
      });
      const results = await Promise.all([
        client.query("DO $$ BEGIN RAISE NOTICE 'look'; END $$"),
        client.query('LISTEN x'),
        client.query('NOTIFY x'),
        client.query("SET application_name = 'y'"),
        client.query('SELECT 1')
      ]);
      assert.equal(results[4].rows[0][0], 1);
      await new Promise(setImmediate);
    } finally {
      process.removeAllListeners('uncaughtException');
      for (const listener of listeners) process.on('uncaughtException', listener);
    }
    assert.deepEqual(thrown, ['in onNotice', 'in notice', 'in onNotification', 'in parameter']);
  });

  it('sends queries that were asked before it has connected', async () => {
    const client = new Client((await sharedServer()).config);
    const early = client.query('SELECT 1 AS a');
    const connecting = client.connect();
    const batch = client.batch([['SELECT 2 AS a']]);
    assert.equal(client.state, 'connecting');
    assert.equal(client.pending, 2);
    assert.equal((await early).rows[0].a, 1);
    assert.equal((await batch)[0].rows[0].a, 2);
    await connecting;
    await client.end();
  });

  it('sends nothing behind a COPY that wants data, also not before it has connected', async () => {
    const client = new Client({ ...(await sharedServer()).config, require_auth: 'none' });
    client.query('CREATE TEMP TABLE t (a int)');
    const copy = client.query('COPY t FROM STDIN').then(() => client.copyDone());
    const [, , count] = await Promise.all([client.connect(), copy, client.query('SELECT count(*) FROM t')]);
    assert.equal(count.rows[0].count, 0);
    await client.end();
  });

  it('rejects a query that nobody connects for, and can still connect', async () => {
    const client = new Client((await sharedServer()).config);
    for (const ask of [
      () => client.query('SELECT 1'),
      () => client.simpleQuery('SELECT 1'),
      () => client.batch(['SELECT 1']),
      () => client.transaction(() => {}),
      () => client.sync(),
      () => client.query('COPY t FROM STDIN'),
      () => client.cursor('SELECT 1').next()
    ]) {
      await assert.rejects(
        ask(),
        { name: 'ConnectionError', code: '08003', message: /call connect\(\) first/ },
        String(ask)
      );
    }
    assert.equal(client.state, 'new');
    await client.connect();
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    await client.end();
  });

  it('rejects everything after its end, and writes nothing', async () => {
    const { client, wire } = await proxied();
    await client.end();
    const sent = wire.recorded.toServer.length;
    const error = { name: 'ConnectionError', code: '08003' };
    for (const ask of [
      () => client.query('SELECT 1'),
      () => client.simpleQuery('SELECT 1'),
      () => client.batch(['SELECT 1']),
      () => client.transaction(() => {}),
      () => client.sync(),
      () => client.close('S', 's1'),
      () => client.cancel(),
      () => client.query('COPY t FROM STDIN'),
      () => client.getResults(),
      () => client.cursor('SELECT 1').next()
    ]) {
      await assert.rejects(ask(), error, String(ask));
    }
    assert.throws(() => client.startQuery('SELECT 1'), error);
    assert.equal(wire.recorded.toServer.length, sent);
    await client.end();
    client.destroy();
  });

  it('lets what was asked before its end finish, and rejects what is asked behind it', async () => {
    const client = await connected();
    const before = Promise.all([client.query('SELECT 1'), client.query('SELECT 2')]);
    const end = client.end();
    assert.equal(client.state, 'ending');
    await assert.rejects(client.query('SELECT 3'), { name: 'ConnectionError', code: '08003', message: /was ended/ });
    assert.deepEqual(
      (await before).map(({ rows }) => rows[0][0]),
      [1, 2]
    );
    await end;
    assert.equal(client.state, 'closed');
    assert.equal(await client.closed, undefined);
  });

  it('says good-bye to the server', async () => {
    const { client, wire } = await proxied();
    await client.end();
    await wire.closed;
    assert.equal(wire.recorded.toServer.subarray(-5).toString('hex'), '5800000004');
  });

  it('connects again after its end, as anew', async () => {
    const client = new Client((await sharedServer()).config);
    await client.connect();
    const first = client.processId;
    await client.query("SET application_name = 'first'");
    await client.query('SELECT 1');
    await client.end();
    await client.connect();
    assert.notEqual(client.processId, first);
    assert.notEqual(client.serverParameters.application_name, 'first');
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    await client.end();
  });

  it('connects although the event loop is blocked for longer than connect_timeout', async () => {
    const client = endAfterTest(new Client({ ...(await sharedServer()).config, connect_timeout: 0.1 }));
    const connecting = client.connect();
    await new Promise(setImmediate);
    for (const until = performance.now() + 300; performance.now() < until;);
    await connecting;
    assert.equal(client.state, 'open');
  });

  it('connects once at a time', async () => {
    const client = new Client((await sharedServer()).config);
    const connecting = client.connect();
    await assert.rejects(client.connect(), { name: 'UsageError', message: /while the client is connecting/ });
    await connecting;
    await assert.rejects(client.connect(), { name: 'UsageError', message: /while the client is open/ });
    await client.end();
  });

  it('rejects what waits when it cannot connect, and may try again', async () => {
    const server = await sharedServer();
    const client = new Client(server.config);
    const failing = client.connect('/nonexistent/.s.PGSQL.1');
    const waiting = [client.query('SELECT 1'), client.batch(['SELECT 1'])];
    await assert.rejects(failing, { name: 'ConnectionError', code: 'ENOENT' });
    for (const promise of waiting) {
      await assert.rejects(promise, { name: 'ConnectionError', code: 'ENOENT', sent: false });
    }
    await client.connect();
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    await client.end();
  });

  it('rejects a config that is wrong', async () => {
    for (const config of [{ port: 'x' }, { sslmode: 'sometimes' }, 'postgres://[', 5]) {
      await assert.rejects(
        async () => new Client(config).connect(),
        error => error instanceof Error && error.message.length > 10
      );
    }
  });

  it('rejects what is asked beside connect() with the TypeError of a config that is wrong, before and behind it', async () => {
    for (const config of [{ pasword: 'x' }, { max: 5 }, { port: 'x' }, 'pasword=x']) {
      const client = new Client(config);
      const all = [
        client.query('SELECT 1'),
        client.transaction(() => {}),
        client.connect(),
        client.batch(['SELECT 1']),
        client.simpleQuery('SELECT 1'),
        client.cursor('SELECT 1').next(),
        client.transaction(() => {})
      ];
      const errors = await Promise.all(all.map(promise => promise.catch(error => error)));
      assert.equal(errors[0].name, 'TypeError');
      for (const error of errors) assert.equal(error, errors[0]);
      const later = await client.query('SELECT 1').catch(error => error);
      assert.equal(later.code, '08003');
      assert.ok(later.message.includes(errors[0].message), later.message);
    }
  });

  it('need not handle connect(), too, where those are told who have waited for it', async () => {
    const { config } = await sharedServer();
    const unhandled = [];
    const listener = error => unhandled.push(error);
    const listeners = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', listener);
    /** Resolves when rejections that nobody handles have been reported. */
    const reported = () => new Promise(resolve => setImmediate(() => setImmediate(resolve)));
    try {
      for (const bad of [{ ...config, database: 'nowhere' }, { host: '/nowhere' }, { pasword: 'x' }]) {
        for (const ask of [
          client => client.query('SELECT 1'),
          client => client.transaction(() => {}),
          client => client.cursor('SELECT 1').next()
        ]) {
          const client = new Client(bad);
          client.connect();
          await assert.rejects(ask(client));
        }
        await reported();
        assert.deepEqual(unhandled, []);
      }
      const destroyed = new Client(config);
      destroyed.connect();
      const asked = destroyed.query('SELECT 1');
      destroyed.destroy();
      await assert.rejects(asked);
      await reported();
      assert.deepEqual(unhandled, []);
      // Where nobody else is told, it has to be.
      for (const use of [client => client.connect(), client => client.connect() && client.end()]) {
        const client = new Client({ host: '/nowhere' });
        use(client);
        const error = await client.closed;
        await reported();
        assert.deepEqual(unhandled.splice(0), [error]);
      }
    } finally {
      process.removeAllListeners('unhandledRejection');
      for (const each of listeners) process.on('unhandledRejection', each);
    }
  });

  it("emits 'end' only when it had been open: one that connects again then is no storm", async () => {
    const { config } = await sharedServer();
    let ends = 0;
    const client = new Client({ host: '/nowhere' });
    client.on('end', () => ends++);
    await assert.rejects(client.connect());
    await assert.rejects(client.connect());
    const destroyed = client.connect();
    client.destroy();
    await assert.rejects(destroyed);
    await client.end();
    assert.equal(ends, 0);
    const other = new Client(config);
    other.on('end', () => ends++);
    await other.end();
    assert.equal(ends, 0);
    await other.connect();
    await other.end();
    assert.equal(ends, 1);
  });

  it('rejects everything when it is destroyed', async () => {
    const client = await connected();
    const events = [];
    client.on('end', () => events.push('end'));
    client.on('error', error => events.push(error.message));
    const pending = [client.query('SELECT pg_sleep(60)'), client.query('SELECT 1'), client.batch(['SELECT 1'])];
    await new Promise(setImmediate);
    client.destroy(new Error('enough'));
    for (const promise of pending) {
      await assert.rejects(
        promise,
        error => error instanceof ConnectionError && error.cause.message === 'enough' && error.sent
      );
    }
    assert.equal(client.state, 'closed');
    assert.deepEqual(events, ['enough', 'end']);
    assert.equal((await client.closed).message, 'enough');
  });

  it('rejects with a ConnectionError also when it is destroyed for a TypeError', async () => {
    const client = await connected();
    const pending = client.query('SELECT pg_sleep(10)');
    const cause = new TypeError('mine');
    client.destroy(cause);
    await assert.rejects(pending, { name: 'ConnectionError', cause });
  });

  it('tells who is lost when the server ends the connection', async () => {
    const server = await sharedServer();
    const client = await connected();
    const error = once(client, 'error');
    const pending = client.query('SELECT pg_sleep(60)');
    await until(async () => (await activity(client)) === 'active');
    await Promise.all([
      server.sql(`SELECT pg_terminate_backend(${client.processId})`),
      assert.rejects(pending, { name: 'ConnectionError', code: '57P01', sent: true, message: /administrator command/ })
    ]);
    assert.equal((await error)[0].code, '57P01');
    await assert.rejects(client.query('SELECT 1'), { code: '08003' });
  });

  it('does not end the program when nobody listens to the loss of an idle connection', async () => {
    const server = await sharedServer();
    const client = await connected();
    const end = new Promise(resolve => client.on('end', resolve));
    await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
    await end;
    assert.equal((await client.closed).code, '57P01');
  });

  it('counts what is pending', async () => {
    const client = await connected();
    assert.equal(client.pending, 0);
    const queries = [client.query('SELECT 1'), client.query('SELECT 2'), client.sync()];
    assert.equal(client.pending, 3);
    await Promise.all(queries);
    assert.equal(client.pending, 0);
    assert.equal(client.bufferedBytes, 0);
  });

  it('is readable when logged, without its password', async () => {
    const client = await connected({ password: 'very secret' });
    const shown = [inspect(client), inspect(client, { depth: 9, showHidden: true }), JSON.stringify(client)];
    for (const text of shown) assert.doesNotMatch(text, /very secret/);
    assert.match(shown[0], /^Client \{\s+state: 'open',\s+pending: 0,\s+processId: \d+,\s+serverParameters: \{/);
    assert.deepEqual(JSON.parse(shown[2]), { state: 'open', pending: 0, processId: client.processId });
  });

  it('lets the program end when it is unreferenced, and keeps it running when it is not', async () => {
    const { config } = await sharedServer();
    const script = `const { Client } = require('quickgres');
      const client = new Client(${JSON.stringify(config)});
      client.connect().then(() => {
        client.unref();
        if (process.argv.at(-1) === 'ref') {
          client.ref();
          setTimeout(() => { console.log('still here'); client.end(); }, 100).unref();
        }
      });`;
    const run = promisify(execFile);
    const options = { cwd: __dirname, timeout: 20_000 };
    assert.equal((await run(process.execPath, ['-e', script, 'unref'], options)).stdout, '');
    assert.equal((await run(process.execPath, ['-e', script, 'ref'], options)).stdout, 'still here\n');
  });

  it('lets the program end when it is unreferenced and ended behind a query that is not answered', async () => {
    const { config } = await sharedServer();
    const script = `const { Client } = require('quickgres');
      const client = new Client(${JSON.stringify(config)});
      client.connect().then(() => {
        client.query('SELECT pg_sleep(10)').then(() => console.log('answered'), console.log);
        client.unref();
        client.end();
      });`;
    const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: __dirname, timeout: 20_000 });
    assert.equal(stdout, '');
  });

  it('cannot cancel what it is not connected for', async () => {
    await assert.rejects(new Client().cancel(), { name: 'ConnectionError', code: '08003' });
  });

  it('refuses a decode that is none when it connects, and nothing is sent', async () => {
    for (const decode of ['x', 5, { 23: 'int' }]) {
      const client = new Client({ host: '127.0.0.1', port: 1, user: 'me', decode });
      await assert.rejects(client.connect(), { name: 'TypeError', message: /decode/ }, String(decode));
    }
  });

  it('cancels what the server is running for it', async () => {
    const client = await connected();
    const sleeping = assert.rejects(client.query('SELECT pg_sleep(60)'), { code: '57014' });
    // A request that comes before the query has begun is lost.
    const timer = setInterval(() => client.cancel().catch(() => {}), 20);
    await sleeping;
    clearInterval(timer);
  });

  it("takes a socket of the caller's", async () => {
    const server = await sharedServer();
    const socket = net.connect(server.port, server.host);
    const client = new Client({ ...server.config, socket });
    await client.connect();
    assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    await client.end();
    assert.equal(socket.destroyed, true);
  });
});

describe('The classes', () => {
  it('make a row of bytes without any client', () => {
    const parser = new RowParser(
      message(
        'T',
        Buffer.from([0, 1]),
        'a\0',
        0,
        Buffer.from([0, 0]),
        25,
        Buffer.from([255, 255]),
        -1,
        Buffer.from([0, 0])
      )
    );
    const row = new parser[Client.STRING](message('D', Buffer.from([0, 1]), 2, 'hi'));
    assert.equal(row.a, 'hi');
  });

  it('are those of what is resolved and rejected', async () => {
    const client = await connected();
    const result = await client.query('SELECT 1');
    assert.ok(result instanceof RowReader && result.rowParser instanceof RowParser);
    assert.ok((await client.query('SELECT 1/0').catch(error => error)) instanceof PostgresError);
    assert.ok((await client.getResults().catch(error => error)) instanceof UsageError);
    const aborted = client.query('SELECT pg_sleep(9)', [], { signal: AbortSignal.timeout(10) });
    assert.ok((await aborted.catch(error => error)) instanceof AbortError);
    const closed = await faked(async () => {});
    closed.destroy();
    assert.ok((await closed.query('SELECT 1').catch(error => error)) instanceof ConnectionError);
  });
});

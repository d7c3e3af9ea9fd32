'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { makeCertificates, startProxy, startServer } = require('pg-test-fixtures');
const { AbortError, Client, ConnectionError, PostgresError, TimeoutError } = require('../..');
const pg = require('../../lib/pg');
const { Pool } = require('../../lib/pool');
const { connected, proxied, sharedServer } = require('../support');
const { until } = require('../support/kit');
const { afterTest, endAfterTest } = require('../support/hooks');

/** What loggers print of an error: the messages of the causes behind its own, as pino-std-serializers joins them. */
function printed(error) {
  const messages = [];
  for (let each = error; each instanceof Error; each = each.cause) messages.push(each.message);
  return messages.join(': ');
}

/** @returns {string[]} each message of a chain that an earlier one has said */
function repeated(error) {
  const twice = [];
  let said = error.message;
  for (let each = error.cause; each instanceof Error; each = each.cause) {
    if (each.message !== '' && said.includes(each.message)) twice.push(each.message);
    said += `: ${each.message}`;
  }
  return twice;
}

/** A server that answers each connection with these bytes, or resets it. */
async function answering(bytes) {
  const server = net.createServer(socket => {
    socket.on('error', () => {});
    socket.once('data', () => (bytes === undefined ? socket.resetAndDestroy() : socket.end(bytes)));
  });
  await new Promise(resolve => {
    server.listen(0, '127.0.0.1', resolve);
  });
  afterTest(() => server.close());
  return { host: '127.0.0.1', port: server.address().port, user: 'ann' };
}

/** A config of a server with TLS whose authority is not known. */
async function unknown(more) {
  const server = await startServer({ external: false, tls: { ...(await makeCertificates()).server } });
  afterTest(() => server.stop());
  return { ...server.config, ...more };
}

/** Configs whose connect() fails, with what is printed and the fields that programs look at. */
const REFUSALS = {
  'a port where nothing listens': [
    () => ({ host: '127.0.0.1', port: 1 }),
    /connect ECONNREFUSED 127\.0\.0\.1:1/,
    { code: 'ECONNREFUSED', syscall: 'connect', address: '127.0.0.1', port: 1 }
  ],
  'a Unix socket that is not there': [
    () => ({ host: '/nowhere' }),
    /connect ENOENT/,
    { code: 'ENOENT', syscall: 'connect', address: '/nowhere/.s.PGSQL.5432' }
  ],
  'a name that does not exist': [
    () => ({ host: 'nowhere.invalid' }),
    /nowhere\.invalid/,
    { syscall: 'getaddrinfo', hostname: 'nowhere.invalid' }
  ],
  'a database that does not exist': [
    async () => ({ ...(await sharedServer()).config, database: 'nope' }),
    /"nope" does not exist/,
    { code: '3D000' }
  ],
  'a connection that is reset': [() => answering(), /ECONNRESET|closed/, {}],
  'TLS with a server that speaks no TLS behind its S': [
    async () => ({ ...(await answering('S')), sslmode: 'require' }),
    /TLS/,
    {}
  ],
  'a server that refuses TLS': [async () => ({ ...(await answering('N')), sslmode: 'require' }), /TLS/, {}],
  'a certificate of an unknown authority': [
    () => unknown({ sslmode: 'verify-full' }),
    /certificate/,
    { name: 'ConnectionError' }
  ],
  'a password function that throws': [
    async () => ({
      ...(await answering('R\0\0\0\x08\0\0\0\x03')),
      password() {
        throw new Error('no secret today');
      }
    }),
    /no secret today/,
    { code: '28000' }
  ],
  'bytes that are no protocol': [() => answering('HTTP/1.1 400 Bad Request\r\n\r\n'), /HTTP|protocol|PostgreSQL/, {}]
};

/** What asks a server that cannot be reached. */
const ASKING = {
  connect: config => endAfterTest(new Client(config)).connect(),
  'a query beside connect()': async config => {
    const client = endAfterTest(new Client(config));
    client.connect().catch(() => {});
    return client.query('SELECT 1');
  },
  'a query of a pool': config => endAfterTest(new Pool(config, { acquire_timeout: 1000 })).query('SELECT 1'),
  'connect of quickgres/pg': config => new pg.Client(config).connect(),
  'a query of a pool of quickgres/pg': config => {
    const pool = new pg.Pool(config);
    afterTest(() => pool.end());
    return pool.query('SELECT 1');
  }
};

/** How requests are lost, with what is printed and what the error has. */
const LOSSES = {
  'a server that ends the connection': [
    () => connected(),
    async client => (await sharedServer()).sql(`SELECT pg_terminate_backend(${client.processId})`),
    /terminating connection due to administrator command/,
    { name: 'ConnectionError', code: '57P01' }
  ],
  'a connection that is reset': [
    async () => {
      const { client, wire } = await proxied();
      client.wire = wire;
      return client;
    },
    client => client.wire.reset(),
    /ECONNRESET/,
    { name: 'ConnectionError', code: 'ECONNRESET' }
  ],
  'destroy()': [() => connected(), client => client.destroy(), /the client was destroyed/, { name: 'ConnectionError' }],
  'destroy(error)': [
    () => connected(),
    client => client.destroy(new Error('enough')),
    /the client was destroyed.*: enough$/,
    { name: 'ConnectionError' }
  ]
};

/** Requests of a client, some of which wait. */
const REQUESTS = {
  query: client => client.query('SELECT pg_sleep(60)'),
  batch: client => client.batch(['SELECT pg_sleep(60)']),
  cursor: client => client.cursor('SELECT pg_sleep(60)').next(),
  transaction: client => client.transaction(tx => tx.query('SELECT pg_sleep(60)')),
  'the function of a transaction': client =>
    client.transaction(tx => tx.query('SELECT 1').then(() => new Promise(() => {}))),
  listen: async client => {
    const listener = client.listen('causes');
    await listener.ready;
    return listener.next();
  }
};

const failing = promise =>
  promise.then(
    () => assert.fail('it does not fail'),
    error => error
  );

const check = (error, pattern, fields, what) => {
  assert.deepEqual(repeated(error), [], `${what}: ${printed(error)}`);
  assert.match(printed(error), pattern, what);
  for (const [name, value] of Object.entries(fields)) assert.equal(error[name], value, `${what}: ${name}`);
};

describe('What a log prints of an error and its causes has no message twice:', function () {
  this.timeout(30000);

  for (const [name, [configOf, pattern, fields]] of Object.entries(REFUSALS))
    it(name, async () => {
      const config = await configOf();
      for (const [asking, ask] of Object.entries(ASKING)) {
        const error = await failing(ask(config));
        check(error, pattern, / of quickgres\/pg$/.test(asking) ? {} : fields, asking);
        if (fields.syscall) assert.deepEqual([error.code, error.syscall], [error.code, fields.syscall], asking);
      }
    });

  for (const [name, [open, lose, pattern, fields]] of Object.entries(LOSSES))
    it(`a request that is lost by ${name}, and a later one`, async () => {
      for (const [asked, ask] of Object.entries(REQUESTS)) {
        const client = await open();
        const lost = failing(ask(client));
        await new Promise(setImmediate);
        await lose(client);
        check(await lost, pattern, fields, asked);
        check(await failing(client.query('SELECT 1')), pattern, { code: '08003' }, `behind ${asked}`);
      }
    });

  it('the signal of a request, whose reason is the cause', async () => {
    for (const reason of [new Error('not any more'), new Error('the query'), undefined, 5]) {
      const client = await connected();
      const pool = endAfterTest(new Pool((await sharedServer()).config));
      for (const session of [client, pool])
        for (const ask of [
          options => session.query('SELECT pg_sleep(60)', [], options),
          options => session.transaction(tx => tx.query('SELECT pg_sleep(60)'), options)
        ]) {
          const controller = new AbortController();
          const asked = failing(ask({ signal: controller.signal }));
          controller.abort(reason);
          const error = await asked;
          assert.ok(error instanceof AbortError);
          assert.equal(error.cause, controller.signal.reason);
        }
    }
  });

  it('the acquire_timeout of a pool without a server, whose cause is the last error of connecting', async () => {
    const proxy = await startProxy({ target: await sharedServer() });
    afterTest(() => proxy.stop());
    const { host, port } = proxy;
    const config = { ...(await sharedServer()).config, host, port };
    const pool = endAfterTest(new Pool(config, { acquire_timeout: 200 }));
    await pool.query('SELECT 1');
    proxy.refuse();
    proxy.reset();
    await until(() => pool.stats.connected === 0);
    const error = await failing(pool.query('SELECT 1'));
    check(error, /^no connection for 200 ms \(acquire_timeout\).*connect ECONNREFUSED/, { code: '08001' });
    assert.ok(error instanceof TimeoutError);
    assert.ok(error.cause instanceof ConnectionError);
    assert.deepEqual([error.cause.code, error.cause.syscall], ['ECONNREFUSED', 'connect']);
  });

  it("destroy(error) of a pool, whose error is the requests' cause", async () => {
    const pool = endAfterTest(new Pool((await sharedServer()).config));
    const enough = new Error('enough');
    const asked = failing(pool.query('SELECT pg_sleep(60)'));
    const listener = pool.listen('causes');
    await listener.ready;
    const told = failing(listener.next());
    pool.destroy(enough);
    for (const error of [await asked, await told, await failing(pool.query('SELECT 1'))]) {
      check(error, /: enough$/, { name: 'ConnectionError' });
      assert.equal(error.cause, enough);
    }
  });

  it('the errors of the server in quickgres/pg, as sent', async () => {
    const config = { ...(await sharedServer()).config, database: 'nope' };
    const error = await failing(new pg.Client(config).connect());
    assert.ok(error instanceof PostgresError);
    assert.deepEqual([error.message, error.code], ['database "nope" does not exist', '3D000']);
  });
});

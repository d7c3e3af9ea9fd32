'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { Duplex } = require('node:stream');
const tls = require('node:tls');
const { Client } = require('../..');
const { startServer } = require('pg-test-fixtures');
const { workersSocket } = require('../../lib/sockets');
const { openSocket } = require('../../lib/sockets/workers');
const { FakeServer } = require('../support/connecting');

/** A socket as cloudflare:sockets gives it, over Node's. */
function cloudflareSocket(stream, host, ca) {
  const { readable, writable } = Duplex.toWeb(stream);
  const gone = once(stream, 'close');
  return {
    readable: bytes(readable),
    writable,
    opened: stream.connecting ? once(stream, 'connect') : Promise.resolve(),
    closed: gone.then(() => {}),
    async close() {
      stream.destroy();
    },
    startTls() {
      assert.ok(!readable.locked && !writable.locked);
      const secure = tls.connect({ socket: stream, servername: host, ca });
      return { ...cloudflareSocket(secure, host), opened: once(secure, 'secureConnect') };
    }
  };
}

/** A stream of bytes that readers of mode 'byob' read, as workerd's is. */
function bytes(readable) {
  let rest = new Uint8Array(0);
  return {
    get locked() {
      return readable.locked;
    },
    getReader({ mode }) {
      assert.equal(mode, 'byob');
      const reader = readable.getReader();
      return {
        closed: reader.closed,
        releaseLock: () => reader.releaseLock(),
        async read(view) {
          while (rest.length === 0) {
            const { value, done } = await reader.read();
            if (done) return { value: view.subarray(0, 0), done };
            rest = value;
          }
          const count = Math.min(view.length, rest.length);
          view.set(rest.subarray(0, count));
          rest = rest.subarray(count);
          return { value: view.subarray(0, count), done: false };
        }
      };
    }
  };
}

describe('workersSocket', () => {
  let server, asked;
  before(async () => {
    server = await startServer({
      external: false,
      tls: true,
      auth: 'scram-sha-256',
      users: { web: { password: 'secret' } }
    });
  });
  after(() => server.stop());

  /** The option `socket` as a Worker has it, over Node's sockets. */
  const fake = ca =>
    Object.assign(
      given =>
        openSocket(given, async () => ({
          connect({ hostname, port }, options) {
            asked = options;
            return cloudflareSocket(net.connect(port, hostname), hostname, ca);
          }
        })),
      { encrypts: workersSocket.encrypts }
    );
  const config = more => ({
    host: 'localhost',
    port: server.port,
    user: 'web',
    password: 'secret',
    database: server.database,
    socket: fake(server.tls.ca.cert),
    ...more
  });

  for (const [sslmode, encrypted] of [
    [undefined, true],
    ['prefer', true],
    ['require', true],
    ['verify-full', true],
    ['disable', false],
    ['allow', false]
  ]) {
    it(`connects with sslmode ${sslmode}, asks, cancels and ends`, async () => {
      const client = new Client(config({ sslmode }));
      await client.connect();
      assert.deepEqual(asked, { secureTransport: encrypted ? 'starttls' : 'off', allowHalfOpen: false });
      const {
        rows: [row]
      } = await client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
      assert.equal(row.ssl, encrypted);
      const text = 'x'.repeat(1e6);
      assert.ok((await client.query('SELECT $1::text AS text', [text])).rows[0].text === text);
      await assert.rejects(client.query('SELECT pg_sleep(60)', [], { signal: AbortSignal.timeout(100) }), {
        name: 'AbortError'
      });
      asked = undefined;
      await client.query('SELECT 1');
      await client.end();
    });
  }

  it('protects the cancel request as its connection', async () => {
    const client = new Client(config({ sslmode: 'prefer' }));
    await client.connect();
    asked = undefined;
    await assert.rejects(client.query('SELECT pg_sleep(60)', [], { signal: AbortSignal.timeout(100) }), {
      name: 'AbortError'
    });
    await client.query('SELECT 1');
    assert.equal(asked.secureTransport, 'starttls');
    await client.end();
  });

  it('rejects where the server has no TLS, unless it may do without', async () => {
    const plain = await startServer({ external: false });
    try {
      const there = {
        ...config(),
        port: plain.port,
        database: plain.database,
        user: plain.user,
        password: plain.password
      };
      await assert.rejects(new Client({ ...there, sslmode: 'require' }).connect(), {
        code: '08001',
        message: /does not support TLS, but sslmode=require requires it/
      });
      const client = new Client({ ...there, sslmode: 'prefer' });
      await client.connect();
      await client.end();
    } finally {
      await plain.stop();
    }
  });

  it('rejects where the certificate is not trusted, the server says more than one byte, or is not there', async () => {
    await assert.rejects(new Client(config({ sslmode: 'require', socket: fake() })).connect(), {
      name: 'ConnectionError'
    });
    const liar = await new FakeServer(async conversation => {
      await conversation.first();
      conversation.say('SX');
    }).listen();
    await assert.rejects(new Client({ ...config({ sslmode: 'require' }), port: liar.port }).connect(), {
      code: '08P01',
      message: /neither with S nor with N/
    });
    await liar.stop();
    await assert.rejects(new Client({ ...config({ sslmode: 'require' }), port: liar.port }).connect(), {
      name: 'ConnectionError'
    });
  });

  it('names TLS where workerd has an internal error of the first read or write, and not later', async () => {
    const internal = new Error('internal error; reference = 1');
    const fails = () => Promise.reject(internal);
    const resolved = async () => {};
    const made = (read, write, more) => ({
      readable: { getReader: () => ({ read, releaseLock() {}, closed: resolved() }) },
      writable: { getWriter: () => ({ write, close: resolved, releaseLock() {}, closed: resolved() }) },
      opened: resolved(),
      closed: resolved(),
      close: resolved,
      ...more
    });
    const opened = (sslmode, read, write) => {
      const inside = made(read, write);
      const connected = made(async () => ({ value: Buffer.from('S') }), resolved, { startTls: () => inside });
      const connect = () => (sslmode === 'disable' ? inside : connected);
      return openSocket({ host: 'db.example', port: 5432, sslmode }, async () => ({ connect }));
    };
    const errorOf = async stream => {
      stream.on('data', () => {}).write('startup');
      return (await once(stream, 'error'))[0];
    };
    const never = () => new Promise(() => {});
    for (const [read, write] of [
      [fails, resolved],
      [never, fails]
    ]) {
      const { name, code, message, cause } = await errorOf(await opened('require', read, write));
      assert.deepEqual([name, code, cause], ['ConnectionError', '08001', internal]);
      assert.match(message, /^TLS handshake: is the certificate for this host/);
      assert.equal(await errorOf(await opened('disable', read, write)), internal);
    }
    let reads = 0;
    const first = () => (reads++ === 0 ? Promise.resolve({ value: Buffer.from('R'), done: false }) : fails());
    assert.equal(await errorOf(await opened('require', first, resolved)), internal);
  });

  it('refuses what Workers do not have', async () => {
    await assert.rejects(new Client(config({ host: '/tmp' })).connect(), { message: /Workers have no Unix sockets/ });
    await assert.rejects(new Client(config({ sslmode: 'verify-ca', sslrootcert: '/ca.crt' })).connect(), {
      message: /leave out sslrootcert and sslcert/
    });
    await assert.rejects(new Client(config({ socket: workersSocket })).connect(), {
      code: '08001',
      message: /workersSocket is for Cloudflare Workers/
    });
  });

  it('rejects what is pending when the server is gone, and writes nothing after that', async () => {
    const client = new Client(config({ sslmode: 'require' }));
    await client.connect();
    const pending = client.query('SELECT pg_sleep(60)');
    await Promise.all([
      assert.rejects(pending, { name: 'ConnectionError' }),
      server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(60)'")
    ]);
    await assert.rejects(client.query('SELECT 1'), { code: '08003' });
  });
});

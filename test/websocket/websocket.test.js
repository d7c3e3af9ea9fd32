'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const { pipeline } = require('node:stream/promises');
const { setTimeout: sleep } = require('node:timers/promises');
const path = require('node:path');
const { promisify } = require('node:util');
const { makeCertificates, freePort, skipUnless, startProxy, startServer, startWebsockify } = require('pg-test-fixtures');
const { Client, ConnectionError } = require('../..');
const { resolve } = require('../../lib/config');
const { connect, HIGH_WATER, MAX_HELD } = require('../../lib/websocket/websocket');
const { ENVIRONMENT, failure, message } = require('../connecting');

// The fixtures' own dependency.
const ws = require(require.resolve('ws', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));

/** A WebSocket that does what a test says. */
class FakeWebSocket extends EventTarget {
  readyState = 1;
  bufferedAmount = 0;
  url = 'ws://proxy.example/secret?token=secret';
  sent = [];
  closes = [];
  send(data) { this.sent.push(Buffer.from(data)); }
  close(code) { this.closes.push(code); }
  say(type, fields) { this.dispatchEvent(Object.assign(new Event(type), fields)); }
  data(text) { this.say('message', { data: new Uint8Array(Buffer.from(text)).buffer }); }
}

/** A stream over a fake, with all that it emits. */
async function faked(fields) {
  const socket = Object.assign(new FakeWebSocket(), fields);
  const stream = await connect(() => socket, { host: 'h', port: 1 });
  const events = [];
  for (const type of ['connect', 'drain', 'close']) stream.on(type, () => events.push(type));
  stream.on('data', chunk => events.push(String(chunk)));
  stream.on('error', error => events.push(error));
  return { socket, stream, events };
}

describe('websocket', () => {
  describe('the option', () => {
    const read = config => resolve({ user: 'u', ...config }, undefined, ENVIRONMENT);

    it('is a URL, as a string in any config, or a function', async () => {
      const url = 'wss://proxy.example/v2?token=secret';
      for (const config of [
        read({ websocket: url }), read({ websocket: new URL(url) }), read({ websocket: () => url }),
        resolve(`postgresql://u@db.example?websocket=${encodeURIComponent(url)}`, undefined, ENVIRONMENT)
      ]) {
        assert.equal(typeof config.socket, 'function');
        assert.equal(config.hosts[0].sslmode, 'disable');
        assert.doesNotMatch(JSON.stringify(config), /secret/);
      }
      assert.equal(read({ websocket: url }).hosts[0].host, 'localhost');
      assert.equal(read({ websocket: '' }).socket, undefined);
    });

    it('that is no URL of a WebSocket is refused, and not shown', () => {
      for (const websocket of ['proxy.example', 'https://proxy.example', 'wss://u:secret@proxy.example', 'ws://x/#secret']) {
        assert.throws(() => read({ websocket }), error => {
          assert.match(error.message, /^websocket must be a URL that begins with ws: or wss:/);
          assert.ok(!error.message.includes(websocket));
          return error instanceof TypeError;
        });
      }
      for (const websocket of [{}, [], Symbol('x')]) assert.throws(() => read({ websocket }), TypeError);
    });

    it('does not go with what cannot be kept', () => {
      for (const [more, name] of [
        [{ sslmode: 'verify-full' }, 'sslmode=verify-full'],
        [{ sslmode: 'verify-ca' }, 'sslmode=verify-ca'],
        [{ channel_binding: 'require' }, 'channel_binding=require'],
        [{ sslmode: 'require', sslnegotiation: 'direct' }, 'sslnegotiation=direct'],
        [{ sslrootcert: '/x' }, 'sslrootcert'],
        [{ sslcert: '/x' }, 'sslcert'],
        [{ ssl: {} }, 'an object as ssl']
      ]) {
        assert.throws(() => read({ websocket: 'wss://proxy.example', ...more }), {
          name: 'TypeError',
          message: `${name} cannot be kept over a WebSocket, whose TLS is the platform's and ends at the proxy`
        });
      }
      assert.throws(() => read({ websocket: 'wss://x', socket: () => {} }), /^TypeError: socket and websocket/);
    });

    it('with sslmode=require wants wss:, and opens nothing else', async () => {
      for (const websocket of ['ws://localhost:1/', () => 'ws://localhost:1/', () => new FakeWebSocket()]) {
        const error = await failure({ user: 'u', websocket, sslmode: 'require' });
        assert.match(error.message, /sslmode=require over a WebSocket needs a URL that begins with wss:/);
        assert.equal(error.code, '08001');
      }
      const fake = Object.assign(new FakeWebSocket(), { url: 'wss://proxy.example' });
      await connect(() => fake, { host: 'h', port: 1 }, true);
      assert.deepEqual(fake.closes, []);
    });

    it('that is a function which fails or gives something else rejects', async () => {
      for (const [websocket, expected] of [
        [() => { throw new Error('no way'); }, /connecting: no way/],
        [async () => 5, /gave neither a URL nor a WebSocket/],
        [() => undefined, /gave neither/],
        [() => 'no URL?secret', /the WebSocket could not be made: SyntaxError/],
        [() => Object.assign(new FakeWebSocket(), { readyState: 3 }), /closed already/],
        [() => new Promise(() => {}), /connect_timeout/]
      ]) {
        const error = await failure({ user: 'u', websocket, connect_timeout: 0.3 });
        assert.equal(error.name, 'ConnectionError');
        assert.match(error.message, expected);
        assert.doesNotMatch(error.message, /secret/);
      }
    });

    it('needs a WebSocket of the platform for a URL, and says what to do without', async () => {
      const platform = globalThis.WebSocket;
      globalThis.WebSocket = undefined;
      try {
        const error = await failure({ user: 'u', websocket: 'ws://localhost:1/' });
        assert.match(error.message, /this platform has no WebSocket: let the option websocket be a function/);
      } finally {
        globalThis.WebSocket = platform;
      }
    });
  });

  describe('the stream', () => {
    it('writes in messages of a bounded size, and says when what was written has gone', async () => {
      const { socket, stream, events } = await faked();
      stream.write(Buffer.alloc(600000, 'x'));
      assert.deepEqual(socket.sent.map(({ length }) => length), [262144, 262144, 75712]);
      assert.equal(stream.writableNeedDrain, false);
      socket.bufferedAmount = HIGH_WATER;
      stream.write(Buffer.from('y'));
      assert.equal(stream.writableNeedDrain, true);
      assert.equal(stream.writableLength, HIGH_WATER);
      socket.bufferedAmount = 0;
      await once(stream, 'drain');
      assert.equal(stream.writableNeedDrain, false);
      assert.deepEqual(events, ['drain']);
    });

    it('holds what comes for a reader who waits, in order, and its end with it', async () => {
      const { socket, stream, events } = await faked();
      socket.data('a');
      stream.pause();
      for (const text of 'bcd') socket.data(text);
      socket.say('close', { code: 1000 });
      assert.deepEqual(events, ['a']);
      stream.once('data', () => stream.pause());
      stream.resume();
      assert.deepEqual(events, ['a', 'b']);
      stream.once('data', () => {
        stream.pause();
        stream.resume();
      });
      stream.resume();
      assert.deepEqual(events, ['a', 'b', 'c', 'd', 'close']);
    });

    it('holds a bounded amount', async () => {
      const { socket, stream, events } = await faked();
      stream.pause();
      const data = new ArrayBuffer(MAX_HELD / 4);
      for (let i = 0; i < 4; i++) socket.say('message', { data });
      assert.deepEqual(events, []);
      stream.once('data', () => stream.pause());
      stream.resume();
      events.length = 0;
      socket.say('message', { data });
      assert.deepEqual(events, []); // what was taken does not count
      socket.data('x');
      assert.match(events[0].message, /a WebSocket cannot be told to wait: read large results with a cursor/);
      assert.equal(events[1], 'close');
      assert.equal(socket.closes.length, 1);
    });

    it('ends without an error when it is closed in good order', async () => {
      for (const code of [1000, 1005]) {
        const { socket, events } = await faked();
        socket.say('close', { code });
        socket.say('close', { code });
        assert.deepEqual(events, ['close']);
      }
      const { socket, stream, events } = await faked();
      stream.end();
      assert.deepEqual(socket.closes, [1000]);
      stream.write(Buffer.from('late'));
      assert.deepEqual(socket.sent, []);
      socket.say('close', { code: 1006 }); // after our own end it is nobody's fault
      assert.deepEqual(events, ['close']);
    });

    it('fails with what the WebSocket tells, without its secrets', async () => {
      for (const [state, type, fields, code, expected] of [
        [1, 'close', { code: 1006, reason: '' }, 'ECONNRESET', 'the WebSocket ws://proxy.example was closed with code 1006'],
        [1, 'close', { code: 1011, reason: 'no\n' }, '08006',
          'the WebSocket ws://proxy.example was closed with code 1011 "no\\n"'],
        [1, 'error', {}, 'ECONNRESET', 'the WebSocket ws://proxy.example failed'],
        [0, 'error', { message: 'refused' }, '08001', 'the WebSocket ws://proxy.example could not be opened: refused'],
        [0, 'error', { error: Object.assign(new Error('away'), { code: 'ENOTFOUND' }) }, 'ENOTFOUND',
          'the WebSocket ws://proxy.example could not be opened: away'],
        [0, 'close', { code: 1006 }, '08001', 'the WebSocket ws://proxy.example could not be opened'],
        [1, 'message', { data: 'text' }, '08P01', 'protocol violation: a WebSocket message that is not binary']
      ]) {
        const { socket, stream, events } = await faked({ readyState: state });
        assert.equal(stream.connecting, state === 0);
        socket.say(type, fields);
        socket.say('close', { code: 1006 });
        if (!stream.destroyed) await once(stream, 'close').catch(() => {});
        socket.data('too late');
        const [error, ...rest] = events;
        assert.ok(error instanceof ConnectionError);
        assert.deepEqual([error.code, error.message, rest], [code, expected, ['close']]);
      }
    });

    it('knows of its URL who can listen', async () => {
      for (const [url, encrypted, local] of [
        ['wss://proxy.example', true, false], ['ws://proxy.example', false, false], ['ws://127.0.0.1:80', false, true],
        ['ws://[::1]/', false, true], ['wss://localhost', true, true], [null, false, false]
      ]) {
        const { stream } = await faked({ url });
        assert.deepEqual(stream.websocket, { encrypted, local });
      }
    });
  });

  const PLATFORMS = [
    ["the platform's WebSocket", url => url],
    ['the package ws', url => ({ host, port }) => new ws.WebSocket(`${url}?address=${host}:${port}`)]
  ];

  for (const [name, over] of PLATFORMS) {
    describe(`with ${name}, through websockify`, function () {
      let server;
      let proxy;
      const clients = [];

      before(async function () {
        skipUnless(this, 'websockify');
        server = await startServer({
          users: { cleartext: { password: 'secret' }, scram: { password: 'secret' }, trust: {} },
          hba: [
            'local all all trust', 'host all fixtures all trust', 'host all trust all trust',
            'host all cleartext all password', 'host all scram all scram-sha-256'
          ]
        });
        proxy = await startWebsockify({ target: server });
      });

      after(async () => {
        await proxy?.stop();
        await server?.stop();
      });

      afterEach(() => {
        for (const client of clients.splice(0)) client.destroy();
      });

      const make = config => {
        const { host, port, database } = server;
        const client = new Client({
          host, port, database, user: 'scram', password: 'secret', websocket: over(proxy.url), ...config
        });
        clients.push(client);
        return client;
      };

      const connected = async config => {
        const client = make(config);
        await client.connect();
        return client;
      };

      /** Asks the server until it gives a value. */
      const until = async (text, wanted) => {
        while (Object.values((await server.sql(text))[0])[0] !== wanted);
      };

      it('does all that a client does', async () => {
        const { exercise, EXPECTED } = await import('../exercise.mjs');
        const { host, port, database } = server;
        const config = { host, port, database, user: 'scram', password: 'secret', websocket: over(proxy.url) };
        assert.deepEqual(await exercise(Client, config), EXPECTED);
      });

      it('carries COPY, both ways', async () => {
        const client = await connected();
        const sum = await client.transaction(async tx => {
          await tx.query('CREATE TEMP TABLE t (n int)');
          const target = tx.copyFrom('COPY t FROM STDIN');
          await pipeline(async function * () {
            for (let i = 0; i < 200; i++) yield `${i}\n`.repeat(5000); // large enough to be lent to a socket
          }, target);
          assert.equal(target.rowCount, 1000000);
          return (await tx.query('SELECT sum(n) FROM t')).rows[0].sum;
        });
        assert.equal(sum, '99500000');
        let bytes = 0;
        for await (const chunk of client.copyTo('COPY t TO STDOUT')) bytes += chunk.length;
        assert.equal(bytes, 3450000);
        await client.end();
        assert.equal(await client.closed, undefined);
      });

      it('carries large values both ways', async () => {
        const client = await connected();
        const value = Buffer.alloc(5000000, 'abcdefghi');
        const { rows: [row] } = await client.query('SELECT $1::bytea AS back, length($1::bytea) AS length', [value],
          { format: Client.BINARY });
        assert.ok(row.back.equals(value));
        await client.end();
      });

      it('holds a bounded amount for a reader who waits', async () => {
        const waits = name.includes('package'); // it can be told to
        const client = await connected();
        const source = client.copyTo("COPY (SELECT repeat('x', 9999) FROM generate_series(1, 10000)) TO STDOUT");
        let length = 0;
        const reading = (async () => {
          for await (const chunk of source) {
            if (length === 0) await (waits ? sleep(500) : client.closed);
            length += chunk.length;
          }
        })();
        if (waits) {
          await reading;
          assert.equal(length, 100000000);
          return client.end();
        }
        await assert.rejects(reading, { name: 'ConnectionError', message: /more than 67108864 bytes have come/ });
        assert.match((await client.closed).message, /read large results with a cursor/);
      });

      it('cancels over a second WebSocket, by a signal and by cancel()', async () => {
        const client = await connected();
        const controller = new AbortController();
        const sleeping = client.query('SELECT pg_sleep(600)', [], { signal: controller.signal });
        const waiting = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)' AND wait_event = 'PgSleep'";
        await until(waiting, '1');
        controller.abort();
        await assert.rejects(sleeping, { name: 'AbortError' });
        assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, '1');
        const again = client.query('SELECT pg_sleep(600)');
        again.catch(() => {});
        await until(waiting, '1');
        await client.cancel();
        await assert.rejects(again, { code: '57014' });
        await client.end();
      });

      it('settles everything when the proxy dies in the middle', async () => {
        const own = await startWebsockify({ target: server });
        const client = await connected({ websocket: over(own.url) });
        const asked = [
          client.query('SELECT pg_sleep(600)'), client.query('SELECT 1'),
          client.transaction(tx => tx.query('SELECT 1')), client.end()
        ];
        const settled = Promise.allSettled(asked);
        await own.stop();
        const [one, two, three, end] = await settled;
        for (const { reason } of [one, two, three]) {
          assert.ok(reason instanceof ConnectionError);
          assert.match(reason.message, /the connection was lost: the WebSocket ws:.* (failed|was closed with code 1006)/);
        }
        assert.equal(end.status, 'fulfilled');
        assert.ok(await client.closed instanceof ConnectionError);
        await assert.rejects(client.connect(), { name: 'ConnectionError' });
      });

      it('settles everything when the server ends the session, and on destroy()', async () => {
        const client = await connected();
        const asked = Promise.allSettled([client.query('SELECT pg_sleep(600)'), client.query('SELECT 1')]);
        await server.sql(`SELECT pg_terminate_backend(${client.processId})`);
        const [first, second] = await asked;
        assert.equal(first.reason.code, '57P01');
        assert.ok(second.reason instanceof ConnectionError);
        await client.closed;

        const other = await connected();
        const lost = Promise.allSettled([other.query('SELECT pg_sleep(600)'), other.query('SELECT 1')]);
        other.destroy();
        for (const { reason } of await lost) assert.ok(reason instanceof ConnectionError);
        const gone = `SELECT count(*) FROM pg_stat_activity WHERE pid = ${other.processId}`;
        await server.sql(`SELECT pg_cancel_backend(${other.processId})`); // a server does not look while it sleeps
        await until(gone, '0');
      });

      it('tells why it could not be opened', async () => {
        const port = await freePort();
        const refusing = http.createServer((_, response) => response.end());
        refusing.on('upgrade', (request, socket) => {
          const status = /^\/(\d+)/.exec(request.url)[1];
          socket.end(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
        });
        const garbage = net.createServer(socket => socket.on('error', () => {}).end('what do you want?\r\n\r\n'));
        const text = new ws.WebSocketServer({ port: 0, host: '127.0.0.1' });
        text.on('connection', socket => socket.on('error', () => {}).send('a text'));
        for (const each of [refusing, garbage]) each.listen(0, '127.0.0.1');
        await Promise.all([once(refusing, 'listening'), once(garbage, 'listening')]);
        const nowhere = await startWebsockify({ target: { host: '127.0.0.1', port: await freePort() } });
        try {
          for (const [url, expected] of [
            [`ws://127.0.0.1:${port}/`, /connecting: the WebSocket ws:\S+ could not be opened/],
            [`ws://127.0.0.1:${refusing.address().port}/404`, /connecting: the WebSocket ws:\S+ could not be opened/],
            [`ws://127.0.0.1:${refusing.address().port}/403`, /connecting: the WebSocket ws:\S+ could not be opened/],
            [`ws://127.0.0.1:${refusing.address().port}/200`, /connecting: the WebSocket ws:\S+ could not be opened/],
            [`ws://127.0.0.1:${garbage.address().port}/`, /connecting: the WebSocket ws:\S+ could not be opened/],
            [`ws://127.0.0.1:${text.address().port}/`, /a WebSocket message that is not binary/],
            [nowhere.url, /starting the session: the WebSocket ws:\S+ was closed with code 1011 "Failed to connect/]
          ]) {
            const client = make({ websocket: over(url) });
            const asked = client.query('SELECT 1').catch(error => error);
            await assert.rejects(client.connect(), error => {
              assert.match(error.message, expected);
              return error instanceof ConnectionError;
            });
            assert.ok(await asked instanceof ConnectionError);
          }
        } finally {
          await nowhere.stop();
          text.close();
          refusing.close();
          garbage.close();
        }
      });

      it('keeps to connect_timeout and to several hosts', async () => {
        const silent = net.createServer(socket => socket.on('error', () => {})).listen(0, '127.0.0.1');
        await once(silent, 'listening');
        const url = `ws://127.0.0.1:${silent.address().port}/`;
        try {
          await assert.rejects(make({ websocket: over(url), connect_timeout: 0.3 }).connect(), /connect_timeout/);
          const places = [];
          const client = make({
            host: 'one,two', port: '1,2',
            websocket: place => {
              places.push(place);
              const way = over(place.host === 'one' ? 'ws://127.0.0.1:1/' : proxy.url);
              return typeof way === 'function' ? way(place) : way;
            }
          });
          await client.connect();
          assert.deepEqual(places, [{ host: 'one', port: 1 }, { host: 'two', port: 2 }]);
          await client.end();
        } finally {
          silent.close();
        }
      });

      it('names the server in the URL, and has the first row in the flight after the WebSocket opens', async () => {
        const wire = await startProxy({ target: proxy, record: true });
        try {
          for (const [user, require_auth, flights] of [
            ['cleartext', 'password', 2], ['trust', 'none', 2], ['scram', 'scram-sha-256', 3], ['scram', '', 5]
          ]) {
            const client = make({
              user, ...require_auth && { require_auth }, websocket: over(`ws://${wire.host}:${wire.port}/v1`)
            });
            const ready = client.connect();
            const { rows } = await client.query('SELECT $1::int + 1 AS n', ['41']);
            assert.equal(rows[0].n, '42');
            await ready;
            const connection = wire.connections.at(-1);
            assert.equal(connection.stats.flights.toServer, flights, `${user} ${require_auth}`);
            const [, query] = /^GET \/v1\?(\S+)/.exec(connection.recorded.toServer.toString('latin1'));
            assert.equal(new URLSearchParams(query).get('address'), `${server.host}:${server.port}`);
            await client.end();
          }
        } finally {
          await wire.stop();
        }
      });

      it('sends a cleartext password to another host only if it is encrypted or allowed', async () => {
        const ca = await makeCertificates();
        const secure = await startWebsockify({ target: server, tls: files(ca) });
        const as = (url, socket) => Object.defineProperty(socket, 'url', { value: url });
        const plain = () => as('ws://proxy.example/', new ws.WebSocket(proxy.url));
        const encrypted = () => as('wss://proxy.example/',
          new ws.WebSocket(`wss://localhost:${secure.port}/`, { ca: ca.ca.cert }));
        try {
          await connected({ user: 'cleartext' }); // nobody listens on a loopback address
          await assert.rejects(make({ user: 'cleartext', websocket: plain }).connect(), /cleartext.*not encrypted/);
          await connected({ user: 'cleartext', websocket: plain, require_auth: 'password' });
          const client = await connected({ user: 'cleartext', websocket: encrypted, sslmode: 'require' });
          assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, '1');
          if (name.includes('ws')) {
            const untrusted = () => new ws.WebSocket(`wss://localhost:${secure.port}/`);
            await assert.rejects(make({ websocket: untrusted }).connect(), /could not be opened: .*certificate/);
          }
        } finally {
          await secure.stop();
        }
      });
    });
  }

  /** A certificate for websockify. */
  function files(certificates) {
    const { makeDirectory } = require('pg-test-fixtures/guardian');
    const { server, ca } = certificates.write(makeDirectory('websocket'));
    return { certFile: server.cert, keyFile: server.key, ca: ca.cert };
  }

  it("goes over wss: with the platform's WebSocket, which verifies the proxy's certificate", async function () {
    skipUnless(this, 'websockify');
    const server = await startServer({ auth: 'scram-sha-256', users: { scram: { password: 'secret' } } });
    const certificates = await makeCertificates();
    const proxy = await startWebsockify({ target: server, tls: files(certificates) });
    try {
      const { EXPECTED } = await import('../exercise.mjs');
      const { host, port, database } = server;
      const config = {
        host, port, database, user: 'scram', password: 'secret', websocket: `wss://localhost:${proxy.port}/`, sslmode: 'require'
      };
      const script = `import('../exercise.mjs')
        .then(({ exercise }) => exercise(require('../..').Client, ${JSON.stringify(config)}))
        .then(seen => console.log(JSON.stringify(seen)), error => console.log(JSON.stringify(error.message)))`;
      // Who is trusted is read when a process starts.
      const run = async env => JSON.parse((await promisify(execFile)(process.execPath,
        ['--experimental-websocket', '-e', script], { cwd: __dirname, env: { ...process.env, ...env } })).stdout);
      assert.deepEqual(await run({ NODE_EXTRA_CA_CERTS: files(certificates).ca }), EXPECTED);
      assert.match(await run({}), /the WebSocket wss:\/\/localhost:\d+ could not be opened/);
    } finally {
      await proxy.stop();
      await server.stop();
    }
  });

  it('that can pause does, as the package ws can: a reader who waits holds the server up', async function () {
    const server = new ws.WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const chunk = Buffer.alloc(1 << 20);
    let sent = 0;
    server.on('connection', socket => {
      const more = () => {
        for (; socket.bufferedAmount < 4 * chunk.length && sent < 4 * MAX_HELD; sent += chunk.length) socket.send(chunk);
        if (sent < 4 * MAX_HELD) setTimeout(more, 1);
        else socket.close(1000);
      };
      more();
    });
    const stream = await connect(() => new ws.WebSocket(`ws://127.0.0.1:${server.address().port}`), { host: 'h', port: 1 });
    let received = 0;
    stream.on('error', assert.fail);
    stream.on('data', ({ length }) => {
      received += length;
      // Three turns, in which a WebSocket that does not wait would read on.
      stream.pause();
      setImmediate(() => setImmediate(() => setImmediate(() => stream.resume())));
    });
    await once(stream, 'close');
    assert.equal(received, 4 * MAX_HELD);
    server.close();
  });
});

'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const net = require('node:net');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');
const {
  makeCertificates,
  freePort,
  skipUnless,
  startProxy,
  startServer,
  startWebsockify
} = require('pg-test-fixtures');
const { Client, ConnectionError } = require('../..');
const { webSocket } = require('../../lib/sockets');
const { failure } = require('../support/connecting');
const { standstill } = require('../support/kit');

// The fixtures' own dependency.
const ws = require(require.resolve('ws', { paths: [path.dirname(require.resolve('pg-test-fixtures'))] }));

/** What `webSocket` takes for a WebSocket. */
const fake = fields => Object.assign(new EventTarget(), { readyState: 1, send() {}, close() {}, ...fields });

describe('webSocket', () => {
  describe('makes a socket function', () => {
    const URL_ERROR = 'the URL of a WebSocket must begin with ws: or wss:, without user, password and fragment';

    it('of a URL, as a string too, or of a function; a config that has it shows no secret', () => {
      const url = 'wss://proxy.example/v2?token=secret';
      for (const to of [url, new URL(url), () => url]) {
        const socket = webSocket(to);
        assert.deepEqual([typeof socket, socket.sslmode], ['function', 'disable']);
        assert.doesNotMatch(JSON.stringify(new Client({ host: 'db.example', socket })) + socket, /secret/);
      }
    });

    it('of nothing else', () => {
      for (const to of [
        undefined,
        null,
        {},
        5,
        '',
        'proxy.example',
        'https://proxy.example',
        'wss://u:secret@proxy.example',
        'ws://secret@x/',
        'ws://:secret@x/',
        'ws://x/#secret'
      ]) {
        assert.throws(() => webSocket(to), { name: 'TypeError', message: URL_ERROR });
      }
    });

    it('that refuses TLS inside the WebSocket', async () => {
      for (const sslmode of ['prefer', 'require']) {
        const error = await failure({
          user: 'u',
          host: 'db.example',
          sslmode,
          socket: webSocket(() => fake()),
          connect_timeout: 5
        });
        assert.equal(error.code, '08001');
        assert.match(error.message, new RegExp(`sslmode=${sslmode} is impossible over a WebSocket: use a wss: URL`));
      }
    });

    it('that rejects where the function fails or gives something else', async () => {
      for (const [to, expected] of [
        [
          () => {
            throw new Error('no way');
          },
          /connecting.*: no way/
        ],
        [async () => 5, /gave neither a URL nor a WebSocket/],
        [() => undefined, /gave neither/],
        [() => 'no URL?secret', /the WebSocket could not be made: SyntaxError/],
        [() => fake({ readyState: 3 }), /closed already/],
        [() => new Promise(() => {}), /connect_timeout/]
      ]) {
        const error = await failure({ user: 'u', socket: webSocket(to), connect_timeout: 0.3 });
        assert.equal(error.name, String(expected).includes('connect_timeout') ? 'TimeoutError' : 'ConnectionError');
        assert.match(error.message, expected);
        assert.doesNotMatch(error.message, /secret/);
      }
    });

    it('that needs a WebSocket of the platform for a URL, and says what to do without', async () => {
      const platform = globalThis.WebSocket;
      globalThis.WebSocket = undefined;
      try {
        const error = await failure({ user: 'u', socket: webSocket('ws://localhost:1/') });
        assert.match(error.message, /this platform has no WebSocket: give webSocket\(\) a function that makes one/);
      } finally {
        globalThis.WebSocket = platform;
      }
    });

    it('that is told the server, and names it in the URL', async () => {
      const told = [];
      await webSocket(server => told.push(server) && fake())({ host: 'db.example', port: 5432, sslmode: 'disable' });
      assert.deepEqual(told, [{ host: 'db.example', port: 5432 }]);
    });
  });

  const PLATFORMS = [
    ["the platform's WebSocket", url => webSocket(url)],
    ['the package ws', url => webSocket(({ host, port }) => new ws.WebSocket(`${url}?address=${host}:${port}`))]
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
            'local all all trust',
            'host all fixtures all trust',
            'host all trust all trust',
            'host all cleartext all password',
            'host all scram all scram-sha-256'
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
          host,
          port,
          database,
          user: 'scram',
          password: 'secret',
          socket: over(proxy.url),
          ...config
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
        const { exercise, EXPECTED } = await import('../support/exercise.mjs');
        const { host, port, database } = server;
        const config = { host, port, database, user: 'scram', password: 'secret', socket: over(proxy.url) };
        assert.deepEqual(await exercise(Client, config), EXPECTED);
      });

      it('carries COPY, both ways', async () => {
        const client = await connected();
        const sum = await client.transaction(async tx => {
          await tx.query('CREATE TEMP TABLE t (n int)');
          const target = tx.copyFrom('COPY t FROM STDIN');
          await pipeline(async function* () {
            for (let i = 0; i < 200; i++) yield `${i}\n`.repeat(5000); // large enough to be lent to a socket
          }, target);
          assert.equal(target.rowCount, 1000000);
          return (await tx.query('SELECT sum(n) FROM t')).rows[0].sum;
        });
        assert.equal(sum, 99500000);
        let bytes = 0;
        for await (const chunk of client.copyTo('COPY t TO STDOUT')) bytes += chunk.length;
        assert.equal(bytes, 3450000);
        await client.end();
        assert.equal(await client.closed, undefined);
      });

      it('carries large values both ways', async () => {
        const client = await connected();
        const value = Buffer.alloc(5000000, 'abcdefghi');
        const {
          rows: [row]
        } = await client.query('SELECT $1::bytea AS back, length($1::bytea) AS length', [value], {
          format: Client.BINARY
        });
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
            if (length === 0) await (waits ? standstill(() => source.readableLength) : client.closed);
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
        const waiting =
          "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)' AND wait_event = 'PgSleep'";
        await until(waiting, '1');
        controller.abort();
        await assert.rejects(sleeping, { name: 'AbortError' });
        assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
        const again = client.query('SELECT pg_sleep(600)');
        again.catch(() => {});
        await until(waiting, '1');
        await client.cancel();
        await assert.rejects(again, { code: '57014' });
        await client.end();
      });

      it('settles everything when the proxy dies in the middle', async () => {
        const own = await startWebsockify({ target: server });
        const client = await connected({ socket: over(own.url) });
        const asked = [
          client.query('SELECT pg_sleep(600)'),
          client.query('SELECT 1'),
          client.transaction(tx => tx.query('SELECT 1')),
          client.end()
        ];
        const settled = Promise.allSettled(asked);
        await own.stop();
        const [one, two, three, end] = await settled;
        for (const { reason } of [one, two, three]) {
          assert.ok(reason instanceof ConnectionError);
          assert.match(
            reason.message,
            /the connection was lost: the WebSocket ws:.* (failed|was closed with code 1006)/
          );
        }
        assert.equal(end.status, 'fulfilled');
        assert.ok((await client.closed) instanceof ConnectionError);
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
            const client = make({ socket: over(url) });
            const asked = client.query('SELECT 1').catch(error => error);
            await assert.rejects(client.connect(), error => {
              assert.match(error.message, expected);
              return error instanceof ConnectionError;
            });
            assert.ok((await asked) instanceof ConnectionError);
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
          await assert.rejects(make({ socket: over(url), connect_timeout: 0.3 }).connect(), /connect_timeout/);
          const places = [];
          const client = make({
            host: 'one,two',
            port: '1,2',
            socket: webSocket(place => {
              places.push(place);
              const url = place.host === 'one' ? 'ws://127.0.0.1:1/' : proxy.url;
              return name.includes('package') ? new ws.WebSocket(url) : url;
            })
          });
          await client.connect();
          assert.deepEqual(places, [
            { host: 'one', port: 1 },
            { host: 'two', port: 2 }
          ]);
          await client.end();
        } finally {
          silent.close();
        }
      });

      it('names the server in the URL, and has the first row in the flight after the WebSocket opens', async () => {
        const wire = await startProxy({ target: proxy, record: true });
        try {
          for (const [user, require_auth, flights] of [
            ['cleartext', 'password', 2],
            ['trust', 'none', 2],
            ['scram', 'scram-sha-256', 3],
            ['scram', '', 5]
          ]) {
            const client = make({
              user,
              ...(require_auth && { require_auth }),
              socket: over(`ws://${wire.host}:${wire.port}/v1`)
            });
            const ready = client.connect();
            const { rows } = await client.query('SELECT $1::int + 1 AS n', ['41']);
            assert.equal(rows[0].n, 42);
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
        const plain = webSocket(() => as('ws://proxy.example/', new ws.WebSocket(proxy.url)));
        const encrypted = webSocket(() =>
          as('wss://proxy.example/', new ws.WebSocket(`wss://localhost:${secure.port}/`, { ca: ca.ca.cert }))
        );
        try {
          await connected({ user: 'cleartext' }); // nobody listens on a loopback address
          await assert.rejects(make({ user: 'cleartext', socket: plain }).connect(), /cleartext.*not encrypted/);
          await connected({ user: 'cleartext', socket: plain, require_auth: 'password' });
          const client = await connected({ user: 'cleartext', socket: encrypted });
          assert.equal((await client.query('SELECT 1 AS n')).rows[0].n, 1);
          if (name.includes('ws')) {
            const untrusted = webSocket(() => new ws.WebSocket(`wss://localhost:${secure.port}/`));
            await assert.rejects(make({ socket: untrusted }).connect(), /could not be opened: .*certificate/);
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
});

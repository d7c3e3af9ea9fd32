'use strict';

const assert = require('node:assert/strict');
const dns = require('node:dns');
const net = require('node:net');
const tls = require('node:tls');
const { startServer, startProxy, makeCertificates, skipBefore } = require('pg-test-fixtures');
const { open, query, message, withFake, SAY } = require('../../support/connecting');
const { shorten } = require('../../support/hooks');

const CODE = Buffer.from([4, 210, 22, 46]);
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

describe('A cancel request', () => {
  let server;
  let proxy;
  before(async () => {
    server = await startServer({ auth: 'scram-sha-256', tls: true });
    proxy = await startProxy({ target: server, record: true });
  });
  after(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  const TRANSPORTS = {
    'without TLS': { sslmode: 'disable' },
    'with TLS by request': { sslmode: 'require' },
    'with TLS where it is only preferred': { sslmode: 'prefer' },
    'with direct TLS': { sslmode: 'require', sslnegotiation: 'direct' },
    'over a Unix socket': { unix: true },
    "over sockets of the caller's": { socket: () => net.connect(proxy.port, proxy.host), sslmode: 'require' }
  };

  for (const [transport, { unix, ...secure }] of Object.entries(TRANSPORTS)) {
    for (const version of ['3.0', '3.2']) {
      it(`ends what its session is doing, ${transport}, protocol ${version}`, async function () {
        if (secure.sslnegotiation) skipBefore(this, 17, 'direct TLS');
        const place = unix
          ? { host: server.socketDirectory, port: server.port }
          : { host: proxy.host, port: proxy.port };
        const before = proxy.connections.length;
        const session = await open({
          ...server.config,
          ...place,
          ...secure,
          max_protocol_version: version,
          connect_timeout: 20
        });
        const asked = session.ask("SELECT 'begun' FROM pg_sleep(60)");
        // Until the server is at it there would be nothing to cancel.
        const { processId } = session;
        const busy = `SELECT 1 FROM pg_stat_activity WHERE pid = ${processId} AND wait_event = 'PgSleep'`;
        while ((await server.sql(busy)).length === 0);
        assert.equal(await session.cancel(), undefined);
        await asked;
        assert.match(session.errors.join(), /\0C57014\0/);
        await session.end();
        if (unix) return;

        const [first, second] = proxy.connections.slice(before);
        for (const connection of [first, second]) {
          const { toServer } = connection.recorded;
          if (secure.sslmode === 'disable') assert.ok(!toServer.includes(SSL_REQUEST));
          else if (secure.sslnegotiation === 'direct') assert.equal(toServer[0], 22);
          else assert.deepEqual([...toServer.subarray(0, 9)], [...SSL_REQUEST, 22]);
        }
        const { toServer } = second.recorded;
        assert.equal(toServer.includes(CODE), secure.sslmode === 'disable');
        if (secure.sslmode === 'disable') {
          assert.deepEqual(toServer.subarray(4), Buffer.concat([CODE, session.backendKey]));
        }
      });
    }
  }

  it('goes to the very address of its session, with the same name in TLS', async () => {
    const { lookup } = dns;
    let lookups = 0;
    dns.lookup = (name, options, done) => {
      lookups++;
      done(null, [{ address: lookups === 1 ? '127.0.0.1' : '127.0.0.2' }]);
    };
    try {
      const { cert } = (await makeCertificates()).ca;
      const session = await open({
        ...server.config,
        host: 'localhost',
        sslmode: 'verify-full',
        ssl: { ca: cert }
      });
      await session.cancel();
      assert.equal(lookups, 1);
      await session.end();
    } finally {
      dns.lookup = lookup;
    }
  });

  it('has the TLS context of its session, since a new one is a seventh of its CPU', async () => {
    const { createSecureContext } = tls;
    let made = 0;
    tls.createSecureContext = options => {
      made++;
      return createSecureContext(options);
    };
    try {
      const session = await open({ ...server.config, sslmode: 'require' });
      await session.cancel();
      assert.equal(made, 1);
      await session.end();
    } finally {
      tls.createSecureContext = createSecureContext;
    }
  });

  it('carries a key of any length, byte by byte', async () => {
    for (const length of [4, 33, 256]) {
      const key = Buffer.alloc(length, 0xa5);
      let request;
      await withFake(
        async (conversation, number) => {
          if (number === 0) {
            await conversation.first();
            conversation.say(SAY.ok, message('K', 77, key), SAY.ready);
            await conversation.read();
          } else {
            request = await conversation.first();
          }
          conversation.socket.end();
        },
        async fake => {
          const session = await open(fake.config);
          await session.cancel();
          await session.end();
        }
      );
      assert.deepEqual(request, Buffer.concat([CODE, Buffer.from([0, 0, 0, 77]), key]));
    }
  });

  describe('rejects', () => {
    /** A session with a server that does something else with the next connection. */
    async function cancelWith(script, more, use) {
      await withFake(
        async (conversation, number) => {
          if (number > 0) return script(conversation);
          await conversation.first();
          conversation.say(SAY.ok, ...(more.key === false ? [] : [SAY.key]), SAY.ready);
          await conversation.read();
          conversation.socket.end();
        },
        async fake => {
          const socket = more.socket?.(fake);
          const session = await open({ ...fake.config, sslmode: 'disable', connect_timeout: 0.3, socket });
          await use(session, fake);
          await session.end();
        }
      );
    }

    it('when the server does not close the connection within connect_timeout', () =>
      cancelWith(
        async conversation => {
          await conversation.first();
        },
        {},
        session =>
          assert.rejects(session.cancel(), {
            name: 'TimeoutError',
            code: '08001',
            message: /^cancel request to 127\.0\.0\.1:\d+: .*no success within 0.3 s/
          })
      ));

    it('when the server is not there any more', () =>
      cancelWith(
        async () => {},
        {},
        async (session, fake) => {
          fake.server.close();
          await assert.rejects(session.cancel(), { name: 'ConnectionError', code: 'ECONNREFUSED' });
        }
      ));

    it('when the server has given no key', () =>
      cancelWith(
        async () => {},
        { key: false },
        session => assert.rejects(session.cancel(), /sent no BackendKeyData/)
      ));

    it("when the caller's function gives no second socket", () => {
      let calls = 0;
      return cancelWith(
        async () => {},
        { socket: fake => () => (calls++ === 0 ? net.connect(fake.port, '127.0.0.1') : undefined) },
        session => assert.rejects(session.cancel(), { name: 'ConnectionError', message: /return a Duplex stream/ })
      );
    });

    it("when the caller's socket was a single stream", () =>
      cancelWith(
        async () => {},
        { socket: fake => net.connect(fake.port, '127.0.0.1') },
        session => assert.rejects(session.cancel(), /socket must be a function/)
      ));

    it('and sends no key when TLS is refused to it that its session has', async () => {
      const certificate = (await makeCertificates()).server;
      let rest;
      await withFake(
        async (conversation, number) => {
          if (number === 0) {
            await conversation.startTls(certificate);
            await conversation.first();
            conversation.say(SAY.ok, message('K', 77, 'the cancel key'), SAY.ready);
            await conversation.read();
            return conversation.socket.end();
          }
          await conversation.first();
          conversation.say('N');
          await conversation.closed;
          rest = conversation.rest;
        },
        async fake => {
          const session = await open({ ...fake.config, sslmode: 'prefer' });
          await assert.rejects(session.cancel(), /the server does not support TLS/);
          await session.end();
        }
      );
      assert.equal(rest.length, 0);
    });
  });

  it('is over when the server has closed its connection or ten seconds later, and a second after a reset', async () => {
    const begun = performance.now();
    shorten(performance, 'now', () => begun); // what is left of ten seconds is all of them
    for (const [expected, close] of [
      [[10000], socket => socket.end()],
      [[10000, 1000], socket => socket.resetAndDestroy()]
    ]) {
      await withFake(
        async (conversation, number) => {
          await conversation.first();
          if (number > 0) return close(conversation.socket);
          conversation.say(SAY.ok, SAY.key, SAY.ready);
          await conversation.read();
          conversation.socket.end();
        },
        async fake => {
          const session = await open({ ...fake.config, connect_timeout: 0 });
          const { setTimeout } = globalThis;
          const delays = [];
          globalThis.setTimeout = (work, delay) => {
            delays.push(Math.round(delay));
            return setTimeout(work, delay === 1000 ? 0 : delay);
          };
          try {
            await session.cancel();
          } finally {
            globalThis.setTimeout = setTimeout;
          }
          assert.deepEqual(delays, expected);
          await session.end();
        }
      );
    }
  });

  it('that comes when nothing is running does no harm', async () => {
    const session = await open(server.config);
    await session.cancel();
    session.socket.stream.write(query('SELECT 1'));
    await session.ready;
    assert.deepEqual(
      session.errors.filter(text => !text.includes('57014')),
      []
    );
    await session.end();
  });
});

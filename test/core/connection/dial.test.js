'use strict';

const assert = require('node:assert/strict');
const dns = require('node:dns');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Duplex, duplexPair } = require('node:stream');
const { startServer } = require('pg-test-fixtures');
const { resolve } = require('../../../lib/core/config');
const { connect } = require('../../../lib/core/connection');
const { open, failure, message, query, SAY, FakeServer, withFake } = require('../../support/connecting');

const TLS = [{ sslmode: 'disable' }, { sslmode: 'require' }, { sslmode: 'require', sslnegotiation: 'direct' }];

describe('Opening a connection', () => {
  let server;
  let directory;
  before(async () => {
    server = await startServer({ tls: true });
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'dial-'));
  });
  after(async () => {
    fs.rmSync(directory, { recursive: true, force: true });
    await server?.stop();
  });

  const base = more => ({ ...server.config, connect_timeout: 20, ...more });

  it("sends without delay, over a stream of the caller's as well", async () => {
    const { connect: connectStream } = net;
    const told = [];
    const socket = ({ host, port }) => {
      const stream = connectStream(port, host);
      stream.setNoDelay = value => told.push(value);
      return stream;
    };
    net.connect = options => {
      told.push(options.noDelay);
      return connectStream(options);
    };
    try {
      for (const more of [{}, { socket }]) (await open(base(more))).socket.destroy();
    } finally {
      net.connect = connectStream;
    }
    assert.deepEqual(told, [true, true]);
  });

  it('says so where too many begin at once at a Unix socket', async function () {
    if (process.platform !== 'linux') this.skip();
    const fake = new FakeServer(async conversation => {
      await conversation.first();
      conversation.say(SAY.ok, SAY.ready);
      await conversation.read();
      conversation.socket.end();
    });
    const socket = path.join(directory, '.s.PGSQL.5432');
    await fake.listen({ path: socket, backlog: 1 });
    const config = { host: directory, port: 5432, user: 'u', connect_timeout: 20 };
    try {
      // All at once: node accepts none before this turn of the event loop is over.
      const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => open(config)));
      await Promise.all(outcomes.map(({ value }) => value?.end()));
      const [{ code, message }] = outcomes.filter(({ reason }) => reason !== undefined).map(({ reason }) => reason);
      assert.equal(code, 'EAGAIN');
      assert.equal(message, `${socket}: connecting: connect EAGAIN ${socket}: too many connections begin at once`);
    } finally {
      fake.stop();
    }
  });

  it('goes on without TLS where the server has none with sslmode prefer, and not with require', async () => {
    const script = async conversation => {
      await conversation.first();
      conversation.say('N');
      await conversation.first();
      conversation.say(SAY.ok, SAY.ready);
      await conversation.read();
      conversation.socket.end();
    };
    await withFake(script, async fake => {
      const session = await open({ ...fake.config, sslmode: 'prefer' });
      assert.equal(session.encrypted, false);
      await session.end();
      assert.equal(fake.conversations.length, 1);
      const error = await failure({ ...fake.config, sslmode: 'require' });
      assert.match(error.message, /asking for TLS: the server does not support TLS, but sslmode=require requires it/);
      assert.match(
        (await failure({ ...fake.config, ssl: true })).message,
        /the server does not support TLS, but ssl requires it/
      );
    });
  });

  it('reads into the same memory again and again, also where the server has said no to TLS', async function () {
    if (typeof Deno === 'object') this.skip();
    const script = async conversation => {
      await conversation.first();
      conversation.say('N');
      await conversation.first();
      for (conversation.say(SAY.ok, SAY.ready); ; conversation.say(SAY.ready)) await conversation.read();
    };
    await withFake(script, async fake => {
      const { socket } = await open({ ...fake.config, sslmode: 'prefer' });
      const memories = new Set();
      for (let i = 0; i < 2; i++) {
        const chunk = new Promise(resolve => {
          socket.handOver({ chunk: resolve, closed() {} });
        });
        socket.stream.write(query('SELECT 1'));
        memories.add(await chunk);
      }
      assert.equal(memories.size, 1);
      socket.destroy();
    });
  });

  describe("the caller's own socket", () => {
    const tcp = () => net.connect({ host: server.host, port: server.port });

    it('may be a stream, connected or connecting, or a function that gives one sooner or later', async () => {
      const connected = tcp();
      await new Promise(done => {
        connected.once('connect', done);
      });
      for (const socket of [connected, tcp(), tcp, async () => tcp()]) {
        const session = await open(base({ socket }));
        assert.deepEqual(await session.ask('SELECT 1'), ['1']);
        await session.end();
      }
    });

    const duplexOf = raw => ({ readable: raw, writable: raw });

    it('may be a Duplex of any making, also with TLS on it', async () => {
      for (const tls of TLS.filter(({ sslnegotiation }) => !sslnegotiation || server.version >= 17)) {
        const raw = tcp();
        const socket = Duplex.from(duplexOf(raw));
        const session = await open(base({ socket, ...tls }));
        assert.equal(session.encrypted, tls.sslmode === 'require');
        assert.deepEqual(await session.ask("SELECT repeat('x', 100000)"), ['x'.repeat(100000)]);
        await session.end();
      }
    });

    it('may say of itself that nobody can listen on the way, so that it gets a password in cleartext', async () => {
      const script = async conversation => {
        await conversation.first();
        conversation.say(SAY.cleartext);
        assert.equal((await conversation.read()).body.toString(), 'secret\0');
        conversation.say(SAY.ok, SAY.ready);
        await conversation.read();
        conversation.socket.end();
      };
      for (const [more, sent] of [
        [{ encrypted: true }, true],
        [{ local: true }, true],
        [{}, false]
      ]) {
        await withFake(script, async fake => {
          const socket = () => Object.assign(Duplex.from(duplexOf(net.connect(fake.port, '127.0.0.1'))), more);
          const config = { ...fake.config, password: 'secret', sslmode: 'disable', socket };
          if (!sent) return assert.match((await failure(config)).message, /cleartext.*the connection is not encrypted/);
          const session = await open(config);
          assert.equal(session.encrypted, false, 'no TLS of ours');
          await session.end();
        });
      }
    });

    it('that says nothing is ended by connect_timeout and destroyed', async function () {
      if (!duplexPair) this.skip();
      for (const tls of TLS) {
        const [ours] = duplexPair();
        const error = await failure(base({ socket: ours, connect_timeout: 0.05, ...tls }));
        assert.match(error.message, /connect_timeout/);
        assert.equal(ours.destroyed, true);
      }
    });

    it('whose function fails, gives no stream, or never answers rejects', async () => {
      for (const [socket, message] of [
        [
          () => {
            throw new Error('no tunnel');
          },
          /connecting: no tunnel/
        ],
        [
          async () => {
            throw new Error('no tunnel');
          },
          /connecting: no tunnel/
        ],
        [
          () => {
            throw null;
          },
          /connecting: the socket function threw null instead of an Error/
        ],
        [() => Promise.reject(), /connecting: the socket function threw undefined/],
        [() => 'a string', /gave a string: return a Duplex stream/],
        [() => undefined, /gave undefined: return a Duplex stream/],
        [() => [], /gave an array: return a Duplex stream/],
        [() => tcp().destroy(), /closed already/],
        [() => new Promise(() => {}), /connect_timeout/]
      ]) {
        const error = await failure(base({ socket, connect_timeout: 0.5 }));
        assert.equal(error.name, String(message).includes('connect_timeout') ? 'TimeoutError' : 'ConnectionError');
        assert.match(error.message, message);
      }
    });

    it('that comes too late is closed', async () => {
      let give;
      const socket = () =>
        new Promise(resolve => {
          give = resolve;
        });
      await failure(base({ socket, connect_timeout: 0.1 }));
      const late = tcp();
      const closed = new Promise(done => {
        late.once('close', done);
      });
      give(late);
      await closed;
    });
  });

  describe('an AbortSignal', () => {
    it('ends connecting at every step, and leaves nothing open', async () => {
      const reason = new Error('changed my mind');
      const steps = [
        async () => {},
        async conversation => {
          await conversation.first();
        },
        async conversation => {
          await conversation.first();
          conversation.say(SAY.sasl('SCRAM-SHA-256'));
          await conversation.read();
        },
        async conversation => {
          await conversation.first();
          conversation.say(SAY.ok, SAY.key);
        }
      ];
      for (const step of steps) {
        const controller = new AbortController();
        await withFake(
          async conversation => {
            await step(conversation);
            controller.abort(reason);
          },
          async fake => {
            const error = await failure({ ...fake.config, password: 'x' }, { signal: controller.signal });
            assert.equal(error.name, 'ConnectionError');
            assert.equal(error.cause, reason);
          }
        );
      }
    });

    it('ends it also at the last moment: no session is ready after it', async () => {
      for (let ticks = 0; ticks < 12; ticks++) {
        await withFake(
          async conversation => {
            await conversation.first();
            conversation.say(SAY.ok, message('N', 'Mhi\0\0'), SAY.ready);
          },
          async fake => {
            const controller = new AbortController();
            const { signal } = controller;
            let tooLate = false;
            const hooks = {
              earlyRequests() {},
              async notice() {
                for (let i = 0; i < ticks; i++) await undefined;
                controller.abort();
              },
              ready({ socket }) {
                tooLate = signal.aborted;
                socket.destroy();
              }
            };
            await connect(resolve(fake.config, undefined, {}), hooks, signal).catch(error => {
              assert.equal(error.message, 'connecting was aborted');
            });
            assert.equal(tooLate, false);
          }
        );
      }
    });

    it('that is aborted already ends it before anything is opened', async () => {
      await withFake(
        async () => assert.fail('a connection was opened'),
        async fake => {
          const error = await failure(fake.config, { signal: AbortSignal.abort() });
          assert.equal(error.name, 'ConnectionError');
          assert.deepEqual(fake.conversations, []);
        }
      );
    });

    it('ends looking for an address', async () => {
      const { lookup } = dns;
      dns.lookup = () => {};
      try {
        const controller = new AbortController();
        setImmediate(() => controller.abort());
        assert.equal((await failure(base({ host: 'db.example' }), controller)).name, 'ConnectionError');
        const error = await failure(base({ host: 'db.example', connect_timeout: 0.1 }));
        assert.match(error.message, /^db\.example:\d+: looking up the address: no success within 0.1 s/);
      } finally {
        dns.lookup = lookup;
      }
    });
  });
});

'use strict';

const assert = require('node:assert/strict');
const { open, failure, message, withFake, SAY } = require('../../support/connecting');

const TIMEOUT = 0.4;

/** When a server falls silent: the step that the error names, what the config has, and what the server does before. */
const SILENCES = {
  'before it answers to the request for TLS': [
    'asking for TLS',
    { sslmode: 'require' },
    conversation => conversation.first()
  ],
  'in the TLS handshake': [
    'TLS handshake',
    { sslmode: 'require' },
    async conversation => {
      await conversation.first();
      conversation.say('S');
    }
  ],
  'in the handshake of direct TLS': ['TLS handshake', { sslmode: 'require', sslnegotiation: 'direct' }, async () => {}],
  'before it answers to the StartupMessage': ['starting the session', {}, conversation => conversation.first()],
  'after an early SCRAM message': [
    'starting the session',
    { require_auth: 'scram-sha-256' },
    conversation => conversation.first()
  ],
  'before it challenges': [
    'authenticating',
    {},
    async conversation => {
      await conversation.first();
      conversation.say(SAY.sasl('SCRAM-SHA-256'));
    }
  ],
  "after SCRAM's last message": [
    'authenticating',
    {},
    async conversation => {
      await conversation.first();
      conversation.say(SAY.sasl('SCRAM-SHA-256'));
      const nonce = /r=(.*)$/.exec((await conversation.read()).body.toString('latin1'))[1];
      conversation.say(SAY.saslContinue(`r=${nonce}more,s=W22Z,i=4096`));
    }
  ],
  'before the session is ready': [
    'waiting for the session to be ready',
    {},
    async conversation => {
      await conversation.first();
      conversation.say(SAY.ok, SAY.key);
    }
  ],
  'when it is asked what kind of session it is': [
    'asking what kind of session it is',
    { target_session_attrs: 'primary' },
    async conversation => {
      await conversation.first();
      conversation.say(SAY.ok, SAY.ready);
    }
  ],
  'halfway through a message': [
    'starting the session',
    {},
    async conversation => {
      await conversation.first();
      conversation.say(SAY.ok.subarray(0, 7));
    }
  ]
};

describe('Starting a session', () => {
  describe('with a server that falls silent is ended by connect_timeout', () => {
    const failures = {};
    before(() => {
      // all at once, since each waits for its time
      for (const [when, [, config, script]] of Object.entries(SILENCES)) {
        failures[when] = withFake(script, fake =>
          failure({ ...fake.config, password: 'x', ...config, connect_timeout: TIMEOUT })
        );
        failures[when].catch(() => {});
      }
    });

    for (const [when, [step]] of Object.entries(SILENCES)) {
      it(when, async () => {
        const { code, message } = await failures[when];
        assert.equal(code, '08001');
        assert.match(message, new RegExp(`${step}: no success within ${TIMEOUT} s \\(connect_timeout\\)`));
      });
    }

    it('in the TLS handshake, and does not go on without TLS when the time is over', async () => {
      const script = async conversation => {
        await conversation.first();
        conversation.say('S');
      };
      await withFake(script, async fake => {
        await failure({ ...fake.config, sslmode: 'prefer', connect_timeout: TIMEOUT });
        await new Promise(later => {
          setTimeout(later, 50);
        });
        assert.equal(fake.conversations.length, 1);
      });
    });
  });

  describe('with a server', () => {
    const good = async conversation => {
      conversation.say(SAY.ok, SAY.key, SAY.ready);
      await conversation.read();
      conversation.socket.end();
    };

    it('is asked for protocol 3.0 unless the config says more, once, whatever comes of it', async () => {
      for (const [config, version] of [
        [{}, 0x30000],
        [{ max_protocol_version: '3.2' }, 0x30002],
        [{ max_protocol_version: 'latest' }, 0x30002],
        [{ min_protocol_version: '3.2' }, 0x30002]
      ]) {
        for (const refuse of [
          conversation => conversation.say(SAY.error('08P01', 'unknown protocol version')),
          conversation => conversation.say(SAY.error('0A000', 'unsupported frontend protocol')),
          () => {}
        ]) {
          await withFake(
            async conversation => {
              assert.equal((await conversation.first()).readUInt32BE(), version);
              refuse(conversation);
              conversation.socket.end();
            },
            async fake => {
              await failure({ ...fake.config, ...config });
              assert.equal(fake.conversations.length, 1);
            }
          );
        }
      }
    });

    it('gets no version below min_protocol_version, whatever it does', async () => {
      for (const refuse of [
        conversation => conversation.say(SAY.error('0A000', 'unsupported frontend protocol 3.2')),
        conversation => conversation.socket.destroy()
      ]) {
        await withFake(
          async conversation => {
            assert.equal((await conversation.first()).readUInt32BE(), 0x30002);
            refuse(conversation);
          },
          async fake => {
            await failure({ ...fake.config, min_protocol_version: '3.2' });
            assert.equal(fake.conversations.length, 1);
          }
        );
      }
    });

    it('that reports parameters without end is refused', async () => {
      await withFake(
        async conversation => {
          await conversation.first();
          conversation.say(SAY.ok);
          for (let i = 0; i <= 1000; i++) conversation.say(SAY.parameter(`p${i}`, 'x'));
          await conversation.closed;
        },
        async fake => assert.match((await failure(fake.config)).message, /more than 1000 parameters/)
      );
    });

    it('that hangs up when it has had requests gets them only once', async () => {
      await withFake(
        async conversation => {
          await conversation.first();
          conversation.socket.end();
        },
        async fake => {
          const flight = Buffer.from('Q\0\0\0\x08hey\0');
          const error = await failure({ ...fake.config, require_auth: 'none' }, { earlyRequests: flight });
          assert.equal(error.code, '08006');
          assert.equal(fake.conversations.length, 1);
        }
      );
    });

    it('that negotiates 3.0 goes on with that, also when it says so twice or names options', async () => {
      for (const negotiation of [
        [SAY.negotiate(0x30000)],
        [SAY.negotiate(0x30000), SAY.negotiate(0x30000)],
        [SAY.negotiate(0)],
        [SAY.negotiate(0x30000, '_pq_.something', '_pq_.other')]
      ]) {
        await withFake(
          async conversation => {
            await conversation.first();
            conversation.say(...negotiation);
            await good(conversation);
          },
          async fake => {
            const session = await open({ ...fake.config, max_protocol_version: 'latest' });
            await session.end();
          }
        );
      }
    });

    it('that gives a cancel key of any length up to 256 bytes, or none, is ready', async () => {
      for (const length of [4, 32, 255, 256, undefined]) {
        await withFake(
          async conversation => {
            await conversation.first();
            conversation.say(SAY.ok, ...(length ? [message('K', 77, Buffer.alloc(length, 5))] : []), SAY.ready);
            await conversation.read();
            conversation.socket.end();
          },
          async fake => {
            const session = await open(fake.config);
            assert.equal(session.backendKey?.length, length && 4 + length);
            assert.equal(session.processId, length && 77);
            await session.end();
          }
        );
      }
    });
  });

  it('gives what this server reports, whatever the last ones have reported', async () => {
    const [a, b] = [SAY.parameter('a', '1'), SAY.parameter('b', '2')];
    const notice = message('N', 'SWARNING\0C01000\0Mcareful\0\0');
    const isNoStandby = [message('T', '\0\0'), message('D', '\0\x01\0\0\0\x01f'), message('C', 'SELECT 1\0')];
    for (const [messages, expected, answer] of [
      [[a, b], { a: '1', b: '2' }],
      [[a, b], { a: '1', b: '2' }],
      [[a, b, SAY.parameter('c', '3')], { a: '1', b: '2', c: '3' }],
      [[a, b, SAY.parameter('b', '4')], { a: '1', b: '4' }],
      [[a], { a: '1' }],
      [[a, notice, b], { a: '1', b: '2' }],
      [[b], { b: '2' }],
      [[b], { a: '1', b: '2' }, [a, ...isNoStandby]],
      [[a], { a: '1' }],
      [[], {}]
    ]) {
      await withFake(
        async conversation => {
          await conversation.first();
          conversation.say(SAY.ok, ...messages, SAY.key, SAY.ready);
          await conversation.read();
          if (answer === undefined) return conversation.socket.end();
          conversation.say(...answer, SAY.ready);
          await conversation.read();
          conversation.socket.end();
        },
        async fake => {
          const session = await open({ ...fake.config, ...(answer && { target_session_attrs: 'primary' }) });
          assert.deepEqual({ ...session.parameters }, expected);
          assert.equal(session.notices.length, messages.includes(notice) ? 1 : 0);
          session.parameters.b = 'what SET has changed';
          await session.end();
        }
      );
    }
  });

  it('passes notices on', async () => {
    await withFake(
      async conversation => {
        await conversation.first();
        conversation.say(SAY.ok, message('N', 'SWARNING\0C01000\0Mcareful\0\0'), SAY.ready);
        await conversation.read();
        conversation.socket.end();
      },
      async fake => {
        const session = await open(fake.config);
        assert.deepEqual(session.notices, [{ severity: 'WARNING', code: '01000', message: 'careful' }]);
        await session.end();
      }
    );
  });
});

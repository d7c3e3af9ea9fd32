'use strict';

const assert = require('node:assert/strict');
const crypto = require('node:crypto');
const net = require('node:net');
const { Duplex } = require('node:stream');
const { inspect } = require('node:util');
const { makeCertificates } = require('pg-test-fixtures');
const { failure, message, query, SAY, withFake } = require('../support/connecting');

/*
 * Servers that lie. Whatever they do, the client ends with a clear error, has closed the connection (withFake
 * waits for that), and has given away nothing made of the password: neither itself nor a message that carries
 * something derived from it.
 */

const PASSWORD = 'correct horse battery staple';
const SECRET_QUERY = 'SELECT the_crown_jewels';

describe('A lying server', () => {
  let certificate;
  before(async () => {
    certificate = (await makeCertificates()).server;
  });

  /** Connects to it and checks the error; `gave`: an answer to a challenge may have been sent. */
  async function lie(script, config, { code, message: pattern, gave = false }) {
    return withFake(script, async fake => {
      const options = { ...fake.config, password: PASSWORD, ...config };
      const error = await failure(options, { earlyRequests: query(SECRET_QUERY) });
      assert.equal(error.name, 'ConnectionError', inspect(error));
      assert.equal(error.code, code, error.message);
      assert.match(error.message, pattern);
      assert.ok(error.message.startsWith(`127.0.0.1:${fake.port}: `), error.message);
      assert.doesNotMatch(inspect(error, { depth: 9, showHidden: true }), new RegExp(PASSWORD));
      await fake.closed();
      assert.equal(fake.conversations.length, 1);
      const sent = fake.received;
      assert.doesNotMatch(sent, new RegExp(PASSWORD));
      if (!gave) assert.doesNotMatch(sent, /md5[0-9a-f]{32}|,p=|crown/);
      return error;
    });
  }

  describe('asked for TLS', () => {
    const answer =
      (...bytes) =>
      async conversation => {
        await conversation.first();
        conversation.say(...bytes);
      };
    const modes = ['prefer', 'require', 'verify-full'];
    const config = sslmode => ({ sslmode, sslrootcert: sslmode === 'verify-full' ? 'system' : undefined });

    it('gets nowhere with bytes behind its yes, or behind its no', async () => {
      for (const sslmode of modes) {
        for (const yes of ['S', 'N']) {
          await lie(answer(yes, SAY.ok, SAY.ready), config(sslmode), {
            code: '08P01',
            message: /asking for TLS: .*unencrypted bytes behind the answer/
          });
        }
      }
    });

    it('gets nowhere with plaintext that follows its yes later, where TLS should be', async () => {
      const script = async conversation => {
        await conversation.first();
        conversation.say('S');
        await new Promise(later => {
          setTimeout(later, 30);
        });
        conversation.say(SAY.ok, SAY.key, SAY.ready);
      };
      await withFake(script, async fake => {
        const error = await failure({ ...fake.config, password: PASSWORD, sslmode: 'require' });
        assert.match(error.message, /TLS handshake: |unencrypted bytes/);
        assert.doesNotMatch(fake.received, new RegExp(PASSWORD));
      });
    });

    it('gets nowhere with plaintext behind its yes, however soon that comes', async () => {
      const found = [];
      for (let ticks = 0; ticks < 6; ticks++) {
        const socket = new Duplex({
          read() {},
          write: () =>
            setImmediate(async () => {
              socket.emit('data', Buffer.from('S'));
              for (let i = 0; i < ticks; i++) await undefined;
              socket.emit('data', SAY.ok);
              setImmediate(() => socket.destroy());
            })
        });
        const { code, message } = await failure({ user: 'u', host: 'db.example', sslmode: 'require', socket });
        found.push(code === '08P01' ? /unencrypted bytes (behind|before)/.exec(message)?.[1] : 'TLS');
      }
      assert.deepEqual([...new Set(found)], ['behind', 'before', 'TLS']);
    });

    it('is not quoted when it answers with an error', async () => {
      for (const sslmode of modes) {
        const error = await lie(
          answer(SAY.error('28P01', 'please send your password to evil.example')),
          config(sslmode),
          { code: '08P01', message: /asking for TLS: .*answered SSLRequest with byte 69, neither S nor N/ }
        );
        assert.doesNotMatch(inspect(error), /evil/);
      }
    });

    it('gets nowhere with another byte', async () => {
      for (const byte of ['X', '\0', 'R', 's']) {
        await lie(answer(byte), config('require'), {
          code: '08P01',
          message: new RegExp(`with byte ${byte.charCodeAt()}, neither S nor N: does PostgreSQL listen there`)
        });
      }
    });

    it('gets nowhere by closing the connection', async () => {
      const script = async conversation => {
        await conversation.first();
        conversation.socket.end();
      };
      await lie(script, config('require'), {
        code: '08006',
        message: /asking for TLS: the server closed the connection/
      });
    });

    it('gets nowhere with direct TLS for another protocol', async () => {
      const script = async conversation => conversation.secure(certificate, { ALPNProtocols: undefined });
      await lie(
        script,
        { sslmode: 'require', sslnegotiation: 'direct' },
        { code: '08P01', message: /did not agree.*ALPN/ }
      );
    });
  });

  /** Scripts of the authentication, over plaintext or TLS. */
  const OVER = {
    plaintext: {
      config: { sslmode: 'disable' },
      async begin(conversation) {
        return conversation.first();
      }
    },
    TLS: {
      config: { sslmode: 'require' },
      async begin(conversation) {
        await conversation.startTls(certificate);
        return conversation.first();
      }
    }
  };

  for (const [over, { config, begin }] of Object.entries(OVER)) {
    describe(`authenticating over ${over}`, () => {
      const scram = { ...config, require_auth: 'scram-sha-256' };
      const offer = over === 'TLS' ? SAY.sasl('SCRAM-SHA-256-PLUS', 'SCRAM-SHA-256') : SAY.sasl('SCRAM-SHA-256');

      /** Goes as far as the client's first SCRAM message and gives its nonce. */
      async function first(conversation) {
        await begin(conversation);
        conversation.say(offer);
        const { body } = await conversation.read();
        return /r=(.*)$/.exec(body.toString('latin1'))[1];
      }
      const challenge = (nonce, salt = 'W22ZaJ0SNY7soEsUEjb6gQ==', count = 4096) =>
        SAY.saslContinue(`r=${nonce}more,s=${salt},i=${count}`);

      it('is refused when it lets us in without the method that is required', async () => {
        const script = async conversation => {
          await begin(conversation);
          conversation.say(SAY.ok, SAY.key, SAY.ready);
        };
        for (const require_auth of ['scram-sha-256', 'md5', '!none', 'md5,scram-sha-256']) {
          await lie(script, { ...config, require_auth }, { code: '28000', message: /authenticating: / });
        }
      });

      it('is refused when it lets us in halfway through SCRAM', async () => {
        const after = [
          async conversation => {
            await first(conversation);
          },
          async conversation => {
            conversation.say(challenge(await first(conversation)));
            await conversation.read();
          }
        ];
        for (const required of [{}, { require_auth: 'scram-sha-256' }, { require_auth: 'scram-sha-256,none' }]) {
          for (const [i, part] of after.entries()) {
            await lie(
              async conversation => {
                await part(conversation);
                conversation.say(SAY.ok, SAY.key, SAY.ready);
              },
              { ...config, ...required },
              { code: '28000', message: /before it proved/, gave: i === 1 }
            );
          }
        }
      });

      it('is refused when it goes on while we are computing', async () => {
        await lie(
          async conversation => {
            conversation.say(challenge(await first(conversation), undefined, 300000), SAY.ok, SAY.key, SAY.ready);
          },
          config,
          { code: '08P01', message: /authenticating: .*invalid response of type 0x52/ }
        );
      });

      it('is refused when its signature is wrong or missing', async () => {
        for (const [final, pattern] of [
          [`v=${crypto.randomBytes(32).toString('base64')}`, /signature is wrong/],
          ['', /malformed/],
          ['v=', /malformed/],
          ['e=other-error', /malformed/]
        ]) {
          await lie(
            async conversation => {
              conversation.say(challenge(await first(conversation)));
              await conversation.read();
              conversation.say(SAY.saslFinal(final), SAY.ok, SAY.key, SAY.ready);
            },
            scram,
            { code: '28000', message: pattern, gave: true }
          );
        }
      });

      it('is refused for a foreign nonce, an empty salt, no iterations or 2^31 of them', async () => {
        for (const [reply, pattern] of [
          [() => challenge('somebodyelses'), /nonce does not continue that of the client/],
          [nonce => challenge(nonce, ''), /malformed/],
          [nonce => challenge(nonce, undefined, 0), /malformed/],
          [nonce => challenge(nonce, undefined, 2 ** 31), /2147483648 iterations/]
        ]) {
          for (const more of [config, scram]) {
            await lie(async conversation => conversation.say(reply(await first(conversation))), more, {
              code: '28000',
              message: pattern
            });
          }
        }
      });

      it('cannot talk us down to a method that require_auth does not allow', async () => {
        for (const require_auth of ['scram-sha-256', 'scram-sha-256,none', '!password,!md5']) {
          for (const request of [SAY.cleartext, SAY.md5]) {
            await lie(
              async conversation => {
                await begin(conversation);
                conversation.say(request);
              },
              { ...config, require_auth },
              { code: '28000', message: /but require_auth allows only/ }
            );
          }
        }
      });

      it('cannot talk us out of channel binding when it is required', async () => {
        for (const request of [SAY.sasl('SCRAM-SHA-256'), SAY.cleartext, SAY.md5, SAY.ok]) {
          for (const more of [{}, { require_auth: 'scram-sha-256' }]) {
            const early = over === 'plaintext' && more.require_auth;
            await lie(
              async conversation => {
                await begin(conversation);
                conversation.say(request);
              },
              { ...config, ...more, channel_binding: 'require' },
              {
                code: '28000',
                message: early ? /no TLS/ : /channel binding|require_auth|SCRAM-SHA-256-PLUS|before it proved/
              }
            );
          }
        }
      });

      it('that announces a message of 2 GB before it has let us in is not waited for', async () => {
        for (const [type, length] of [
          ['R', 0x7fffffff],
          ['R', 70000],
          ['E', 70000],
          ['R', 3],
          ['R', 0xffffffff]
        ]) {
          await lie(
            async conversation => {
              await begin(conversation);
              const head = Buffer.from(`${type}\0\0\0\0`);
              head.writeUInt32BE(length, 1);
              conversation.say(head, Buffer.alloc(1000));
            },
            config,
            { code: '08P01', message: /announces \d+ bytes/ }
          );
        }
      });

      it('is refused when it says anything else before it has let us in', async () => {
        for (const other of [
          SAY.ready,
          SAY.parameter('a', 'b'),
          SAY.key,
          message('N', 'Mhi\0\0'),
          message('D', '\0\0'),
          message('\0')
        ]) {
          await lie(
            async conversation => {
              await begin(conversation);
              conversation.say(other);
            },
            config,
            { code: '08P01', message: /starting the session: .*invalid response of type/ }
          );
        }
      });

      it('is refused for messages of a wrong length', async () => {
        const pieces = [
          [message('R')],
          [message('R', '\0\0')],
          [message('R', 5, 'sal')],
          [message('v', 0x30000)],
          [message('v', 0x30000, 1)],
          [message('v', 0x30000, 1, '_pq_.x')],
          [message('v', 0x30000, 0, 'x')],
          [SAY.ok, message('Z')],
          [SAY.ok, message('Z', 'II')],
          [SAY.ok, message('K', 1)],
          [SAY.ok, message('K', 1, Buffer.alloc(257))],
          [SAY.ok, message('S', 'a\0b')],
          [SAY.ok, message('S', 'a')],
          [SAY.ok, message('S')],
          [SAY.ok, message('E', 'Mhi')],
          [SAY.ok, message('N', 'Mhi')],
          [SAY.ok, message('Z', 'T')],
          [SAY.ok, message('D', '\0\0')]
        ];
        for (const messages of pieces) {
          await lie(
            async conversation => {
              await begin(conversation);
              conversation.say(...messages);
            },
            config,
            { code: '08P01', message: /protocol violation/ }
          );
        }
      });

      it('is refused for a protocol version that makes no sense', async () => {
        for (const version of [0x20000, 0x30001, 0x30003, 0x40000, 0xffffffff]) {
          await lie(
            async conversation => {
              await begin(conversation);
              conversation.say(SAY.negotiate(version), SAY.ok, SAY.ready);
            },
            config,
            { code: '08P01', message: /NegotiateProtocolVersion names version/ }
          );
        }
        await lie(
          async conversation => {
            await begin(conversation);
            conversation.say(SAY.negotiate(0x30000), SAY.ok, SAY.ready);
          },
          { ...config, min_protocol_version: '3.2' },
          { code: '08001', message: /min_protocol_version/ }
        );
      });

      it('that closes the connection at any step is told from one that refuses', async () => {
        const steps = [
          [
            async conversation => {
              await begin(conversation);
            },
            /starting the session/
          ],
          [
            async conversation => {
              await first(conversation);
            },
            /authenticating/
          ],
          [
            async conversation => {
              await begin(conversation);
              conversation.say(SAY.ok);
            },
            /waiting for the session to be ready/
          ]
        ];
        for (const [step, doing] of steps) {
          await lie(
            async conversation => {
              await step(conversation);
              conversation.socket.end();
            },
            config,
            {
              code: '08006',
              message: new RegExp(`${doing.source}: the server closed the connection`)
            }
          );
        }
      });
    });
  }

  it('without TLS gets no cleartext password when it is another host, whatever it offers', async () => {
    // The caller's own socket leads who knows where.
    await withFake(
      async conversation => {
        await conversation.first();
        conversation.say(SAY.cleartext);
      },
      async fake => {
        const socket = () => net.connect(fake.port, '127.0.0.1');
        for (const sslmode of ['disable', 'allow']) {
          const error = await failure({
            ...fake.config,
            password: PASSWORD,
            socket,
            sslmode,
            connect_timeout: 1
          });
          assert.match(error.message, /cleartext, and the connection is not encrypted|TLS/);
        }
        assert.doesNotMatch(fake.received, new RegExp(PASSWORD));
      }
    );
  });

  it('that has had the password under TLS does not get it again without', async () => {
    for (const require_auth of [undefined, 'password']) {
      await withFake(
        async conversation => {
          await conversation.startTls(certificate);
          await conversation.first();
          conversation.say(SAY.cleartext);
          await conversation.read();
          conversation.say(SAY.error('28000', 'try it without TLS'));
        },
        async fake => {
          const config = { ...fake.config, password: PASSWORD, sslmode: 'prefer', require_auth };
          const error = await failure(config);
          assert.match(error.message, /: try it without TLS$/);
          assert.equal(fake.conversations.length, 1);
        }
      );
    }
  });

  it('that has had the password with the StartupMessage under TLS does not get it again without', async () => {
    await withFake(
      async conversation => {
        await conversation.startTls(certificate);
        await conversation.first();
        conversation.say(SAY.error('28000', 'try it without TLS'));
      },
      async fake => {
        const config = { ...fake.config, password: PASSWORD, sslmode: 'prefer', require_auth: 'password' };
        assert.match((await failure(config)).message, /: try it without TLS$/);
        assert.equal(fake.conversations.length, 1);
      }
    );
  });

  describe('that is given a token', () => {
    const TOKEN = 'eyJhbGciOi.JSUzI1NiIs.In0-_~+/x=';
    const GREETING = [SAY.ok, SAY.key, SAY.ready];
    const refusal = (more = {}) => SAY.saslContinue(JSON.stringify({ status: 'invalid_token', ...more }));

    /** The server asks for a token, and gets it. */
    const given = then => async conversation => {
      await conversation.first();
      conversation.say(SAY.sasl('OAUTHBEARER'));
      await conversation.read();
      await then(conversation);
    };

    /** What it says then; what the client makes of it. */
    const LIES = {
      'a second request for it': [[SAY.sasl('OAUTHBEARER')], '08P01', /out of order/],
      'another method': [[SAY.cleartext], '08P01', /out of order/],
      'what belongs to SCRAM': [[SAY.saslFinal('v=x')], '08P01', /out of order/],
      'a reason that is no JSON': [[SAY.saslContinue('{"status"')], '08001', /malformed/],
      'a reason without a status': [[SAY.saslContinue('{}')], '08001', /malformed/],
      'a reason of 60 kB of brackets': [[SAY.saslContinue('['.repeat(60000))], '08001', /malformed/],
      'a reason, and that all is well': [[refusal(), ...GREETING], '08P01', /accepts the client out of order/],
      'a reason twice': [[refusal(), refusal()], '08P01', /out of order/],
      'a reason, and another method': [[refusal(), SAY.cleartext], '08P01', /out of order/],
      'the token as its error': [[refusal(), SAY.error('28000', `wrong: ${TOKEN}`)], '28000', /repeats the token/],
      'the token as the status': [
        [refusal({ status: TOKEN }), SAY.error('28000', 'wrong')],
        '28000',
        /repeats the token/
      ],
      'the token as the reason': [[refusal({ x: [TOKEN] }), SAY.error('28000', 'wrong')], '28000', /repeats the token/],
      'the token in an error at once': [[SAY.error('28P01', TOKEN)], '28P01', /repeats the token/],
      'the token in an error later': [[SAY.ok, SAY.error('53300', TOKEN)], '53300', /repeats the token/],
      'a second message, and nothing': [[refusal()], '08006', /closed the connection/]
    };
    for (const [lie, [says, code, pattern]] of Object.entries(LIES)) {
      it(`gets neither a query nor an error with the token for ${lie}`, async () => {
        for (const require_auth of ['', 'oauth']) {
          const script = given(conversation => {
            conversation.say(...says);
            conversation.socket.end();
          });
          await withFake(script, async fake => {
            const config = { ...fake.config, oauth_token: TOKEN, password: PASSWORD, require_auth };
            const error = await failure(config, { earlyRequests: query(SECRET_QUERY) });
            assert.equal(error.code, code, inspect(error));
            assert.match(error.message, pattern);
            const shown = inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error) + error.stack;
            assert.ok(!shown.includes(TOKEN), shown);
            assert.doesNotMatch(fake.received, new RegExp(`crown|${PASSWORD}`));
            assert.equal(fake.received.split(TOKEN).length, 2);
            assert.equal(fake.conversations.length, 1);
          });
        }
      });
    }
  });

  it('that fails TLS gets no password in plaintext with sslmode prefer', async () => {
    await withFake(
      async (conversation, number) => {
        await conversation.first();
        if (number === 0) {
          conversation.say('S');
          return conversation.socket.end('not TLS at all');
        }
        conversation.say(SAY.cleartext);
      },
      async fake => {
        const socket = () => net.connect(fake.port, '127.0.0.1');
        const error = await failure({
          ...fake.config,
          password: PASSWORD,
          sslmode: 'prefer',
          socket,
          connect_timeout: 1
        });
        assert.equal(error.name, 'ConnectionError');
        assert.doesNotMatch(fake.received, new RegExp(PASSWORD));
      }
    );
  });
});

'use strict';

const assert = require('node:assert/strict');
const net = require('node:net');
const { inspect } = require('node:util');
const { byToken, makeCertificates, skipBefore, skipUnless, startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('../../..');
const { Pool } = require('../../../lib/pool');
const { issuerIn, readRefusal } = require('../../../lib/core/connection/oauth');
const { failure, FakeServer, open, query, SAY, withFake } = require('../../support/connecting');
const { afterTest, endAfterTest } = require('../../support/hooks');

const TOKEN = 'mF_9.B5f-4.1JqM';
const ISSUER = 'https://id.example/realm';
const DISCOVERY = `${ISSUER}/.well-known/openid-configuration`;

/** What PostgreSQL says of a token that its validator refuses. */
const refusal = (more = {}) =>
  SAY.saslContinue(
    JSON.stringify({ status: 'invalid_token', 'openid-configuration': DISCOVERY, scope: 'openid', ...more })
  );
const FAILED = SAY.error('28000', 'OAuth bearer authentication failed for user "someone"');

/** The message that has a token, as in RFC 7628, section 4.1, with PostgreSQL's empty authzid. */
const first = token => `n,,\x01auth=${token && `Bearer ${token}`}\x01\x01`;

/** A server that asks for a token; `accept` gets what it has received for one, and answers. */
const asking = accept => async (conversation, number) => {
  await conversation.first();
  conversation.say(SAY.sasl('OAUTHBEARER'));
  const { type, body } = await conversation.read();
  assert.equal(type, 'p');
  const [, mechanism, length, message] = /^([^\0]*)\0(.{4})(.*)$/s.exec(body.toString('latin1'));
  assert.equal(mechanism, 'OAUTHBEARER');
  assert.equal(Buffer.from(length, 'latin1').readUInt32BE(), message.length);
  await accept(conversation, message, number);
};
const accept = conversation => conversation.say(SAY.ok, SAY.key, SAY.ready);
async function refuse(conversation, said = refusal()) {
  conversation.say(said);
  const { body } = await conversation.read();
  assert.equal(body.toString('latin1'), '\x01');
  conversation.say(FAILED);
  conversation.socket.end();
}

const shows = error => inspect(error, { depth: 9, showHidden: true }) + JSON.stringify(error) + error.stack;

describe('OAUTHBEARER, against a real server with a validator,', () => {
  let server;
  before(async function () {
    skipUnless(this, 'cc');
    skipBefore(this, 18, 'authentication by OAuth');
    server = await startServer({
      ...(await byToken({ issuer: ISSUER, scope: 'openid db' })),
      tls: true,
      users: { app: {} }
    });
  });
  after(() => server?.stop());

  const configOf = config => ({
    host: server.host,
    port: server.port,
    user: 'app',
    database: 'postgres',
    oauth_token: 'for.app',
    ...config
  });
  const ways = { asked: {}, ahead: { require_auth: 'oauth' }, 'over TLS': { sslmode: 'require' } };

  for (const [way, config] of Object.entries(ways)) {
    it(`lets a right token in, and says why a wrong one is refused: ${way}`, async () => {
      const client = endAfterTest(new Client(configOf(config)));
      await client.connect();
      assert.deepEqual((await client.query('SELECT system_user AS u')).rows[0].toObject(), { u: 'oauth:app' });
      const connecting = new Client(configOf({ ...config, oauth_token: 'for.another' }));
      const [connected, asked] = await Promise.allSettled([connecting.connect(), connecting.query('SELECT 1')]);
      const { reason } = connected;
      assert.deepEqual([reason.name, reason.code], ['PostgresError', '28000']);
      assert.deepEqual(JSON.parse(reason.detail), {
        status: 'invalid_token',
        'openid-configuration': DISCOVERY,
        scope: 'openid db'
      });
      assert.equal(asked.reason.code, '28000'); // and not 08P01
      assert.equal(asked.reason.sent, false);
      assert.doesNotMatch(shows(reason) + shows(asked.reason), /for\.another/);
    });

    it(`tells a function that asks who issues tokens, on a connection of its own: ${way}`, async () => {
      const proxy = await startProxy({ target: server });
      afterTest(() => proxy.stop());
      const oauth_token = async ({ discover, ...whom }) => {
        assert.deepEqual(whom, { host: proxy.host, port: proxy.port, user: 'app', database: 'postgres' });
        assert.deepEqual(await discover(), { issuer: ISSUER, openid_configuration: DISCOVERY, scope: 'openid db' });
        return `for.${whom.user}`;
      };
      const client = endAfterTest(new Client(configOf({ ...config, port: proxy.port, oauth_token })));
      await client.connect();
      assert.equal(proxy.connections.length, 2);
    });
  }

  it('calls the function for each connection of a pool', async () => {
    let calls = 0;
    const oauth_token = async () => {
      calls++;
      return 'for.app';
    };
    const pool = endAfterTest(new Pool(configOf({ oauth_token }), { size: 4 })); // one of which no owner has
    let held = 0;
    let allHeld;
    const all = new Promise(resolve => {
      allHeld = resolve;
    });
    const hold = async client => {
      await client.query('SELECT 1');
      if (++held === 3) allHeld();
      await all;
    };
    await Promise.all([1, 2, 3].map(() => pool.connection(hold)));
    assert.equal(calls, 3);
  });

  it('takes one flight less where require_auth says so', async () => {
    const flights = async config => {
      const proxy = await startProxy({ target: server, delay: 20 });
      afterTest(() => proxy.stop());
      const client = endAfterTest(new Client(configOf({ ...config, port: proxy.port })));
      await Promise.all([client.connect(), client.query('SELECT 1')]);
      return proxy.connections[0].stats.flights.toServer;
    };
    assert.deepEqual([await flights({}), await flights({ require_auth: 'oauth' })], [3, 2]);
  });
});

describe('OAUTHBEARER', () => {
  it('sends the token in one message, when the server asks or with the StartupMessage', async () => {
    for (const require_auth of [undefined, 'oauth', 'oauth,scram-sha-256', '!password']) {
      for (const oauth_token of [TOKEN, () => TOKEN, async () => TOKEN]) {
        const seen = [];
        const script = asking((conversation, message) => {
          seen.push(message);
          accept(conversation);
        });
        await withFake(script, async fake => {
          const session = await open(
            { ...fake.config, require_auth, oauth_token },
            { earlyRequests: query('SELECT 1') }
          );
          assert.equal(session.taken, 0); // queries wait for AuthenticationOk
          await session.end();
        });
        assert.deepEqual(seen, [first(TOKEN)]);
      }
    }
  });

  it('asks for no password, and reads no password file, where require_auth names oauth alone', async () => {
    const password = () => assert.fail('called');
    await withFake(asking(accept), async fake => {
      await (await open({ ...fake.config, password, oauth_token: TOKEN, require_auth: 'oauth' })).end();
    });
  });

  it('takes the token before SCRAM if the server offers both, and SCRAM without a token or if require_auth excludes it', async () => {
    const both = async conversation => {
      await conversation.first();
      conversation.say(SAY.sasl('SCRAM-SHA-256', 'OAUTHBEARER'));
      await conversation.read();
      conversation.socket.end();
    };
    for (const [config, mechanism] of [
      [{ oauth_token: TOKEN }, 'OAUTHBEARER'],
      [{ oauth_token: TOKEN, require_auth: 'scram-sha-256,oauth' }, 'OAUTHBEARER'],
      [{}, 'SCRAM-SHA-256'],
      [{ oauth_token: TOKEN, require_auth: '!oauth' }, 'SCRAM-SHA-256'],
      [{ oauth_token: TOKEN, require_auth: 'scram-sha-256' }, 'SCRAM-SHA-256']
    ]) {
      await withFake(both, async fake => {
        await failure({ ...fake.config, password: 'p', ...config });
        assert.match(fake.received, new RegExp(`p\\0\\0\\0.${mechanism}\\0`, 's'));
        assert.equal(fake.received.includes(TOKEN), mechanism === 'OAUTHBEARER');
      });
    }
  });

  it('is refused before a token is sent if require_auth, channel_binding or the lack of a token says so', async () => {
    for (const [config, message] of [
      [{ require_auth: 'scram-sha-256' }, /asks for oauth, but require_auth allows only scram-sha-256/],
      [{ require_auth: '!oauth' }, /asks for oauth, but require_auth allows only/],
      [{ channel_binding: 'require', sslmode: 'disable' }, /asks for oauth, but channel binding is required/],
      [{ oauth_token: undefined }, /no OAuth token was given: set oauth_token/],
      [{ oauth_token: () => undefined }, /no OAuth token was given/],
      [{ oauth_token: () => '' }, /the oauth_token function gave a string: return a bearer token/],
      [{ oauth_token: () => `${TOKEN}\n` }, /the oauth_token function gave a string: return a bearer token/],
      [{ oauth_token: () => `${TOKEN}\x01host=evil` }, /the oauth_token function gave a string: return a bearer token/],
      [{ oauth_token: () => 5 }, /the oauth_token function gave a number/],
      [{ oauth_token: () => Promise.reject(new Error('no cloud')) }, /the oauth_token function failed: no cloud/]
    ]) {
      const script = async conversation => {
        await conversation.first();
        conversation.say(SAY.sasl('OAUTHBEARER'));
      };
      await withFake(script, async fake => {
        const given = { ...fake.config, password: 'p', oauth_token: TOKEN, ...config };
        const error = await failure(given);
        assert.deepEqual([error.name, error.code], ['ConnectionError', '28000'], inspect(error));
        assert.match(error.message, message);
        assert.doesNotMatch(fake.received + shows(error), new RegExp(`${TOKEN}|Bearer`));
      });
    }
  });

  it('goes on only with a server that asks for it, if require_auth names it alone', async () => {
    for (const [request, message] of [
      [SAY.ok, /did not ask for authentication, but require_auth allows only oauth/],
      [SAY.cleartext, /asks for password, but require_auth allows only oauth/],
      [SAY.md5, /asks for md5, but/],
      [SAY.sasl('SCRAM-SHA-256'), /asks for scram-sha-256, but/],
      [SAY.sasl('FOO'), /asks for scram-sha-256, but/]
    ]) {
      const script = async conversation => {
        await conversation.first();
        conversation.say(request);
      };
      await withFake(script, async fake => {
        const config = { ...fake.config, oauth_token: TOKEN, password: 'p', require_auth: 'oauth' };
        const error = await failure(config);
        assert.deepEqual([error.name, error.code], ['ConnectionError', '28000']);
        assert.match(error.message, message);
      });
    }
  });

  it('has the time of connect_timeout for the function, and stops with the signal', async () => {
    for (const require_auth of ['', 'oauth']) {
      const script = async conversation => {
        await conversation.first();
        conversation.say(SAY.sasl('OAUTHBEARER'));
      };
      await withFake(script, async fake => {
        const oauth_token = () => new Promise(() => {});
        const late = await failure({ ...fake.config, oauth_token, require_auth, connect_timeout: 0.1 });
        assert.deepEqual([late.name, late.code], ['TimeoutError', '08001']);
        const controller = new AbortController();
        const stopped = failure({ ...fake.config, oauth_token, require_auth }, { signal: controller.signal });
        controller.abort();
        assert.match((await stopped).message, /aborted/);
      });
    }
  });

  it('has the status of a refusal in the detail, with the code of the server', async () => {
    for (const status of ['invalid_token', 'insufficient_scope', 'invalid_request']) {
      await withFake(
        asking(conversation => refuse(conversation, refusal({ status }))),
        async fake => {
          const error = await failure({ ...fake.config, oauth_token: TOKEN });
          assert.deepEqual(
            [error.name, error.code, JSON.parse(error.detail).status],
            ['PostgresError', '28000', status]
          );
          assert.equal(fake.conversations.length, 1);
        }
      );
    }
  });

  it('has each host its own token of the function, and a string only one host that does not accept it', async () => {
    const hosts = await Promise.all(
      [0, 1].map(async () => {
        const seen = [];
        const script = asking((conversation, message) => {
          seen.push(message);
          conversation.socket.end();
        });
        const fake = await new FakeServer(script).listen();
        afterTest(() => fake.stop());
        return { seen, port: fake.port };
      })
    );
    const ports = hosts.map(({ port }) => port);
    const config = { user: 'u', host: '127.0.0.1,127.0.0.1', port: ports.join(), connect_timeout: 20 };
    for (const require_auth of ['', 'oauth']) {
      await failure({ ...config, require_auth, oauth_token: ({ port }) => `for.${port}` });
      assert.deepEqual(
        hosts.map(({ seen }) => seen.splice(0)),
        ports.map(port => [first(`for.${port}`)])
      );
      await failure({ ...config, require_auth, oauth_token: TOKEN });
      assert.deepEqual(
        hosts.map(({ seen }) => seen.splice(0)),
        [[first(TOKEN)], []]
      );
    }
  });

  it('sends a string to the next host if the first one was not there, or accepted it and is of another kind', async () => {
    const kind = value => (conversation, message) => {
      assert.equal(message, first(TOKEN));
      conversation.say(
        SAY.ok,
        SAY.parameter('in_hot_standby', value),
        SAY.parameter('default_transaction_read_only', 'off')
      );
      conversation.say(SAY.key, SAY.ready);
    };
    const fakes = await Promise.all(['on', 'off'].map(value => new FakeServer(asking(kind(value))).listen()));
    for (const fake of fakes) afterTest(() => fake.stop());
    const config = {
      user: 'u',
      host: '127.0.0.1,127.0.0.1,127.0.0.1',
      port: `1,${fakes.map(({ port }) => port)}`,
      target_session_attrs: 'primary'
    };
    const session = await open({ ...config, oauth_token: TOKEN });
    assert.equal(session.port, fakes[1].port);
    await session.end();
  });

  it('asks for the issuer with an empty token, by the rules of a token, and in the time of the connection', async () => {
    const discover = ({ discover: ask }) => ask().then(({ issuer }) => assert.equal(issuer, ISSUER) ?? TOKEN);
    const seen = [];
    const script = asking((conversation, message) => {
      seen.push(message);
      return message === first('') ? refuse(conversation) : accept(conversation);
    });
    await withFake(script, async fake => {
      await (await open({ ...fake.config, oauth_token: discover })).end();
      await (await open({ ...fake.config, oauth_token: discover, require_auth: 'oauth' })).end();
    });
    assert.deepEqual(seen.sort(), [first(''), first(''), first(TOKEN), first(TOKEN)].sort());

    for (const [answer, message] of [
      [conversation => refuse(conversation, refusal({ 'openid-configuration': undefined })), /names no https/],
      [conversation => refuse(conversation, refusal({ 'openid-configuration': 'http://x' })), /names no https/],
      [conversation => conversation.say(SAY.ok, SAY.key, SAY.ready), /accepts the client out of order/],
      [conversation => conversation.socket.end(), /the server closed the connection/],
      [() => {}, /no success within 0.2 s/]
    ]) {
      await withFake(asking(answer), async fake => {
        const error = await failure({
          ...fake.config,
          oauth_token: discover,
          require_auth: 'oauth',
          connect_timeout: 0.2
        });
        assert.match(error.message, message);
      });
    }
  });

  it('reads what a server says as libpq does, and nothing else', () => {
    const of = value => readRefusal(Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)));
    assert.equal(of({ status: 'invalid_token' }).status, 'invalid_token'); // RFC 7628, section 4.3
    for (const wrong of [
      '',
      '[]',
      'null',
      '"x"',
      '{',
      '{}',
      { status: 1 },
      { status: 'x', scope: 1 },
      '['.repeat(60000)
    ]) {
      assert.throws(() => of(wrong), /malformed/, String(wrong).slice(0, 20));
    }
    assert.throws(() => of({ status: 'x', 'openid-configuration': [DISCOVERY] }), /malformed/);
    const issuerOf = url => issuerIn({ 'openid-configuration': url }).issuer;
    for (const [url, issuer] of [
      ['https://id.example/.well-known/openid-configuration', 'https://id.example'],
      ['https://id.example/a/b/.well-known/openid-configuration', 'https://id.example/a/b'],
      ['https://id.example/.well-known/oauth-authorization-server/a/b', 'https://id.example/a/b'],
      ['https://id.example:8443/.well-known/oauth-authorization-server', 'https://id.example:8443'],
      ['https://id.example/a//.well-known/openid-configuration', 'https://id.example/a/']
    ])
      assert.equal(issuerOf(url), issuer);
    for (const url of [
      'http://id.example/.well-known/openid-configuration',
      'https:///.well-known/openid-configuration',
      'https://id.example/openid-configuration',
      'https://id.example/.well-known/openid-configuration-bad',
      'https://id.example/.well-known/other',
      'https://id.example/.well-known/other/.well-known/openid-configuration',
      'https://id.example/a/.well-known/openid-configuration/b',
      'https://id.example/.well-known/openid-configuration?x',
      'https://id.example/?/.well-known/openid-configuration',
      'https://id.example/.well-known/openid-configuration#x',
      'https://id.example/ /.well-known/openid-configuration',
      ''
    ])
      assert.throws(() => issuerOf(url), /names no https/, url);
    const begun = process.cpuUsage().user;
    assert.throws(() => issuerOf(`https://x${'/'.repeat(60000)}`));
    assert.throws(() => issuerOf(`https://x${'/.well-known/'.repeat(5000)}`));
    assert.ok(process.cpuUsage().user - begun < 1e6);
  });

  it('goes to another host over TLS alone, whatever require_auth names, and not to one whose certificate is wrong', async () => {
    const { server, wrongName, ca } = await makeCertificates();
    const secure = certificate => async conversation => {
      if (certificate) await conversation.startTls(certificate);
      await asking(accept)(conversation);
    };
    const full = { sslmode: 'verify-full', ssl: { ca: ca.cert } };
    for (const require_auth of ['', 'oauth']) {
      for (const [certificate, config, message] of [
        [server, full],
        [server, { sslmode: 'require' }],
        [wrongName, full, /TLS handshake: /],
        [undefined, { sslmode: 'disable' }, /goes to another host over TLS alone/],
        [undefined, { sslmode: 'disable', oauth_token: ({ discover }) => discover() }, /goes to another host over TLS/]
      ]) {
        await withFake(secure(certificate), async fake => {
          const socket = () => net.connect(fake.port, '127.0.0.1'); // that is not known to be local
          const given = { ...fake.config, socket, host: 'localhost', oauth_token: TOKEN, require_auth, ...config };
          if (message === undefined) return (await open(given)).end();
          assert.match((await failure(given)).message, message);
          assert.doesNotMatch(fake.received, new RegExp(`${TOKEN}|Bearer|auth=`));
        });
      }
    }
  });

  it('goes to this machine without TLS, and does not go a second time if the server refuses it over TLS', async () => {
    const { server } = await makeCertificates();
    for (const require_auth of ['', 'oauth']) {
      const script = async conversation => {
        await conversation.startTls(server);
        await conversation.first();
        if (require_auth === '') conversation.say(SAY.sasl('OAUTHBEARER'));
        await conversation.read();
        conversation.say(FAILED);
      };
      await withFake(script, async fake => {
        const error = await failure({ ...fake.config, sslmode: 'prefer', oauth_token: TOKEN, require_auth });
        assert.equal(error.code, '28000');
        assert.equal(fake.conversations.length, 1);
      });
    }
  });
});

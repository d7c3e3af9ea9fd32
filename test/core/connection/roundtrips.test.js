'use strict';

const assert = require('node:assert/strict');
const { startServer, startProxy, skipBefore, SERVER_VERSION } = require('pg-test-fixtures');
const { Client } = require('../../..');

/** Milliseconds one way: enough for what is sent at once to be on its way before the answer comes. */
const DELAY = 20;

const WITHOUT = { sslmode: 'disable' };
const BY_REQUEST = { sslmode: 'require' };
// Before PostgreSQL 18 a server takes prime256v1 only, and has Node.js say its first words of TLS once more.
const HELLO_AGAIN = SERVER_VERSION < 18 ? 1 : 0;
const DIRECT = { sslmode: 'require', sslnegotiation: 'direct' };

describe("Round trips to the first row, TCP's own included", function () {
  this.timeout(60000);
  let server;
  let proxy;

  before(async () => {
    server = await startServer({
      tls: true,
      users: {
        trust: {},
        password: { password: 'secret' },
        scram: { password: 'secret' },
        md5: { password: 'secret', encryption: 'md5' }
      },
      hba: [
        'local all all trust',
        'host all trust all trust',
        'host all password all password',
        'host all md5 all md5',
        'host all scram all scram-sha-256'
      ]
    });
    proxy = await startProxy({ target: server, delay: DELAY });
  });

  after(async () => {
    await proxy?.stop();
    await server?.stop();
  });

  /** Connects and asks at once; gives the flights to the server. Its own round trip TCP makes without data. */
  async function flightsOf(config, parameters) {
    const client = new Client({
      host: proxy.host,
      port: proxy.port,
      database: 'postgres',
      password: 'secret',
      ...config
    });
    const connected = client.connect();
    const [text, values] = parameters ? ['SELECT $1::int + 1 AS n', ['41']] : ['SELECT 42 AS n', []];
    const { rows } = await client.query(text, values);
    assert.equal(rows[0].n, 42);
    await connected;
    const { flights } = proxy.connections.at(-1).stats;
    client.destroy();
    return flights.toServer;
  }

  const rows = [
    ['trust', 'trust', WITHOUT, 'none', 2],
    ['a cleartext password', 'password', WITHOUT, 'password', 2],
    ['MD5', 'md5', WITHOUT, 'md5', 3],
    ['SCRAM', 'scram', WITHOUT, 'scram-sha-256', 3],
    ['TLS and trust', 'trust', BY_REQUEST, 'none', 4],
    ['TLS and a password', 'password', BY_REQUEST, 'password', 4],
    ['TLS and SCRAM', 'scram', BY_REQUEST, 'scram-sha-256', 5],
    ['direct TLS and trust', 'trust', DIRECT, 'none', 3],
    ['direct TLS and a password', 'password', DIRECT, 'password', 3],
    ['direct TLS and SCRAM', 'scram', DIRECT, 'scram-sha-256', 4],
    ['trust, no method named', 'trust', WITHOUT, '', 3],
    ['SCRAM, no method named', 'scram', WITHOUT, '', 5],
    ['direct TLS and SCRAM, no method named', 'scram', DIRECT, '', 6]
  ];

  for (const [what, user, tls, require_auth, trips] of rows) {
    it(`are ${trips} with ${what}`, async function () {
      if (tls === DIRECT) skipBefore(this, 17, 'direct TLS');
      const expected = trips + (tls === WITHOUT ? 0 : HELLO_AGAIN);
      for (const parameters of [false, true]) {
        const flights = await flightsOf({ user, ...tls, ...(require_auth && { require_auth }) }, parameters);
        assert.equal(flights + 1, expected);
      }
    });
  }
});

'use strict';

// Round trips until the first row, TCP's own included, counted by the fixtures' latency proxy:
//
//     node roundtrips.js            a Markdown table of Quickgres, pg and postgres
//
// Each client is told all it can be told: Quickgres and nobody else has require_auth, by which it need not wait
// to be asked. Where a first query with a parameter takes another number, that follows in brackets.

const pg = require('pg');
const postgres = require('postgres');
const { startServer, startProxy } = require('pg-test-fixtures');
const { Client } = require('..');

/** Milliseconds one way: enough for the machine's own time not to matter. */
const DELAY = 50;
const TRIES = Number(process.env.BENCH_ROUNDS ?? 3);

const TEXT = 'SELECT 42 AS n';
const PARAMETERIZED = 'SELECT $1::int + 1 AS n';

const ROWS = [
  ['trust', 'trust', {}, 'none'],
  ['cleartext password', 'password', {}, 'password'],
  ['MD5', 'md5', {}, 'md5'],
  ['SCRAM-SHA-256', 'scram', {}, 'scram-sha-256'],
  ['TLS, trust', 'trust', { tls: 'postgres' }, 'none'],
  ['TLS, cleartext password', 'password', { tls: 'postgres' }, 'password'],
  ['TLS, SCRAM-SHA-256', 'scram', { tls: 'postgres' }, 'scram-sha-256'],
  ['direct TLS, trust', 'trust', { tls: 'direct' }, 'none'],
  ['direct TLS, cleartext password', 'password', { tls: 'direct' }, 'password'],
  ['direct TLS, SCRAM-SHA-256', 'scram', { tls: 'direct' }, 'scram-sha-256']
];

/** Each connects, asks at once, and gives the row's n. */
const CLIENTS = {
  async quickgres({ place, user, tls, require_auth, values }) {
    const client = new Client({
      ...place,
      user,
      require_auth,
      sslmode: tls ? 'require' : 'disable',
      sslnegotiation: tls ?? 'postgres'
    });
    const connected = client.connect();
    const { rows } = await client.query(values ? PARAMETERIZED : TEXT, values);
    await connected;
    client.destroy();
    return rows[0].n;
  },

  async 'quickgres, method not named'(options) {
    return CLIENTS.quickgres({ ...options, require_auth: undefined });
  },

  async pg({ place, user, tls, values }) {
    const client = new pg.Client({
      ...place,
      user,
      ssl: tls && { rejectUnauthorized: false },
      sslnegotiation: tls
    });
    client.on('error', () => {});
    const connected = client.connect();
    const { rows } = await client.query(values ? PARAMETERIZED : TEXT, values);
    await connected;
    client.connection.stream.destroy();
    return rows[0].n;
  },

  async postgres({ place, user, tls, values }) {
    const sql = postgres({
      ...place,
      username: user,
      ssl: tls && { rejectUnauthorized: false },
      sslnegotiation: tls,
      max: 1,
      fetch_types: false
    });
    const [{ n }] = await sql.unsafe(values ? PARAMETERIZED : TEXT, values);
    sql.end({ timeout: 0 }).catch(() => {});
    return n;
  }
};

/**
 * Counts the round trips of one client.
 * @returns {Promise<number>} from the time that it took, checked against the flights that were seen
 */
async function count(proxy, connect, options) {
  let fastest = Infinity;
  let flights;
  for (let i = 0; i < TRIES; i++) {
    const begun = performance.now();
    const n = await connect(options);
    fastest = Math.min(fastest, performance.now() - begun);
    if (Number(n) !== 42) throw new Error(`a wrong answer: ${n}`);
    flights = proxy.connections.at(-1).stats.flights.toServer;
  }
  const trips = Math.floor(fastest / (2 * DELAY) + 0.05);
  return trips === flights + 1 ? String(trips) : `${trips} (${flights} flights)`;
}

async function main() {
  const secret = { password: 'secret' };
  const server = await startServer({
    tls: true,
    users: { trust: {}, password: secret, scram: secret, md5: { ...secret, encryption: 'md5' } },
    hba: [
      'local all all trust',
      'host all trust all trust',
      'host all password all password',
      'host all md5 all md5',
      'host all scram all scram-sha-256'
    ]
  });
  const proxy = await startProxy({ target: server, delay: DELAY });
  const place = { host: proxy.host, port: proxy.port, database: 'postgres', password: 'secret' };
  const names = Object.keys(CLIENTS);
  console.log(`| | ${names.join(' | ')} |\n|---|${names.map(() => '---').join('|')}|`);
  try {
    for (const [what, user, { tls }, require_auth] of ROWS) {
      const cells = [];
      for (const name of names) {
        const options = { place, user, tls, require_auth };
        const plain = await count(proxy, CLIENTS[name], options);
        const parameterized = await count(proxy, CLIENTS[name], { ...options, values: ['41'] });
        cells.push(plain === parameterized ? plain : `${plain} [${parameterized}]`);
      }
      console.log(`| ${what} | ${cells.join(' | ')} |`);
    }
  } finally {
    await proxy.stop();
    await server.stop();
  }
}

main();

'use strict';

// TLS of node-postgres itself and of quickgres/pg, with the same configs on the same servers.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { startServer, makeCertificates } = require('pg-test-fixtures');
const theirs = require('pg');
const ours = require('../../lib/pg');

const VARIABLES = ['PGSSLMODE', 'PGSSLROOTCERT', 'NODE_TLS_REJECT_UNAUTHORIZED', 'HOME'];

/** Servers, by what is special about them. */
const SERVERS = {
  'a good certificate': ({ server, ca }) => ({ tls: { ...server, ca } }),
  'a certificate of another host': ({ wrongName, ca }) => ({ tls: { ...wrongName, ca } }),
  'a self-signed certificate': ({ selfSigned }) => ({ tls: selfSigned }),
  'no TLS': () => ({}),
  'no session without TLS': ({ server, ca }) => ({ tls: { ...server, ca }, hba: ['hostssl all all all trust'] }),
  'no session without a certificate of the client': ({ server, ca }) => ({
    tls: { ...server, ca },
    hba: ['hostssl all all all trust clientcert=verify-ca', 'hostnossl all all all trust']
  })
};

/** A pool makes its clients of the config that it was given: what the server is like has no part in that. */
const OF_POOLS = ['a good certificate', 'a certificate of another host'];

const own = new Error('not this one');

/** What is added to the config or, as a text, to the URL; `url` is for both, `env` has variables. */
const CONFIGS = {
  nothing: () => ({}),
  'nothing in a URL': () => '',
  'ssl: true': () => ({ ssl: true }),
  'ssl: false': () => ({ ssl: false }),
  'ssl: null': () => ({ ssl: null }),
  'ssl: {}': () => ({ ssl: {} }),
  "ssl: 'true'": () => ({ ssl: 'true' }),
  "ssl: 'require'": () => ({ ssl: 'require' }),
  "ssl: 'no-verify'": () => ({ ssl: 'no-verify' }),
  "ssl: 'disable'": () => ({ ssl: 'disable' }),
  "ssl: 'false'": () => ({ ssl: 'false' }),
  "ssl: ''": () => ({ ssl: '' }),
  'ssl: 0': () => ({ ssl: 0 }),
  'ssl: 1': () => ({ ssl: 1 }),
  ca: ({ ca }) => ({ ssl: { ca } }),
  'ca as a Buffer': ({ ca }) => ({ ssl: { ca: Buffer.from(ca) } }),
  'ca in a list': ({ ca }) => ({ ssl: { ca: [ca] } }),
  'another ca': ({ other }) => ({ ssl: { ca: other } }),
  'not verified': () => ({ ssl: { rejectUnauthorized: false } }),
  'not verified, with ca': ({ ca }) => ({ ssl: { rejectUnauthorized: false, ca } }),
  'verified by rejectUnauthorized': () => ({ ssl: { rejectUnauthorized: true } }),
  'rejectUnauthorized: undefined': ({ ca }) => ({ ssl: { rejectUnauthorized: undefined, ca } }),
  'rejectUnauthorized: null': ({ ca }) => ({ ssl: { rejectUnauthorized: null, ca } }),
  'rejectUnauthorized: 0': () => ({ ssl: { rejectUnauthorized: 0 } }),
  "rejectUnauthorized: 'false'": () => ({ ssl: { rejectUnauthorized: 'false' } }),
  servername: ({ ca }) => ({ ssl: { ca, servername: 'other.example' } }),
  'servername, by address': ({ ca }) => ({ host: '127.0.0.1', ssl: { ca, servername: 'other.example' } }),
  'no servername': ({ ca }) => ({ ssl: { ca, servername: '' } }),
  'ca, by address': ({ ca }) => ({ host: '127.0.0.1', ssl: { ca } }),
  'ssl.host': ({ ca }) => ({ ssl: { ca, host: 'other.example' } }),
  'cert and key': ({ ca, cert, key }) => ({ ssl: { ca, cert, key } }),
  'cert and key, not verified': ({ cert, key }) => ({ ssl: { cert, key, rejectUnauthorized: false } }),
  'cert without key': ({ ca, cert }) => ({ ssl: { ca, cert } }),
  'a key of another cert': ({ ca, cert, otherKey }) => ({ ssl: { ca, cert, key: otherKey } }),
  'ca that is no certificate': () => ({ ssl: { ca: 'nothing' } }),
  'checkServerIdentity accepts': ({ ca }) => ({ ssl: { ca, checkServerIdentity: () => undefined } }),
  'checkServerIdentity refuses': ({ ca }) => ({ ssl: { ca, checkServerIdentity: () => own } }),
  'checkServerIdentity throws': ({ ca }) => ({
    ssl: {
      ca,
      checkServerIdentity() {
        throw own;
      }
    }
  }),
  'checkServerIdentity refuses, not verified': ({ ca }) => ({
    ssl: { ca, rejectUnauthorized: false, checkServerIdentity: () => own }
  }),
  'checkServerIdentity returns null': ({ ca }) => ({ ssl: { ca, checkServerIdentity: () => null } }),
  'minVersion 1.3': ({ ca }) => ({ ssl: { ca, minVersion: 'TLSv1.3' } }),
  'maxVersion 1.2': ({ ca }) => ({ ssl: { ca, maxVersion: 'TLSv1.2' } }),
  'sslnegotiation direct': ({ ca }) => ({ sslnegotiation: 'direct', ssl: { ca } }),
  'sslnegotiation postgres': ({ ca }) => ({ sslnegotiation: 'postgres', ssl: { ca } }),
  ...Object.fromEntries(
    'disable allow prefer require verify-ca verify-full no-verify false true REQUIRE nonsense '
      .split(' ')
      .flatMap(mode => [
        [`?sslmode=${mode}`, () => `?sslmode=${mode}`],
        [`?sslmode=${mode}&sslrootcert`, ({ files }) => `?sslmode=${mode}&sslrootcert=${files.ca.cert}`],
        [`?sslmode=${mode} and ssl.ca`, ({ ca }) => ({ url: `?sslmode=${mode}`, ssl: { ca } })],
        [`sslmode: '${mode}'`, () => ({ sslmode: mode })],
        [`sslmode: '${mode}', ssl.ca`, ({ ca }) => ({ sslmode: mode, ssl: { ca } })],
        [`PGSSLMODE=${mode}`, () => ({ env: { PGSSLMODE: mode } })],
        [`PGSSLMODE=${mode}, ssl.ca`, ({ ca }) => ({ env: { PGSSLMODE: mode }, ssl: { ca } })],
        [`PGSSLMODE=${mode}, ssl: false`, () => ({ env: { PGSSLMODE: mode }, ssl: false })],
        [`?sslmode=${mode}&uselibpqcompat=true`, () => `?sslmode=${mode}&uselibpqcompat=true`],
        [
          `?sslmode=${mode}&uselibpqcompat=true&sslrootcert`,
          ({ files }) => `?sslmode=${mode}&uselibpqcompat=true&sslrootcert=${files.ca.cert}`
        ]
      ])
  ),
  ...Object.fromEntries(
    'off no on yes 0 1 none required Require Disable'
      .split(' ')
      .map(word => [`PGSSLMODE=${word}`, () => ({ env: { PGSSLMODE: word } })])
  ),
  ...Object.fromEntries(
    ['true', 'false', '1', '0', 'no-verify', '', 'require', 'disable'].map(word => [
      `?ssl=${word}`,
      () => `?ssl=${word}`
    ])
  ),
  '?sslrootcert': ({ files }) => `?sslrootcert=${files.ca.cert}`,
  '?sslrootcert of another': ({ files }) => `?sslrootcert=${files.selfSigned.cert}`,
  '?sslrootcert that is missing': () => '?sslrootcert=/nonexistent/ca.crt',
  '?sslcert&sslkey&sslrootcert': ({ files: { client, ca } }) =>
    `?sslcert=${client.cert}&sslkey=${client.key}&sslrootcert=${ca.cert}`,
  '?sslcert&sslkey&sslmode=no-verify': ({ files: { client } }) =>
    `?sslcert=${client.cert}&sslkey=${client.key}&sslmode=no-verify`,
  '?sslcert without sslkey': ({ files: { client, ca } }) => `?sslcert=${client.cert}&sslrootcert=${ca.cert}`,
  '?sslcert&sslkey&sslmode=require&uselibpqcompat': ({ files: { client } }) =>
    `?sslcert=${client.cert}&sslkey=${client.key}&sslmode=require&uselibpqcompat=true`,
  'sslnegotiation direct without ssl': () => ({ sslnegotiation: 'direct' }),
  'a Unix socket, ssl: true': (_, { socketDirectory }) => ({ host: socketDirectory, ssl: true }),
  'a Unix socket, ssl: {}': (_, { socketDirectory }) => ({ host: socketDirectory, ssl: {} }),
  'a Unix socket': (_, { socketDirectory }) => ({ host: socketDirectory }),
  '?sslnegotiation=direct': () => '?sslnegotiation=direct',
  '?sslnegotiation=direct&sslmode=no-verify': () => '?sslnegotiation=direct&sslmode=no-verify',
  '?sslnegotiation=direct&sslrootcert': ({ files }) => `?sslnegotiation=direct&sslrootcert=${files.ca.cert}`,
  'sslrootcert in the config': ({ files }) => ({ sslrootcert: files.ca.cert }),
  'sslrootcert and ssl: true in the config': ({ files }) => ({ sslrootcert: files.ca.cert, ssl: true }),
  'sslrootcert and ssl: false in the config': ({ files }) => ({ sslrootcert: files.ca.cert, ssl: false }),
  'sslcert and sslkey in the config': ({ ca, files: { client } }) => ({
    sslcert: client.cert,
    sslkey: client.key,
    ssl: { ca }
  }),
  PGSSLROOTCERT: ({ files }) => ({ env: { PGSSLROOTCERT: files.ca.cert } }),
  'PGSSLROOTCERT, ssl: true': ({ files }) => ({ env: { PGSSLROOTCERT: files.ca.cert }, ssl: true }),
  'PGSSLROOTCERT, PGSSLMODE=require': ({ files }) => ({
    env: { PGSSLROOTCERT: files.ca.cert, PGSSLMODE: 'require' }
  }),
  'PGSSLMODE=require, ?sslmode=disable': () => ({ env: { PGSSLMODE: 'require' }, url: '?sslmode=disable' }),
  'PGSSLMODE=disable, ?sslmode=require': () => ({ env: { PGSSLMODE: 'disable' }, url: '?sslmode=require' }),
  'PGSSLMODE=no-verify, ?ssl=true': () => ({ env: { PGSSLMODE: 'no-verify' }, url: '?ssl=true' }),
  'PGSSLMODE=no-verify, ssl: {}': () => ({ env: { PGSSLMODE: 'no-verify' }, ssl: {} }),
  '?ssl=true and ssl.ca': ({ ca }) => ({ url: '?ssl=true', ssl: { ca } }),
  '?ssl=false and ssl.ca': ({ ca }) => ({ url: '?ssl=false', ssl: { ca } }),
  '?ssl=0 and ssl.ca': ({ ca }) => ({ url: '?ssl=0', ssl: { ca } }),
  'a URL and ssl.ca': ({ ca }) => ({ url: '', ssl: { ca } }),
  'a URL and ssl: true': () => ({ url: '', ssl: true }),
  'a URL and ssl: false': () => ({ url: '', ssl: false }),
  'a URL and no verification': () => ({ url: '', ssl: { rejectUnauthorized: false } }),
  'a URL and sslmode in the config': () => ({ url: '', sslmode: 'require' }),
  '?sslmode=disable and ssl: true': () => ({ url: '?sslmode=disable', ssl: true }),
  '?sslmode=require and ssl: false': () => ({ url: '?sslmode=require', ssl: false }),
  '?sslmode=require and no verification': () => ({ url: '?sslmode=require', ssl: { rejectUnauthorized: false } }),
  '?sslmode=no-verify and verification': () => ({ url: '?sslmode=no-verify', ssl: { rejectUnauthorized: true } }),
  '?sslrootcert and no verification': ({ files }) => ({
    url: `?sslrootcert=${files.ca.cert}`,
    ssl: { rejectUnauthorized: false }
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, ssl: true': () => ({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, ssl: true }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, ssl.ca': ({ ca }) => ({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, ssl: { ca } }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, rejectUnauthorized: true': () => ({
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    ssl: { rejectUnauthorized: true }
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, rejectUnauthorized: undefined': () => ({
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    ssl: { rejectUnauthorized: undefined }
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, ?sslmode=require': () => ({
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    url: '?sslmode=require'
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, ?sslmode=verify-full': () => ({
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
    url: '?sslmode=verify-full'
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0, PGSSLMODE=require': () => ({
    env: { NODE_TLS_REJECT_UNAUTHORIZED: '0', PGSSLMODE: 'require' }
  }),
  'NODE_TLS_REJECT_UNAUTHORIZED=0': () => ({ env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } })
};

/** What a client may not do where `pg` has TLS, or asks for it. */
const NOT_PLAIN = /^(?!plain)/;

/** What differs, by the titles of configs and what there is instead: see lib/pg/README.md, Differences. */
const DIFFERENCES = [
  [/^ssl: '(?:require|false)'|^ssl: 1$|^\?ssl=(?:false|require)/, NOT_PLAIN],
  [/^ssl: 'disable'|^\?ssl=disable/, /^(?:plain|28000)$/],
  [/^servername$/, NOT_PLAIN],
  [/^a Unix socket, ssl/, /^(?:plain|28000)$/],
  [/^sslnegotiation direct without ssl$/, NOT_PLAIN],
  [/^sslmode: '\S+'$|sslmode in the config/, NOT_PLAIN],
  [/^sslrootcert .*in the config$|^sslcert .*in the config$|^PGSSLROOTCERT, /, NOT_PLAIN],
  [/^PGSSLMODE=(?:true|REQUIRE|nonsense|on|yes|1|required|Require)$/, NOT_PLAIN],
  [/^\?sslmode=(?:allow|prefer)&uselibpqcompat=true/, /^(?:plain|TLS)$/],
  [/^\?sslmode=verify-(?:ca|full)&uselibpqcompat=true$/, /^08001$/],
  [/^\?sslmode=(?:no-verify|false|true|REQUIRE|nonsense)&uselibpqcompat=true/, /^TypeError sslmode must be one of/],
  [/that is missing$|without sslkey$/, /^08001$/],
  [/^a key of another cert$/, /^ERR_OSSL_X509_KEY_VALUES_MISMATCH$/]
];

/** How it went: 'TLS', 'plain', or the code of the error, else what it says in other words. */
const nameOf = error => {
  if (error === own) return 'its own error';
  if (/does not support (?:SSL|TLS)/.test(error.message)) return 'the server has no TLS';
  return error.code ?? `${error.constructor.name} ${error.message}`;
};

const SSL = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()';

const WAYS = {
  async Client(pg, config) {
    const client = new pg.Client(config);
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(SSL)).rows[0].ssl;
    } finally {
      await client.end();
    }
  },
  async Pool(pg, config) {
    const pool = new pg.Pool(config);
    pool.on('error', () => {});
    try {
      return (await pool.query(SSL)).rows[0].ssl;
    } finally {
      await pool.end();
    }
  }
};

async function outcome(pg, way, config) {
  const uncaught = new Promise(done => process.setUncaughtExceptionCaptureCallback(() => done('uncaught')));
  const found = WAYS[way](pg, config).then(isEncrypted => (isEncrypted ? 'TLS' : 'plain'), nameOf);
  try {
    return await Promise.race([uncaught, found]);
  } finally {
    process.setUncaughtExceptionCaptureCallback(null);
  }
}

describe('TLS beside pg', function () {
  this.timeout(180000);
  const servers = {};
  const met = new Set();
  const saved = Object.fromEntries(VARIABLES.map(name => [name, process.env[name]]));
  let material;
  let directory;

  const setVariables = values => {
    for (const name of VARIABLES) {
      const value = values[name];
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };

  before(async () => {
    const certificates = await makeCertificates();
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'beside-tls-'));
    material = {
      files: certificates.write(directory),
      ca: certificates.ca.cert,
      other: certificates.unknownAuthority.ca,
      otherKey: certificates.server.key,
      ...certificates.client
    };
    await Promise.all(
      Object.entries(SERVERS).map(async ([name, options]) => {
        servers[name] = await startServer({ ...options(certificates), external: false });
      })
    );
  });

  afterEach(() => setVariables(saved));

  after(async () => {
    await Promise.all(Object.values(servers).map(server => server.stop()));
    fs.rmSync(directory, { recursive: true, force: true });
  });

  for (const name of Object.keys(SERVERS)) {
    it(`is the same on a server with ${name}, but for what the guide names`, async () => {
      const { port, user, database } = servers[name];
      const where = { host: 'localhost', port, user, database };
      const address = `postgres://${user}@localhost:${port}/${database}`;
      const differences = [];
      for (const [title, config] of Object.entries(CONFIGS)) {
        const given = () => {
          const value = config(material, servers[name]);
          if (typeof value === 'string') return { connectionString: address + value };
          const { env, url, ...options } = value;
          setVariables({ HOME: '/nonexistent', ...env });
          return { ...(url === undefined ? where : { connectionString: address + url }), ...options };
        };
        setVariables({ HOME: '/nonexistent' });
        const expected = await outcome(theirs, 'Client', given());
        for (const way of OF_POOLS.includes(name) ? Object.keys(WAYS) : ['Client']) {
          const found = await outcome(ours, way, given());
          if (found === expected) continue;
          const known = DIFFERENCES.filter(([pattern, instead]) => pattern.test(title) && instead.test(found));
          for (const each of known) met.add(each);
          if (known.length === 0) differences.push(`${title}, ${way}: ${found} in place of ${expected}`);
        }
      }
      assert.deepEqual(differences, []);
    });
  }

  it('differs in all that the guide names', () => {
    assert.deepEqual(
      DIFFERENCES.filter(each => !met.has(each)),
      []
    );
  });

  it('says which of the two asks for TLS', async () => {
    const { port, user } = servers['no TLS'];
    process.env.PGSSLMODE = 'on';
    const message = /does not support TLS, but ssl or PGSSLMODE=on requires it/;
    for (const way of Object.values(WAYS))
      await assert.rejects(way(ours, { host: 'localhost', port, user }), { message });
  });
});

'use strict';

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const { ConnectionParameters, libpqConfig } = require('../../lib/pg/config');
const { defaults } = require('../../lib/pg/values');

const NAMES = [
  'PGHOST',
  'PGPORT',
  'PGUSER',
  'PGDATABASE',
  'PGPASSWORD',
  'PGSSLMODE',
  'PGAPPNAME',
  'PGOPTIONS',
  'PGREPLICATION'
];

/** What a config comes to, for a client of this library, in part. */
function of(config, ...names) {
  const all = libpqConfig(new ConnectionParameters(config));
  return Object.fromEntries(names.map(name => [name, all[name]]));
}

describe('The config of quickgres/pg', () => {
  let saved;
  beforeEach(() => {
    saved = NAMES.map(name => process.env[name]);
    for (const name of NAMES) delete process.env[name];
  });
  afterEach(() =>
    NAMES.forEach((name, i) => {
      if (saved[i] === undefined) delete process.env[name];
      else process.env[name] = saved[i];
    })
  );

  it('has what it inherits or hides, as for pg: it was that of the default server', () => {
    class Shop {
      #host = 'shop';
      port = 7;
      get host() {
        return this.#host;
      }
      get password() {
        return 'p';
      }
    }
    const names = ['host', 'port', 'user', 'password'];
    const hidden = Object.defineProperties({ port: 7 }, { host: { value: 'shop' }, password: { value: 'p' } });
    for (const config of [
      Object.assign(new Shop(), { user: 'me' }),
      Object.create({ host: 'shop', port: 7, user: 'me', password: 'p' }),
      Object.assign(Object.create(hidden), { user: 'me' }),
      Object.assign(hidden, { user: 'me' })
    ])
      assert.deepEqual(of(config, ...names), { host: 'shop', port: 7, user: 'me', password: 'p' });
  });

  it('comes before the environment, and that before the defaults', () => {
    assert.deepEqual(of({ user: 'me' }, 'host', 'port', 'user', 'database'), {
      host: 'localhost',
      port: 5432,
      user: 'me',
      database: 'me'
    });
    Object.assign(process.env, { PGHOST: 'there', PGPORT: '6543', PGUSER: 'you', PGAPPNAME: 'app' });
    assert.deepEqual(of({ port: 1 }, 'host', 'port', 'user', 'database', 'application_name'), {
      host: 'there',
      port: 1,
      user: 'you',
      database: 'you',
      application_name: 'app'
    });
    assert.equal(new ConnectionParameters({}).replication, undefined);
    process.env.PGREPLICATION = 'database'; // which libpq does not read, but pg
    assert.equal(new ConnectionParameters({}).replication, 'database');
    delete process.env.PGHOST;
    defaults.host = 'elsewhere';
    try {
      assert.deepEqual(of({}, 'host'), { host: 'elsewhere' });
    } finally {
      defaults.host = 'localhost';
    }
  });

  const WHERE = ['host', 'port', 'user', 'password', 'database'];
  for (const [text, ...expected] of [
    ['postgres://brian:p%40w@boom:381/lala', 'boom', 381, 'brian', 'p@w', 'lala'],
    ['postgres://me@localhost/post gres', 'localhost', 5432, 'me', null, 'post gres'],
    ['/some/where/ mydb', '/some/where/', 5432, undefined, null, 'mydb'],
    ['socket:/some path/?db=my[db]&user=me', '/some path/', 5432, 'me', null, 'my[db]'],
    ['socket://brian:pw@/some/where/?db=mydb', '/some/where/', 5432, 'brian', 'pw', 'mydb'],
    ['pg://user:pass@/dbname?host=/unix/socket', '/unix/socket', 5432, 'user', 'pass', 'dbname'],
    ['pg://user:pass@%2Funix%2Fsocket/dbname', '/unix/socket', 5432, 'user', 'pass', 'dbname'],
    ['pg://user:pass@[::1]:7/dbname', '::1', 7, 'user', 'pass', 'dbname'],
    ['pg://user:pass@there/dbname?port=7', 'there', 7, 'user', 'pass', 'dbname']
  ]) {
    it(`reads ${text}`, () => {
      const names = WHERE.filter((_, i) => expected[i] !== undefined);
      assert.deepEqual(
        of(text, ...names),
        Object.fromEntries(names.map(name => [name, expected[WHERE.indexOf(name)]]))
      );
      assert.deepEqual(of({ host: 'other', connectionString: text }, 'host'), { host: expected[0] });
    });
  }

  it('does not show a connection string that it cannot read', () => {
    assert.throws(
      () => new ConnectionParameters('postgres://me:secret@host:port/db'),
      error => error instanceof TypeError && !inspect(error).includes('secret')
    );
    assert.throws(
      () => new ConnectionParameters('postgres://me:se#cret@host/db'),
      error => /write %23 for "#"/.test(error.message) && !/cret/.test(inspect(error))
    );
  });

  it('asks for TLS as node-postgres means it: verified, unless no-verify', () => {
    for (const [config, ssl] of [
      [{}, false],
      [{ ssl: true }, true],
      [{ ssl: { ca: 'x' } }, { ca: 'x' }],
      [{ ssl: 'require' }, true],
      ['pg://a/b?ssl=true', true],
      ['pg://a/b?ssl=0', false],
      ['pg://a/b?sslmode=disable', false],
      ['pg://a/b?sslmode=require', true],
      ['pg://a/b?sslmode=prefer', true],
      ['pg://a/b?sslmode=allow', true],
      ['pg://a/b?sslmode=no-verify', { rejectUnauthorized: false }],
      ['pg://a/b?sslrootcert=/x.crt', true],
      [{ ssl: 'no-verify' }, { rejectUnauthorized: false }],
      ['pg://a/b?sslnegotiation=direct', true]
    ])
      assert.deepEqual(of(config, 'ssl', 'sslmode'), { ssl, sslmode: ssl ? 'require' : 'disable' });
    for (const name of ['sslcert', 'sslkey', 'sslrootcert'])
      assert.deepEqual(of({ [name]: 'file' }, 'ssl'), { ssl: true });
    assert.deepEqual(of('pg://a/b?sslmode=prefer&uselibpqcompat=true', 'ssl', 'sslmode'), {
      ssl: undefined,
      sslmode: 'prefer'
    });
    process.env.PGSSLMODE = 'allow';
    assert.deepEqual(of({}, 'ssl'), { ssl: false });
    process.env.PGSSLMODE = 'require';
    assert.deepEqual(of({}, 'ssl'), { ssl: true });
    assert.deepEqual(of({ ssl: false }, 'ssl'), { ssl: false });
  });

  it('uses TLS by PGSSLMODE unless that says no in some way, and verifies the certificate unless it is no-verify', () => {
    for (const [words, ssl] of [
      ['disable Disable disabled allow false FALSE off no n f 0 none never', false],
      ['prefer require verify-ca verify-full Require true on yes 1 required', true],
      ['no-verify', { rejectUnauthorized: false }]
    ]) {
      for (const word of words.split(' ')) {
        process.env.PGSSLMODE = word;
        assert.deepEqual(of({}, 'ssl'), { ssl }, word);
        assert.deepEqual(of({ ssl: false }, 'ssl'), { ssl: false }, word);
        assert.deepEqual(of({ ssl: true }, 'ssl'), { ssl: true }, word);
      }
    }
    process.env.PGSSLMODE = '';
    assert.deepEqual(of({}, 'ssl'), { ssl: false });
  });

  it('takes times in milliseconds for settings, in whole numbers', () => {
    assert.deepEqual(
      of(
        { statement_timeout: 3000.7, lock_timeout: '5', query_timeout: 9 },
        'statement_timeout',
        'lock_timeout',
        'query_timeout'
      ),
      { statement_timeout: 3000, lock_timeout: 5, query_timeout: undefined }
    );
  });

  it('keeps no prepared statements where it is to keep 0', () => {
    assert.deepEqual(of({ statement_cache: 0 }, 'statement_cache'), { statement_cache: 0 });
    assert.deepEqual(of('postgres://there/db?statement_cache=0', 'statement_cache'), { statement_cache: '0' });
    assert.deepEqual(of({}, 'statement_cache'), { statement_cache: undefined });
  });

  it('shows no password and no key', () => {
    const parameters = new ConnectionParameters({
      password: 'secret',
      oauth_token: 'secret',
      sslpassword: 'secret',
      ssl: { key: 'secret' },
      connectionString: 'pg://a:secret@b/c'
    });
    assert.ok(!inspect(parameters, { depth: 9 }).includes('secret'));
    assert.ok(!JSON.stringify(parameters).includes('secret'));
    assert.equal(parameters.password, 'secret');
    assert.equal(libpqConfig(parameters).sslpassword, 'secret');
    assert.equal(libpqConfig(parameters).oauth_token, 'secret');
  });

  it('has the parameters of libpq that this library takes, also in a URL', () => {
    assert.deepEqual(
      of(
        'postgres://me@there/db?max_protocol_version=3.2&target_session_attrs=primary&connect_timeout=5',
        'max_protocol_version',
        'target_session_attrs',
        'connect_timeout'
      ),
      { max_protocol_version: '3.2', target_session_attrs: 'primary', connect_timeout: '5' }
    );
    assert.deepEqual(
      of({ require_auth: 'scram-sha-256', connectionTimeoutMillis: 250 }, 'require_auth', 'connect_timeout'),
      { require_auth: 'scram-sha-256', connect_timeout: 0.25 }
    );
  });
});

'use strict';

const assert = require('node:assert/strict');
const os = require('node:os');
const path = require('node:path');
const { inspect } = require('node:util');
const { Duplex } = require('node:stream');
const { OPTIONS, resolve, socketPath, isLoopback } = require('../../../lib/core/config');

/** Resolves without the environment of this machine. */
const read = (config, overrides, env = {}) => resolve(config, overrides, env);

/** The hosts of a config, as host:port. */
const places = (...args) => read(...args).hosts.map(({ host, port }) => `${host}:${port}`);

describe('resolve', () => {
  it("gives libpq's defaults for nothing at all", () => {
    for (const config of [undefined, null, {}, '', 'postgres://']) {
      const all = {};
      const resolved = read(config);
      for (const name in resolved) all[name] = resolved[name];
      const { hosts, parameters, require_auth: auth, passfile, ...rest } = all;
      const { username } = os.userInfo();
      assert.equal(hosts.length, 1);
      assert.equal(hosts[0].port, 5432);
      assert.deepEqual({ ...parameters }, { client_encoding: 'UTF8' });
      assert.equal(auth.single, null);
      assert.equal(path.basename(passfile), process.platform === 'win32' ? 'pgpass.conf' : '.pgpass');
      assert.deepEqual(rest, {
        user: username,
        database: username,
        channel_binding: 'prefer',
        connect_timeout: 0,
        keepalives: true,
        keepalives_idle: 0,
        keepalives_interval: 0,
        keepalives_count: 0,
        tcp_user_timeout: 0,
        sslmode: undefined,
        sslnegotiation: 'postgres',
        sslcertmode: 'allow',
        sslsni: true,
        ssl_min_protocol_version: 'TLSv1.2',
        min_protocol_version: 196608,
        max_protocol_version: 196608,
        target_session_attrs: 'any',
        load_balance_hosts: 'disable',
        statement_cache: 256,
        max_buffer_bytes: 67108864
      });
    }
  });

  it('says the same for an object, a URL, a list of pairs and the environment', () => {
    const object = {
      host: 'a,b',
      port: '1,2',
      user: 'u',
      password: 'p',
      database: 'd',
      sslmode: 'verify-full',
      connect_timeout: 3,
      application_name: 'app',
      options: '-c geqo=off',
      require_auth: 'scram-sha-256'
    };
    const url =
      'postgresql://u:p@a:1,b:2/d?sslmode=verify-full&connect_timeout=3&application_name=app' +
      '&options=-c%20geqo%3Doff&require_auth=scram-sha-256';
    const pairs =
      'host=a,b port=1,2 user=u password=p dbname=d sslmode=verify-full connect_timeout=3 ' +
      "application_name=app options='-c geqo=off' require_auth=scram-sha-256";
    const env = {
      PGHOST: 'a,b',
      PGPORT: '1,2',
      PGUSER: 'u',
      PGPASSWORD: 'p',
      PGDATABASE: 'd',
      PGSSLMODE: 'verify-full',
      PGCONNECT_TIMEOUT: '3',
      PGAPPNAME: 'app',
      PGOPTIONS: '-c geqo=off',
      PGREQUIREAUTH: 'scram-sha-256'
    };
    const expected = read(object);
    assert.deepEqual(
      expected.hosts.map(({ port }) => port),
      [1, 2]
    );
    for (const other of [read(url), read(pairs), read({}, undefined, env)]) {
      assert.deepEqual(other, expected);
      assert.equal(other.password, 'p');
    }
  });

  it('takes dbname for database in an object, but not two that differ', () => {
    assert.equal(read({ dbname: 'd', user: 'u' }).database, 'd');
    assert.equal(read({ dbname: 'd', database: 'd' }).database, 'd');
    assert.throws(
      () => read({ dbname: 'd', database: 'e' }),
      /database is given twice, with different values: remove one$/
    );
  });

  it('takes a connection string and options beside it, but not two that differ', () => {
    for (const connectionString of [
      'postgres://u:p@h:1/d',
      new URL('postgres://u:p@h:1/d'),
      'host=h port=1 dbname=d user=u'
    ]) {
      const { hosts, user, database, parameters } = read({
        connectionString,
        decode: true,
        statement_timeout: 5,
        database: 'd'
      });
      assert.deepEqual([hosts[0].host, hosts[0].port, user, database], ['h', 1, 'u', 'd']);
      assert.equal(parameters.statement_timeout, '5');
      assert.throws(() => read({ connectionString, database: 'e' }), {
        name: 'TypeError',
        message: 'database is given twice, with different values: remove one, here or in connectionString'
      });
    }
    assert.throws(() => read({ connectionString: 5 }), {
      name: 'TypeError',
      message: 'connectionString must be a string or a URL, not a number'
    });
  });

  it('takes a URL object like its text', () => {
    assert.equal(read(new URL('postgres://u:p@h:1/d')).database, 'd');
  });

  it('lets the user name the database where nothing else does', () => {
    assert.equal(read('postgres://bob@h').database, 'bob');
    assert.equal(read('postgres://bob@h', undefined, { PGDATABASE: 'd' }).database, 'd');
  });

  it('takes what the config says before the environment', () => {
    const { hosts, user, database } = read({ host: 'c' }, undefined, {
      PGHOST: 'env',
      PGPORT: '3',
      PGUSER: 'env',
      PGDATABASE: 'env'
    });
    assert.deepEqual([hosts[0].host, hosts[0].port, user, database], ['c', 3, 'env', 'env']);
  });

  it('refuses a service, wherever it is named, and takes an empty name for none', () => {
    const message = 'service (PGSERVICE) is not supported: write its settings in the config';
    for (const [config, env] of [
      [{ service: 's' }],
      ['service=s host=h'],
      ['postgres://h/?service=s'],
      [{ servicefile: '/s' }],
      [{}, { PGSERVICE: 's' }]
    ]) {
      assert.throws(() => read(config, undefined, env), { name: 'TypeError', message });
    }
    assert.equal(read('host=h service=', undefined, { PGSERVICE: 's', PGSERVICEFILE: '/s' }).hosts[0].host, 'h');
  });

  it('takes an empty variable for none, and an empty parameter of a URL that has to be a number or one of several words', () => {
    const all = (...args) => {
      const { hosts, parameters, ...config } = read(...args);
      return [
        hosts,
        { ...parameters },
        config.user,
        config.database,
        ...Object.keys(OPTIONS).map(name => read(...args)[name])
      ];
    };
    const plain = all('postgres://u@h/d');
    let refused = 0;
    for (const [name, [parse, variable]] of Object.entries(OPTIONS)) {
      if (variable !== undefined)
        assert.deepEqual(all('postgres://u@h/d', undefined, { [variable]: '' }), plain, variable);
      const url = `postgres://u@h/d?${name}=`;
      if (!['dbname', 'host', 'user'].includes(name)) assert.deepEqual(all(url), plain, url);
      const value = { port: '7', connect_timeout: '7', max_protocol_version: '3.2', sslmode: 'require' }[name];
      if (value !== undefined)
        assert.deepEqual(all(url, undefined, { [variable]: value }), all(`${url}${value}`), `${url} ${variable}`);
      try {
        parse('', name);
      } catch {
        refused++;
        assert.throws(() => read(`user=u ${name}=''`), { name: 'TypeError' }, name); // as in libpq
      }
    }
    assert.ok(refused > 10);
  });

  it('takes a URL with the newline of a file at its end', () => {
    for (const url of ['postgres://u:p@h:1/d', 'postgres://u@h/d?sslmode=require', 'postgres://u@h', 'postgres://']) {
      for (const end of ['\n', '\r\n', ' \n', '\t\n\n']) {
        assert.deepEqual(read(`${url}${end}`), read(url));
        assert.deepEqual(read({ connectionString: `${url}${end}` }), read(url));
      }
    }
    assert.throws(() => read('postgres://u:p\n@h/d'), { name: 'TypeError', message: /a blank in the password/ });
  });

  it('takes an empty text in a string for given, in an object for not given', () => {
    const env = { PGHOST: 'env', PGAPPNAME: 'env' };
    assert.equal(read('application_name=', undefined, env).parameters.application_name, undefined);
    assert.equal(read({ application_name: '' }, undefined, env).parameters.application_name, 'env');
    assert.deepEqual(places({ host: undefined }, undefined, env), ['env:5432']);
    assert.notDeepEqual(places('host=', undefined, env), ['env:5432']);
  });

  it('falls back to fallback_application_name last', () => {
    const config = { fallback_application_name: 'f' };
    assert.equal(read(config).parameters.application_name, 'f');
    assert.equal(read(config, undefined, { PGAPPNAME: 'e' }).parameters.application_name, 'e');
  });

  it('takes PGREQUIRESSL for want of PGSSLMODE', () => {
    assert.equal(read({}, undefined, { PGREQUIRESSL: '1' }).sslmode, 'require');
    assert.equal(read({}, undefined, { PGREQUIRESSL: '0' }).sslmode, undefined);
    assert.equal(read({}, undefined, { PGREQUIRESSL: '1', PGSSLMODE: 'allow' }).sslmode, 'allow');
  });

  it('reads no environment but the one it is given', () => {
    process.env.PGAPPNAME = 'leaked';
    try {
      assert.equal(read({}).parameters.application_name, undefined);
      assert.equal(resolve({}).parameters.application_name, 'leaked');
    } finally {
      delete process.env.PGAPPNAME;
    }
  });

  it('also gives the helpers of the hosts', () => {
    assert.equal(socketPath('/x', 1), '/x/.s.PGSQL.1');
    assert.equal(isLoopback('::1'), true);
  });
});

describe('the arguments of connect()', () => {
  it('come before everything else', () => {
    const env = { PGHOST: 'env', PGPORT: '3' };
    assert.deepEqual(places({ host: 'c', port: 1 }, { host: 'o', port: 2 }, env), ['o:2']);
    assert.deepEqual(places('postgres://c:1/', { host: 'o' }, env), ['o:1']);
    assert.deepEqual(places('postgres://c:1/', { port: 2 }, env), ['c:2']);
    assert.deepEqual(places({}, { port: 2 }, env), ['env:2']);
  });

  it('replace the address of a host along with its name', () => {
    const [{ host, hostaddr }] = read({ host: 'a,b', hostaddr: '10.0.0.1,10.0.0.2' }, { host: 'o' }).hosts;
    assert.deepEqual([host, hostaddr], ['o', undefined]);
    assert.equal(read({}, { host: 'o' }, { PGHOSTADDR: '10.0.0.1' }).hosts[0].hostaddr, undefined);
  });

  it('mean localhost where only a port is named, as in net.connect', () => {
    assert.deepEqual(places({}, { port: 5433 }), ['localhost:5433']);
  });

  it('may have the path of a socket in place of the port', () => {
    for (const [port, expected] of [
      ['/tmp/.s.PGSQL.7', '/tmp/.s.PGSQL.7'],
      ['.s.PGSQL.7', path.resolve('.s.PGSQL.7')],
      ['/nowhere', '/nowhere/.s.PGSQL.5433'],
      ['@x', '\0x/.s.PGSQL.5433']
    ]) {
      const [place] = read({ host: 'c', hostaddr: '10.0.0.1', port: 5433 }, { port }).hosts;
      assert.equal(socketPath(place.host, place.port), expected);
      assert.equal(place.hostaddr, undefined);
    }
    assert.deepEqual(places({}, { port: '5433' }), ['localhost:5433']);
  });

  it('may have it in place of the host', () => {
    const [{ host, port, sslmode }] = read({ sslmode: 'require' }, { host: '/tmp/.s.PGSQL.5433' }).hosts;
    assert.equal(socketPath(host, port), '/tmp/.s.PGSQL.5433');
    assert.equal(sslmode, 'disable');
  });

  it('are checked', () => {
    assert.throws(() => read({}, { port: 0 }), /port must be a number from 1 to 65535/);
    assert.throws(() => read({}, { port: NaN }), /port must be a number from 1 to 65535/);
    assert.throws(() => read({}, { host: 5432 }), /host must be a string, not a number/);
    assert.throws(
      () => read({}, { port: 'localhost', host: 5432 }),
      /connect takes \(port, host, ssl\).* not a host first/
    );
    assert.throws(() => read({}, { port: () => {} }), /connect takes .* not a function: it returns a promise/);
    assert.throws(
      () => read({ host: 'db.example:5432' }),
      /host must be without a port, not "db.example:5432": write port/
    );
    assert.throws(() => read({}, { ssl: 'yes' }), /ssl must be an object.*not a string$/);
    assert.throws(() => read({}, { ssl: 'require' }), /ssl must be an object.*not a string: write sslmode: 'require'$/);
  });
});

describe('ssl', () => {
  const mode = (config, overrides, env) => {
    const { sslmode, ssl } = read({ host: 'db.example', ...config }, overrides, env);
    return [sslmode, ssl];
  };
  const options = { servername: 'x' };

  it('as an object or true means sslmode=require', () => {
    assert.deepEqual(mode({ ssl: options }), ['require', options]);
    assert.deepEqual(mode({ ssl: true }), ['require', {}]);
    assert.deepEqual(mode({}, { ssl: {} }), ['require', {}]);
    assert.deepEqual(mode({ ssl: options }, { ssl: undefined }), ['require', options]);
  });

  it('as false means sslmode=disable', () => {
    assert.deepEqual(mode({ ssl: false }), ['disable', undefined]);
    assert.deepEqual(mode({ ssl: options }, { ssl: false }), ['disable', undefined]);
    assert.deepEqual(mode({ ssl: false }, undefined, { PGSSLMODE: 'verify-full' }), ['disable', undefined]);
  });

  it('leaves an sslmode of the config and a stricter one of the environment as they are', () => {
    assert.deepEqual(mode({ ssl: {}, sslmode: 'prefer' }), ['prefer', {}]);
    assert.deepEqual(mode({ ssl: {}, sslmode: 'verify-ca' }), ['verify-ca', {}]);
    assert.deepEqual(mode({ ssl: {} }, undefined, { PGSSLMODE: 'verify-full' }), ['verify-full', {}]);
    assert.deepEqual(mode({ ssl: {} }, undefined, { PGSSLMODE: 'disable' }), ['require', {}]);
    assert.deepEqual(mode({ ssl: {}, sslrootcert: 'system' }), ['verify-full', {}]);
  });

  it('must not contradict sslmode', () => {
    assert.throws(() => mode({ ssl: {}, sslmode: 'disable' }), /ssl is given, but sslmode is "disable"/);
    assert.throws(() => mode({ ssl: false, sslmode: 'require' }), /ssl is false, but sslmode is "require"/);
    assert.throws(() => mode({ ssl: false, sslnegotiation: 'direct' }), /weak sslmode \(disable\)/);
  });

  it('may have system certificates only with sslmode=verify-full, which is then the default', () => {
    assert.equal(mode({ sslrootcert: 'system' })[0], 'verify-full');
    assert.throws(() => mode({ sslrootcert: 'system', sslmode: 'require' }), /weak sslmode \(require\).*verify-full/);
    assert.throws(() => mode({ sslrootcert: 'system' }, undefined, { PGSSLMODE: 'prefer' }), /weak sslmode/);
  });

  it('is preferred even on this machine where a certificate or channel binding is asked for', () => {
    for (const config of [{ sslcert: 'x' }, { sslrootcert: 'x' }, { channel_binding: 'require' }]) {
      assert.equal(read({ host: 'localhost', ...config }).hosts[0].sslmode, 'prefer');
      assert.equal(read({ host: 'localhost', sslmode: 'disable', ...config }).hosts[0].sslmode, 'disable');
    }
    assert.equal(read({ host: 'localhost', channel_binding: 'prefer' }).hosts[0].sslmode, 'disable');
  });

  it('may be negotiated directly only with an sslmode of require or more', () => {
    for (const sslmode of ['require', 'verify-ca', 'verify-full']) mode({ sslnegotiation: 'direct', sslmode });
    mode({ sslnegotiation: 'direct', ssl: {} });
    for (const sslmode of [undefined, 'disable', 'allow', 'prefer']) {
      assert.throws(() => mode({ sslnegotiation: 'direct', sslmode }), /weak sslmode .* sslnegotiation=direct/);
    }
  });

  it('has versions in order', () => {
    mode({ ssl_min_protocol_version: 'TLSv1.3', ssl_max_protocol_version: 'TLSv1.3' });
    assert.throws(() => mode({ ssl_max_protocol_version: 'TLSv1.1' }), /ssl_min_protocol_version must not be greater/);
    assert.throws(() => read({ min_protocol_version: 3.2, max_protocol_version: '3.0' }), /must not be greater/);
  });
});

describe('an object', () => {
  it('may have any decode, which the client checks', () => {
    for (const decode of ['x', {}, () => {}, 5])
      assert.deepEqual({ ...read({ decode }).parameters }, { client_encoding: 'UTF8' });
  });

  it('may say nothing under a name that is none', () => {
    read({ pasword: undefined, max: null, connectionString: '' });
  });

  it('has parameters for the server under every name that is no option', () => {
    const { parameters } = read(
      {
        search_path: 'a,b',
        work_mem: 64,
        geqo: false,
        'my.setting': 10n,
        DateStyle: 'ISO',
        nothing: undefined,
        none: null
      },
      undefined,
      { PGDATESTYLE: 'German', PGTZ: 'UTC', PGGEQO: 'default' }
    );
    assert.deepEqual(Object.entries(parameters), [
      ['datestyle', 'German'],
      ['timezone', 'UTC'],
      ['search_path', 'a,b'],
      ['work_mem', '64'],
      ['geqo', 'false'],
      ['my.setting', '10'],
      ['DateStyle', 'ISO'],
      ['client_encoding', 'UTF8']
    ]);
  });

  it('has options that are parameters of StartupMessage among them', () => {
    const { parameters } = read({
      user: 'u',
      database: 'd',
      replication: true,
      options: '-c x=y',
      application_name: 'a'
    });
    assert.deepEqual(
      { ...parameters },
      {
        client_encoding: 'UTF8',
        replication: '1',
        options: '-c x=y',
        application_name: 'a'
      }
    );
  });

  it('cannot have a parameter that StartupMessage cannot carry', () => {
    for (const config of [
      { x: 'a\0b' },
      { 'a\0b': 'x' },
      { ' ': {} },
      { x: [] },
      { x: () => {} },
      { x: Symbol('s') },
      { '_pq_.x': '1' },
      { options: 'a\0b' },
      { user: 'a\0b' },
      { x: 'a\ud800' },
      { options: '\udc00' },
      { user: 'a\ud83d' },
      { password: 'a\ud83d' },
      { host: {} }
    ]) {
      assert.throws(() => read(config), TypeError);
    }
    assert.throws(
      () => read({ x: {} }),
      /x must be an option, or a setting for the server as a string, a number or a boolean, not an object/
    );
  });

  it('cannot reach a prototype', () => {
    const { parameters } = read(JSON.parse('{"__proto__": "x", "constructor": "y"}'));
    assert.deepEqual(Object.keys(parameters).sort(), ['__proto__', 'client_encoding', 'constructor']);
    assert.equal(Object.getPrototypeOf({}), Object.prototype);
  });

  it('is refused if a part of it would be left out, since it would be that of another server', () => {
    class Shop {
      get host() {
        return 'shop';
      }
    }
    for (const config of [
      Object.create({ host: 'shop' }),
      Object.create({ host: 'shop' }, { port: { value: 1, enumerable: true } }),
      Object.defineProperty({ user: 'u' }, 'host', { value: 'shop' }),
      new Shop()
    ])
      assert.throws(() => read(config), { name: 'TypeError', message: 'host is inherited or hidden' });
    assert.equal(read(Object.assign(new (class Other {})(), { host: 'h', user: 'u' })).hosts[0].host, 'h');
    assert.equal(read(Object.freeze(Object.assign(Object.create(null), { host: 'h', user: 'u' }))).hosts[0].host, 'h');
  });

  it('cannot set another encoding under any spelling', () => {
    assert.equal(read({ client_encoding: 'utf-8' }).parameters.client_encoding, 'UTF8');
    for (const config of [{ client_encoding: 'latin1' }, 'client_encoding=latin1']) {
      assert.throws(() => read(config), /client_encoding must be UTF8/);
    }
    assert.throws(() => read({ Client_Encoding: 'latin1' }), /did you mean client_encoding/);
  });

  it('ignores another encoding of the environment, with one warning', async () => {
    const warnings = [];
    const warn = ({ message }) => warnings.push(message);
    process.on('warning', warn);
    for (const PGCLIENTENCODING of ['utf-8', '', 'LATIN1', 'SQL_ASCII']) {
      assert.equal(read({}, undefined, { PGCLIENTENCODING }).parameters.client_encoding, 'UTF8');
    }
    await new Promise(setImmediate);
    process.off('warning', warn);
    assert.deepEqual(warnings, ['PGCLIENTENCODING is ignored: this library needs UTF8']);
  });

  it('may have numbers and booleans for options', () => {
    const config = read({
      connect_timeout: 1.5,
      keepalives: false,
      sslsni: false,
      statement_cache: 0,
      port: 6
    });
    assert.equal(config.connect_timeout, 1.5);
    assert.equal(config.keepalives, false);
    assert.equal(config.sslsni, false);
    assert.equal(config.statement_cache, 0);
    assert.equal(config.hosts[0].port, 6);
    assert.throws(() => read({ statement_cache: -1 }), /statement_cache must be 0 or more, not "-1"/);
    assert.throws(() => read({ connect_timeout: NaN }), /connect_timeout/);
    assert.equal(read({ replication: false }).replication, read({ replication: 'false' }).replication);
    for (const name of ['statement_cache', 'max_pipeline', 'port', 'host', 'user', 'connect_timeout', 'passfile'])
      assert.throws(() => read({ [name]: true }), { message: `${name} must be a string or a number, not a boolean` });
  });

  it('may have a socket: a Duplex or a function, at localhost unless a host is named', () => {
    for (const socket of [new Duplex(), () => {}]) {
      const config = read({ socket });
      assert.equal(config.socket, socket);
      assert.deepEqual(config.hosts, [{ host: 'localhost', hostaddr: undefined, port: 5432, sslmode: 'prefer' }]);
      assert.equal(read({ socket, host: 'db.example', sslmode: 'disable' }).hosts[0].sslmode, 'disable');
    }
    for (const socket of ['/tmp', 5, {}, true])
      assert.throws(() => read({ socket }), /socket must be a Duplex stream or a function that gives one, not an? /);
  });

  it('is not an array, a number or a function', () => {
    for (const config of [[], 5432, true, () => {}, new Map(), Promise.resolve({}), new Date(0)]) {
      assert.throws(() => read(config), /config must be an object or a connection string/);
    }
  });
});

describe('secrets', () => {
  const SECRET = 'hunter2';

  it('can be read, but neither inspecting nor serializing nor copying the config shows them', () => {
    const config = read({
      password: SECRET,
      oauth_token: SECRET,
      sslpassword: SECRET,
      ssl: { key: SECRET, passphrase: SECRET }
    });
    assert.equal(config.password, SECRET);
    assert.equal(config.oauth_token, SECRET);
    assert.equal(config.sslpassword, SECRET);
    assert.equal(config.ssl.key, SECRET);
    const shown = [
      inspect(config),
      inspect(config, { depth: 9, showHidden: true }),
      JSON.stringify(config),
      inspect({ ...config }),
      inspect(Object.values(config)),
      String(config)
    ];
    for (const text of shown) assert.ok(!text.includes(SECRET), text);
  });

  it('come from the environment or a function as well', () => {
    assert.equal(read({}, undefined, { PGPASSWORD: SECRET }).password, SECRET);
    const password = async () => SECRET;
    assert.equal(read({ password }, undefined, { PGPASSWORD: 'other' }).password, password);
    assert.equal(read('password=').password, undefined);
  });

  it('are in no error', () => {
    const url = `postgres://u:${SECRET}@h/d`;
    const wrong = [
      { password: Number.MAX_VALUE, port: 'x' },
      { password: `${SECRET}\0` },
      { password: [SECRET] },
      { password: { toString: () => SECRET } },
      { password: Buffer.from(SECRET) },
      { host: url },
      { database: url },
      { connectionString: `${url}?x=y` },
      { connectionString: url, password: 'other' },
      { url },
      { ssl: SECRET },
      { socket: SECRET },
      { sslpassword: `${SECRET}\0` },
      { scram_client_key: SECRET },
      { oauth_client_secret: SECRET },
      { oauth_token: `${SECRET} ` },
      { oauth_token: [SECRET] },
      { oauth_token: { toString: () => SECRET } },
      `postgres://u@h/d?oauth_token=${SECRET}`,
      `postgres://u@h/d?oauth_token=a&${SECRET}=b`,
      `oauth_token=${SECRET}`,
      `oauth_token=a ${SECRET}`,
      { sslkey: `-----BEGIN PRIVATE KEY-----\n${SECRET}` },
      [SECRET],
      `${url}?x=y`,
      `password=${SECRET} x=y`,
      `password=${SECRET} port=x`,
      `postgres://u:${SECRET}`,
      `postgres://u:${SECRET}/x@h/d`,
      `postgres://u:${SECRET}%00@h/d`
    ];
    for (const config of wrong) {
      assert.throws(
        () => read(config),
        error => {
          assert.ok(error instanceof TypeError);
          assert.ok(!inspect(error).includes(SECRET), inspect(error));
          return true;
        }
      );
    }
  });

  it('are not mistaken for a URL where they look like one', () => {
    assert.equal(read({ password: 'postgres://x' }).password, 'postgres://x');
  });
});

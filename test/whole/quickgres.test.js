'use strict';

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { startServer, makeCertificates, freePort, SERVER_VERSION } = require('pg-test-fixtures');
const { Client, RowReader } = require('../..');
const { hex } = require('../support');

const ID = 'adb42e46-d1bc-4b64-88f4-3e754ab52e81';
/** The example of kig/quickgres 0.4's README. */
const EXAMPLE = fs.readFileSync(path.join(__dirname, '../support/usage-example.txt'), 'utf8');

describe('Everything that kig/quickgres 0.4 documents', () => {
  let server;

  before(async function () {
    this.timeout(60_000);
    const tls = await makeCertificates();
    server = await startServer({
      auth: 'scram-sha-256',
      database: 'mydb',
      user: 'myuser',
      password: 'mypass',
      users: { myuser: 'mypass' },
      tls,
      external: false
    });
    const columns = '(id text PRIMARY KEY, name text, email text, password text)';
    await server.sql(`CREATE TABLE users ${columns}; CREATE TABLE users_copy ${columns};
      INSERT INTO users VALUES ('${ID}', 'Ada', 'ada@example.org', 'x');
      INSERT INTO users
      SELECT i * 1000, 'user ' || i, i || '@example.org', md5(i::text) FROM generate_series(0, 999) i;
      ALTER TABLE users OWNER TO myuser; ALTER TABLE users_copy OWNER TO myuser`);
  });
  after(() => server.stop());

  it('works as its example uses it', async function () {
    this.timeout(60_000);
    assert.ok(EXAMPLE.includes("'/tmp/.s.PGSQL.5432'") && EXAMPLE.includes('i < 1000000'));
    // The server is elsewhere, and another test makes a million queries.
    const code = EXAMPLE.replace("'/tmp/.s.PGSQL.5432'", JSON.stringify(server.socketPath)).replace(
      'i < 1000000',
      'i < 10000'
    );
    const { stdout, stderr } = await new Promise((resolve, reject) => {
      // Here `require('quickgres')` finds this package by its own name.
      const args = ['--throw-deprecation', '-e', `const assert = require('assert');\n${code}`];
      execFile(process.execPath, args, { cwd: __dirname, encoding: 'buffer' }, (error, stdout, stderr) => {
        if (error) reject(error);
        else resolve({ stdout, stderr });
      });
    });
    assert.match(String(stderr), new RegExp(`server_version: ['"]${SERVER_VERSION}`));
    const shown = stdout.toString('latin1');
    assert.ok(shown.startsWith('Ada ada@example.org 1\nAda ada@example.org 1\nT\0\0\0'), shown);
    assert.ok(stdout.includes(hex("44 00000020 0002 00000003 'Ada' 0000000f 'ada@example.org'")), 'the DataRow');
    assert.ok(stdout.includes(hex("43 0000000d 'SELECT 1' 00")), 'CommandComplete');
    assert.match(shown, /<Buffer 50 47 43 4f 50 59 0a ff 0d 0a 00 00 00 00 00.*>\n\[ 1, 1, 1, 1 \]\n$/);
    const same = await server.sql('SELECT count(*) FROM (TABLE users INTERSECT TABLE users_copy) _');
    assert.equal(Number(Object.values(same[0])[0]), 1001);
  });

  const config = { user: 'myuser', database: 'mydb', password: 'mypass' };

  /** Runs something with a client that is connected by these arguments. */
  async function use(args, work) {
    const client = new Client(config);
    await client.connect(...args);
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  it('connects to a Unix socket, a TCP port, and a TCP port with TLS', async () => {
    const encrypted = client => client.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    for (const [args, ssl] of [
      [[server.socketPath], false],
      [[server.port], false],
      [[server.port, '127.0.0.1'], false],
      [[server.port, 'localhost', { rejectUnauthorized: false }], true],
      [[server.port, 'localhost', { ca: server.tls.ca.cert }], true]
    ])
      assert.equal((await use(args, encrypted)).rows[0].ssl, ssl, args.join());
    const { ca } = server.tls.unknownAuthority;
    for (const ssl of [{}, true, { ca }]) {
      await assert.rejects(use([server.port, 'localhost', ssl], encrypted), { name: 'ConnectionError' });
    }
  });

  it("has the server's parameters and the key for cancelling", () =>
    use([server.socketPath], async client => {
      assert.equal(client.serverParameters.server_encoding, 'UTF8');
      assert.ok(Buffer.isBuffer(client.backendKey));
      assert.equal(client.backendKey.readInt32BE(), client.processId);
    }));

  it('cancels a running query', () =>
    use([server.socketPath], async client => {
      const sleeping = client.query('SELECT pg_sleep(60)');
      sleeping.catch(() => {});
      const running = `SELECT FROM pg_stat_activity
      WHERE pid = ${client.processId} AND query LIKE 'SELECT pg_sleep%' AND state = 'active'`;
      while ((await server.sql(running)).length === 0);
      await client.cancel();
      await assert.rejects(sleeping, { code: '57014' });
      assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    }));

  it('gives notices and notifications as messages to onNotice and onNotification', () =>
    use([server.socketPath], async client => {
      const packets = [];
      client.onNotice = client.onNotification = packet => packets.push(packet);
      await client.query("DO $$ BEGIN RAISE NOTICE 'look'; END $$");
      await client.query('LISTEN jobs');
      await client.query("NOTIFY jobs, '42'");
      assert.equal(packets.length, 2);
      assert.equal(packets[0][0], 'N'.charCodeAt());
      assert.equal(packets[0].readUInt32BE(1), packets[0].length - 1);
      assert.ok(packets[0].includes('look\0'));
      const expected = hex("41 00000010 00000000 'jobs' 00 '42' 00");
      expected.writeInt32BE(client.processId, 5);
      assert.deepEqual(packets[1], expected);
    }));

  it('reads a query in parts to its end', () =>
    use([server.socketPath], async client => {
      client.startQuery('SELECT id FROM users ORDER BY email', []);
      const sizes = [];
      let last;
      while (client.inQuery) {
        last = await client.getResults(300);
        sizes.push([last.rows.length, last.cmd]);
      }
      assert.deepEqual(sizes, [
        [300, 'SUSPENDED'],
        [300, 'SUSPENDED'],
        [300, 'SUSPENDED'],
        [101, 'SELECT']
      ]);
      await client.sync();
    }));

  it('fails a COPY that is given up', () =>
    use([server.socketPath], async client => {
      await client.query('COPY users_copy FROM STDIN');
      client.copyData(Buffer.from('never\t'));
      await client.copyFail(Buffer.from('changed my mind'));
      assert.deepEqual((await client.query("SELECT FROM users_copy WHERE id = 'never'")).rows, []);
    }));

  it('closes a prepared statement, and writes what follows anew', () =>
    use([server.socketPath], async client => {
      await client.query('SELECT 1');
      const [
        {
          rows: [{ name }]
        }
      ] = await client.simpleQuery('SELECT name FROM pg_prepared_statements');
      await client.close('S', name);
      assert.deepEqual((await client.simpleQuery('TABLE pg_prepared_statements'))[0].rows, []);
      assert.equal((await client.query('SELECT 1')).rows[0][0], 1);
    }));

  it('gives rows their members, and takes a row for values', () =>
    use([server.socketPath], async client => {
      const text = 'SELECT name, id, NULL AS n FROM users WHERE id = $1';
      const {
        rows: [row],
        rowParser
      } = await client.query(text, [ID]);
      assert.deepEqual([row.name, row[0], row.id, row.n], ['Ada', 'Ada', ID, null]);
      assert.deepEqual([row.toObject(), row.toArray()], [{ name: 'Ada', id: ID, n: null }, ['Ada', ID, null]]);
      assert.equal(row.dataFormat, Client.STRING);
      assert.equal(row.rowBuffer[0], 'D'.charCodeAt());
      assert.deepEqual(Object.keys(rowParser.columns[0]), [
        'name',
        'tableOid',
        'tableColumnIndex',
        'typeOid',
        'typeLen',
        'typeModifier',
        'binary'
      ]);
      const again = await client.query('SELECT $1::text AS a, $2::text AS b, $3::text AS c', row);
      assert.deepEqual(again.rows[0].toArray(), row.toArray());
    }));

  it("takes a receiver of one's own for the packets", () =>
    use([server.socketPath], async client => {
      class Types extends RowReader {
        types = '';
        write(packet) {
          this.types += String.fromCharCode(packet[0]);
          super.write(packet);
        }
      }
      const result = await client.query('SELECT name FROM users LIMIT 3', [], Client.STRING, true, new Types());
      assert.ok(result instanceof Types);
      assert.equal(result.types, 'TDDDC');
      assert.equal(result.rows.length, 3);
    }));

  it('says that a port refuses, and that a socket is missing', async () => {
    const port = await freePort();
    const missing = path.join(server.socketDirectory, '.s.PGSQL.1');
    for (const [args, code, where] of [
      [[port, '127.0.0.1'], 'ECONNREFUSED', `127.0.0.1:${port}`],
      [[missing], 'ENOENT', missing]
    ]) {
      const error = await use(args).catch(error => error);
      assert.equal(error.name, 'ConnectionError');
      assert.equal(error.code, code);
      assert.ok(error.message.includes(where), error.message);
    }
  });

  it('says that the password is wrong, or the database unknown, without showing the password', async () => {
    for (const [change, code] of [
      [{ password: 'not mypass' }, '28P01'],
      [{ database: 'nowhere' }, '3D000'],
      [{ user: 'nobody' }, '28P01']
    ]) {
      const client = new Client({ ...config, ...change });
      const error = await client.connect(server.socketPath).catch(error => error);
      assert.equal(error.code, code, error.message);
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)}`, /mypass/);
    }
    const client = new Client({ user: 'myuser', database: 'mydb', passfile: '/nonexistent' });
    await assert.rejects(client.connect(server.socketPath), { name: 'ConnectionError', message: /password/ });
  });
});

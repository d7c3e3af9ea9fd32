'use strict';

// What users of other clients have reported of connections and authentication. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { startProxy, startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { Pool } = require('../../lib/pool');
const { connected, message, sharedServer } = require('../support');
const { FakeServer } = require('../support/connecting');
const { afterTest, endAfterTest } = require('../support/hooks');
const { until } = require('../support/kit');
const { table } = require('../rules/kit');

/** Passwords with what URLs, password files and SASLprep treat in a way of their own. */
const PASSWORDS = ['a b', ' a ', 'a:b', 'a\\b', 'a\\:b', 'a@b/c?d#e', 'a%20b', '%', '+', "'", '"', '=', '\\', 'é', 'e\u0301', '漢字', '😀', '\u00aa', 'a\u00adb', '\u2168', 'a\u00a0b', '*', '#a', 'x'.repeat(200)]; // prettier-ignore

const quoted = text => text.replace(/[\\:]/g, '\\$&');

const methods = { scram: 'scram-sha-256', md5: 'md5', clear: 'password' };

describe('Reports about connections', () => {
  let server, folder;
  before(async () => {
    const users = Object.keys(methods).flatMap(method =>
      PASSWORDS.map((password, i) => [`${method}${i}`, { password, ...(method === 'md5' && { encryption: 'md5' }) }])
    );
    server = await startServer({
      external: false,
      users: Object.fromEntries(users),
      hba: [
        ...PASSWORDS.flatMap((_, i) =>
          Object.entries(methods).map(([name, method]) => `host all ${name}${i} all ${method}`)
        ),
        'local all all trust'
      ]
    });
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'reports-'));
  });
  after(async () => {
    fs.rmSync(folder, { recursive: true, force: true });
    await server?.stop();
  });

  /** Where the password is: what is given to a client. */
  const FROM = {
    'a config': (user, password, { host, port }) => ({ host, port, user, password, database: 'postgres' }),
    'a URL': (user, password, { host, port }) =>
      `postgresql://${user}:${encodeURIComponent(password)}@${host}:${port}/postgres`,
    'a key=value string': (user, password, { host, port }) =>
      `host=${host} port=${port} user=${user} dbname=postgres password='${password.replace(/[\\']/g, '\\$&')}'`,
    'a password file': (user, password, { host, port }) => {
      const passfile = path.join(folder, `${user}.pgpass`);
      fs.writeFileSync(passfile, `# others\n*:*:*:nobody:x\n${host}:${port}:*:${user}:${quoted(password)}\n`, {
        mode: 0o600
      });
      return { host, port, user, database: 'postgres', passfile };
    }
  };

  // pgjdbc#1889, ongres/scram#13, pgagroal#760, asyncpg#1249, psycopg2#334, sqlx#3993, pg-connection-string#4, #14
  table(
    'Any password that PostgreSQL has stored lets in',
    { from: FROM, method: methods, password: Object.fromEntries(PASSWORDS.map((password, i) => [password, i])) },
    async (give, method, i, [, name, password]) => {
      const client = new Client(give(`${name}${i}`, password, server));
      await client.connect();
      await client.end();
    }
  );

  it('A password that is nearly right does not, whatever its characters are', async () => {
    for (const [i, password] of PASSWORDS.entries()) {
      const config = FROM['a config'](`scram${i}`, `${password}x`, server);
      await assert.rejects(new Client(config).connect(), { code: '28P01' });
    }
  });

  // rust-postgres#803, sqlx#1144, sqlx#3345
  it('An error of the start without a V field, and in another encoding, has its code', async () => {
    const fake = await new FakeServer(async conversation => {
      await conversation.first();
      conversation.say(message('E', 'SFATAL\0C28000\0M', Buffer.from('r\xf4le inconnu', 'latin1'), '\0\0'));
      conversation.socket.end();
    }).listen();
    afterTest(() => fake.stop());
    const client = new Client({ ...fake.config, sslmode: 'disable' });
    await assert.rejects(client.connect(), error => error.code === '28000' && /r.le inconnu/.test(error.message));
  });

  // porsager/postgres#1097, postgres#925, pg-pool#81
  it('end() resolves each time: before, while and after connecting, and when the connection was lost', async () => {
    const { config } = await sharedServer();
    for (const make of [() => new Client(config), () => new Pool(config)]) {
      const fresh = make();
      await Promise.all([fresh.end(), fresh.end()]);
      const connecting = make();
      const asked = connecting instanceof Client ? connecting.connect() : connecting.query('SELECT 1');
      await Promise.all([connecting.end(), asked.catch(() => {})]);
      await connecting.end();
      const lost = make();
      lost.on('error', () => {});
      if (lost instanceof Client) await lost.connect();
      const running = lost.query('SELECT pg_terminate_backend(pg_backend_pid())');
      await Promise.all([assert.rejects(running), lost.end()]);
      await lost.end();
    }
  });

  // neondatabase/serverless#140, #30
  it('A function for the password that throws, rejects or gives no text rejects what waits for it', async () => {
    const given = [
      () => {
        throw new Error('no secret');
      },
      async () => {
        throw new Error('no secret');
      },
      () => 5
    ];
    for (const [i, password] of given.entries()) {
      const config = { ...FROM['a config']('scram0', '', server), password };
      const wrong = ({ message: text, cause }) =>
        (i === 2 ? /password/ : /no secret/).test(`${text} ${cause?.message}`);
      const client = new Client(config);
      client.on('error', () => {});
      await assert.rejects(client.connect(), wrong);
      const pool = endAfterTest(new Pool(config));
      await assert.rejects(pool.query('SELECT 1'), wrong);
    }
  });

  // the server's 53300: porsager/postgres#1179, postgrex#765
  it('A role that may have two connections answers everything in a pool of eight', async () => {
    const shared = await sharedServer();
    await shared.sql('CREATE ROLE limited LOGIN CONNECTION LIMIT 2');
    const pool = new Pool({ ...shared.config, user: 'limited' }, { size: 8 });
    try {
      const queries = Array.from({ length: 40 }, (_, i) => pool.query('SELECT $1::int AS i', [i]));
      const blocks = Array.from({ length: 10 }, (_, i) => pool.transaction(tx => tx.query('SELECT $1::int AS i', [i])));
      const results = await Promise.all([...queries, ...blocks]);
      assert.deepEqual(
        results.map(({ rows }) => rows[0].i),
        [...queries.keys(), ...blocks.keys()]
      );
    } finally {
      await pool.end();
      await shared.sql('DROP ROLE limited');
    }
  });

  // node-postgres#3543, #3197, slonik#631
  it('A connection that is there after its waiter has gone is used or closed, and none is left at the end', async () => {
    const shared = await sharedServer();
    const proxy = await startProxy({ target: shared, delay: 30 });
    afterTest(() => proxy.stop());
    const pool = new Pool({ ...shared.config, host: proxy.host, port: proxy.port }, { size: 3, acquire_timeout: 20 });
    await Promise.allSettled(Array.from({ length: 9 }, () => pool.transaction(tx => tx.query('SELECT 1'))));
    await pool.end();
    await until(() => proxy.open === 0 || proxy.connections.every(({ closed }) => closed));
  });

  // bun#32089, pg-ipc#2, porsager/postgres#157, node-postgres#967
  it('A channel may have any name of up to 63 bytes, and a longer one is refused', async () => {
    for (const session of [await connected(), endAfterTest(new Pool((await sharedServer()).config))]) {
      for (const name of ['a b', 'Ab', '"', "'", 'ü'.repeat(31), 'x'.repeat(63), '0', 'select', 'a;b', 'a.b']) {
        const channel = session.listen(name);
        await channel.ready;
        await session.query('SELECT pg_notify($1, $2)', [name, 'yes']);
        const { value } = await channel.next();
        assert.deepEqual([value.channel, value.payload], [name, 'yes']);
        await channel.return();
      }
      for (const name of ['x'.repeat(64), 'ü'.repeat(32)]) assert.throws(() => session.listen(name), RangeError);
    }
  });
});

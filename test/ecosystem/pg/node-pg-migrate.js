'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

module.exports = async ({ pg, config, tell, errorOf, kill, persist }) => {
  const { runner } = await import('node-pg-migrate');
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'migrations-'));
  const write = (name, up, down) =>
    fs.writeFileSync(
      path.join(dir, name),
      `exports.up = async pgm => { ${up} };\nexports.down = async pgm => { ${down} };\n`
    );
  write(
    '1_users.js',
    "pgm.createTable('users', { id: 'id', name: { type: 'text', notNull: true, unique: true } });",
    "pgm.dropTable('users');"
  );
  write(
    '2_rows.js',
    "pgm.sql(\"INSERT INTO users (name) VALUES ('Ann'), ('Bob')\"); const [row] = await pgm.db.select('SELECT 5 AS five'); pgm.addColumn('users', { five: { type: 'int', default: row.five } });",
    "pgm.dropColumn('users', 'five'); pgm.sql('DELETE FROM users');"
  );
  const connect = async () => {
    const each = new pg.Client(config);
    each.on('error', () => {});
    return each.connect().then(() => each);
  };
  const client = await connect();
  const quiet = { debug() {}, info() {}, warn() {}, error() {} };
  const migrate = async (direction, count) => {
    const dbClient = await connect();
    return runner({ dbClient, dir, direction, count, migrationsTable: 'migrations', logger: quiet, log() {} })
      .then(done => done.map(({ name }) => name))
      .finally(() => dbClient.end());
  };
  tell(await migrate('up'), (await client.query('SELECT * FROM users')).rows);
  write('3_wrong.js', "pgm.sql('CREATE TABLE kept (a int)'); pgm.sql('SELECT nothing');", '');
  tell(
    errorOf(await migrate('up').catch(error => error)).code,
    (await client.query("SELECT to_regclass('kept') AS kept")).rows
  );
  fs.rmSync(path.join(dir, '3_wrong.js'));
  tell(
    await migrate('down', 1),
    (await client.query('SELECT * FROM users')).fields.map(({ name }) => name)
  );
  write('4_slow.js', "pgm.sql('CREATE TABLE slow (a int)'); pgm.sql('SELECT pg_sleep(100)');", '');
  const slow = migrate('up', Infinity).catch(() => 'lost');
  await persist(async () => {
    const { rowCount } = await client.query(
      "SELECT FROM pg_stat_activity WHERE query LIKE '%pg_sleep(100)%' AND pid <> pg_backend_pid()"
    );
    if (rowCount === 0) throw new Error('not yet');
  });
  await kill();
  tell(await slow);
  fs.rmSync(dir, { recursive: true });
};

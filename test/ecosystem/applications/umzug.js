'use strict';

const { Pool } = require('pg');
const { Umzug } = require('umzug');

(async () => {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  await pool.query('CREATE TABLE migrations (name text PRIMARY KEY)');
  const storage = {
    async executed() {
      return (await pool.query('SELECT name FROM migrations ORDER BY name')).rows.map(({ name }) => name);
    },
    async logMigration({ name }) {
      await pool.query('INSERT INTO migrations VALUES ($1)', [name]);
    },
    async unlogMigration({ name }) {
      await pool.query('DELETE FROM migrations WHERE name = $1', [name]);
    }
  };
  const inTransaction =
    (...texts) =>
    async ({ context }) => {
      const client = await context.connect();
      try {
        await client.query('BEGIN');
        for (const text of texts) await client.query(text);
        await client.query('COMMIT');
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    };
  const migrations = [
    {
      name: '1',
      up: inTransaction('CREATE TABLE umzug_a (a int)', 'INSERT INTO umzug_a VALUES (1)'),
      down: inTransaction('DROP TABLE umzug_a')
    },
    {
      name: '2',
      up: inTransaction('ALTER TABLE umzug_a ADD b text; CREATE INDEX ON umzug_a (b)'),
      down: inTransaction('ALTER TABLE umzug_a DROP b')
    },
    { name: '3', up: inTransaction('INSERT INTO umzug_a VALUES (2)', 'SELECT nothing'), down: async () => {} }
  ];
  const umzug = new Umzug({ migrations, context: pool, storage, logger: undefined });
  const names = list => list.map(({ name }) => name).join();
  console.log(await umzug.up().catch(({ cause, message }) => [cause.code, message]));
  console.log(
    names(await umzug.executed()),
    names(await umzug.pending()),
    (await pool.query('SELECT * FROM umzug_a')).rows
  );
  await umzug.down({ to: 0 });
  console.log(names(await umzug.executed()), (await pool.query("SELECT to_regclass('umzug_a') AS found")).rows);
  await pool.end();
})();

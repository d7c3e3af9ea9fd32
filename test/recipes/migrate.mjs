// A migration happens whole or not at all. A second process that starts at the same time waits for the lock, and then finds
// nothing to do. Send CREATE INDEX CONCURRENTLY and VACUUM, which a transaction refuses, by client.query.
import { Client } from 'quickgres';

const migrations = [
  'CREATE TABLE teams (id int PRIMARY KEY, name text NOT NULL)',
  'ALTER TABLE teams ADD COLUMN created timestamptz NOT NULL DEFAULT now()'
];

const client = new Client(process.env.DATABASE_URL);
await client.connect();
await client.transaction(async tx => {
  await tx.query('SELECT pg_advisory_xact_lock(20260101)'); // any number that your program uses for nothing else
  await tx.query('CREATE TABLE IF NOT EXISTS migrations (version int PRIMARY KEY)');
  const {
    rows: [{ done }]
  } = await tx.query('SELECT coalesce(max(version), 0) AS done FROM migrations');
  for (let version = done; version < migrations.length; version++) {
    await tx.simpleQuery(migrations[version]); // takes files of several statements
    await tx.query('INSERT INTO migrations VALUES ($1)', [version + 1]);
  }
});
await client.end();

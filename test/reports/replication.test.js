'use strict';

// What users of tools for logical replication and live results have reported. The tracker's number is beside each test.

const assert = require('node:assert/strict');
const { startServer } = require('pg-test-fixtures');
const { Client } = require('../..');
const { changes } = require('../../lib/replication');
const { until } = require('../support/kit');

describe('Reports about replication', () => {
  let server, writer;
  const loops = [];
  before(async () => {
    server = await startServer({
      external: false,
      settings: { wal_level: 'logical', max_wal_senders: 10, max_replication_slots: 10 }
    });
    await server.sql(`CREATE TABLE items (id int PRIMARY KEY, name text); CREATE TABLE full_row (a int, b text);
      ALTER TABLE full_row REPLICA IDENTITY FULL; CREATE TABLE by_index (a int NOT NULL, b text);
      CREATE UNIQUE INDEX by_a ON by_index (a); ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_a;
      CREATE TABLE "Odd ""one" ("A b" int PRIMARY KEY); CREATE TABLE unpublished (id int);
      CREATE PUBLICATION pub FOR TABLE items, full_row, by_index, "Odd ""one"`);
    writer = new Client(server.config);
    await writer.connect();
  });
  after(async () => {
    writer?.destroy();
    await server?.stop();
  });
  afterEach(async () => {
    for (const loop of loops.splice(0)) await loop.return().catch(() => {});
    await until(async () => (await server.sql('SELECT 1 FROM pg_replication_slots WHERE active')).length === 0);
    await server.sql('SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots');
  });

  /** A loop that has begun when this resolves, and a function that takes what it gives up to a commit. */
  async function follow(options) {
    const loop = changes(server.config, { publication: 'pub', ...options });
    loops.push(loop);
    let next = loop.next();
    next.catch(() => {});
    await until(
      async () => (await server.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).length > 0
    );
    const transaction = async () => {
      for (const list = []; ; next = loop.next()) {
        const { value, done } = await next;
        assert.ok(!done);
        list.push(value);
        if (value.type === 'commit') {
          next = loop.next();
          next.catch(() => {});
          return list;
        }
      }
    };
    return { loop, transaction };
  }

  // wal2json#225, graphile/crystal#1033
  it('Each identity of a table tells which row was deleted, and TRUNCATE names all of its tables', async () => {
    const { transaction } = await follow();
    await writer.simpleQuery(`INSERT INTO items VALUES (1, 'a'); INSERT INTO full_row VALUES (1, NULL);
      INSERT INTO by_index VALUES (1, 'b'); INSERT INTO "Odd ""one" VALUES (5)`);
    await transaction();
    await writer.simpleQuery('DELETE FROM items; DELETE FROM full_row; DELETE FROM by_index; DELETE FROM "Odd ""one"');
    assert.deepEqual(
      (await transaction())
        .filter(({ type }) => type === 'delete')
        .map(({ relation, old, key }) => [relation.name, old ?? key]),
      [
        ['items', { id: 1 }],
        ['full_row', { a: 1, b: null }],
        ['by_index', { a: 1 }],
        ['Odd "one', { 'A b': 5 }]
      ]
    );
    await writer.query('TRUNCATE items, by_index');
    const truncated = (await transaction()).find(({ type }) => type === 'truncate');
    assert.deepEqual(truncated.relations.map(({ name }) => name).sort(), ['by_index', 'items']);
  });

  // 2ndQuadrant/pglogical#280, #74
  it('Columns that are added, renamed, dropped or changed in one transaction have the form of then in each row', async () => {
    await server.sql('CREATE TABLE moving (id int PRIMARY KEY, a text); ALTER PUBLICATION pub ADD TABLE moving');
    await server.sql('GRANT ALL ON moving TO PUBLIC');
    const { transaction } = await follow();
    await server.sql(`BEGIN; INSERT INTO moving VALUES (1, 'one'); ALTER TABLE moving ADD COLUMN b int DEFAULT 5;
      INSERT INTO moving VALUES (2, 'two'); ALTER TABLE moving RENAME COLUMN a TO c;
      INSERT INTO moving VALUES (3, 'three', 6); ALTER TABLE moving ALTER COLUMN b TYPE text;
      INSERT INTO moving VALUES (4, 'four', 'x'); ALTER TABLE moving DROP COLUMN c;
      INSERT INTO moving VALUES (5, 'y'); COMMIT`);
    const rows = (await transaction()).filter(({ type, relation }) => type === 'insert' && relation.name === 'moving');
    assert.deepEqual(
      rows.map(({ new: row }) => row),
      [{ id: 1, a: 'one' }, { id: 2, a: 'two', b: 5 }, { id: 3, c: 'three', b: 6 }, { id: 4, c: 'four', b: 'x' }, { id: 5, b: 'y' }] // prettier-ignore
    );
  });

  // psycopg/psycopg2#940, kibae/pg-logical-replication#176
  it('A lasting slot stays where it is while a transaction is not asked past, whatever other tables write', async () => {
    const slot = 'held_in_reports';
    const confirmed = async () => {
      const [row] = await server.sql(
        `SELECT confirmed_flush_lsn AS at FROM pg_replication_slots WHERE slot_name = '${slot}'`
      );
      return row.at;
    };
    const inserted = async loop => {
      for await (const change of { [Symbol.asyncIterator]: () => ({ next: () => loop.next() }) }) {
        if (change.type === 'insert') return change.new.id;
      }
      return undefined;
    };
    const begin = () => {
      const loop = changes(server.config, { publication: 'pub', slot });
      loops.push(loop);
      return { loop, taken: inserted(loop) };
    };
    const { loop, taken } = begin();
    await until(async () => (await server.sql('SELECT 1 FROM pg_replication_slots WHERE active')).length > 0);
    await until(
      async () => (await server.sql("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")).length > 0
    );
    await writer.query("INSERT INTO items VALUES (10, 'held')");
    assert.equal(await taken, 10);
    const before = await confirmed();
    await server.sql('INSERT INTO unpublished SELECT generate_series(1, 10000); CHECKPOINT');
    assert.equal(await confirmed(), before);
    await loop.return();
    assert.equal(await confirmed(), before);
    assert.equal(await begin().taken, 10);
    await writer.query('DELETE FROM items');
  });

  // ConduitIO/conduit-connector-postgres#313, debezium/debezium#7272, kibae/pg-logical-replication#24
  it('WAL of tables that are not published does not pile up behind a slot whose loop waits', async () => {
    const slot = 'idle_in_reports';
    await follow({ slot, statusInterval: 20 });
    await server.sql('INSERT INTO unpublished SELECT generate_series(1, 10000)');
    const [{ now }] = await server.sql('SELECT pg_current_wal_lsn() AS now');
    await until(async () => {
      await server.sql('INSERT INTO unpublished VALUES (1)');
      const [row] = await server.sql(`SELECT confirmed_flush_lsn >= '${now}' AS is_past FROM pg_replication_slots
        WHERE slot_name = '${slot}'`);
      return row.is_past;
    });
  });

  // supabase/realtime#258, JarvusInnovations/lapidus#12
  it('A temporary slot is gone in whatever way its loop ends', async () => {
    const slots = () => server.sql('SELECT 1 FROM pg_replication_slots');
    const ends = {
      return: ({ loop }) => loop.return(),
      signal: ({ controller }) => controller.abort(),
      'the connection': () => server.sql('SELECT pg_terminate_backend(pid) FROM pg_stat_replication')
    };
    for (const [name, end] of Object.entries(ends)) {
      const controller = new AbortController();
      const followed = await follow({ signal: controller.signal });
      await end({ ...followed, controller });
      if (name === 'the connection') await followed.loop.return();
      await until(async () => (await slots()).length === 0, `slots after ${name}`);
    }
  });
});

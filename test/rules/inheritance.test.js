'use strict';

const assert = require('node:assert/strict');
const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { startServer } = require('pg-test-fixtures');
const { Live } = require('../../lib/live');
const { Pool } = require('../../lib/pool');
const { changes } = require('../../lib/replication');
const { until } = require('../support/kit');
const { table } = require('./kit');

const GUIDE = readFileSync(join(__dirname, '../../lib/cache/README.md'), 'utf8');
const [, TRIGGER] = /```sql\n(CREATE FUNCTION changed[^]*?)\n```/.exec(GUIDE);

const TABLES = `
  CREATE TABLE measures (id int, year int, kind text) PARTITION BY RANGE (year);
  CREATE TABLE y2024 PARTITION OF measures FOR VALUES FROM (2024) TO (2025);
  CREATE TABLE y2025 PARTITION OF measures FOR VALUES FROM (2025) TO (2026) PARTITION BY LIST (kind);
  CREATE TABLE y2025_a PARTITION OF y2025 FOR VALUES IN ('a');
  CREATE TABLE y2025_b PARTITION OF y2025 FOR VALUES IN ('b');
  CREATE TABLE cities (id int, year int, kind text);
  CREATE TABLE towns (LIKE cities);
  CREATE TABLE capitals () INHERITS (cities);
  CREATE TABLE ports () INHERITS (cities, towns);
  CREATE TABLE seats () INHERITS (capitals);
  CREATE TABLE apart (id int, year int, kind text);
  CREATE TABLE begun (id int);
  CREATE TABLE done (id int)`;
const LATER =
  'CREATE TABLE y2026 (LIKE measures); ALTER TABLE measures ATTACH PARTITION y2026 FOR VALUES FROM (2026) TO (2027)';

/** A row is put into one table, and then changed by a statement that names the same one, or `named`. */
const CHANGED = {
  'a partition': { into: 'y2024', row: "1, 2024, 'a'", tags: ['y2024', 'measures'] },
  'a partition of a partition': { into: 'y2025_b', row: "1, 2025, 'b'", tags: ['y2025_b', 'y2025', 'measures'] },
  'a partition in between': { into: 'y2025', row: "1, 2025, 'a'", tags: ['y2025_a', 'y2025', 'measures'] },
  'a root': { into: 'measures', row: "1, 2025, 'b'", tags: ['y2025_b', 'y2025', 'measures'] },
  'a partition that was attached later': {
    into: 'y2026',
    row: "1, 2026, 'a'",
    tags: ['y2026', 'measures'],
    isLate: true
  },
  'a child': { into: 'capitals', tags: ['capitals', 'cities'] },
  'a child of a child': { into: 'seats', tags: ['seats', 'capitals', 'cities'] },
  'a child of two parents': { into: 'ports', tags: ['ports', 'cities', 'towns'] },
  'a child through one of its parents': { into: 'ports', named: 'towns', tags: ['ports', 'cities', 'towns'] }
};

const WAYS = {
  INSERT: (name, row) => `INSERT INTO ${name} VALUES (${row})`,
  UPDATE: name => `UPDATE ${name} SET id = id + 1`,
  DELETE: name => `DELETE FROM ${name}`,
  TRUNCATE: name => `TRUNCATE ${name}`
};

/** What a Live follows, by its name. */
const FOLLOWED = {
  'a publication': config => changes(config, { publication: 'leaves' }),
  'a publication with publish_via_partition_root': config => changes(config, { publication: 'roots' }),
  "the guide's trigger": (config, pool) => pool.listen('changes')
};

describe('Inheritance', function () {
  this.timeout(60000);
  let server;
  const lives = {};
  const triggers = async () => {
    const [, create] = /(CREATE TRIGGER[^;]*;)/.exec(TRIGGER);
    const without = await server.sql(`SELECT relname AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
      AND relkind IN ('r', 'p') AND NOT relhastriggers`);
    const texts = without.map(
      ({ name }) => `${create.replace('users', name)} ALTER TABLE ${name} REPLICA IDENTITY FULL`
    );
    if (texts.length > 0) await server.sql(texts.join('; '));
  };

  before(async () => {
    server = await startServer({ external: false, settings: { wal_level: 'logical' } });
    await server.sql(`${TABLES}; CREATE PUBLICATION leaves FOR ALL TABLES;
      CREATE PUBLICATION roots FOR ALL TABLES WITH (publish_via_partition_root)`);
    await server.sql(/CREATE FUNCTION[^]*?END \$\$;/.exec(TRIGGER)[0]);
    await triggers();
    await server.sql(`ALTER ROLE ${server.user} REPLICATION`);
    for (const [name, follow] of Object.entries(FOLLOWED)) {
      const pool = new Pool(server.config);
      const live = new Live(pool);
      const tags = new Set();
      live.changed = tag => tags.add(tag);
      live.follow(follow(server.config, pool));
      lives[name] = { live, pool, tags };
      await until(async () => {
        await server.sql('INSERT INTO begun VALUES (1)');
        return tags.has('begun');
      });
    }
    await seen('done'); // and all that was written before
  });
  after(async () => {
    for (const { live, pool } of Object.values(lives)) {
      await live.end();
      await pool.end();
    }
    await server?.stop();
  });

  /** Waits until each has followed everything before. @returns {Promise<Object<string, Set<string>>>} their tags */
  async function seen(marker) {
    await server.sql(`INSERT INTO ${marker} VALUES (1)`);
    const found = {};
    for (const [name, { tags }] of Object.entries(lives)) {
      await until(() => tags.has(marker), `${name} to follow ${marker}`);
      found[name] = new Set(tags);
      tags.clear();
    }
    return found;
  }

  /** Changes a table once, which all of them follow. @returns {Promise<Object<string, Set<string>>>} what each was told */
  async function change({ into, named = into, row = "1, 1, 'a'", isLate }, way) {
    if (isLate) await server.sql(LATER);
    await triggers();
    try {
      if (way !== WAYS.INSERT) await server.sql(WAYS.INSERT(into, row));
      await seen('begun');
      await server.sql(way(named, row));
      return await seen('done');
    } finally {
      if (isLate) await server.sql('DROP TABLE y2026');
    }
  }

  const changed = new Map(); // what all were told, by the names of the change

  table(
    'A change of a table is one of all tables whose rows it has changed',
    {
      changed: CHANGED,
      way: WAYS,
      followed: Object.fromEntries(Object.keys(FOLLOWED).map(name => [name, name]))
    },
    async (each, way, followed, names) => {
      const key = names.slice(0, 2).join();
      if (!changed.has(key)) changed.set(key, change(each, way));
      const { [followed]: tags } = await changed.get(key);
      assert.deepEqual(
        each.tags.filter(tag => !tags.has(tag)),
        [],
        'is not told of these'
      );
      assert.ok(!tags.has('apart') && !tags.has(undefined), 'is told of others');
    },
    {
      'a child through one of its parents, INSERT': 'the row is in the parent',
      ...Object.fromEntries(
        [
          'a partition',
          'a partition of a partition',
          'a partition in between',
          'a partition that was attached later'
        ].map(name => [
          `a publication with publish_via_partition_root, ${name}, TRUNCATE`,
          'PostgreSQL does not publish it, as the guide says'
        ])
      )
    }
  );
});

'use strict';

// The server, its data, and the ways to it.

const { startProxy, startServer } = require('pg-test-fixtures');

/** One-way delay of the slow link, in milliseconds. */
const DELAY = 20;

/** How many point selects are in flight. */
const IDS = 1000;

/** Rows of the tables of which one is read at a time. */
const USERS = 20000;
const OWNERS = 10000;

/** A statement: libraries that want a name of it get one. */
const statement = (name, text) => ({ name, text });

const OWNER = 'SELECT o.id, o.data FROM sessions s JOIN owners o ON o.id = s.owner WHERE s.id = $1';

/** What the workloads ask: the same text for every client. */
const STATEMENTS = {
  select: statement('point', 'SELECT id, name, email, password FROM users WHERE id = $1'),
  owner: statement('owner', OWNER),
  update: statement('change', 'UPDATE owners SET data = $1 WHERE id = $2'),
  hundred: statement('hundred', 'SELECT * FROM strings LIMIT 100'),
  insert: statement('insert', 'INSERT INTO inserted VALUES ($1, $2)'),
  rows: statement('strings', 'SELECT * FROM strings'),
  typed: statement('typed', 'SELECT * FROM typed'),
  rowsUnicode: statement('strings_unicode', 'SELECT * FROM strings_unicode'),
  typedUnicode: statement('typed_unicode', 'SELECT * FROM typed_unicode'),
  copyOut: statement('', 'COPY strings TO STDOUT'),
  copyOutCsv: statement('', 'COPY strings TO STDOUT (FORMAT csv)'),
  copyOutBinary: statement('', 'COPY strings TO STDOUT (FORMAT binary)'),
  // Every row is sent and parsed; one is stored, which shows that they were.
  copyIn: statement('', "COPY copied FROM STDIN WHERE c1 = '1'")
};

/** The ten columns of `typed`; `strings` has the same values as text, named c1 … c10; in `…_unicode` each name has an umlaut. */
const COLUMNS = [
  ['id', 'n::integer'],
  ['serial', 'n * 7919::bigint'],
  ['name', "'User ' || n"],
  ['email', "n || '@example.com'"],
  ['level', '(n % 100)::smallint'],
  ['active', 'n % 2 = 0'],
  ['price', '(n / 7.0)::numeric(10, 2)'],
  ['created', "timestamptz '2024-01-01 12:00+00' + n % 365 * interval '1 day'"],
  ['note', "'note ' || n % 1000"],
  ['hash', 'md5(n::text)']
];

/** The size of the table `strings` as DataRow messages: a header of 7 bytes, four before each value. */
const WIRE = `SELECT count(*) * ${7 + 4 * COLUMNS.length} + sum(${COLUMNS.map(
  (_, index) => `octet_length(c${index + 1})`
).join(' + ')}) AS wire FROM strings`;

/** Statements that make the tables. */
function schema(rows) {
  const typed = COLUMNS.map(([name, value]) => `${value} AS ${name}`).join();
  const strings = COLUMNS.map(([name], index) => `${name}::text AS c${index + 1}`);
  return [
    ...[
      ['', typed],
      ['_unicode', typed.replace("'User '", "'Jürgen '")]
    ].flatMap(([suffix, columns]) => [
      `CREATE UNLOGGED TABLE typed${suffix} AS SELECT ${columns} FROM generate_series(1, ${rows}) AS n`,
      `CREATE UNLOGGED TABLE strings${suffix} AS SELECT ${strings} FROM typed${suffix}`
    ]),
    'CREATE UNLOGGED TABLE copied (LIKE strings)',
    // Rows are parsed and dropped, so that the table does not grow while it is measured.
    'CREATE UNLOGGED TABLE inserted (id text, data text)',
    'CREATE FUNCTION dropped() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$',
    'CREATE TRIGGER dropped BEFORE INSERT ON inserted FOR EACH ROW EXECUTE FUNCTION dropped()',
    `CREATE UNLOGGED TABLE owners (id integer PRIMARY KEY, data text) WITH (fillfactor = 50)`,
    `INSERT INTO owners SELECT n, md5(n::text) || md5('data ' || n) FROM generate_series(1, ${OWNERS}) AS n`,
    'CREATE UNLOGGED TABLE sessions (id integer PRIMARY KEY, owner integer)',
    `INSERT INTO sessions SELECT n, n FROM generate_series(1, ${OWNERS}) AS n`,
    'VACUUM ANALYZE'
  ];
}

/**
 * Starts the server, loads the data, and finds the ways to it.
 * @param {number} rows of the large tables
 * @returns {Promise<{ids: string[], targets: Object<string, object>, sql: function(string): Promise,
 *   version: string, wire: number, stop: function(): Promise}>}
 */
async function openDatabase(rows) {
  const server = await startServer({
    external: false,
    tls: true,
    sample: USERS,
    settings: { shared_buffers: '512MB', synchronous_commit: false, autovacuum: false, max_wal_size: '4GB' }
  });
  const proxy = await startProxy({ target: server, delay: DELAY });
  for (const text of schema(rows)) await server.sql(text);
  const ids = (await server.sql(`SELECT id FROM users ORDER BY id LIMIT ${IDS}`)).map(({ id }) => id);
  const [{ wire }] = await server.sql(WIRE);
  const [{ server_version: version }] = await server.sql('SHOW server_version');
  const common = { user: server.user, database: server.database };
  const tcp = { ...common, host: server.host, port: server.port };
  return {
    ids,
    version,
    wire: Number(wire),
    targets: {
      unix: { ...common, path: server.socketPath, directory: server.socketDirectory, port: server.port },
      tcp,
      tls: { ...tcp, tls: true },
      link: { ...tcp, port: proxy.port }
    },
    sql: text => server.sql(text),
    async stop() {
      await proxy.stop();
      await server.stop();
    }
  };
}

module.exports = { STATEMENTS, OWNERS, DELAY, openDatabase };

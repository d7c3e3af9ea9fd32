// Real use of the capabilities, each by its entry point. The compiler checks it, and it runs against a server.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { Client, Session, oid, type Config, type StreamResult, type Transaction } from 'quickgres';
import { ResponseCache, type CacheSession } from 'quickgres/cache';
import { respond, type Representation } from 'quickgres/http';
import { Live, type Followed, type LiveOptions } from 'quickgres/live';
import pg, {
  DatabaseError,
  Query,
  type ClientBase,
  type ConnectionConfig,
  type Defaults,
  type PoolClient,
  type PoolOptions as PgPoolOptions,
  type QueryConfigValues,
  type QueryResult,
  type TransactionStatus
} from 'quickgres/pg';
import { Pool, type PoolOptions, type PoolStats } from 'quickgres/pool';
import { PgOutput, changes, formatLsn, parseLsn, replicate, type Change } from 'quickgres/replication';
import { live } from 'quickgres/client-parser/live';
import { sql, type Sql, type SqlValue } from 'quickgres/sql';

async function cached(config: Config): Promise<void> {
  const client = new Client(config);
  await client.connect();
  const cache = new ResponseCache(client, { max_bytes: 1e6, max_age: 10, stale_while_revalidate: 1 });
  cache.on('error', (error: Error) => assert.fail(error));
  const options = { tags: ['one'], max_age: 5 };
  assert.equal((await cache.query<{ n: number }>('SELECT 1 AS n', [], options)).rows[0]?.n, 1);
  const target = new PassThrough();
  const result: Promise<StreamResult> = cache.queryTo(target, 'SELECT 1 AS n', [], { ...options, as: 'values' });
  assert.equal(await textOf(target), '1');
  assert.equal((await result).rowCount, 1);
  const key = cache.keyOf('SELECT 1 AS n', [], options);
  if (key !== undefined) cache.invalidate(key);
  cache.invalidateTag('one');
  cache.clear();
  const mine: CacheSession = cache.with({ 'app.tenant': 7 }).with({ role: 'pg_monitor' });
  const who = "SELECT current_setting('app.tenant') AS tenant, current_user AS who";
  const {
    rows: [ours]
  } = await mine.query<{ tenant: string; who: string }>(who);
  assert.deepEqual([ours?.tenant, ours?.who], ['7', 'pg_monitor']);
  assert.notEqual(mine.keyOf('SELECT 1'), cache.keyOf('SELECT 1'));
  assert.equal(
    await (await respond(mine, new Request('http://localhost/'), who, [], { as: 'csv' })).text(),
    'tenant,who\n7,pg_monitor\n'
  );

  const server = createServer((request, response) => {
    respond(cache, request, response, 'SELECT 1', [], {
      tags: ['one'],
      as: 'values',
      emptyStatus: 404,
      compress: true
    }).catch(() => response.writeHead(500).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);
  assert.equal(await (await fetch(`http://127.0.0.1:${address.port}/`)).text(), '1');
  const request = new Request('http://localhost/', { headers: { accept: 'text/csv' } });
  const forms: readonly Representation[] = ['json', 'csv'];
  const response: Response = await respond(client, request, 'SELECT $1::int AS n', [1], { as: forms, compress: false });
  assert.equal(await response.text(), 'n\n1\n');
  assert.equal((await respond(cache, request, 'SELECT 1', [], { tags: ['one'] })).status, 200);
  server.close();
  await client.end();
}

async function copies(config: Config): Promise<void> {
  const client = new Client(config);
  await client.connect();
  await client.query('CREATE TEMP TABLE numbers (n int, t text)');
  const copyFrom = client.copyFrom('COPY numbers FROM STDIN', { columns: ['n', 't'] });
  await pipeline([[1, 'a'], { t: null, n: 2n }], copyFrom);
  assert.equal(copyFrom.rowCount, 2);
  await client.end();
}

async function asPg({ host, port, user, database }: Config): Promise<void> {
  const given: ConnectionConfig = {
    host: String(host),
    port: Number(port),
    user: String(user),
    database: String(database)
  };
  const pool = new pg.Pool({ ...given, max: 2, min: 1, allowExitOnIdle: false });
  const { max, idleTimeoutMillis }: PgPoolOptions = pool.options;
  const defaults: Defaults = pg.defaults;
  assert.deepEqual([max, idleTimeoutMillis, defaults.max], [2, 10000, 10]);
  pool.on('error', (error: Error, client: PoolClient) => assert.fail(`${error} ${client.processID}`));
  const result: QueryResult<{ n: number }> = await pool.query<{ n: number }>('SELECT $1::int AS n', [1]);
  assert.equal(result.rows[0]?.n, 1);
  const values: QueryConfigValues<number[]> = [1];
  const { signal } = new AbortController();
  assert.equal((await pool.query({ text: 'SELECT $1::int', values, signal })).rowCount, 1);
  const { rows } = await pool.query<[number]>({ text: 'SELECT 2', rowMode: 'array' });
  assert.deepEqual(rows, [[2]]);
  const client: PoolClient = await pool.connect();
  const base: ClientBase = client;
  const status: TransactionStatus = base.getTransactionStatus();
  assert.equal(status, 'I');
  client.setTypeParser(pg.types.builtins.INT4, (text: string) => `<${text}>`);
  const query = client.query(new Query<{ n: string }>('SELECT 3 AS n'));
  query.on('row', (row: { n: string }) => assert.equal(row.n, '<3>'));
  await once(query, 'end');
  const error: unknown = await client.query('SELECT nothing').catch((each: unknown) => each);
  assert.ok(error instanceof DatabaseError && error instanceof Error);
  const position: string | undefined = error.position;
  assert.equal(position, '8');
  client.query('SELECT 4', (failure: Error | null, { rowCount }: QueryResult) =>
    assert.deepEqual([failure, rowCount], [null, 1])
  );
  client.release();
  const counts: number = pool.totalCount + pool.idleCount + pool.waitingCount;
  assert.ok(counts > 0);
  await pool.end();
}

async function pooled(config: Config): Promise<void> {
  const options: PoolOptions = { size: 2, acquire_timeout: 5000, idle_timeout: 0, max_lifetime: 60000 };
  const pool = new Pool(config, options);
  pool.on('error', (error: Error) => assert.fail(error));
  pool.once('connect', (client: Client) => assert.equal(client.state, 'connecting'));
  const { rows } = await pool.query<{ n: number }>('SELECT 1 AS n', [], {
    idempotent: true,
    alone: true,
    statement_timeout: 5000
  });
  assert.equal(rows[0]?.n, 1);
  const stats: PoolStats = pool.stats;
  assert.equal(stats.connected, 1);
  const session: Session = pool;
  assert.ok(pool instanceof Session);
  assert.equal(session.decode, true);
  const count: number = await pool.transaction(async tx => (await tx.query('SELECT 1')).rowCount, {
    readOnly: true,
    idempotent: true
  });
  assert.equal(count, 1);
  assert.equal(
    await pool.connection(async client => client.transactionStatus, { signal: new AbortController().signal }),
    'I'
  );
  for await (const row of pool.cursor<{ n: number }>('SELECT 2 AS n')) assert.equal(row.n, 2);
  const [result] = await pool.batch<[{ n: number }]>([['SELECT $1::int AS n', [3]]], { idempotent: true });
  assert.equal(result.rows[0]?.n, 3);
  assert.equal(await textOf(pool.copyTo('COPY (SELECT 4) TO STDOUT')), '4\n');
  const target = new PassThrough();
  const [written] = await Promise.all([pool.queryTo(target, 'SELECT 5', [], { as: 'values' }), textOf(target)]);
  assert.equal(written.rowCount, 1);
  const request = new Request('http://localhost/');
  const response: Response = await respond(pool, request, 'SELECT 6 AS n', [], { idempotent: true, as: 'json' });
  assert.deepEqual(await response.json(), [{ n: 6 }]);
  const owned = new Pool(config);
  const cache = new ResponseCache(owned);
  assert.equal((await cache.query<{ n: number }>('SELECT 7 AS n')).rows[0]?.n, 7);
  await owned.end();
  const news = pool.listen('news');
  await news.ready;
  await pool.query("NOTIFY news, 'six'");
  for await (const { payload, missed } of news) {
    assert.deepEqual([payload, missed], ['six', undefined]);
    break;
  }
  await pool.end();
}

async function replication(config: Config): Promise<void> {
  const client = new Client({ ...config, replication: 'database' });
  await client.connect();
  await client.simpleQuery('CREATE PUBLICATION used FOR TABLE users');
  await client.simpleQuery("SELECT pg_create_logical_replication_slot('used', 'pgoutput')");
  const stream = replicate(
    client,
    "START_REPLICATION SLOT used LOGICAL 0/0 (proto_version '1', publication_names 'used')",
    { statusInterval: 1000 }
  );
  const writer = new Client(config);
  await writer.connect();
  await writer.query('UPDATE users SET name = name WHERE name = (SELECT min(name) FROM users)');
  const output = new PgOutput();
  const texts = new PgOutput({ decode: false });
  const types: string[] = [];
  for await (const { lsn, data, time, walEnd } of stream) {
    const change = output.decode(data);
    types.push(change.type);
    if (change.type === 'update') assert.deepEqual([change.relation.name, typeof change.new.name], ['users', 'string']);
    const plain = texts.decode(data);
    if (plain.type === 'update') {
      const text: string | Buffer | null | undefined = plain.new.id;
      const value: string = change.type === 'update' ? change.new.id : '';
      assert.equal(text, value);
    }
    assert.ok(time instanceof Date && walEnd >= lsn && parseLsn(formatLsn(lsn)) === lsn);
    if (change.type !== 'commit') continue;
    stream.confirm(change.endLsn);
    assert.equal(stream.confirmed, change.endLsn);
    break;
  }
  assert.deepEqual(types, ['begin', 'relation', 'update', 'commit']);
  client.destroy();
  await client.closed;
  await writer.query("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'used'");
  const seen: Change['type'][] = [];
  const snapshot = async (tx: Session): Promise<void> => {
    await tx.query('SELECT FROM users LIMIT 1');
    await writer.query('DELETE FROM users WHERE name = (SELECT min(name) FROM users)');
  };
  for await (const { type, relation, new: row, key } of changes(config, {
    publication: ['used'],
    slot: 'again',
    snapshot,
    decode: true
  })) {
    seen.push(type);
    if (type === 'delete') assert.deepEqual([relation.name, row], ['users', undefined], Object.keys(key ?? {}).join());
    if (type === 'commit') break;
  }
  assert.deepEqual(seen, ['begin', 'delete', 'commit']);
  await writer.query("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'again'");
  await writer.query('DROP PUBLICATION used');
  await writer.end();
}

async function lives(config: Config): Promise<void> {
  const pool = new Pool(config);
  const options: LiveOptions = {
    interval: 50,
    concurrency: 2,
    keepalive: 1000,
    max_lifetime: 0,
    max_bytes: 1e6,
    max_rows: 100,
    max_results: 9,
    max_readers: 9
  };
  const results = new Live(pool, options).on('error', (error, about) => assert.fail(`${about?.text} ${error.message}`));
  const followed: Promise<void> = results.follow(pool.listen('news'));
  const given = results.follow(
    (async function* (): AsyncGenerator<Followed> {
      yield 'users';
    })()
  );
  const server = createServer((request, response) => {
    results
      .respond(request, response, 'SELECT name FROM users LIMIT $1', [2], { tags: ['users'], compress: false })
      .catch(assert.fail);
  }).listen(0);
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  for await (const rows of live<{ name: string }>(`http://localhost:${port}/`, {
    timeout: 1000,
    credentials: 'omit'
  })) {
    assert.deepEqual(
      [rows.length, typeof rows[0]?.name, rows.connected, rows.columns[0]?.name, results.size],
      [2, 'string', true, 'name', 1]
    );
    results.changed('users');
    break;
  }
  const plain: Response = await results.respond(
    new Request('http://localhost/', { headers: { accept: 'text/csv' } }),
    'SELECT 1 AS one'
  );
  assert.equal(await plain.text(), 'one\n1\n');
  await results.end();
  await Promise.all([followed, given]);
  server.close();
  await pool.end();
}

interface Product {
  sku: string;
  amount: number;
  tags: string[];
  data?: { note: string } | null;
  added: Date;
}

async function pieces(config: Config): Promise<void> {
  const client = new Client({
    ...config,
    search_path: 'public',
    'app.user': 7,
    statement_timeout: 60000,
    TimeZone: 'UTC',
    work_mem: '8MB'
  });
  await client.connect();
  const typed = await client.query('SELECT $1 AS n', ['7'], { paramTypes: [oid.int8], decode: { [oid.int8]: Number } });
  assert.equal(typed.rows[0]?.n, 7);
  await client.query('CREATE TEMP TABLE products (sku text, amount int, tags text[], data jsonb, added timestamptz)');
  const products: Product[] = [
    { sku: 'a', amount: 1, tags: ['x'], data: { note: 'n' }, added: new Date() },
    { sku: 'b', amount: 2, tags: [], data: null, added: new Date() }
  ];
  await client.query(...sql`INSERT INTO products ${sql.values(products)}`);
  await client.query(...sql`INSERT INTO products ${sql.values(products, ['sku', 'amount'])}`);
  const changes: Partial<Product> = { amount: 3 };
  const body: Record<string, unknown> = JSON.parse('{ "amount": 4 }');
  const columns = ['amount'].filter(name => Object.hasOwn(body, name));
  await client.query(...sql`UPDATE products SET ${sql.set(changes, ['amount'])} WHERE sku = ${'a'}`);
  await client.query(...sql`UPDATE products SET ${sql.set(body, columns)} WHERE sku = ${'b'}`);
  const name = undefined as string | undefined;
  const values: SqlValue[] = [
    1,
    2n,
    null,
    new URL('https://example.com'),
    [[1], [2]],
    { a: [1, { b: null }] },
    new Uint8Array(1),
    sql.json([1])
  ];
  const filter: Sql = name === undefined ? sql.empty : sql`AND sku = ${name}`;
  const query = sql`SELECT ${sql.id('products', 'sku')} FROM products
    WHERE ${sql.and([sql`amount = ${3}`, sql.or([sql`data @> ${{ note: 'n' }}`, sql`tags = ${[]}`])])} ${filter} ORDER BY ${sql.raw('sku')}`;
  const asTuple: readonly [text: string, values: unknown[]] = query;
  assert.equal(asTuple[1].length, 3);
  const { rows } = await client.query<{ sku: string }>(...query);
  const sku: string | undefined = rows[0]?.sku;
  assert.equal(sku, 'a');
  await client.batch([
    query,
    sql`SELECT ${1}::int`,
    sql`SELECT ${sql.join(
      values.slice(0, 1).map(value => sql`${value}::text`),
      sql` || `
    )}`
  ]);
  for await (const row of client.cursor<{ sku: string }>(...query)) assert.equal(row.sku, 'a');
  const target = new PassThrough();
  const [, { rowCount }] = await Promise.all([textOf(target), client.queryTo(target, ...query, { as: 'json' })]);
  assert.equal(rowCount, 1);
  await client.end();
}

export default async function use(config: Config & { host: string; port: number }): Promise<void> {
  for (const part of [asPg, cached, copies, lives, pieces, pooled, replication]) await part(config);
}

/** Compiled, not run: what sessions and pieces take and give. */
export async function compiled(pool: Pool, tx: Transaction, user: Shopper, some: Partial<Shopper>): Promise<void> {
  const raw = new Client({ host: 'localhost' }),
    decoding = new Client({ decode: { [oid.numeric]: value => Number(value) } });
  const piece = sql`SELECT ${user}, ${[user.tags]}, ${new URL('a:b')}`;
  const admins: boolean[] = [pool, decoding, tx].map(() => true);
  admins.push((await pool.query<Shopper>(piece)).rows[0]!.admin, (await decoding.query<Shopper>('a')).rows[0]!.admin);
  admins.push(
    (await tx.query<Shopper>('a', [user, [1, [2]], some])).rows[0]!.admin,
    (await raw.query<Shopper>('a', [], { decode: true })).rows[0]!.admin
  );
  const name: string | null | undefined = (await raw.query<{ name: string | null }>(piece)).rows[0]?.name;
  sql.set(some, ['name']);
  sql.values([user, { ...user, name: null }]);
  await tx.with({ 'app.tenant': 1 }).query(piece);
  await pool.transaction(async inner => compiled(pool, inner, user, some));
  await pipeline([user], pool.copyFrom(`COPY a FROM STDIN ${name}`, { columns: ['admin', 'name'] }));
}
interface Shopper {
  admin: boolean;
  name: string | null;
  tags: string[];
  data?: { a: number };
}

// A service: users with filters, inserts, partial updates, transfers, jobs, CSV and ndjson; health, slow queries, shutdown.

import { tracingChannel } from 'node:diagnostics_channel';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { type Config, PostgresError, type Session, TimeoutError, type TracedQuery } from 'quickgres';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';
import { type Sql, sql } from 'quickgres/sql';

export interface User {
  id: number;
  name: string;
  email: string;
  balance: number;
  tags: string[];
  created: Date;
}
interface Filter {
  name?: string;
  tag?: string;
  ids?: string;
  sort?: string;
  after?: string;
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS users (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL, email text NOT NULL UNIQUE,
    balance int NOT NULL DEFAULT 0 CHECK (balance >= 0), tags text[] NOT NULL DEFAULT '{}', created timestamptz NOT NULL DEFAULT now());
  CREATE TABLE IF NOT EXISTS jobs (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload jsonb NOT NULL, done timestamptz)`;
const SORTS = new Map<string | undefined, Sql>([
  ['name', sql`name, id`],
  ['newest', sql`created DESC, id DESC`]
]);
const EDITABLE = ['name', 'email', 'tags'] as const;
const STATUS: Record<string, number> = {
  23505: 409,
  23502: 400,
  23514: 422,
  '22P02': 400,
  '22021': 400,
  40001: 409,
  57014: 504,
  53300: 503
};

/** Repeats a transaction that lost against another. */
export async function serializable<T>(pool: Pool, work: (tx: Session) => Promise<T>): Promise<T> {
  for (let left = 5; ; left--) {
    try {
      return await pool.transaction(work, { isolation: 'serializable' });
    } catch (error) {
      if (!(error instanceof PostgresError && /^40(?:001|P01)$/.test(error.code ?? '') && left > 1)) throw error;
    }
  }
}

const filtered = ({ name, tag, ids, sort, after }: Filter): Sql =>
  sql`SELECT * FROM users WHERE ${sql.and([
    name === undefined ? sql.empty : sql`name ILIKE ${`%${name}%`}`,
    tag === undefined ? sql.empty : sql`${tag} = ANY(tags)`,
    ids === undefined ? sql.empty : sql`id = ANY(${ids.split(',')})`,
    after === undefined ? sql.empty : sql`id > ${after}`
  ])} ORDER BY ${SORTS.get(sort) ?? sql`id`}`;

/** Takes jobs until none is left; each belongs to one worker. */
export async function work(pool: Pool, run: (payload: unknown) => Promise<void>): Promise<number> {
  for (let count = 0; ; count++) {
    const more = await pool.transaction(async tx => {
      const {
        rows: [job]
      } = await tx.query<{ id: number; payload: unknown }>(
        'SELECT id, payload FROM jobs WHERE done IS NULL ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1'
      );
      if (job === undefined) return false;
      await run(job.payload);
      await tx.query('UPDATE jobs SET done = now() WHERE id = $1', [job.id]);
      return true;
    });
    if (!more) return count;
  }
}

export interface Options {
  slow?: number;
  onSlow?: (text: string, ms: number) => void;
  job?: (payload: unknown) => Promise<void>;
}

export async function service(
  config: Config,
  { slow = 200, onSlow = console.warn, job = async () => {} }: Options = {}
): Promise<{ app: FastifyInstance; pool: Pool }> {
  const pool = new Pool({ application_name: 'service', ...config }, { size: 4, acquire_timeout: 5000 });
  pool.on('error', error => app.log.error(error));
  const app = fastify();
  await pool.simpleQuery(SCHEMA);

  const { start, asyncEnd } = tracingChannel<unknown, TracedQuery>('quickgres:query');
  const began = new WeakMap<TracedQuery, number>();
  const onStart = (query: unknown): unknown => began.set(query as TracedQuery, performance.now());
  const onEnd = (query: unknown): void => {
    const ms = performance.now() - (began.get(query as TracedQuery) ?? Infinity);
    if (ms > slow) onSlow((query as TracedQuery).text, ms);
  };
  start.subscribe(onStart);
  asyncEnd.subscribe(onEnd);

  app.setErrorHandler((error, request, reply) => {
    const { code = '', statusCode = 500 } = error as { code?: string; statusCode?: number };
    const status = error instanceof TimeoutError ? 503 : (STATUS[code] ?? statusCode);
    return reply.code(status).send({ error: status < 500 ? code : 'the service could not answer' });
  });
  app.addContentTypeParser('text/csv', (request, payload, done) => done(null, payload));

  async function answer(request: FastifyRequest, reply: FastifyReply, query: Sql): Promise<FastifyReply> {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const url = new URL(request.url, 'http://localhost');
    const response = await respond(pool, new Request(url, { headers }), ...query, { as: ['json', 'ndjson', 'csv'] });
    return reply
      .code(response.status)
      .headers(Object.fromEntries(response.headers))
      .send(response.body ?? undefined);
  }

  app.get('/health', async () => ({
    ok: (await pool.query('SELECT 1', [], { statement_timeout: 1000 })).rowCount === 1,
    ...pool.stats
  }));
  app.get<{ Querystring: Filter }>('/users', (request, reply) => answer(request, reply, filtered(request.query)));
  app.post<{ Body: Pick<User, 'name' | 'email' | 'balance'>[] }>('/users', async ({ body }, reply) => {
    const { rows } = await pool.query<User>(
      ...sql`INSERT INTO users ${sql.values(body, ['name', 'email', 'balance'])} RETURNING *`
    );
    return reply.code(201).send(rows);
  });
  app.patch<{ Params: { id: string }; Body: Partial<User> }>('/users/:id', async ({ params, body }, reply) => {
    const columns = EDITABLE.filter(name => Object.hasOwn(body, name));
    if (columns.length === 0) return reply.code(400).send({ error: 'nothing to change' });
    const {
      rows: [user]
    } = await pool.query<User>(...sql`UPDATE users SET ${sql.set(body, columns)} WHERE id = ${params.id} RETURNING *`);
    return user ?? reply.code(404).send({ error: 'not found' });
  });
  app.post<{ Body: { from: number; to: number; amount: number } }>('/transfers', ({ body: { from, to, amount } }) =>
    serializable(pool, async tx => {
      const [
        {
          rows: [sender]
        }
      ] = await tx.batch<[User, User]>([
        sql`UPDATE users SET balance = balance - ${amount} WHERE id = ${from} RETURNING *`,
        sql`UPDATE users SET balance = balance + ${amount} WHERE id = ${to} RETURNING *`
      ]);
      return sender;
    })
  );
  app.post<{ Body: Readable }>('/users.csv', async ({ body }) => {
    const copy = pool.copyFrom('COPY users (name, email, balance) FROM STDIN (FORMAT csv, HEADER)');
    await pipeline(body, copy);
    return { count: copy.rowCount };
  });
  app.post('/jobs', async ({ body }, reply) => {
    await pool.batch([sql`INSERT INTO jobs ${sql.values([{ payload: sql.json(body as object) }])}`, 'NOTIFY jobs']);
    return reply.code(202).send();
  });

  const wake = pool.listen('jobs');
  await wake.ready;
  const working = (async () => {
    await work(pool, job);
    for await (const notification of wake) await work(pool, job);
  })();
  app.addHook('onClose', async () => {
    await wake.end();
    await working;
    await pool.end();
    start.unsubscribe(onStart);
    asyncEnd.unsubscribe(onEnd);
  });
  return { app, pool };
}

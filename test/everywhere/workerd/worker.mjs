// A Worker that asks PostgreSQL: at /direct/… with a connection string, at /hyperdrive/… through the binding, at
// /socket-…/… by workersSocket.

import { Client } from '../../../index.mjs';
import { ResponseCache } from '../../../lib/cache/index.js';
import { respond } from '../../../lib/http/index.js';
import { Pool as PgPool } from '../../../lib/pg/index.js';
import { Pool } from '../../../lib/pool/index.js';
import { workersSocket as socket } from '../../../lib/sockets/index.js';

/** Clients that live as long as the isolate; see the check `kept`. */
const shared = {};

/** Pools that live as long as the isolate, and what a request asks of each. */
const POOLS = {
  pool: {
    make: url => new Pool(url, { size: 3 }),
    ask: async (pool, n) => (await pool.query('SELECT $1::int AS n', [n])).rows[0].n
  },
  'pool-of-one': {
    make: url => new Pool(url, { size: 1, acquire_timeout: 500 }),
    ask: async (pool, n) => (await pool.query('SELECT $1::int AS n', [n])).rows[0].n
  },
  transactions: {
    make: url => new Pool(url, { size: 2 }),
    ask: (pool, n) => pool.transaction(async tx => (await tx.query('SELECT $1::int AS n', [n])).rows[0].n)
  },
  'pg-pool': {
    make: connectionString => new PgPool({ connectionString, max: 3 }),
    ask: async (pool, n) => (await pool.query('SELECT $1::int AS n', [n])).rows[0].n
  },
  'pg-clients': {
    make: connectionString => new PgPool({ connectionString, max: 2 }),
    async ask(pool, n) {
      const client = await pool.connect();
      try {
        return (await client.query('SELECT $1::int AS n', [n])).rows[0].n;
      } finally {
        client.release();
      }
    }
  }
};

/** What can be asked for: each gets a client that is connected. */
const CHECKS = {
  async query({ client }) {
    const { rows, cmd } = await client.query('SELECT $1::int + 1 AS n, $2::text AS t, NULL AS nothing', [41, 'ä']);
    return { row: rows[0].toObject(), cmd };
  },

  async encrypted({ client }) {
    return (await client.query('SELECT ssl, version FROM pg_stat_ssl WHERE pid = pg_backend_pid()')).objects[0];
  },

  async pipelined({ client }) {
    const results = await Promise.all(Array.from({ length: 100 }, (_, i) => client.query('SELECT $1::int AS i', [i])));
    return results.map(({ rows }) => Number(rows[0].i));
  },

  async error({ client }) {
    const error = await client.query('SELECT 1 / 0').catch(error => error);
    const { rows } = await client.query('SELECT 1 AS n');
    return { name: error.name, code: error.code, message: error.message, after: rows[0].n };
  },

  async typed({ client }) {
    const { rows } = await client.query('SELECT $1 + 1 AS n', [41], { paramTypes: [23], cache: false });
    return rows[0].n;
  },

  /** One after the other, each in one round trip. */
  async sequence({ client, url }) {
    let sum = 0;
    for (let i = 0; i < Number(url.searchParams.get('count')); i++) {
      const { rows } = await client.query(`SELECT $1 + ${i} AS n`, [1], { paramTypes: [23], cache: false });
      sum += rows[0].n;
    }
    return sum;
  },

  async batch({ client }) {
    const [one, two] = await client.batch([
      ['SELECT $1::int AS n', [1]],
      ['SELECT $1::int AS n', [2]]
    ]);
    const failed = await client.batch([['SELECT 1'], ['SELECT 1 / 0']]).catch(error => error);
    return { sum: Number(one.rows[0].n) + Number(two.rows[0].n), index: failed.index, code: failed.code };
  },

  async transaction({ client }) {
    return client.transaction(async tx => {
      await tx.query('CREATE TEMP TABLE made (n int)');
      await tx
        .transaction(async inner => {
          await inner.query('INSERT INTO made VALUES (1)');
          throw new Error('not that one');
        })
        .catch(() => {});
      return (await tx.query('SELECT count(*) AS n FROM made')).rows[0].n;
    });
  },

  async cursor({ client }) {
    let count = 0;
    for await (const row of client.cursor('SELECT i FROM generate_series(1, 1000) i', [], { batchSize: 100 })) {
      if (row.i === 250) break;
      count++;
    }
    return count;
  },

  async large({ client }) {
    const { rows } = await client.query("SELECT repeat('x', 1000000) AS x FROM generate_series(1, 20)");
    return rows.reduce((sum, row) => sum + row.x.length, 0);
  },

  async cancel({ client }) {
    const error = await client
      .query('SELECT pg_sleep(60)', [], { signal: AbortSignal.timeout(300) })
      .catch(error => error);
    const { rows } = await client.query('SELECT 1 AS n');
    return { name: error.name, after: rows[0].n };
  },

  /** The result's bytes go into the Response while they come. */
  async pass({ client, wait, url }) {
    const { readable, writable } = new TransformStream();
    const as = url.searchParams.get('as') ?? 'protocol';
    const text =
      as === 'values'
        ? 'SELECT json_agg(i) FROM generate_series(1, 5) i'
        : `SELECT i, repeat('x', 1000) AS x FROM generate_series(1, ${url.searchParams.get('rows')}) i`;
    wait(client.queryTo(writable, text, [], { as }).then(() => client.end()));
    return new Response(readable, { headers: { 'content-type': 'application/x-postgresql' } });
  },

  /** The request is answered as it asks to be. */
  async respond({ client, request, url, wait }) {
    const text = "SELECT i, repeat('x', 100) AS x FROM generate_series(1, $1::int) i";
    const response = await respond(client, request, text, [url.searchParams.get('rows')]);
    response.headers.set('was-encoded', response.headers.get('content-encoding')); // on its way it is decoded
    wait(client.end());
    return response;
  },

  /** A cache that owns the request's client. */
  async cached({ client }) {
    const cache = new ResponseCache(client);
    const ask = async () => (await cache.query('SELECT random() AS r')).rows[0].r;
    return [await ask(), await ask()];
  },

  /** A client of the isolate's, which the first request has connected. */
  async kept({ client, way }) {
    shared[way] ??= client;
    return (await shared[way].query('SELECT 1 AS n')).rows[0].n;
  }
};

export default {
  async fetch(request, env, context) {
    const url = new URL(request.url);
    const [, way, check] = url.pathname.split('/');
    if (Object.hasOwn(POOLS, way)) {
      const { make, ask } = POOLS[way];
      shared[way] ??= make(env.direct);
      return Response.json(await ask(shared[way], Number(check)).catch(error => ({ error: error.stack })));
    }
    const connectionString = way.endsWith('hyperdrive') ? env.HYPERDRIVE.connectionString : env[way];
    const client = new Client({ connectionString, socket: way.startsWith('socket') ? socket : undefined });
    try {
      await client.connect();
      const answer = await CHECKS[check]({ client, request, url, way, wait: promise => context.waitUntil(promise) });
      if (answer instanceof Response) return answer;
      if (check !== 'kept') context.waitUntil(client.end());
      return Response.json(answer);
    } catch (error) {
      client.destroy();
      return Response.json({ error: error.stack }, { status: 500 });
    }
  }
};

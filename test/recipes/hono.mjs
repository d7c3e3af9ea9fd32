import { serve } from '@hono/node-server'; // in Bun and Deno: export default app
import { Hono } from 'hono';
import { respond } from 'quickgres/http';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const app = new Hono();

app.get('/users', c => respond(pool, c.req.raw, 'SELECT id, name FROM users', [], { as: 'json' }));
app.get('/users/:id', c =>
  respond(pool, c.req.raw, 'SELECT id, name FROM users WHERE id = $1', [c.req.param('id')], {
    as: 'json',
    emptyStatus: 404
  })
);
app.onError((error, c) =>
  // SQLSTATE class 22: a value is wrong, such as a malformed uuid
  error.code?.startsWith('22')
    ? c.json({ error: 'a wrong value' }, 400)
    : c.json({ error: 'the database could not answer' }, 500)
);

serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) });

// deno run --allow-env --allow-net --allow-read deno.ts
import { Pool } from 'quickgres/pool';
import { respond } from 'quickgres/http';

const pool = new Pool(Deno.env.get('DATABASE_URL'));

Deno.serve({ port: 3000 }, async request => {
  try {
    return await respond(pool, request, 'SELECT id, name FROM users LIMIT $1', [100], { as: 'json' });
  } catch (error) {
    console.error(error); // the HTTP client gets no details
    return Response.json({ error: 'the database could not answer' }, { status: 500 });
  }
});

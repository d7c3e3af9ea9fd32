import { Pool } from 'quickgres/pool';
import { respond } from 'quickgres/http';

const pool = new Pool(process.env.DATABASE_URL);

Bun.serve({
  port: 3000,
  async fetch(request) {
    try {
      return await respond(pool, request, 'SELECT id, name FROM users LIMIT $1', [100], { as: 'json' });
    } catch (error) {
      console.error(error); // the HTTP client gets no details
      return Response.json({ error: 'the database could not answer' }, { status: 500 });
    }
  }
});

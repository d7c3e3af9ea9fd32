import { respond } from 'quickgres/http';
import { pool } from '@/lib/db';

export const runtime = 'nodejs'; // Next's Edge runtime has no TCP

export async function GET(request: Request): Promise<Response> {
  try {
    // Next compresses by itself, and drops the header that would say that the body is compressed already.
    return await respond(pool, request, 'SELECT id, name FROM users LIMIT $1', [100], { as: 'json', compress: false });
  } catch (error) {
    console.error(error); // the HTTP client gets no details
    return Response.json({ error: 'the database could not answer' }, { status: 500 });
  }
}

// In a page, `export const dynamic = 'force-dynamic'` makes Next run the query for each request. Pass `rows` with `decode`, or
// `objects`, to client components.

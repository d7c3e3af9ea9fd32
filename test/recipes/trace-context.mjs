// Each request's traceparent as application_name: pg_stat_activity, and log_line_prefix = '%a …', show which trace a query belongs to. A
// comment in the SQL would do that as well, but each text is then a new one, which has to be prepared.
// https://www.w3.org/TR/trace-context/#traceparent-header
import { AsyncLocalStorage } from 'node:async_hooks';
import http from 'node:http';
import { Pool } from 'quickgres/pool';

const pool = new Pool({ connectionString: process.env.DATABASE_URL });
const traces = new AsyncLocalStorage();

/** The pool, for queries of the request that is being handled. PostgreSQL keeps 63 bytes; a traceparent has 55. */
const db = () => {
  const traceparent = traces.getStore();
  return traceparent ? pool.with({ application_name: traceparent }) : pool;
};

const server = http
  .createServer((request, response) =>
    traces.run(request.headers.traceparent, async () => {
      const [{ name }] = await db().query("SELECT current_setting('application_name') AS name");
      response.end(name);
    })
  )
  .listen(0);

const { port } = Object(server.address());
const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
const response = await fetch(`http://localhost:${port}/`, { headers: { traceparent } });
console.log((await response.text()) === traceparent); // true
server.close();
await pool.end();

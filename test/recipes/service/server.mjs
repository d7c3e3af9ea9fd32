// A service of several tenants: requests through PgBouncer, and what needs a session of its own on PostgreSQL itself.
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { ResponseCache } from 'quickgres/cache';
import { respond } from 'quickgres/http';
import { Live } from 'quickgres/live';
import { Pool } from 'quickgres/pool';
import { COUNTS, LIST, add, as, doJob, finish, importTasks } from './tasks.mjs';

const { DATABASE_URL, DIRECT_URL = DATABASE_URL, PORT = '8080' } = process.env;
const pool = new Pool(DATABASE_URL); // requests
const direct = new Pool(DIRECT_URL, { size: 3 }); // live results, notifications, jobs
const reader = new Pool(DIRECT_URL, { size: 2 }); // of the cache alone, which makes its sessions read-only
const cache = new ResponseCache(reader, { max_age: 60 });
const live = new Live(direct);
for (const each of [pool, direct, reader, live]) each.on('error', error => console.error(error.message));

live.follow(direct.listen('changes'));
await cache.listen('changes');

/** @type {Record<string, number>} by SQLSTATE; see the guide on errors */
const STATUS = { 23505: 409, 40001: 409, '40P01': 409, 42501: 403, 57014: 504, 53300: 503, '57P01': 503 };

/** @param {any} error */
const statusOf = ({ code = '', name }) =>
  STATUS[code] ??
  (name === 'SyntaxError' || /^2[23]/.test(code) ? 400 : /^(?:Connection|Timeout)Error$/.test(name) ? 503 : 500);

/** @type {Record<string, (request: http.IncomingMessage, response: http.ServerResponse, tenant: string, id: string) => Promise<unknown>>} */
const ROUTES = {
  // The list: JSON or CSV once, and live for a page that asks by `live('/tasks')`.
  'GET /tasks': (request, response, tenant) =>
    live.respond(request, response, LIST, [], { tags: ['tasks'], settings: as(tenant) }),

  'GET /counts': (request, response, tenant) =>
    respond(cache.with(as(tenant)), request, response, COUNTS, [], { tags: ['tasks'] }),

  'POST /tasks': async (request, response, tenant) => {
    const task = await add(pool.with(as(tenant)), JSON.parse(await text(request)));
    response.writeHead(201, { 'content-type': 'application/json' }).end(JSON.stringify(task));
  },

  'POST /tasks.csv': async (request, response, tenant) => {
    response.end(String(await importTasks(pool.with(as(tenant)), request)));
  },

  'POST /done': async (request, response, tenant, id) => {
    const found = await finish(pool.with(as(tenant)), id);
    response.writeHead(found ? 204 : 404).end();
  }
};

const server = http.createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const route = ROUTES[`${request.method} ${pathname}`];
  const tenant = request.headers['x-tenant']; // for the example: a client can forge it, so take the tenant from your authentication
  if (route === undefined) return void response.writeHead(404).end();
  if (typeof tenant !== 'string') return void response.writeHead(401).end();
  try {
    await route(request, response, tenant, searchParams.get('id') ?? '');
  } catch (/** @type {any} */ error) {
    const status = response.headersSent ? 0 : statusOf(error);
    if (status >= 500) console.error(error);
    if (status > 0) response.writeHead(status).end();
  }
});

/** Does jobs until the listener ends: those that are there, then one look for each notification. */
const jobs = direct.listen('jobs');
const working = (async () => {
  await jobs.ready;
  const work = async (/** @type {{ task: string }} */ { task }) => console.log('mail about', task);
  do while (await doJob(direct, work));
  while (!(await jobs.next()).done);
})().catch(error => console.error(error));

server.listen(Number(PORT), () => console.log(`http://localhost:${Object(server.address()).port}/`));

process.once('SIGTERM', async () => {
  const late = setTimeout(() => process.exit(1), 10_000);
  const idle = setInterval(() => server.closeIdleConnections(), 50); // keep-alive connections hold the server open
  const closed = new Promise(resolve => server.close(resolve)); // no new requests
  await live.end(); // pages connect again, to another process
  await closed;
  clearInterval(idle);
  await jobs.return(undefined);
  await working;
  await Promise.all([pool, direct, reader].map(each => each.end()));
  clearTimeout(late);
});

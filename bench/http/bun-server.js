'use strict';

// The same server as Bun's documentation would have it: Bun.serve and Bun.sql.

const { ROUTES } = require('./routes');

const JSON_LINES = { headers: { 'content-type': 'application/x-ndjson' } };

const out = {
  send: (type, body) => new Response(body, { headers: { 'content-type': type } }),
  stream: source => new Response(source, JSON_LINES)
};

async function main() {
  const db = await require('./clients/bun').open(JSON.parse(process.env.TARGET));
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname } = new URL(request.url);
      return pathname === '/cpu' ? Response.json(process.cpuUsage()) : ROUTES[pathname].answer(db, out);
    }
  });
  console.log(server.port);
}

main();

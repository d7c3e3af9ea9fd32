'use strict';

// What the tests of HTTP share: a server of the test's own, and what asks it.

const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Client } = require('../..');
const { ResponseCache } = require('../../lib/cache');
const { respond } = require('../../lib/http');
const { connected } = require('../support');

const FOLDER = path.join(__dirname, '../../client-parser');
const LARGE = 'SELECT i, md5(i::text) FROM generate_series(1, 20000) AS i';

/** The messages of a result, one by one, as one Buffer. */
async function direct(client, text, values) {
  const packets = [];
  await client.query(text, values, Client.STRING, true, { write: packet => packets.push(packet) });
  return Buffer.concat(packets);
}

/** Runs an HTTP server while `work` runs; what `handler` rejects with is in `errors`. */
async function serving(handler, work, server = http.createServer()) {
  const errors = [];
  server.on('request', async (request, response) => {
    try {
      await handler(request, response);
    } catch (error) {
      errors.push(error);
      if (response.headersSent) return;
      response.writeHead(500);
      response.end(error.code);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(server.address().port, errors);
  } finally {
    server.close();
    if (server.closeAllConnections) server.closeAllConnections();
  }
}

/** A request by HTTP/1.1 for protocol bytes, unless its headers say otherwise; gives status, headers and body. */
async function get(port, given = {}, { method = 'GET', agent, url = '/' } = {}) {
  const headers = 'accept' in given ? given : { accept: 'application/x-postgresql', ...given };
  const request = http.request({ port, host: '127.0.0.1', path: url, method, headers, agent });
  request.end();
  const [response] = await once(request, 'response');
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

/** A ResponseCache by a clock, and a handler that answers from it and from its client, with the files of client-parser. */
async function cached(now) {
  const client = await connected();
  const cache = new ResponseCache(client, { now });
  const handler = (request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    if (pathname === '/') return response.setHeader('content-type', 'text/html').end('<!doctype html>');
    if (pathname.startsWith('/client-parser/')) {
      response.setHeader('content-type', 'text/javascript');
      return response.end(fs.readFileSync(path.join(FOLDER, path.basename(pathname))));
    }
    const [from, text, options] = {
      '/fresh': [client, LARGE],
      '/cached': [cache, LARGE],
      '/tagged': [cache, LARGE, { tags: ['t'] }],
      '/values': [cache, LARGE, { as: 'values' }],
      '/none': [cache, 'SELECT 1 WHERE false', { emptyStatus: 404 }],
      '/show': [cache, 'SHOW TimeZone'],
      '/user': [cache.with({ 'app.user': 'a' }), "SELECT current_setting('app.user')"]
    }[pathname];
    return respond(from, request, response, text, [], options);
  };
  return { cache, handler };
}

module.exports = { FOLDER, LARGE, cached, direct, get, serving };

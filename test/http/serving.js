'use strict';

// What the tests of HTTP share: a server of the test's own, and what asks it.

const { once } = require('node:events');
const http = require('node:http');
const { Client } = require('../..');

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

/** A request by HTTP/1.1; gives status, headers and body. */
async function get(port, headers = {}, { method = 'GET', agent, url = '/' } = {}) {
  const request = http.request({ port, host: '127.0.0.1', path: url, method, headers, agent });
  request.end();
  const [response] = await once(request, 'response');
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks) };
}

module.exports = { direct, serving, get };

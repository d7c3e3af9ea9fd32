'use strict';

const fastify = require('fastify');
const { respond } = require('../../lib/http'); // elsewhere: require('quickgres/http')

/** @param {Pool} pool @returns {FastifyInstance} */
module.exports = function app(pool) {
  const server = fastify();

  /** Answers with a result. Fastify sends it, with the headers and through the onSend hooks of its plugins. */
  async function answer({ url, method, headers }, reply, text, values, options) {
    const request = new Request(new URL(url, 'http://localhost'), { method, headers });
    const response = await respond(pool, request, text, values, options);
    const vary = reply.getHeader('vary');
    if (vary) response.headers.append('vary', vary); // beside that of a plugin, such as @fastify/cors
    return reply
      .code(response.status)
      .headers(Object.fromEntries(response.headers))
      .send(response.body ?? undefined);
  }

  server.get('/users', (request, reply) =>
    answer(request, reply, 'SELECT json_agg(u) FROM users u', [], { as: 'values' })
  );
  server.get('/users/:id', (request, reply) =>
    answer(request, reply, 'SELECT row_to_json(u) FROM users u WHERE id = $1', [request.params.id], {
      as: 'values',
      emptyStatus: 404
    })
  );
  server.get('/rows', (request, reply) =>
    answer(request, reply, 'SELECT n, repeat($1, 1000) AS filler FROM generate_series(1, 1000000) n', ['x'])
  );
  return server;
};

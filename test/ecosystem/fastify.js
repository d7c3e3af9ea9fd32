'use strict';

const fastify = require('fastify');
const { respond } = require('../../lib/http'); // elsewhere: require('quickgres/http')

/** @param {Pool} pool @returns {FastifyInstance} */
module.exports = function app(pool) {
  const server = fastify();

  /** Answers with a result. A query that fails before its first row is Fastify's to answer. */
  async function answer({ raw }, reply, text, values, options) {
    try {
      await respond(pool, raw, reply.raw, text, values, options);
    } catch (error) {
      if (!reply.raw.headersSent && !reply.raw.destroyed) throw error;
    }
    return reply.hijack(); // it was answered already
  }

  server.get('/users', (request, reply) =>
    answer(request, reply, 'SELECT json_agg(u) FROM users u', [], { as: 'values' }));
  server.get('/users/:id', (request, reply) =>
    answer(request, reply, 'SELECT row_to_json(u) FROM users u WHERE id = $1', [request.params.id],
      { as: 'values', emptyStatus: 404 }));
  server.get('/rows', (request, reply) =>
    answer(request, reply, 'SELECT n, repeat($1, 1000) AS filler FROM generate_series(1, 1000000) n', ['x']));
  return server;
};

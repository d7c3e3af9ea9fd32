'use strict';

const { Hono } = require('hono');
const { respond } = require('../../lib/http'); // elsewhere: require('quickgres/http')

/** @param {Pool} pool @returns {Hono} its `fetch` takes a Request and gives a Response: on Node.js, Bun, Deno, Workers */
module.exports = function app(pool) {
  const server = new Hono();
  server.get('/users', c => respond(pool, c.req.raw, 'SELECT * FROM users', [], { as: 'json' }));
  server.get('/users/:id', c =>
    respond(pool, c.req.raw, 'SELECT row_to_json(u) FROM users u WHERE id = $1', [c.req.param('id')], {
      as: 'values',
      emptyStatus: 404
    })
  );
  server.get('/rows', c =>
    respond(pool, c.req.raw, 'SELECT n, repeat($1, 1000) AS filler FROM generate_series(1, 1000000) n', ['x'])
  );
  server.onError((error, c) => c.json({ error: 'the database said no' }, 500));
  return server;
};

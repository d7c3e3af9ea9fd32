'use strict';

const express = require('express');
const { respond } = require('../../lib/http'); // elsewhere: require('quickgres/http')

/** @param {Pool} pool @returns {function} a request handler of node:http */
module.exports = function app(pool) {
  const server = express();
  // Express 5 gives what a handler rejects with to the handler of errors.
  server.get('/users', (request, response) =>
    respond(pool, request, response, 'SELECT json_agg(u) FROM users u', [], { as: 'values' })
  );
  server.get('/users/:id', (request, response) =>
    respond(pool, request, response, 'SELECT row_to_json(u) FROM users u WHERE id = $1', [request.params.id], {
      as: 'values',
      emptyStatus: 404
    })
  );
  server.get('/rows', (request, response) =>
    respond(pool, request, response, 'SELECT n, repeat($1, 1000) AS filler FROM generate_series(1, 1000000) n', ['x'])
  );
  server.use((error, request, response, next) => {
    // the fourth parameter makes it a handler of errors
    if (response.headersSent || response.destroyed) return; // the reader has been told, or is gone
    response.status(500).json({ error: 'the database said no' });
  });
  return server;
};

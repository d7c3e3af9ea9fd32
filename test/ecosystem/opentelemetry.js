'use strict';

// Spans of queries, named by OpenTelemetry's conventions for databases:
// https://opentelemetry.io/docs/specs/semconv/database/postgresql/

const { tracingChannel } = require('node:diagnostics_channel');
const { SpanKind, SpanStatusCode } = require('@opentelemetry/api');
const {
  ATTR_DB_NAMESPACE, ATTR_DB_OPERATION_BATCH_SIZE, ATTR_DB_OPERATION_NAME, ATTR_DB_QUERY_TEXT,
  ATTR_DB_RESPONSE_STATUS_CODE, ATTR_DB_SYSTEM_NAME, ATTR_ERROR_TYPE, ATTR_SERVER_ADDRESS, ATTR_SERVER_PORT
} = require('@opentelemetry/semantic-conventions');

/**
 * Makes a span of each query.
 * @param {Tracer} tracer
 * @returns {function} stops it
 */
module.exports = function instrument(tracer) {
  const spans = new WeakMap();
  const subscribers = {
    start(query) {
      spans.set(query, tracer.startSpan('postgresql', {
        kind: SpanKind.CLIENT,
        attributes: {
          [ATTR_DB_SYSTEM_NAME]: 'postgresql',
          [ATTR_DB_QUERY_TEXT]: query.text,
          [ATTR_DB_OPERATION_BATCH_SIZE]: query.batchSize > 1 ? query.batchSize : undefined
        }
      }));
    },
    error(query) {
      const span = spans.get(query);
      const { code, name, message } = query.error;
      if (name === 'PostgresError') span.setAttribute(ATTR_DB_RESPONSE_STATUS_CODE, code);
      span.setAttribute(ATTR_ERROR_TYPE, code || name);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    },
    asyncEnd(query) {
      const span = spans.get(query);
      // Where a query was asked before the connection was there, this is known only now.
      if (query.host !== undefined) span.setAttribute(ATTR_SERVER_ADDRESS, query.host);
      if (query.port !== undefined) span.setAttribute(ATTR_SERVER_PORT, query.port);
      if (query.database !== undefined) span.setAttribute(ATTR_DB_NAMESPACE, query.database);
      const operation = query.result?.cmd;
      if (operation !== undefined) span.setAttribute(ATTR_DB_OPERATION_NAME, operation);
      span.updateName([operation, query.database].filter(Boolean).join(' ') || 'postgresql');
      span.end();
    }
  };
  const channel = tracingChannel('quickgres:query');
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
};

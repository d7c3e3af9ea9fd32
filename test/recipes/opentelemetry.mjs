// Spans of queries, named by OpenTelemetry's conventions for databases, in a program that has a tracer:
//
//     import { instrument } from 'quickgres/recipes/opentelemetry.mjs';
//     instrument(trace.getTracer('quickgres'));
//
// https://opentelemetry.io/docs/specs/semconv/database/postgresql/

import { tracingChannel } from 'node:diagnostics_channel';

/** SpanKind.CLIENT and SpanStatusCode.ERROR of @opentelemetry/api, which this file does not need. */
const CLIENT = 2;
const ERROR = 2;

/**
 * Makes a span of each query.
 * @param {Tracer} tracer
 * @returns {function} stops it
 */
export function instrument(tracer) {
  const spans = new WeakMap();
  const subscribers = {
    start(query) {
      spans.set(
        query,
        tracer.startSpan('postgresql', {
          kind: CLIENT,
          attributes: {
            'db.system.name': 'postgresql',
            'db.query.text': query.text,
            'db.operation.batch.size': query.batchSize > 1 ? query.batchSize : undefined
          }
        })
      );
    },
    error(query) {
      const span = spans.get(query);
      const { code, name, message } = query.error;
      if (name === 'PostgresError') span.setAttribute('db.response.status_code', code);
      span.setAttribute('error.type', code || name);
      span.setStatus({ code: ERROR, message });
    },
    asyncEnd(query) {
      const span = spans.get(query);
      // Where a query was asked before the connection was there, this is known only now.
      if (query.host !== undefined) span.setAttribute('server.address', query.host);
      if (query.port !== undefined) span.setAttribute('server.port', query.port);
      if (query.database !== undefined) span.setAttribute('db.namespace', query.database);
      const operation = query.result?.cmd;
      if (operation !== undefined) span.setAttribute('db.operation.name', operation);
      span.updateName([operation, query.database].filter(Boolean).join(' ') || 'postgresql');
      span.end();
    }
  };
  const channel = tracingChannel('quickgres:query');
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
}

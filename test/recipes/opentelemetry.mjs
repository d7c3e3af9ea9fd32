// Spans and metrics of queries and pools, named by OpenTelemetry's conventions for databases, in a program that has its SDK:
//
//     import { instrument } from 'quickgres/recipes/opentelemetry.mjs';
//     instrument({ tracer: trace.getTracer('quickgres'), meter: metrics.getMeter('quickgres'), pools: { main: pool } });
//
// https://opentelemetry.io/docs/specs/semconv/database/postgresql/

import { tracingChannel } from 'node:diagnostics_channel';
import { withoutLiterals } from 'quickgres/sql';

/** SpanKind.CLIENT and SpanStatusCode.ERROR of @opentelemetry/api, which this file does not need. */
const CLIENT = 2;
const ERROR = 2;

const SYSTEM = { 'db.system.name': 'postgresql' };

/** Bounds in seconds that the conventions give. */
const advice = { explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] };

/** The command of a query: its tag, or the first word of its text while a cursor has more rows. */
function operationOf({ batchSize, result: { cmd } = {}, text }) {
  if (batchSize > 1) return 'BATCH';
  return cmd !== undefined && cmd !== 'SUSPENDED' ? cmd : /^[\s(;]*([a-z]+)/i.exec(text)?.[1].toUpperCase();
}

/** What spans and metrics say about a query that is over. */
function attributesOf(query) {
  const { database, error, host, port } = query;
  return {
    ...SYSTEM,
    'db.operation.name': operationOf(query),
    ...(host !== undefined && { 'server.address': host }),
    ...(port !== undefined && { 'server.port': port }),
    ...(database !== undefined && { 'db.namespace': database }),
    ...(error?.name === 'PostgresError' && { 'db.response.status_code': error.code }),
    ...(error !== undefined && { 'error.type': error.code || error.name })
  };
}

/** Makes a span of each query, from the call to its end. */
function spansOf(tracer, text) {
  const spans = new WeakMap();
  return {
    start(query) {
      const attributes = {
        ...SYSTEM,
        'db.query.text': text(query.text),
        ...(query.batchSize > 1 && { 'db.operation.batch.size': query.batchSize })
      };
      spans.set(query, tracer.startSpan('postgresql', { kind: CLIENT, attributes }));
    },
    asyncEnd(query) {
      const span = spans.get(query);
      if (span === undefined) return; // it began before instrument()
      const { database, error } = query;
      span.setAttributes(attributesOf(query));
      if (error !== undefined) span.setStatus({ code: ERROR, message: error.code || error.name }); // messages quote values
      span.updateName([operationOf(query), database].filter(Boolean).join(' ') || 'postgresql');
      span.end();
    }
  };
}

/** Observes pools, whose stats tell the present. @returns {function} stops it */
function observe(meter, pools) {
  const count = meter.createObservableUpDownCounter('db.client.connection.count', { unit: '{connection}' });
  const most = meter.createObservableUpDownCounter('db.client.connection.max', { unit: '{connection}' });
  const pending = meter.createObservableUpDownCounter('db.client.connection.pending_requests', { unit: '{request}' });
  const look = observer => {
    for (const [name, { stats }] of Object.entries(pools)) {
      const ofPool = { 'db.client.connection.pool.name': name };
      observer.observe(count, stats.idle, { ...ofPool, 'db.client.connection.state': 'idle' });
      observer.observe(count, stats.connected - stats.idle, { ...ofPool, 'db.client.connection.state': 'used' });
      observer.observe(most, stats.size, ofPool);
      observer.observe(pending, stats.waiting, ofPool);
    }
  };
  meter.addBatchObservableCallback(look, [count, most, pending]);
  return () => meter.removeBatchObservableCallback(look, [count, most, pending]);
}

/** Subscribes to a channel. @returns {function} stops it */
function subscribe(name, subscribers) {
  const channel = tracingChannel(name);
  channel.subscribe(subscribers);
  return () => channel.unsubscribe(subscribers);
}

/**
 * Makes spans and metrics of all queries of the program; opentelemetry.d.mts describes it.
 * @returns {function} stops it
 */
export function instrument({ tracer, meter, pools = {}, text = given => withoutLiterals(given) }) {
  const stops = [];
  if (tracer !== undefined) stops.push(subscribe('quickgres:query', spansOf(tracer, text)));
  if (meter !== undefined) {
    const durations = meter.createHistogram('db.client.operation.duration', { unit: 's', advice });
    const asyncEnd = query => durations.record(query.duration / 1000, attributesOf(query));
    stops.push(subscribe('quickgres:query', { asyncEnd }), observe(meter, pools));

    const names = Object.keys(pools);
    const ofPool = names.length === 1 ? { 'db.client.connection.pool.name': names[0] } : {}; // a wait does not name its pool
    const waits = meter.createHistogram('db.client.connection.wait_time', { unit: 's', advice });
    const timeouts = meter.createCounter('db.client.connection.timeouts', { unit: '{timeout}' });
    stops.push(
      subscribe('quickgres:pool', {
        asyncEnd({ error, waited }) {
          if (error === undefined) waits.record(waited / 1000, ofPool);
          else if (error.name === 'TimeoutError') timeouts.add(1, ofPool);
        }
      })
    );
  }
  return () => stops.forEach(stop => stop());
}

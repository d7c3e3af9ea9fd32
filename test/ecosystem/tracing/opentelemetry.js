'use strict';

const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { PgInstrumentation } = require('@opentelemetry/instrumentation-pg');
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const work = require('./work');

const exporter = new InMemorySpanExporter();
const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
registerInstrumentations({ tracerProvider, instrumentations: [new PgInstrumentation()] });

work(require('pg'), JSON.parse(process.argv[2])).then(() => {
  const spans = exporter.getFinishedSpans().filter(({ name }) => /^pg(?:-pool)?\.(?:query|connect)/.test(name));
  console.log(
    JSON.stringify(
      spans.map(({ name, status, attributes }) => [
        name,
        status.code,
        attributes['db.query.text'] ?? attributes['db.statement'],
        attributes['db.namespace'] ?? attributes['db.name']
      ])
    )
  );
});

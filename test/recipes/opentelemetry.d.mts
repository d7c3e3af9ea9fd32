import type { Pool } from 'quickgres/pool';

/** A `Tracer` of @opentelemetry/api, as far as it is used. */
export interface TracerLike {
  startSpan(name: string, options?: any, context?: any): any;
}

/** A `Meter` of @opentelemetry/api, as far as it is used. */
export interface MeterLike {
  createHistogram(name: string, options?: any): any;
  createCounter(name: string, options?: any): any;
  createObservableUpDownCounter(name: string, options?: any): any;
  addBatchObservableCallback(callback: any, observables: any[]): void;
  removeBatchObservableCallback(callback: any, observables: any[]): void;
}

/** What `instrument` makes, and of what. */
export interface InstrumentOptions {
  /** Gets a span of each query; none without it. */
  tracer?: TracerLike;
  /** Gets the metrics; none without it. */
  meter?: MeterLike;
  /** Pools by the name that their metrics have. */
  pools?: Record<string, Pool<boolean>>;
  /** Makes `db.query.text` of the SQL. By default strings and numbers in it become `?`. */
  text?: (sql: string) => string;
}

/**
 * Makes spans and metrics of all queries of the program, named by OpenTelemetry's conventions for databases.
 * @returns stops it
 */
export function instrument(options: InstrumentOptions): () => void;

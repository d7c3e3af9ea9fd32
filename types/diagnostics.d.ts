/**
 * What subscribers of `tracingChannel('quickgres:query')` of node:diagnostics_channel are given, on each of its channels: one
 * object for all messages of a query. It has no parameter values and no rows.
 *
 * - `tracing:quickgres:query:start` and `…:end` around the call; `result` and `error` are undefined then, as a rule.
 * - `tracing:quickgres:query:error` when it has failed: `error` is set. Then, as without an error:
 * - `tracing:quickgres:query:asyncStart` and `…:asyncEnd` when it is over for its caller, who does not know it yet: `result` or
 *   `error` is set.
 */
export interface TracedQuery {
  /** SQL; of a batch, the texts with `; ` between them. */
  readonly text: string;
  /** Queries in a batch; undefined for anything else. */
  readonly batchSize: number | undefined;
  /** Once it has succeeded. `cmd` of one command; `rowCount` of all. */
  readonly result: { cmd: string | undefined; rowCount: number } | undefined;
  /** Once it has failed. */
  readonly error: Error | undefined;
  /** Host name, address or path of the socket; undefined before there is a connection, as are the others. */
  readonly host: string | undefined;
  /** None for the path of a socket. */
  readonly port: number | undefined;
  readonly database: string | undefined;
  readonly user: string | undefined;
  /** Of the server process. */
  readonly processId: number | undefined;
}

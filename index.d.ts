/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Writable } from 'node:stream';
import { WritableStream } from 'node:stream/web';
import { ConnectionOptions } from 'node:tls';
import { Config } from './types/config';
import { ServerFields } from './types/errors';
import { CachedOptions } from './types/response-cache';
import { AnyColumns, CopyReader, Decode, Format, Receiver, RowReader, StreamedValue, Value, Values } from './types/rows';
import {
  CopyBoth, CopyBothOptions, CopyFrom, CopyStreamOptions, CopyTo, Cursor, Listener, Notification
} from './types/streams';

export { ByteStream, Config, PasswordRequest, ServerAddress, WebSocketLike, WebSocketProxy } from './types/config';
export * from './types/diagnostics';
export { AbortError, ConnectionError, PostgresError, ServerFields, UsageError } from './types/errors';
export * from './types/response-cache';
export * from './types/rows';
export * from './types/streams';

/** Cancels exactly the request it is given to. */
export interface Abortable {
  /** Rejects with an AbortError when it aborts. Default: none. */
  signal?: AbortSignal | undefined;
  /** Milliseconds after which the request is cancelled: a UsageError 57014. Default: none. */
  statement_timeout?: number | undefined;
}

/** How a statement is sent, and in which format its result comes. */
export interface StatementOptions {
  /** Of the result, `Client.STRING` (default) or `Client.BINARY`. */
  format?: Format | undefined;
  /** false: the unnamed statement, for a text that is used once. Default true. */
  cache?: boolean | undefined;
  /** Type OIDs of the parameters, 0 for those that the server is to infer. Default: it infers all. */
  paramTypes?: readonly number[] | undefined;
}

/** Options of one query of a batch. */
export interface BatchOptions<S extends Receiver = Receiver> extends StatementOptions {
  /** Default: strings and Buffers. */
  decode?: Decode | undefined;
  /** What takes the result. Default: a new RowReader. */
  stream?: S | undefined;
}

export interface QueryOptions<S extends Receiver = Receiver> extends BatchOptions<S>, Abortable, CachedOptions {}

/** One query of a batch: its text alone, or with values and options. */
export type BatchQuery = string | readonly [text: string, values?: Values, options?: BatchOptions];

export interface QueryToOptions extends StatementOptions, Abortable, CachedOptions {
  /** 'protocol' (default): messages that need no earlier state to be parsed; 'values': the columns' bytes alone. */
  as?: 'protocol' | 'values' | undefined;
  /** With 'values': written between two rows. Default: none. */
  separator?: string | Uint8Array | undefined;
  /** Whether to end the target; true by default. */
  end?: boolean | undefined;
}

export interface RespondOptions extends Omit<QueryToOptions, 'end'> {
  /** The response's own by default. */
  status?: number | undefined;
  /** Where the command reports no rows, such as 404. Default: `status`. */
  emptyStatus?: number | undefined;
  /** As the request allows; true by default. */
  compress?: boolean | undefined;
}

/** What `queryTo` and `respond` resolve to. */
export interface StreamResult {
  /** SELECT, …; undefined where `respond` has answered HEAD, without a query. */
  cmd: string | undefined;
  rowCount: number;
  /** Written to the target; for `respond`, before compression. */
  bytes: number;
}

export interface CursorOptions extends StatementOptions {
  /** Rows a round trip, 1000 by default. */
  batchSize?: number | undefined;
  /** Default: strings and Buffers. */
  decode?: Decode | undefined;
  /** Cancels the fetch that is under way, or the next one, with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Of a transaction block; a savepoint has that of its block. */
export interface TransactionOptions {
  /** Default: the server's default_transaction_isolation, as a rule 'read committed'. */
  isolation?: 'serializable' | 'repeatable read' | 'read committed' | 'read uncommitted' | undefined;
  /** Default: the server's default_transaction_read_only, as a rule false. */
  readOnly?: boolean | undefined;
  /** Of a serializable one that only reads: waits until it cannot fail. Default: default_transaction_deferrable, as a rule false. */
  deferrable?: boolean | undefined;
}

/** What can be asked of the server, on a connection or inside a transaction. */
export interface Session {
  /**
   * Sends one query, in one write, without waiting for those before it. T is what a row's columns are.
   * Rejects with a PostgresError, a ConnectionError, an AbortError, or a TypeError or RangeError for bad input.
   */
  query(text: `${'COPY' | 'copy'} ${string}`, values?: QueryValues, format?: Format, cache?: boolean): Promise<CopyReader>;
  query<T extends object = AnyColumns>(
    text: string, values?: QueryValues, format?: Format, cache?: boolean): Promise<RowReader<T>>;
  /** Resolves to the stream, when it has taken the result. */
  query<S extends Receiver>(
    text: string, values: QueryValues | undefined, format: Format | undefined, cache: boolean | undefined,
    stream: S): Promise<S>;
  query<S extends Receiver>(
    text: string, values: QueryValues | undefined, options: QueryOptions<S> & { stream: S }): Promise<S>;
  query<T extends object = AnyColumns>(
    text: string, values: QueryValues | undefined, options: QueryOptions & { stream?: undefined }): Promise<RowReader<T>>;
  query(text: string, values: QueryValues | undefined, options: QueryOptions): Promise<Receiver>;

  /** Sends several statements as one text, without parameters; resolves to a reader a statement. */
  simpleQuery(text: string, options?: Abortable): Promise<RowReader[]>;

  /**
   * Sends several queries that share one Sync: they succeed or fail as one. R is what the rows of each are:
   * `batch<[User, Count]>([…, …])`. Rejects with the first error, whose `index` tells the query.
   */
  batch(queries: readonly BatchQuery[], options?: Abortable): Promise<RowReader[]>;
  batch<R extends readonly object[]>(
    queries: { readonly [I in keyof R]: BatchQuery }, options?: Abortable): Promise<{ -readonly [I in keyof R]: RowReader<R[I]> }>;

  /** Runs a function in a transaction block (of a transaction: behind a savepoint), which is to ask what it is given. */
  transaction<R>(work: (tx: Session) => R | Promise<R>, options?: TransactionOptions): Promise<R>;

  /** The rows of a query, fetched some at a time. */
  cursor<T extends object = AnyColumns>(text: string, values?: Values, options?: CursorOptions): Cursor<T>;

  /** Runs a query and writes its result straight to a target. */
  queryTo(target: Writable | WritableStream, text: string, values?: Values, options?: QueryToOptions): Promise<StreamResult>;
  /** Answers an HTTP request with the result of a query. */
  respond(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse,
    text: string, values?: Values, options?: RespondOptions): Promise<StreamResult>;
  /** The bytes of COPY … TO STDOUT. @throws {TypeError} for any other text */
  copyTo(text: string, options?: CopyStreamOptions): CopyTo;
  /** Takes the bytes of COPY … FROM STDIN. @throws {TypeError} for any other text */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  /** START_REPLICATION, on a connection with `replication` in its config. */
  copyBoth(text: string, options?: CopyBothOptions): CopyBoth;
  /** Listens to a channel; not inside a transaction. */
  listen(channel: string, options?: { signal?: AbortSignal | undefined }): Listener;

  /** Starts a query whose rows `getResults` fetches. @throws {UsageError} when another one is open */
  startQuery(text: string, values?: Values, format?: Format, cache?: boolean): void;
  /** The next rows, at most maxCount; 0, the default, for all that are left. `cmd` is SUSPENDED while there may be more. */
  getResults<T extends object = AnyColumns>(maxCount?: number): Promise<RowReader<T>>;
  getResults<S extends Receiver>(maxCount: number | undefined, stream: S): Promise<S>;
  /** Whether a query started with `startQuery` may have more rows. */
  readonly inQuery: boolean;
  /** Ends the query of `startQuery`; without one, resolves when all requests before it are over. */
  sync(stream?: RowReader<any>): Promise<RowReader>;
  /** Closes a named statement ('S') or portal ('P') on the server. */
  close(type: 'S' | 'P', name: string): Promise<void>;

  /** Sends data of the COPY FROM STDIN that `query` has begun; false: best to go on after the event 'drain'. */
  copyData(data: Uint8Array | string): boolean;
  copyDone(stream?: RowReader<any>): Promise<RowReader>;
  copyFail(reason?: string | Uint8Array): Promise<RowReader>;
}

/** Values of `query`, which may be large ones that come from a stream. */
export type QueryValues = Values | ReadonlyArray<Value | StreamedValue>;

export interface ClientEvents {
  /** What NOTIFY sent on a channel that the connection listens to. */
  notification: [notification: Notification];
  /** A NoticeResponse. */
  notice: [fields: ServerFields];
  /** A setting that the server reports has changed. */
  parameter: [name: string, value: string];
  /** The system has taken what was written: copyData may go on. */
  drain: [];
  /** The connection was lost. Without a listener it does not end the program. */
  error: [error: Error];
  /** The connection is over, for whatever reason. */
  end: [];
}

/** One connection to a PostgreSQL server. */
export class Client extends EventEmitter {
  /** Text format of results: columns are strings. */
  static readonly STRING: 0;
  /** Binary format of results: columns are Buffers. */
  static readonly BINARY: 1;

  /** @param config libpq's parameters as an object, a URL, or a list of `key=value` */
  constructor(config?: Config | string | URL);

  /** Connects as the config says. Queries may be sent at once. */
  connect(): Promise<void>;
  connect(port: number | string, host?: string, ssl?: ConnectionOptions | boolean): Promise<void>;
  connect(socketPath: string): Promise<void>;
  /** Asks the server to cancel what it is running for this client, whatever that is. */
  cancel(): Promise<void>;
  /** Lets all that was asked before finish, then closes the connection. */
  end(): Promise<void>;
  /** Closes the connection now; everything pending rejects. */
  destroy(error?: Error): void;
  ref(): void;
  unref(): void;
  toJSON(): { state: string; pending: number; processId: number | undefined };

  readonly state: 'new' | 'connecting' | 'open' | 'ending' | 'closed';
  /** As the server reports them: server_version, TimeZone, … */
  readonly serverParameters: Readonly<Record<string, string>>;
  /** Process id and secret, what a CancelRequest is made of. */
  readonly backendKey: Buffer | null;
  /** Of the server process. */
  readonly processId: number | undefined;
  /** Requests that were made and are not over. */
  readonly pending: number;
  /** Bytes written that the system has not taken. */
  readonly bufferedBytes: number;
  /** Resolves when the connection is over: with the error, if there was one. */
  readonly closed: Promise<Error | undefined>;
  /** Called with each NoticeResponse message. */
  onNotice: ((message: Buffer) => void) | undefined;
  /** Called with each NotificationResponse message. */
  onNotification: ((message: Buffer) => void) | undefined;

  on<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  once<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  off<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  addListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  prependListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  prependOnceListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  removeListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
}
export interface Client extends Session {}

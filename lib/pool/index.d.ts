/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { WritableStream } from 'node:stream/web';
import {
  Abortable, AnyColumns, BatchQuery, Client, Config, CopyFrom, CopyReader, CopyStreamOptions, CopyTo, CopyToOptions, Cursor,
  CursorOptions, Format, Listener, Notification, QueryOptions, QueryToOptions, Receiver, RowReader, Session, SimpleQueryOptions,
  StreamResult, TransactionOptions, Values
} from 'quickgres';

/** Options of a pool. Times are in milliseconds. */
export interface PoolOptions {
  /** Most connections, 4 by default; of the replicas as many again. One is left for plain queries. */
  size?: number | undefined;
  /** Connections that are left to plain queries, where there are more; 1 by default. */
  reserved?: number | undefined;
  /** false: when an attempt to connect has failed, who waits for it gets its error. Default true. */
  patient?: boolean | undefined;
  /** How long a request waits for a connection; 30000 by default, 0: for ever. Then it rejects with 53300, or 08001. */
  acquire_timeout?: number | undefined;
  /** After which an unused connection is closed; 30000 by default, 0: never. */
  idle_timeout?: number | undefined;
  /** After which a connection is replaced; 1800000 by default, 0: never. */
  max_lifetime?: number | undefined;
  /** Config of where `{ readOnly: true }` goes; default: to the same place as all. */
  replicas?: Config | string | URL | undefined;
  /** How far behind a replica may be; default: as far as it is. */
  max_lag?: number | undefined;
}

/** Where a request may go. */
export interface ReadOnly {
  /** true: a replica will do. Default false. */
  readOnly?: boolean | undefined;
}

/** Options of `connection`. */
export interface ConnectionOptions extends ReadOnly, Retry {
  /** false: settings, temporary tables and prepared statements of the session stay. Default true. */
  reset?: boolean | undefined;
  /** Ends the waiting for a connection. Default: none. */
  signal?: AbortSignal | undefined;
}

/** What may be done with a request whose connection was lost. */
export interface Retry {
  /** true: it may be repeated though the server may have carried it out. Default false. */
  retry?: boolean | undefined;
}

/** How a pool's connections are used. */
export interface ConnectionCounts {
  /** Most connections. */
  size: number;
  /** Connections that are open. */
  connected: number;
  /** Those of them that nobody uses. */
  idle: number;
  /** Those of them that somebody has to himself. */
  owned: number;
  /** Requests that were sent and are not over. */
  pending: number;
  /** Requests that wait for a connection. */
  waiting: number;
}

/** The counters of a pool. */
export interface PoolStats extends ConnectionCounts {
  /** Those of the replicas, where there are any. */
  replicas?: ConnectionCounts;
}

/** The events of a pool, with their arguments. Nobody has to listen. */
export interface PoolEvents {
  /** A connection is being made, of which nothing has been asked: what the listener asks comes first. */
  connect: [client: Client];
  /** A connection was lost, or could not be made; also the one that `listen` has. */
  error: [error: Error];
}

/** What the loop over a channel of a pool gets. */
export interface PoolNotification extends Notification {
  /** true: the connection was lost and is there again; notifications may have been missed. */
  missed?: true;
}

/** The notifications of a channel, until `break` or `end()`. */
export interface PoolListener extends Omit<Listener, 'next' | typeof Symbol.asyncIterator> {
  [Symbol.asyncIterator](): this;
  /** What `for await` calls. @returns the next notification; rejects as that of a Client, but not for a lost connection */
  next(): Promise<IteratorResult<PoolNotification, undefined>>;
}

/** What subscribers of `tracingChannel('quickgres:pool')` of node:diagnostics_channel are given for each wait. */
export interface TracedWait {
  /** Whether it waits to have a connection to itself. */
  readonly owner: boolean;
  /** How many wait, itself included. */
  readonly waiting: number;
}

/** Pipelined connections side by side, with a session's methods. */
export class Pool extends EventEmitter {
  /**
   * @param config of the clients
   * @param options size, timeouts, replicas
   * @throws {TypeError} for wrong options
   */
  constructor(config?: Config | string | URL, options?: PoolOptions);
  /** How many connections there are, who has them and who waits for them. */
  readonly stats: PoolStats;
  /**
   * Goes to the connection on which it is likely to wait least.
   * @param text SQL
   * @param values of its parameters
   * @param format as of `Client.query`; or, in its place, `options`: all options by name
   * @param cache as of `Client.query`
   * @param stream as of `Client.query`
   * @returns as of `Client.query`; rejects, too, with a UsageError (0A000) for BEGIN, SET, LISTEN and what else concerns
   *   a session, and with a ConnectionError: after `acquire_timeout` 53300, or 08001 with the `cause` where
   *   none could be made; 08003 after `end()`
   */
  query(text: `${'COPY' | 'copy'} ${string}`, values?: Values, format?: Format, cache?: boolean): Promise<CopyReader>;
  query<T extends object = AnyColumns>(
    text: string, values?: Values, format?: Format, cache?: boolean): Promise<RowReader<T>>;
  query<S extends Receiver>(
    text: string, values: Values | undefined, format: Format | undefined, cache: boolean | undefined,
    stream: S): Promise<S>;
  query<S extends Receiver>(
    text: string, values: Values | undefined, options: QueryOptions<S> & ReadOnly & { stream: S }): Promise<S>;
  query<T extends object = AnyColumns>(
    text: string, values: Values | undefined, options: QueryOptions & ReadOnly & Retry & { stream?: undefined }):
    Promise<RowReader<T>>;
  /**
   * As `Client.batch`, on a connection as for `query`.
   * @param queries texts, or `[text, values, options]`
   * @param options signal, statement_timeout, readOnly, retry
   * @returns the results; rejects as `Client.batch`, or with a UsageError for what concerns a session, or with a
   *   ConnectionError (53300) after `acquire_timeout`
   */
  batch(queries: readonly BatchQuery[], options?: Abortable & ReadOnly & Retry): Promise<RowReader[]>;
  batch<R extends readonly object[]>(
    queries: { readonly [I in keyof R]: BatchQuery }, options?: Abortable & ReadOnly & Retry):
    Promise<{ -readonly [I in keyof R]: RowReader<R[I]> }>;
  /**
   * As `Client.simpleQuery`, on a connection of its own, whose settings are reset after it.
   * @param text SQL, statements separated by semicolons
   * @param options those of Client, readOnly, retry
   * @returns a result for each statement; rejects with a UsageError where it leaves a transaction block open
   */
  simpleQuery(text: string, options?: SimpleQueryOptions & ReadOnly & Retry): Promise<RowReader[]>;
  /**
   * As `Client.transaction`, on a connection of its own.
   * @param work gets the session to ask
   * @param options those of Client; readOnly: on a replica; retry: the function may be called again when the connection is
   *   lost, also where that may have been after the commit; signal: ends the waiting for a connection, not the function
   * @returns what the function returned; rejects as `Client.transaction`, or with a ConnectionError (53300) after
   *   `acquire_timeout`, as does one inside another while no connection is free
   */
  transaction<R>(
    work: (tx: Session) => R | Promise<R>, options?: TransactionOptions & Retry & { signal?: AbortSignal | undefined }): Promise<R>;
  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param work gets the client
   * @param options reset: false leaves what is the session's, but rolls back; readOnly: one of a replica will do; retry:
   *   the function may be called again when the connection is lost; signal: ends the waiting for a connection
   * @returns what the function returned; rejects with what it threw; with an AbortError; with a ConnectionError where no
   *   connection could be made, or (53300) after `acquire_timeout`; with a TypeError for what is no function
   */
  connection<R>(work: (client: Client) => R | Promise<R>, options?: ConnectionOptions): Promise<R>;
  /**
   * As `Client.queryTo`, on a connection of its own.
   * @param target an HTTP response, a file, any Writable, or a WHATWG WritableStream
   * @param text SQL
   * @param values of its parameters
   * @param options those of Client, readOnly, retry: as long as nothing was written to a Node stream that is to be ended
   * @returns what was written; rejects as `Client.queryTo`, or with a ConnectionError (53300) after `acquire_timeout`
   */
  queryTo(target: Writable | WritableStream, text: string, values?: Values, options?: QueryToOptions & ReadOnly & Retry):
    Promise<StreamResult>;
  /**
   * As `Client.cursor`, on a connection of its own from the first row to the last.
   * @param text SQL
   * @param values of its parameters
   * @param options those of Client, readOnly
   * @returns an async iterable of rows
   * @throws {TypeError|RangeError} for bad input
   */
  cursor<T extends object = AnyColumns>(text: string, values?: Values, options?: CursorOptions & ReadOnly): Cursor<T>;
  /**
   * As `Client.copyTo`, on a connection of its own.
   * @param text COPY … TO STDOUT
   * @param options those of Client, readOnly
   * @returns a Readable
   * @throws {TypeError} for any other text
   */
  copyTo(text: string, options?: CopyToOptions & ReadOnly): CopyTo;
  /**
   * As `Client.copyFrom`, on a connection of its own.
   * @param text COPY … FROM STDIN
   * @param options those of Client
   * @returns a Writable
   * @throws {TypeError} for any other text
   */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  /**
   * As `Client.listen`, on one connection more, which all loops share and which is replaced when it is lost.
   * @param channel its name
   * @param options signal: makes `ready` and the loop reject with its reason
   * @returns an async iterable of notifications
   * @throws {TypeError|RangeError} for what is no name; a ConnectionError after `end()`
   */
  listen(channel: string, options?: { signal?: AbortSignal | undefined }): PoolListener;
  /**
   * Lets all that was asked finish, then closes the connections. Requests that come later reject.
   * @returns resolves when they are closed; never rejects
   */
  end(): Promise<void>;
  /** Closes the connections now. @param error that everything pending rejects with */
  destroy(error?: Error): void;

  on<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents[E]) => void): this;
  once<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents[E]) => void): this;
  off<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents[E]) => void): this;
}

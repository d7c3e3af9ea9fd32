/// <reference types="node" />

import { Client, Config, Listener, Notification, Retry, Session } from 'quickgres';

/** Options of a pool. Times are in milliseconds. */
export interface PoolOptions {
  /** Most connections, 4 by default. */
  size?: number | undefined;
  /** Connections that are left to plain queries, where there are more; 1 by default. */
  reserved?: number | undefined;
  /** How long a request waits for a connection; 30000 by default, 0: for ever. Then it rejects with a TimeoutError. */
  acquire_timeout?: number | undefined;
  /** After which an unused connection is closed; 30000 by default, 0: never. */
  idle_timeout?: number | undefined;
  /** After which a connection is replaced; 1800000 by default, 0: never. */
  max_lifetime?: number | undefined;
  /** Connections that idle_timeout leaves open; default 0. */
  min?: number | undefined;
  /**
   * After which a connection is replaced on which the server says nothing, though a request on it was given up and the
   * server was asked to cancel it; 2000 by default, 0: never.
   */
  silence_timeout?: number | undefined;
  /**
   * false: an error of connecting goes to the requests that wait, also in an outage after the first connection. Default: true.
   */
  patient?: boolean | undefined;
}

/** Options of `connection`. */
export interface ConnectionOptions extends Retry {
  /** false: settings, temporary tables and prepared statements of the session stay. Default true. */
  reset?: boolean | undefined;
  /** Ends the waiting for a connection. Default: none. */
  signal?: AbortSignal | undefined;
}

/** The counters of a pool. */
export interface PoolStats {
  /** Most connections. */
  size: number;
  /** Connections that are open. */
  connected: number;
  /** Those of them that are unused. */
  idle: number;
  /** Those of them that one transaction, cursor, COPY or function owns. */
  owned: number;
  /** Requests that were sent and are not over. */
  pending: number;
  /** Requests that wait for a connection. */
  waiting: number;
}

/** The events of a pool, with their arguments. It needs no listener. */
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

/**
 * Pipelined connections side by side: a session whose requests go to whichever connection suits them. Its requests reject,
 * beside what those of a Client reject with: with a TimeoutError after `acquire_timeout` (53300; 08001 with the `cause` where
 * no connection could be made), with a ConnectionError until the first connection has been made and after `end()` (08003),
 * and with a UsageError (0A000) for BEGIN, SET, LISTEN and what else concerns the session of one connection.
 */
export class Pool extends Session {
  /**
   * @param config of the clients
   * @param options size, timeouts
   * @throws {TypeError} for wrong options
   */
  constructor(config?: Config | string | URL, options?: PoolOptions);
  /** How many connections there are, how many requests they have, and how many wait for one. */
  readonly stats: PoolStats;
  /**
   * Replaces every connection once what it was asked is over, for example after a migration.
   */
  renew(): void;
  /**
   * Gives a function a client for itself. Afterwards an open transaction block is rolled back, and settings, temporary
   * tables, prepared statements and locks of the session are discarded.
   * @param work gets the client
   * @param options reset: false leaves what is the session's, but rolls back; retry: the function may be called again when
   *   the connection is lost; signal: ends the waiting for a connection
   * @returns what the function returned; rejects with what it threw; with an AbortError; with a ConnectionError where no
   *   connection could be made, or a TimeoutError (53300) after `acquire_timeout`; with a TypeError for what is no function
   */
  connection<R>(work: (client: Client) => R | Promise<R>, options?: ConnectionOptions): Promise<R>;
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

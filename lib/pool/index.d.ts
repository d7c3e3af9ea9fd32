/// <reference types="node" />

import { Client, Config, GivenUrl, Idempotent, Listener, ListenOptions, Notification, Session } from '../../index.js';

/** Options of a pool; times are in milliseconds. */
export interface PoolOptions {
  /** The most connections. Default: 10. */
  size?: number | undefined;
  /** Until a request that waits for a connection rejects with a TimeoutError; 0: never. Default: 30000. */
  acquire_timeout?: number | undefined;
  /** Until an unused connection is closed; 0: never. Default: 30000. */
  idle_timeout?: number | undefined;
  /** Until a connection is replaced; 0: never. Default: 1800000. */
  max_lifetime?: number | undefined;
}

/** Options of `connection`. */
export interface ConnectionOptions extends Idempotent {
  /** Whether to discard settings, temporary tables and prepared statements afterwards. Default: true. */
  reset?: boolean | undefined;
  /** Ends the wait for a connection. Default: none. */
  signal?: AbortSignal | undefined;
}

/** The counters of a pool. */
export interface PoolStats {
  /** The most connections. */
  size: number;
  /** Open connections. */
  connected: number;
  /** Unused ones among them. */
  idle: number;
  /** Those that a transaction, cursor, COPY, function or request with `alone` owns. */
  owned: number;
  /** Requests that were sent and are not over. */
  pending: number;
  /** Requests that wait for a connection. */
  waiting: number;
  /** What has used a connection for longest, at most three. */
  holders: PoolHolder[];
}

/** What uses a connection of a pool. */
export interface PoolHolder {
  /** Whether it owns the connection; false: queries share it. */
  owned: boolean;
  /**
   * For how long it has owned the connection, or how long the last answer of shared queries is ago, in milliseconds.
   */
  time: number;
  /** The text of what it runs or ran last: at most 100 characters, with `…` for strings and numbers; undefined if nothing was sent. */
  text: string | undefined;
}

/** Why a request waits for a connection: it owns one until it is over, or it is a query, which may share one. */
export type WaitReason = 'owner' | 'query';

/** The events of a pool. None needs a listener. */
export interface PoolEvents<D extends boolean = true> {
  /**
   * Fires for each new connection, before any other query. Queries sent in the listener run first; catch their errors,
   * since the connection may be lost. Later the client belongs to the pool's requests.
   */
  connect: [client: Client<D>];
  /** A connection was lost or could not be made, including that of `listen`. */
  error: [error: Error];
}

/** A notification from the loop over a pool's channel. */
export interface PoolNotification extends Notification {
  /** true: the connection was lost and replaced, so notifications may have been missed. */
  missed?: true;
}

/** The notifications on a channel, until `break` or `end()`. */
export interface PoolListener extends Omit<Listener, 'next' | typeof Symbol.asyncIterator> {
  [Symbol.asyncIterator](): this;
  /** @returns the next notification; rejects like a Client's, but not if the connection is lost */
  next(): Promise<IteratorResult<PoolNotification, undefined>>;
}

/**
 * The object that `tracingChannel('quickgres:pool')` of node:diagnostics_channel publishes for each wait for a
 * connection: plain data.
 */
export interface TracedWait {
  /** Why it waits. */
  readonly why: WaitReason;
  /** How many requests wait, including this one. */
  readonly waiting: number;
  /** How many milliseconds it has waited; undefined until the wait is over. */
  readonly waited: number | undefined;
  /** Why it got no connection: for example a TimeoutError (53300: all are in use; 08001: none could be made). */
  readonly error?: Error;
}

/**
 * Pipelined connections side by side: a session whose requests use any of them. Beside the errors of a Client, requests
 * reject with a TimeoutError after `acquire_timeout` (53300; 08001 with the `cause` if no connection could be made),
 * with a ConnectionError after `end()` (08003), and with a UsageError (0A000) for statements that change a session,
 * such as BEGIN, SET and LISTEN.
 */
export class Pool<out D extends boolean = true> extends Session<D> {
  /**
   * @param config of the clients, which decode unless it says `decode: false`
   * @param options of the pool
   * @throws {TypeError} for wrong options
   */
  constructor(config?: Config<D> | string | GivenUrl, options?: PoolOptions);
  /** The current counters. */
  readonly stats: PoolStats;
  /** @returns the current counters, for JSON and logs */
  toJSON(): PoolStats;
  /** Replaces each connection after its current requests: new ones have new settings, for example of ALTER ROLE. */
  renew(): void;
  /**
   * Gives a function a client of its own. Afterwards an open transaction is rolled back, and settings, temporary
   * tables, prepared statements and session locks are discarded, before another request gets the connection.
   * @param work gets the client, whose later calls reject with a UsageError (25P01)
   * @param options reset: false only rolls back; idempotent: the function may be called again if the connection is
   *   lost; signal: ends the wait for a connection
   * @returns what the function returned; rejects with what it threw, with an AbortError, a ConnectionError or
   *   TimeoutError if there is no connection, or a TypeError if `work` is not a function
   */
  connection<R>(work: (client: Client<D>) => R | Promise<R>, options?: ConnectionOptions): Promise<R>;
  /**
   * Like `Client.listen`, on one more connection, which all loops share and which is replaced if it is lost.
   * @param channel its name
   * @param options session, signal
   * @returns an async iterable of notifications
   * @throws {TypeError|RangeError} for an invalid name; a ConnectionError after `end()`
   */
  listen(channel: string, options?: ListenOptions): PoolListener;
  /**
   * Waits for all requests, then closes the connections. Later requests reject.
   * @returns resolves when they are closed; rejects with a UsageError (25001) inside the function of transaction()
   */
  end(): Promise<void>;
  /** Ends the pool, for `await using`. @returns as `end` */
  [Symbol.asyncDispose](): Promise<void>;
  /** Closes the connections now, and rejects all requests. @param error the cause */
  destroy(error?: Error): void;

  on<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents<D>[E]) => void): this;
  once<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents<D>[E]) => void): this;
  off<E extends keyof PoolEvents>(event: E, listener: (...args: PoolEvents<D>[E]) => void): this;
}

/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { WritableStream } from 'node:stream/web';
import {
  Abortable,
  AnyColumns,
  Arguments,
  Client,
  ColumnOptions,
  ListedRow,
  OtherText,
  QueryToOptions,
  RowReader,
  Settings,
  StatementOptions,
  StreamResult,
  TextArguments,
  Values
} from '../../index.js';
import { Pool } from '../pool/index.js';
import { Sql } from '../sql/index.js';

/** How an answer is kept. */
export interface CacheOptions {
  /** Tags by which `invalidateTag` and notifications find the answer. Default: none. */
  tags?: readonly string[] | undefined;
  /** Seconds for which the answer is fresh, from when it was asked for. Default: the cache's. */
  max_age?: number | undefined;
  /**
   * Seconds after `max_age` in which the old answer is given while one query fetches a new one. If that fails, the
   * cache emits 'error', and the old answer stays to the end of its window. Default: the cache's.
   */
  stale_while_revalidate?: number | undefined;
}

/** Options of `query`. */
export interface CachedQueryOptions extends StatementOptions, ColumnOptions, Abortable, CacheOptions {}

/** Options of `queryTo`. */
export interface CachedQueryToOptions extends QueryToOptions, CacheOptions {}

/** Options of a ResponseCache. */
export interface ResponseCacheOptions {
  /** The most memory for all answers, in bytes. Default: 67108864 (64 MiB). */
  max_bytes?: number | undefined;
  /**
   * Bytes above which an answer is not kept: each caller gets it from the database. Default: an eighth of `max_bytes`.
   */
  max_answer_bytes?: number | undefined;
  /** Seconds for which an answer is fresh. Default: 60. */
  max_age?: number | undefined;
  /** Seconds after that in which the old answer is given while a query fetches a new one. Default: 15. */
  stale_while_revalidate?: number | undefined;
  /** A clock that never goes back, in milliseconds. Default: `performance.now`. */
  now?: (() => number) | undefined;
}

/** The events of a ResponseCache. */
export interface ResponseCacheEvents {
  /**
   * A refresh has failed, and the old answer stays until its time is over; or, without `about`, a pool has stopped
   * listening. The event needs no listener.
   */
  error: [error: Error, about?: { key: string; tags: string[] }];
}

/** Options with `decode: B` by which a text in Queries has its declared row. */
type InMode<B> = { decode?: B; names?: undefined; format?: 0 | undefined };

/**
 * What asks a cache: the cache itself, or, by `with`, for a session with settings. D is whether its client or pool
 * decodes.
 */
export interface CacheSession<out D extends boolean = true> {
  /**
   * Answers a query, from memory if possible.
   * @param text SQL
   * @param values of its parameters
   * @param piece SQL with its values, in place of text and values
   * @param more values and options
   * @param options those of `Client.query` without `stream`, and tags, max_age, stale_while_revalidate
   * @returns a reader that is not shared; rejects as `Client.query`
   */
  query<T extends object = AnyColumns>(piece: Sql, options?: CachedQueryOptions): Promise<RowReader<T>>;
  query<T extends object = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values?: Values,
    options?: CachedQueryOptions
  ): Promise<RowReader<T>>;
  query<X extends string = string, const B extends boolean | undefined = undefined>(
    text: X,
    ...more: Arguments<X, [options?: CachedQueryOptions & InMode<B>]>
  ): Promise<RowReader<ListedRow<X, [B] extends [boolean] ? B : D>>>;
  query<X extends string = string>(
    text: X,
    ...more: Arguments<X, [options?: CachedQueryOptions]>
  ): Promise<RowReader<ListedRow<X, boolean>>>;
  /**
   * Writes the result of a query to a target, from memory if possible.
   * @param target as of `Client.queryTo`
   * @param text SQL
   * @param values of its parameters
   * @param piece SQL with its values, in place of text and values
   * @param more values and options
   * @param options those of `Client.queryTo`, and tags, max_age, stale_while_revalidate
   * @returns what was written; rejects as `Client.queryTo`
   */
  queryTo(target: Writable | WritableStream, piece: Sql, options?: CachedQueryToOptions): Promise<StreamResult>;
  queryTo<X extends string>(
    target: Writable | WritableStream,
    text: X,
    ...more: TextArguments<X, [options?: CachedQueryToOptions]>
  ): Promise<StreamResult>;
  /**
   * @param text SQL
   * @param values of its parameters
   * @param piece SQL with its values, in place of text and values
   * @param more values and options
   * @param options of the query
   * @returns the key of the answer, for `invalidate`
   * @throws {TypeError|RangeError} as the query would
   */
  keyOf(piece: Sql, options?: CachedQueryOptions | CachedQueryToOptions): string;
  keyOf<X extends string>(
    text: X,
    ...more: TextArguments<X, [options?: CachedQueryOptions | CachedQueryToOptions]>
  ): string;
  /**
   * Asks with settings, as `Session.with` does. They are a part of each answer's key.
   * @param settings by name; they are added to those that this has
   * @returns what asks the same cache
   * @throws {TypeError} for wrong names and values
   */
  with(settings: Settings): CacheSession<D>;
}

/** Its methods that ask are those of CacheSession. */
export interface ResponseCache<out D extends boolean = true> extends CacheSession<D> {}

/** Answers queries from memory, and asks its own client or pool otherwise. */
export class ResponseCache<out D extends boolean = true> extends EventEmitter {
  /**
   * @param client a client or pool for the cache alone, whose sessions become read-only
   * @param options max_bytes, max_answer_bytes, max_age, stale_while_revalidate, now
   * @throws {TypeError} for any other client, and for wrong options
   */
  constructor(client: Client<D> | Pool<D>, options?: ResponseCacheOptions);
  /** The most memory for all answers, in bytes. */
  readonly max_bytes: number;
  /** Bytes above which an answer is not kept. */
  readonly max_answer_bytes: number;
  /** Seconds for which an answer is fresh, unless a query says otherwise. */
  readonly max_age: number;
  /** Seconds after that in which it is still given. */
  readonly stale_while_revalidate: number;
  /** Fresh answers given from memory. */
  readonly hits: number;
  /** Answers asked for, and waits for an answer that was being asked for. */
  readonly misses: number;
  /** Answers given after `max_age`. */
  readonly stale: number;
  /** Answers removed to make room. */
  readonly evictions: number;
  /** An upper estimate of the memory of all answers, in bytes. */
  readonly bytes: number;
  /** Answers that are kept or asked for. */
  readonly size: number;
  /** Forgets one answer. @param key from `keyOf` */
  invalidate(key: string): void;
  /** Forgets all answers with a tag. @param tag one of the query's `tags` */
  invalidateTag(tag: string): void;
  /** Forgets all answers. */
  clear(): void;
  /**
   * Invalidates by notifications: the payload is a tag; an empty one means all tags. A server that says nothing for
   * 30 s is asked whether it is there; without an answer within 3 s the connection is lost, and answers with tags are
   * forgotten.
   * @param channel of NOTIFY
   * @returns resolves to a function that stops listening; rejects with the error of LISTEN, or a TypeError or
   *   RangeError for an invalid name
   */
  listen(channel: string): Promise<() => Promise<void>>;

  on<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  once<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  off<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
}

/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Writable } from 'node:stream';
import { WritableStream } from 'node:stream/web';
import {
  Abortable, AnyColumns, Client, Decode, QueryToOptions, RowReader, StatementOptions, StreamResult, Values
} from 'quickgres';
import { Pool } from 'quickgres/pool';

/** How an answer is kept. */
export interface CacheOptions {
  /** By which `invalidateTag` and notifications find the answer. Default: none. */
  tags?: readonly string[] | undefined;
  /** Seconds for which the answer is fresh. Default: the cache's. */
  max_age?: number | undefined;
  /** Seconds after `max_age` in which it is still given while one query refreshes it. Default: the cache's. */
  stale_while_revalidate?: number | undefined;
}

/** Options of `query`. */
export interface CachedQueryOptions extends StatementOptions, Abortable, CacheOptions {
  /** How columns become values. Default: that of the client's config, else strings and Buffers. */
  decode?: Decode | undefined;
}

/** Options of `queryTo`. */
export interface CachedQueryToOptions extends QueryToOptions, CacheOptions {}

/** Options of a ResponseCache. */
export interface ResponseCacheOptions {
  /** Most memory for all answers, in bytes; 67108864 (64 MiB) by default. */
  max_bytes?: number | undefined;
  /** A longer answer is not kept; an eighth of `max_bytes` by default. */
  max_answer_bytes?: number | undefined;
  /** Seconds for which an answer is fresh; 60 by default. */
  max_age?: number | undefined;
  /** Seconds after that in which it is still given; 15 by default. */
  stale_while_revalidate?: number | undefined;
  /** A clock that never goes back, in milliseconds; `performance.now` by default. */
  now?: (() => number) | undefined;
}

/** The events of a ResponseCache. */
export interface ResponseCacheEvents {
  /**
   * A refresh has failed: the old answer stays to the end of its window. Or, without `about`: a pool does not listen any
   * more. Nobody has to listen.
   */
  error: [error: Error, about?: { key: string; tags: string[] }];
}

/** Answers queries from memory, and asks its own client, or pool, for what it does not know. */
export class ResponseCache extends EventEmitter {
  /**
   * @param client or pool that nobody else uses; the cache makes its sessions read-only
   * @param options max_bytes, max_answer_bytes, max_age, stale_while_revalidate, now
   * @throws {TypeError} for what is neither, and for wrong options
   */
  constructor(client: Client | Pool, options?: ResponseCacheOptions);
  /** Most memory for all answers, in bytes. */
  readonly max_bytes: number;
  /** A longer answer is not kept. */
  readonly max_answer_bytes: number;
  /** Seconds for which an answer is fresh, unless a query says otherwise. */
  readonly max_age: number;
  /** Seconds after that in which it is still given. */
  readonly stale_while_revalidate: number;
  /** Fresh answers given from memory. */
  readonly hits: number;
  /** Answers that had to be asked for, or waited for while another asked. */
  readonly misses: number;
  /** Answers given after their `max_age`. */
  readonly stale: number;
  /** Answers that left for others to have room. */
  readonly evictions: number;
  /** Memory that the answers take, in bytes: an upper estimate. */
  readonly bytes: number;
  /** Answers that are kept or asked for. */
  readonly size: number;
  /**
   * Gives the result of a query, from memory where there is one.
   * @param text SQL
   * @param values of its parameters
   * @param options those of `Client.query` but `stream`, and tags, max_age, stale_while_revalidate
   * @returns a reader, whose rows nobody shares; rejects as `Client.query`
   */
  query<T extends object = AnyColumns>(text: string, values?: Values, options?: CachedQueryOptions): Promise<RowReader<T>>;
  /**
   * Writes the result of a query to a target, from memory where there is one.
   * @param target as of `Client.queryTo`
   * @param text SQL
   * @param values of its parameters
   * @param options those of `Client.queryTo`, and tags, max_age, stale_while_revalidate
   * @returns what was written; rejects as `Client.queryTo`
   */
  queryTo(target: Writable | WritableStream, text: string, values?: Values, options?: CachedQueryToOptions):
    Promise<StreamResult>;
  /**
   * The key of the answer to a query.
   * @param text SQL
   * @param values of its parameters
   * @param options the same as of the query
   * @returns what `invalidate` takes
   * @throws {TypeError|RangeError} as the query would
   */
  keyOf(text: string, values?: Values, options?: CachedQueryOptions | CachedQueryToOptions): string;
  /** Forgets one answer. @param key as `keyOf` gives it */
  invalidate(key: string): void;
  /** Forgets all answers with a tag. @param tag one of the query's `tags` */
  invalidateTag(tag: string): void;
  /** Forgets all answers. */
  clear(): void;
  /**
   * Has the server say what is to be forgotten: the payload of a notification is a tag; without one, all tags.
   * @param channel of NOTIFY
   * @returns when it listens, what ends that; rejects with an error of LISTEN, or a TypeError or RangeError for no name
   */
  listen(channel: string): Promise<() => Promise<void>>;

  on<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  once<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  off<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
}

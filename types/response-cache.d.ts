import { EventEmitter } from 'node:events';
import { Client } from '../index';
import { Format, Values } from './rows';

/** Options of `query`, `queryTo` and `respond` that have an answer given from memory. Other methods do not take them. */
export interface CachedOptions {
  /** Where to keep the answer, and to look for it. Only what reads (SELECT, TABLE, VALUES, WITH)
   * is kept. Default: none, nothing is kept. */
  response_cache?: ResponseCache | undefined;
  /** By which `invalidateTag` and `listen` find the answer. Default: none. */
  tags?: string[] | undefined;
  /** Seconds for which the answer is fresh. Default: the cache's. */
  max_age?: number | undefined;
  /** Seconds after `max_age` in which it is still given while one query refreshes it. Default: the cache's. */
  stale_while_revalidate?: number | undefined;
}

export interface ResponseCacheOptions {
  /** Most memory for all answers, in bytes; 67108864 (64 MiB) by default. */
  max_bytes?: number | undefined;
  /** A longer answer is not kept; an eighth of `max_bytes` by default. */
  max_answer_bytes?: number | undefined;
  /** Seconds; 60 by default. */
  max_age?: number | undefined;
  /** Seconds; 15 by default. */
  stale_while_revalidate?: number | undefined;
  /** A clock that never goes back, in milliseconds; `performance.now` by default. */
  now?: (() => number) | undefined;
}

export interface ResponseCacheCounters {
  hits: number;
  misses: number;
  stale: number;
  evictions: number;
  bytes: number;
  size: number;
}

/** What a failure of the cache was about: a refresh, or a connection that listened. */
export type ResponseCacheSubject = { key: string; tags: string[] } | { channel: string };

export interface ResponseCacheEvents {
  error: [error: Error, about: ResponseCacheSubject];
}

/** Answers to queries as the bytes that the server sent, for one client or many. */
export class ResponseCache extends EventEmitter {
  constructor(options?: ResponseCacheOptions);
  readonly max_bytes: number;
  readonly max_answer_bytes: number;
  readonly max_age: number;
  readonly stale_while_revalidate: number;
  /** Fresh answers given from memory. */
  readonly hits: number;
  /** Answers that had to be asked for, or waited for while another asked. */
  readonly misses: number;
  /** Answers given after their `max_age`. */
  readonly stale: number;
  /** Answers that left for others to have room. */
  readonly evictions: number;
  /** Memory that the answers take: an upper estimate. */
  readonly bytes: number;
  /** Answers that are kept. */
  readonly size: number;
  /** Whether every connection that is to listen for invalidations does; else answers with tags are not kept. */
  readonly guarded: boolean;
  /** The key of a query's answer; undefined while the client is not connected. */
  keyOf(client: Client, text: string, values?: Values,
    options?: CachedOptions & { format?: Format | undefined; paramTypes?: readonly number[] | undefined }): string | undefined;
  /** Forgets one answer. @param key as `keyOf` gives it */
  invalidate(key: string | undefined): void;
  /** Forgets all answers with a tag. */
  invalidateTag(tag: string): void;
  /** Forgets all answers. */
  clear(): void;
  /** Invalidates by NOTIFY: the payload is the tag. Resolves to what ends that. */
  listen(client: Client, channel: string): Promise<() => Promise<void>>;
  toJSON(): ResponseCacheCounters;

  on<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  once<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
  off<E extends keyof ResponseCacheEvents>(event: E, listener: (...args: ResponseCacheEvents[E]) => void): this;
}

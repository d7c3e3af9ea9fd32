/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Client, Notification, StreamResult, TextArguments } from '../../index.js';
import { RespondOptions } from '../http/index.js';
import { Pool } from '../pool/index.js';
import { Sql } from '../sql/index.js';
import { Change } from '../replication/index.js';

/** Options of a Live; times are in milliseconds. */
export interface LiveOptions {
  /**
   * From the end of a query to its next run, at least; the first change after that is asked for at once. Default: 100.
   */
  interval?: number | undefined;
  /**
   * Until a query is given up that has no `statement_timeout` of its own, from 1; it runs again after a second, on a new
   * connection of the pool if that was unused. Default: 30000.
   */
  statement_timeout?: number | undefined;
  /** Results that are asked for at once. Default: 16. */
  concurrency?: number | undefined;
  /** Readers to which nothing was sent for this time get a message that keeps the connection alive. Default: 15000. */
  keepalive?: number | undefined;
  /**
   * Until a reader is sent away; its page connects again, so your handler authorizes it again. 0: never. Default:
   * 1800000.
   */
  max_lifetime?: number | undefined;
  /** The most bytes of a result; a row is received whole before its size counts. Default: 1048576. */
  max_bytes?: number | undefined;
  /** The most rows of a result. Default: 10000. */
  max_rows?: number | undefined;
  /**
   * The most bytes of all results, and of what readers have not taken. Above it, readers that are behind are cut off,
   * then a result that has grown is dropped, and new results are answered by status 503 with `Retry-After`. Default:
   * 268435456.
   */
  max_total_bytes?: number | undefined;
  /** The most results that are kept. Default: 10000. */
  max_results?: number | undefined;
  /** The most readers. Default: 10000. */
  max_readers?: number | undefined;
}

/**
 * Options of `respond`. Readers of the live result share it if their text, values, settings, tags and other options are
 * equal.
 */
export interface LiveRespondOptions extends RespondOptions {
  /** What the result depends on. Default: none, and every change counts. */
  tags?: readonly string[] | undefined;
  /**
   * Settings of the query's transaction, as of `session.with`, for row-level security. Readers with different settings
   * never share a query. Default: none.
   */
  settings?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/**
 * What `follow` takes: notifications, whose payload is a tag; changes of tables, whose names are tags, as are those of
 * the tables that they are a part of; and tags.
 */
export type Followed = (Notification & { missed?: boolean }) | Change | string;

/** The events of a Live. */
export interface LiveEvents {
  /**
   * A result could not be asked for again. If the reason may pass (SQLSTATE classes 08, 40, 53, 55, 57), its readers
   * keep their state, and it is asked for again after a second; otherwise they are sent away. Without `about`, what is
   * followed has failed. The event needs no listener.
   */
  error: [error: Error, about?: { text: string; tags: readonly string[] }];
}

/** Results that stay up to date in pages, which read them with `quickgres/client-parser/live`. */
export class Live extends EventEmitter {
  /**
   * @param session a pool, or a client
   * @param options interval, statement_timeout, concurrency, keepalive, max_lifetime, max_bytes, max_rows, max_total_bytes, max_results,
   *   max_readers
   * @throws {TypeError} for wrong arguments
   */
  constructor(session: Pool | Client, options?: LiveOptions);
  /** Results that are kept: those with readers. */
  readonly size: number;
  /**
   * Answers an HTTP request with a result that stays up to date. A request that does not accept that, as the page's
   * part does, is answered once, as by `respond` of quickgres/http.
   * @param request of HTTP/1.1 or HTTP/2
   * @param response of the same
   * @param text SQL of a SELECT
   * @param values of its parameters
   * @param piece SQL with its values, in place of text and values
   * @param more values and options
   * @param options those of `respond`, and tags, settings
   * @returns resolves when the reader has left; rejects as `respond`, with a UsageError for a result that is too
   *   large (54000) or not of a SELECT (0A000), and with a ConnectionError if there is no room (53300). Then the
   *   response is as it was
   */
  respond<X extends string>(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    text: X,
    ...more: TextArguments<X, [options?: LiveRespondOptions]>
  ): Promise<StreamResult>;
  respond(
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
    piece: Sql,
    options?: LiveRespondOptions
  ): Promise<StreamResult>;
  /**
   * The same for a WHATWG Request.
   * @returns the Response, when the first state is there
   */
  respond<X extends string>(
    request: Request,
    text: X,
    ...more: TextArguments<X, [options?: LiveRespondOptions]>
  ): Promise<Response>;
  respond(request: Request, piece: Sql, options?: LiveRespondOptions): Promise<Response>;
  /**
   * Says that something has changed.
   * @param tag of the results that depend on it. Default: all results
   * @throws {TypeError} if it is not a string
   */
  changed(tag?: string): void;
  /**
   * Takes changes from an iterable, such as `pool.listen(channel)` or `changes(config, { publication })`.
   * @param iterable of notifications, changes or tags
   * @returns resolves when the iterable has ended or failed, which emits `error`; rejects with a TypeError if it is
   *   none
   */
  follow(iterable: AsyncIterable<Followed>): Promise<void>;
  /** Sends all readers away, and ends what is followed. @returns resolves when they have left; never rejects */
  end(): Promise<void>;

  on<E extends keyof LiveEvents>(event: E, listener: (...args: LiveEvents[E]) => void): this;
  once<E extends keyof LiveEvents>(event: E, listener: (...args: LiveEvents[E]) => void): this;
  off<E extends keyof LiveEvents>(event: E, listener: (...args: LiveEvents[E]) => void): this;
}

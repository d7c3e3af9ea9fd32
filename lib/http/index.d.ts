/// <reference types="node" />

import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { QueryToOptions, Session, StreamResult, TextArguments } from '../../index.js';
import { CacheOptions, CacheSession } from '../cache/index.js';
import { Sql } from '../sql/index.js';

/**
 * A form of a result: protocol messages, a JSON array of objects, an object a line, CSV with a header; or the columns'
 * bytes, for example JSON that the server made.
 */
export type Representation = 'protocol' | 'json' | 'ndjson' | 'csv' | 'values';

/** Options of `respond`. */
export interface RespondOptions extends Omit<QueryToOptions, 'as' | 'end'> {
  /**
   * The representation, or a list for the request's Accept header to choose from, the preferred one first. Default:
   * `['protocol', 'json', 'ndjson', 'csv']`, of which no wildcard means 'protocol'; 'json' if the handler has set a
   * content type; 'protocol' with binary `format`.
   */
  as?: Representation | readonly Representation[] | undefined;
  /** Status of the response; 204, 205 and 304 have no body. Default: its `statusCode`. */
  status?: number | undefined;
  /** Status if the command reports no rows, for example 404. Default: `status`. */
  emptyStatus?: number | undefined;
  /** Whether to compress as the request allows. Default: true. */
  compress?: boolean | undefined;
  /**
   * With 'escape', CSV cells and names that spreadsheets take for formulas are quoted and begin with an apostrophe:
   * those that begin with `=`, `+`, `-`, `@`, also full-width, a tab, a carriage return or a newline. Columns of numeric
   * types stay as they are. Other separators than commas inside a field stay. Default: 'keep'.
   */
  formulas?: 'keep' | 'escape' | undefined;
}

/** Options of `respond` with a ResponseCache. */
export interface CachedRespondOptions extends RespondOptions, CacheOptions {}

/**
 * Answers an HTTP request with the result of a query: representation, content type, status, compression and, for a
 * ResponseCache, ETag, Cache-Control and 304. If no format is acceptable, the response is 406 with the available types,
 * and no query runs. HEAD runs no query.
 * @param session a client, a pool, a transaction, or a ResponseCache
 * @param request of HTTP/1.1 or HTTP/2
 * @param response of the same
 * @param text SQL
 * @param values of its parameters
 * @param piece SQL with its values, in place of text and values
 * @param more values and options
 * @param options those of `queryTo` without `end`, and as, status, emptyStatus, compress, formulas
 * @returns what was written, before compression; rejects as `queryTo`. If nothing was written, the handler can still
 *   respond
 */
export function respond<X extends string>(
  session: Pick<Session, 'queryTo'>,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  text: X,
  ...more: TextArguments<X, [options?: RespondOptions]>
): Promise<StreamResult>;
export function respond(
  session: Pick<Session, 'queryTo'>,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  piece: Sql,
  options?: RespondOptions
): Promise<StreamResult>;
export function respond<X extends string>(
  session: CacheSession<boolean>,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  text: X,
  ...more: TextArguments<X, [options?: CachedRespondOptions]>
): Promise<StreamResult>;
export function respond(
  session: CacheSession<boolean>,
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
  piece: Sql,
  options?: CachedRespondOptions
): Promise<StreamResult>;
/**
 * The same for a WHATWG Request: in Workers, Bun, Deno, Hono, Next. The Request's signal cancels the query.
 * @returns the Response at its first byte; a later error of the query is one of its body. Rejects if the query fails
 *   before
 */
export function respond<X extends string>(
  session: Pick<Session, 'queryTo'>,
  request: Request,
  text: X,
  ...more: TextArguments<X, [options?: RespondOptions]>
): Promise<Response>;
export function respond(
  session: Pick<Session, 'queryTo'>,
  request: Request,
  piece: Sql,
  options?: RespondOptions
): Promise<Response>;
export function respond(
  session: CacheSession<boolean>,
  request: Request,
  piece: Sql,
  options?: CachedRespondOptions
): Promise<Response>;
export function respond<X extends string>(
  session: CacheSession<boolean>,
  request: Request,
  text: X,
  ...more: TextArguments<X, [options?: CachedRespondOptions]>
): Promise<Response>;

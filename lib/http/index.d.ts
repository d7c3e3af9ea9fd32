/// <reference types="node" />

import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { QueryToOptions, Session, StreamResult, Values } from 'quickgres';
import { CacheOptions, ResponseCache } from 'quickgres/cache';

/**
 * A form of a result: messages of the protocol, a JSON array of objects, an object a line, CSV with a line of names; or the
 * bytes of the columns alone, such as JSON that the server has made.
 */
export type Representation = 'protocol' | 'json' | 'ndjson' | 'csv' | 'values';

/** Options of `respond`. */
export interface RespondOptions extends Omit<QueryToOptions, 'as' | 'end'> {
  /**
   * One that is sent whatever the request's Accept says, or those that Accept chooses from, the first where it does not
   * care. Default: `['protocol', 'json', 'ndjson', 'csv']`; 'protocol' where the handler has set a content type, or with
   * binary `format`.
   */
  as?: Representation | readonly Representation[] | undefined;
  /** Status of the response. Default: its `statusCode`, which is 200 unless it was set. */
  status?: number | undefined;
  /** Status where the command reports no rows, such as 404 or 204. Default: `status`. */
  emptyStatus?: number | undefined;
  /** Whether to compress as the request allows; true by default. */
  compress?: boolean | undefined;
}

/** Options of `respond` with a ResponseCache. */
export interface CachedRespondOptions extends RespondOptions, CacheOptions {}

/**
 * Answers an HTTP request with the result of a query: representation, content type, status, compression; of a
 * ResponseCache also ETag, Cache-Control and 304. 406, with a list, where the request takes nothing that there is. HEAD
 * is answered without running the query.
 * @param session a client, a pool, a transaction, or a ResponseCache
 * @param request of HTTP/1.1 or HTTP/2
 * @param response to it
 * @param text SQL
 * @param values of its parameters
 * @param options those of the session's `queryTo` but `end`, and as, status, emptyStatus, compress
 * @returns what was written, before compression; rejects as `queryTo`: before the first byte, the response is the
 *   handler's to answer with
 */
export function respond(session: Pick<Session, 'queryTo'>, request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse, text: string, values?: Values, options?: RespondOptions): Promise<StreamResult>;
export function respond(session: ResponseCache, request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse, text: string, values?: Values, options?: CachedRespondOptions):
  Promise<StreamResult>;
/**
 * The same for a WHATWG Request: in Workers, Bun, Deno, Hono, Next. The Request's signal cancels the query.
 * @returns the Response, as soon as its first byte is there; its body fails if the query does after that. Rejects if the
 *   query fails before
 */
export function respond(session: Pick<Session, 'queryTo'>, request: Request, text: string, values?: Values, options?: RespondOptions):
  Promise<Response>;
export function respond(session: ResponseCache, request: Request, text: string, values?: Values,
  options?: CachedRespondOptions): Promise<Response>;

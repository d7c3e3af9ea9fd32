/// <reference types="node" />

import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { QueryToOptions, Session, StreamResult, Values } from 'quickgres';
import { CacheOptions, ResponseCache } from 'quickgres/cache';

/** Options of `respond`. */
export interface RespondOptions extends Omit<QueryToOptions, 'end'> {
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
 * Answers an HTTP request with the result of a query: content type, status, compression; of a ResponseCache also ETag,
 * Cache-Control and 304. HEAD is answered without running the query.
 * @param session a client, a transaction, or a ResponseCache
 * @param request of HTTP/1.1 or HTTP/2
 * @param response to it
 * @param text SQL
 * @param values of its parameters
 * @param options those of `queryTo` but `end`, and status, emptyStatus, compress
 * @returns what was written, before compression; rejects as `queryTo`: before the first byte, the response is the
 *   handler's to answer with
 */
export function respond(session: Session, request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse, text: string, values?: Values, options?: RespondOptions): Promise<StreamResult>;
export function respond(session: ResponseCache, request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse, text: string, values?: Values, options?: CachedRespondOptions):
  Promise<StreamResult>;

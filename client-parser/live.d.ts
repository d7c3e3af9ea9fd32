import { Column, Decode } from './index.js';

/** Options of `live`. Others, such as `method`, `body` and `credentials`, go to `fetch`. */
export interface LiveOptions extends Omit<RequestInit, 'signal' | 'headers'> {
  /** What columns become, as in `rows`. Default: true. */
  decode?: Decode | undefined;
  /** Milliseconds of silence after which it connects again; more than the server's `keepalive`. Default: 60000. */
  timeout?: number | undefined;
  /** Ends the loop with its reason. Default: none. */
  signal?: AbortSignal | undefined;
  /** Headers of the request. Default: none. */
  headers?: RequestInit['headers'] | undefined;
}

/** The rows of a state. Rows that did not change are the same objects as in the state before. */
export interface LiveRows<R> extends Array<R> {
  /** Whether the page is connected. If not, these are the rows of the last state. */
  readonly connected: boolean;
  /** The columns. */
  readonly columns: readonly Column[];
}

/**
 * Reads a live result of `quickgres/live`. Each array is a whole state. The loop gets the newest one, and the last one
 * again when the connection is lost. It connects again by itself, with growing pauses up to 30 seconds.
 *
 * The loop throws a ResponseError for a status from 400 to 499 other than 408, 425 and 429, a ProtocolError for a
 * response that is no live result or has more than 1,000,000 rows, the signal's reason, and what a decoder throws.
 * @param url as of `fetch`
 * @param options decode, timeout, signal, headers, and those of `fetch`
 * @returns an async iterable; `break` ends the request
 * @throws {TypeError} if timeout is not above 0
 */
export function live<T extends object = Record<string, any>>(
  url: string | URL,
  options?: LiveOptions
): AsyncIterableIterator<LiveRows<T>>;

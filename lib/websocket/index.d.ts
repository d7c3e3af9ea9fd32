/// <reference types="node" />

import { Duplex } from 'node:stream';
import { ServerAddress } from 'quickgres';

/** What is used of a WebSocket: that of the platform, or of the package ws. */
export interface WebSocketLike {
  /** 0 connecting, 1 open, more: closed. */
  readonly readyState: number;
  /** Where it goes: `wss:` counts as encrypted, a loopback address as this machine. */
  readonly url?: string | null;
  /** Bytes that were not sent yet; not every platform tells. */
  readonly bufferedAmount?: number;
  /** Set to 'arraybuffer'. */
  binaryType?: string | undefined;
  /** Sends one binary message. @param data its bytes */
  send(data: any): void;
  /** Closes it. @param code of the closing */
  close(code?: number): void;
  /**
   * Hears of 'open', 'message', 'error' and 'close'.
   * @param type of the event
   * @param listener of it
   */
  addEventListener(type: any, listener: (event: any) => void): void;
}

/** Where a proxy is: its URL, or what opens a WebSocket to it. */
export type WebSocketProxy = string | URL | ((server: ServerAddress) =>
  string | URL | WebSocketLike | Promise<string | URL | WebSocketLike>);

/** What `webSocket` makes, to be given as `socket` in a config. */
export interface WebSocketFunction {
  /**
   * Opens a WebSocket for one connection.
   * @param server that the proxy is to connect to
   * @returns the stream; rejects with a ConnectionError (08001)
   */
  (server: ServerAddress): Promise<Duplex>;
  /** What `sslmode` is, unless the config names one: there is no TLS inside the WebSocket. */
  readonly sslmode: 'disable';
}

/**
 * Makes a `socket` for a client's config: its connections go over WebSockets, to a proxy that connects to the server.
 * @param proxy its `ws:` or `wss:` URL, to which `address=host:port` of the server is added; or a function that gives a
 *   URL, which is taken as it is, or a WebSocket
 * @returns the socket function
 * @throws {TypeError} for no such URL
 */
export function webSocket(proxy: WebSocketProxy): WebSocketFunction;

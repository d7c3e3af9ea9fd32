/// <reference types="node" />

import { Duplex } from 'node:stream';
import { ServerAddress } from '../../index.js';

/** The members used of a WebSocket, which is the platform's or of the package ws. */
export interface WebSocketLike {
  /** 0 connecting, 1 open, above 1 closed. */
  readonly readyState: number;
  /** `wss:` counts as encrypted, a loopback address as this machine. */
  readonly url?: string | null;
  /** Unsent bytes, if the platform reports them. */
  readonly bufferedAmount?: number;
  /** Set to 'arraybuffer'. */
  binaryType?: string | undefined;
  /** Sends a binary message. @param data its bytes */
  send(data: any): void;
  /** Closes the WebSocket. @param code the close code */
  close(code?: number): void;
  /** @param type 'open', 'message', 'error' or 'close' @param listener of the event */
  addEventListener(type: any, listener: (event: any) => void): void;
}

/** A proxy: its URL, or a function that opens a WebSocket to it. */
export type WebSocketProxy =
  string | URL | ((server: ServerAddress) => string | URL | WebSocketLike | Promise<string | URL | WebSocketLike>);

/** The option `socket` of a config, made by `webSocket`. */
export interface WebSocketFunction {
  /**
   * Opens a WebSocket for one connection.
   * @param server for the proxy to connect to
   * @returns the stream; rejects with a ConnectionError (08001)
   */
  (server: ServerAddress): Promise<Duplex>;
  /** The default of `sslmode`: there is no TLS inside the WebSocket. */
  readonly sslmode: 'disable';
}

/**
 * Makes the option `socket` of a config: connections go over WebSockets, to a proxy that connects to the server.
 * @param proxy its `ws:` or `wss:` URL, to which `address=host:port` is added; or a function that gives a complete
 *   URL or a WebSocket
 * @returns the option
 * @throws {TypeError} for an invalid URL
 */
export function webSocket(proxy: WebSocketProxy): WebSocketFunction;

/** The type of `workersSocket`, which does TLS itself, according to `sslmode`. */
export interface WorkersSocket {
  /**
   * Opens a connection by cloudflare:sockets.
   * @param server its address
   * @returns the stream; rejects with a ConnectionError (08001)
   */
  (server: ServerAddress): Promise<Duplex>;
  /** Tells the client not to do TLS. */
  readonly encrypts: true;
}

/** The option `socket` of a config in a Cloudflare Worker: connections by cloudflare:sockets. */
export const workersSocket: WorkersSocket;

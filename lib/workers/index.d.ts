/// <reference types="node" />

import { Duplex } from 'node:stream';
import { ServerAddress } from 'quickgres';

/** What `socket` is: a function that opens connections and does TLS itself, as `sslmode` says. */
export interface WorkersSocket {
  /**
   * Opens a connection by cloudflare:sockets.
   * @param server where it is
   * @returns the stream; rejects with a ConnectionError
   */
  (server: ServerAddress): Promise<Duplex>;
  /** TLS is not the client's business. */
  readonly encrypts: true;
}

/** The option `socket` of a config in a Cloudflare Worker: connections with TLS. */
export const socket: WorkersSocket;

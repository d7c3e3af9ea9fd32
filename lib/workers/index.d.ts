/// <reference types="node" />

import { Duplex } from 'node:stream';
import { ServerAddress } from '../../index.js';

/** A function that opens connections and does TLS itself, according to `sslmode`. */
export interface WorkersSocket {
  /**
   * Opens a connection by cloudflare:sockets.
   * @param server its address
   * @returns the stream; rejects with a ConnectionError
   */
  (server: ServerAddress): Promise<Duplex>;
  /** Tells the client not to do TLS. */
  readonly encrypts: true;
}

/** The option `socket` of a config in a Cloudflare Worker. */
export const socket: WorkersSocket;

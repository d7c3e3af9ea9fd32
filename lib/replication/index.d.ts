/// <reference types="node" />

import { Duplex } from 'node:stream';
import { Client } from '../../index.js';

/** A message of a replication stream. */
export interface WalMessage {
  /** The position; 0n if the plugin gave none. */
  readonly lsn: bigint;
  /** The end of the server's log at that time. */
  readonly walEnd: bigint;
  /** The time of sending. */
  readonly time: Date;
  /** The plugin's output, for pgoutput one message. */
  readonly data: Buffer;
}

/** Options of `replicate`. */
export interface ReplicateOptions {
  /** Milliseconds between status updates, less than the server's wal_sender_timeout. Default: 10000. */
  statusInterval?: number | undefined;
  /** Destroys the stream with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** A stream of WalMessages that takes processed positions. Event 'start': the server has begun. */
export interface Replication extends Duplex {
  /** The highest position received; in physical replication the end of the last piece. */
  readonly received: bigint;
  /** The position up to which the server is told that everything was processed. */
  readonly confirmed: bigint;
  /**
   * Says that everything up to a position has been processed.
   * @param lsn the `endLsn` of pgoutput's commit; in physical replication `lsn + BigInt(data.length)`
   * @throws {TypeError} for an invalid position
   */
  confirm(lsn: bigint | string): void;
}

/**
 * Starts replication. The stream owns the connection until it is over.
 * @param client connected with `replication: 'database'`; `true` for physical replication
 * @param text START_REPLICATION …
 * @param options statusInterval, signal
 * @returns the stream, which emits errors of the server and the connection
 * @throws {TypeError|UsageError|ConnectionError} for bad input, and if the client takes no requests
 */
export function replicate(client: Client, text: string, options?: ReplicateOptions): Replication;

/** Values by column; a large value that did not change is omitted. */
export type PgOutputRow = Record<string, string | Buffer | null>;

/** A table, described before its first change. */
export interface PgOutputRelation {
  /** The kind of message. */
  type: 'relation';
  /** OID of the table. */
  oid: number;
  /** The schema. */
  schema: string;
  /** The table's name. */
  name: string;
  /** REPLICA IDENTITY: which columns of old rows are sent. */
  identity: 'default' | 'nothing' | 'full' | 'index';
  /** The columns; `key`: part of the replica identity. */
  columns: Array<{ key: boolean; name: string; typeOid: number; typeModifier: number }>;
}

/** A message of pgoutput, protocol version 1. */
export type PgOutputMessage =
  | { type: 'begin'; commitLsn: bigint; time: Date; xid: number }
  | { type: 'commit'; flags: number; commitLsn: bigint; endLsn: bigint; time: Date }
  | { type: 'origin'; lsn: bigint; name: string }
  | { type: 'type'; oid: number; schema: string; name: string }
  | PgOutputRelation
  | { type: 'insert'; relation: PgOutputRelation; new: PgOutputRow }
  | { type: 'update'; relation: PgOutputRelation; old?: PgOutputRow; key?: PgOutputRow; new: PgOutputRow }
  | { type: 'delete'; relation: PgOutputRelation; old?: PgOutputRow; key?: PgOutputRow }
  | { type: 'truncate'; cascade: boolean; restartIdentity: boolean; relations: PgOutputRelation[] };

/** Decodes the messages of the plugin pgoutput. */
export class PgOutput {
  /** Use one for each replication, since it keeps the tables' descriptions. */
  constructor();
  /** The tables described so far, by OID. */
  readonly relations: Map<number, PgOutputRelation>;
  /**
   * @param data of a WalMessage
   * @returns the message
   * @throws {ConnectionError} 08P01 for a malformed or unknown message
   */
  decode(data: Buffer): PgOutputMessage;
}

/**
 * @param lsn a position in the write-ahead log
 * @returns its text, such as 16/B374D848
 */
export function formatLsn(lsn: bigint): string;
/**
 * @param text such as 16/B374D848
 * @returns the position in the write-ahead log
 * @throws {TypeError} for an invalid text
 */
export function parseLsn(text: string): bigint;

/// <reference types="node" />

import { Duplex } from 'node:stream';
import { Client } from 'quickgres';

/** A message of a replication stream. */
export interface WalMessage {
  /** The position; 0n where the plugin gave none. */
  readonly lsn: bigint;
  /** The end of the server's log when it was sent. */
  readonly walEnd: bigint;
  /** When it was sent. */
  readonly time: Date;
  /** What the plugin gave: of pgoutput, one message. */
  readonly data: Buffer;
}

/** Options of `replicate`. */
export interface ReplicateOptions {
  /** Milliseconds between two reports to the server, 10000 by default; less than its wal_sender_timeout. */
  statusInterval?: number | undefined;
  /** Destroys the stream with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** A stream of WalMessages, which takes the positions that were processed. Event 'start': the server has begun. */
export interface Replication extends Duplex {
  /** The highest position that has come; in physical replication the end of the last piece. */
  readonly received: bigint;
  /** The position up to which all was processed, as the server is told. */
  readonly confirmed: bigint;
  /**
   * Says that everything up to a position has been processed.
   * @param lsn the position: of pgoutput the `endLsn` of a commit, of a piece of the log `lsn + BigInt(data.length)`
   * @throws {TypeError} for what is no position
   */
  confirm(lsn: bigint | string): void;
}

/**
 * Starts replication. The connection is the stream's until it is over.
 * @param client connected with `replication: 'database'` in its config; `true` for physical replication
 * @param text START_REPLICATION …
 * @param options statusInterval, signal
 * @returns the stream; an error of the server or the connection is its error
 * @throws {TypeError|UsageError|ConnectionError} for bad input, and where the client takes no requests
 */
export function replicate(client: Client, text: string, options?: ReplicateOptions): Replication;

/** Values of a row by column; a large value that an update did not change is left out. */
export type PgOutputRow = Record<string, string | Buffer | null>;

/** A table, as the server describes it before its first change. */
export interface PgOutputRelation {
  /** Which message it is. */
  type: 'relation';
  /** OID of the table. */
  oid: number;
  /** Its schema. */
  schema: string;
  /** Its name. */
  name: string;
  /** REPLICA IDENTITY: what is told of rows that were updated or deleted. */
  identity: 'default' | 'nothing' | 'full' | 'index';
  /** Its columns; `key` where the column is part of the replica identity. */
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
  /** One for each replication: it keeps the tables that were described. */
  constructor();
  /** The tables described so far, by OID. */
  readonly relations: Map<number, PgOutputRelation>;
  /**
   * Decodes one message.
   * @param data of a WalMessage
   * @returns what is in it
   * @throws {ConnectionError} 08P01 for a message that is malformed or unknown
   */
  decode(data: Buffer): PgOutputMessage;
}

/**
 * The text of a position in the write-ahead log.
 * @param lsn the position
 * @returns such as 16/B374D848
 */
export function formatLsn(lsn: bigint): string;
/**
 * Reads a position in the write-ahead log.
 * @param text such as 16/B374D848
 * @returns the position
 * @throws {TypeError} for what is no position
 */
export function parseLsn(text: string): bigint;

/// <reference types="node" />

import { Readable } from 'node:stream';
import { Client, Config, Decode, Session } from '../../index.js';

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
  /**
   * Milliseconds between status updates, less than half the server's wal_sender_timeout. If the server has said
   * nothing, an update asks it for an answer; after four intervals without one the connection is lost. Default: 10000.
   */
  statusInterval?: number | undefined;
  /** Destroys the stream with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** A stream of WalMessages. Event 'start': the server has begun. `destroy()` ends the replication at once. */
export interface Replication extends Readable {
  /** The highest position received. */
  readonly received: bigint;
  /** The position up to which the server is told that everything was processed. */
  readonly confirmed: bigint;
  /**
   * Says that everything up to a position has been processed.
   * @param lsn the `endLsn` of pgoutput's commit
   * @throws {TypeError|RangeError} for an invalid position
   */
  confirm(lsn: bigint | string): void;
  /**
   * Ends the replication after the last confirmation was sent. The stream then gives what the server has sent, and
   * ends.
   */
  end(): void;
}

/**
 * Starts logical replication. The stream owns the connection until it is over. PostgreSQL streams once on a connection.
 * @param client connected with `replication: 'database'`
 * @param text START_REPLICATION SLOT … LOGICAL …
 * @param options statusInterval, signal
 * @returns the stream, which emits errors of the server and the connection
 * @throws {TypeError|UsageError|ConnectionError} for bad input, and if the client takes no requests
 */
export function replicate(client: Client, text: string, options?: ReplicateOptions): Replication;

/** Values by column, as in queries; with `decode: false` their texts. A large value that did not change is omitted. */
export type PgOutputRow<D = true> = Record<string, D extends false ? string | Buffer | null : any>;

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
export type PgOutputMessage<Row = PgOutputRow> =
  | { type: 'begin'; commitLsn: bigint; time: Date; xid: number }
  | { type: 'commit'; flags: number; commitLsn: bigint; endLsn: bigint; time: Date }
  | { type: 'origin'; lsn: bigint; name: string }
  | { type: 'type'; oid: number; schema: string; name: string }
  | PgOutputRelation
  | { type: 'insert'; relation: PgOutputRelation; new: Row }
  | { type: 'update'; relation: PgOutputRelation; old?: Row; key?: Row; new: Row }
  | { type: 'delete'; relation: PgOutputRelation; old?: Row; key?: Row }
  | { type: 'truncate'; cascade: boolean; restartIdentity: boolean; relations: PgOutputRelation[] };

/** Fields that some changes do not have. */
interface NoFields {
  relation?: undefined;
  relations?: undefined;
  new?: undefined;
  old?: undefined;
  key?: undefined;
}

/** What the loop over `changes` gives. 'missed': the slot had to be made anew, so changes may have been missed. */
export type Change<Row = Record<string, any>> =
  | ({ type: 'missed' } & NoFields)
  | (Extract<PgOutputMessage<Row>, { type: 'begin' | 'commit' | 'truncate' }> & Omit<NoFields, 'relations'>)
  | (Exclude<PgOutputMessage<Row>, { type: 'begin' | 'commit' | 'truncate' | 'relation' | 'type' | 'origin' }> & {
      old?: Row;
      key?: Row;
      new?: Row;
    });

/** Options of `changes`. */
export interface ChangesOptions<D extends boolean = true> {
  /** Names of the publications whose tables are followed. No default. */
  publication: string | readonly string[];
  /**
   * A lasting slot, which is made if there is none. The loop gives each transaction at least once; a transaction is
   * confirmed when the loop asks past its commit. Default: a temporary slot, which is lost with its connection.
   */
  slot?: string | undefined;
  /**
   * Called when a slot was made, before its first change, with a transaction that sees what was committed before the
   * slot begins. The server's time limits do not hold for it. If it rejects, so does the loop, and no lasting slot is
   * left. Default: none.
   */
  snapshot?: ((tx: Session<D>) => void | Promise<void>) | undefined;
  /** What values are, as in queries, in the snapshot as well. Default: the config's `decode`, else true. */
  decode?: Decode | undefined;
  /** See `replicate`: after four intervals without a message the connection is lost, and replaced. Default: 10000. */
  statusInterval?: number | undefined;
  /** Makes the loop reject with its reason, also while `snapshot` runs. Default: none. */
  signal?: AbortSignal | undefined;
}

/**
 * The changes of publications' tables, in the order of the commits. A lost connection is replaced, with growing pauses
 * up to 5 seconds. The loop rejects with the error of the first connection, with a UsageError for a missing publication
 * (42704), a `wal_level` other than logical (55000) or a missing right (42501), with what `snapshot` throws, and with
 * errors of the server that another attempt would not change.
 * @param config of the clients
 * @param options publication, slot, snapshot, decode, statusInterval, signal
 * @returns the changes; `break` ends the replication
 * @throws {TypeError} for wrong options
 */
export function changes<Row = Record<string, any>, D extends boolean = true>(
  config: Config<D> | string | URL,
  options: ChangesOptions<D>
): AsyncGenerator<Change<Row>, undefined, void>;

/** Decodes the messages of the plugin pgoutput. */
export class PgOutput<D extends Decode = true> {
  /**
   * Use one for each replication, since it keeps the tables' descriptions.
   * @param options decode: what values are, as in queries. Default: true
   * @throws {TypeError} for wrong options
   */
  constructor(options?: { decode?: D | undefined });
  /** The tables described so far, by OID. */
  readonly relations: Map<number, PgOutputRelation>;
  /**
   * @param data of a WalMessage
   * @returns the message
   * @throws {ConnectionError} 08P01 for a malformed or unknown message
   */
  decode(data: Buffer): PgOutputMessage<PgOutputRow<D>>;
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

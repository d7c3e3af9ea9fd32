import { Duplex, Readable, Transform, Writable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { AnyColumns, Row } from './rows';

export interface CopyStreamOptions {
  /** Destroys the stream with an AbortError, which cancels the COPY. Default: none. */
  signal?: AbortSignal | undefined;
  /** Bytes; by default 65536 for copyTo, 262144 for copyFrom. */
  highWaterMark?: number | undefined;
}

/**
 * The bytes of a COPY … TO STDOUT. Beside a Readable's events and methods: an error of the query or the connection is its
 * 'error', and to destroy it cancels the COPY.
 */
export interface CopyTo extends Readable {
  /** Rows copied; set before the event 'end'. */
  readonly rowCount: number | undefined;
  /** Bytes so far. */
  readonly bytes: number;
  /** 0 text and CSV, 1 binary; set with the first bytes. */
  readonly format: number | undefined;
  /** Columns of a row; set with the first bytes. */
  readonly columnCount?: number;
  /** The format of each column, 0 text, 1 binary; set with the first bytes. */
  readonly columnFormats?: number[];
}

/**
 * Takes the bytes of a COPY … FROM STDIN, as Buffers, Uint8Arrays or strings. Beside a Writable's events and methods: an error of
 * the query or the connection is its 'error', 'finish' says that the server has stored the rows, and to destroy it before
 * makes the COPY fail.
 */
export interface CopyFrom extends Writable {
  /** Rows copied; set before the event 'finish'. */
  readonly rowCount: number | undefined;
  /** Bytes so far. */
  readonly bytes: number;
}

/** Makes COPY data of rows: arrays of values, or rows of a result. */
export class CopyWriter extends Transform {
  /**
   * @param options format: 'text' by default; types: of the columns, by name or OID, for the binary format
   * @throws {TypeError}
   */
  constructor(options?: { format?: 'text' | 'binary' | undefined; types?: ReadonlyArray<string | number> | undefined });
  /** Rows so far. */
  readonly rowCount: number;
}

/** The rows of a query, some at a time; `break` closes it. */
export interface Cursor<T extends object = AnyColumns> {
  [Symbol.asyncIterator](): this;
  next(): Promise<IteratorResult<Row<T>, undefined>>;
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /** The rows as a Node stream in object mode. highWaterMark: rows to be read ahead, 16 by default. */
  readable(options?: { highWaterMark?: number | undefined; signal?: AbortSignal | undefined }): Readable;
  /** The rows as a WHATWG stream. */
  readableStream(): ReadableStream<Row<T>>;
}

/** What NOTIFY sent. */
export interface Notification {
  /** Of the server process of the notifying session. */
  processId: number;
  channel: string;
  payload: string;
}

/** The notifications of a channel, until `break` or `end()`. */
export interface Listener {
  readonly channel: string;
  /** Resolves when the server has begun to notify. */
  readonly ready: Promise<unknown>;
  [Symbol.asyncIterator](): this;
  next(): Promise<IteratorResult<Notification, undefined>>;
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /** @param error what the loop is to throw */
  end(error?: unknown): Promise<void>;
}

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

export interface CopyBothOptions {
  /** Milliseconds, 10000 by default; less than the server's wal_sender_timeout. */
  statusInterval?: number | undefined;
  /** Destroys the stream with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** A replication stream of WalMessages; takes the positions that were processed. */
export interface CopyBoth extends Duplex {
  /** The highest position that has come. */
  readonly received: bigint;
  /** The position that the server was told. */
  readonly confirmed: bigint;
  /** Says that everything up to a position has been processed. */
  confirm(lsn: bigint | string): void;
}

/** Values of a row by column; a large value that an update did not change is left out. */
export type PgOutputRow = Record<string, string | Buffer | null>;

export interface PgOutputRelation {
  type: 'relation';
  xid?: number;
  oid: number;
  schema: string;
  name: string;
  identity: 'default' | 'nothing' | 'full' | 'index';
  columns: Array<{ key: boolean; name: string; typeOid: number; typeModifier: number }>;
}

/** A message of pgoutput; `xid` is that of a transaction which is streamed before its commit. */
export type PgOutputMessage =
  | { type: 'begin'; commitLsn: bigint; time: Date; xid: number }
  | { type: 'commit'; flags: number; commitLsn: bigint; endLsn: bigint; time: Date }
  | { type: 'origin'; lsn: bigint; name: string }
  | { type: 'type'; xid?: number; oid: number; schema: string; name: string }
  | { type: 'message'; xid?: number; transactional: boolean; lsn: bigint; prefix: string; content: Buffer }
  | PgOutputRelation
  | { type: 'insert'; xid?: number; relation: PgOutputRelation; new: PgOutputRow }
  | { type: 'update'; xid?: number; relation: PgOutputRelation; old?: PgOutputRow; key?: PgOutputRow; new: PgOutputRow }
  | { type: 'delete'; xid?: number; relation: PgOutputRelation; old?: PgOutputRow; key?: PgOutputRow }
  | { type: 'truncate'; xid?: number; cascade: boolean; restartIdentity: boolean; relations: PgOutputRelation[] }
  | { type: 'streamStart'; xid: number; first: boolean }
  | { type: 'streamStop' }
  | { type: 'streamCommit'; xid: number; flags: number; commitLsn: bigint; endLsn: bigint; time: Date }
  | { type: 'streamAbort'; xid: number; subxid: number };

/** Decodes the messages of the plugin pgoutput. */
export class PgOutput {
  constructor();
  /** The tables described so far, by OID. */
  readonly relations: Map<number, PgOutputRelation>;
  /** Whether the messages belong to a transaction that is not committed yet (protocol version 2). */
  readonly streaming: boolean;
  /** @throws {ConnectionError} 08P01 for a message that is malformed or unknown */
  decode(data: Buffer): PgOutputMessage;
}

/** The text of a position in the write-ahead log, such as 16/B374D848. */
export function formatLsn(lsn: bigint): string;
/** @throws {TypeError} for what is no position */
export function parseLsn(text: string): bigint;

/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Duplex, Readable, Transform, Writable } from 'node:stream';
import { ReadableStream, WritableStream } from 'node:stream/web';
import { ConnectionOptions } from 'node:tls';

/** Text format (0) or binary format (1) of values. */
export type Format = 0 | 1;

/** A parameter value. Buffers and Uint8Arrays are sent in binary format, everything else as text. */
export type Value = string | Uint8Array | number | bigint | boolean | null | undefined;

/** Parameter values: a list, or a row of an earlier result. */
export type Values = readonly Value[] | Row<any>;

/** A function that makes a JavaScript value of a column's string (text format) or Buffer (binary format). */
export type Decoder = (value: any, column: Column) => unknown;

/** Decoders of a type's text and binary values, as in `decoders` and `dates` of client-parser. */
export type DecoderPair = readonly [
  text: (bytes: Uint8Array, start: number, end: number) => unknown,
  binary: (bytes: Uint8Array, start: number, end: number) => unknown
];

/** What a column is without `decode`: a string, or a Buffer in binary format. */
export type ColumnValue = string | Buffer | null;

/** A column of a result, as RowDescription describes it. */
export interface Column {
  name: string;
  /** OID of the table, 0 where the column is none of a table. */
  tableOid: number;
  tableColumnIndex: number;
  typeOid: number;
  /** Size of the type in bytes, negative for variable sizes. */
  typeLen: number;
  typeModifier: number;
  binary: number;
}

/** What every row has, whatever its columns. */
export interface RowMembers<T = Record<string, ColumnValue>> extends Iterable<any> {
  readonly [index: number]: any;
  /** The columns by name; of several with one name the last. */
  toObject(): T;
  /** The values in column order. */
  toArray(): any[];
  /** What JSON.stringify sees: the same as toObject(). */
  toJSON(): T;
  /** A column by name (of several the last) or by index from 0; undefined where there is none. */
  get<K extends keyof T>(column: K): T[K];
  get(column: string | number): any;
  /** The DataRow message, header and all: a view of the memory that the result is in. */
  readonly rowBuffer: Buffer;
  readonly dataFormat: Format;
  readonly columnCount: number;
  readonly rowColumns: Column[];
  readonly rowParser: RowParser;
}

/** One row: its columns are read from the received bytes when they are asked for. */
export type Row<T = Record<string, ColumnValue>> = RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/** The default receiver of a result, and what a query resolves to. */
export class RowReader<T = Record<string, ColumnValue>> {
  /** The rows; for COPY … TO STDOUT, Buffers. */
  rows: Row<T>[];
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** SELECT, INSERT, … ; EMPTY for an empty query, SUSPENDED when getResults may go on. */
  cmd: string | undefined;
  oid: string | undefined;
  /** Format of the rows. */
  binary: Format;
  rowParser: RowParser | undefined;
  /** Of COPY: 0 text, 1 binary. */
  format?: number;
  columnCount?: number;
  columnFormats?: number[];
  /** Takes one message as a Buffer of its own. */
  write(packet: Buffer): void;
  toJSON(): { cmd: string | undefined; oid: string | undefined; rowCount: number; rows: Row<T>[] };
}

/** A parsed RowDescription, with the classes of its rows. */
export class RowParser {
  constructor(rowDescription: Buffer, offset?: number);
  readonly columns: Column[];
  readonly columnNames: string[];
  readonly 0: new (dataRow: Buffer, offset?: number) => Row<any>;
  readonly 1: new (dataRow: Buffer, offset?: number) => Row<any>;
}

/** An object that takes the messages of a result one by one. */
export interface PacketReceiver {
  write(packet: Buffer): unknown;
  rowParser?: RowParser | null;
  binary?: Format;
}

/** Cancels exactly the request it is given to. */
export interface Abortable {
  signal?: AbortSignal;
  /** Milliseconds after which the request is cancelled. */
  statement_timeout?: number;
}

export interface BatchOptions {
  /** Of the result, `Client.STRING` (default) or `Client.BINARY`. */
  format?: Format;
  /** false: the unnamed statement, for a text that is used once. Default true. */
  cache?: boolean;
  /** Type OIDs of the parameters, 0 for those that the server is to infer. */
  paramTypes?: readonly number[];
  /** true: the decoders of client-parser; a map: decoders by type OID. Default: strings and Buffers. */
  decode?: boolean | Readonly<Record<number, Decoder | DecoderPair>>
    | ReadonlyMap<number, Decoder | DecoderPair>;
  /** What takes the result instead of a RowReader. */
  stream?: RowReader<any> | Writable | PacketReceiver;
}

export interface QueryOptions extends BatchOptions, Abortable, CachedOptions {}

export interface QueryToOptions extends Pick<BatchOptions, 'format' | 'cache' | 'paramTypes'>, Abortable, CachedOptions {
  /** 'protocol' (default): messages that need no earlier state to be parsed; 'values': the columns' bytes alone. */
  as?: 'protocol' | 'values';
  /** With 'values': written between two rows. */
  separator?: string | Uint8Array;
  /** Whether to end the target; true by default. */
  end?: boolean;
}

export interface RespondOptions extends Omit<QueryToOptions, 'end'> {
  status?: number;
  /** Where the command reports no rows, such as 404. */
  emptyStatus?: number;
  /** As the request allows; true by default. */
  compress?: boolean;
}

export interface StreamResult {
  cmd: string;
  rowCount: number;
  /** Written to the target; for `respond`, before compression. */
  bytes: number;
}

export interface CopyStreamOptions {
  signal?: AbortSignal;
  /** Bytes, 65536 by default. */
  highWaterMark?: number;
}

/** The bytes of a COPY … TO STDOUT. */
export interface CopyTo extends Readable {
  readonly rowCount: number | undefined;
  readonly bytes: number;
  /** 0 text, 1 binary */
  readonly format: number | undefined;
}

/** Takes the bytes of a COPY … FROM STDIN. */
export interface CopyFrom extends Writable {
  readonly rowCount: number | undefined;
  readonly bytes: number;
}

/** A message of a replication stream. */
export interface WalMessage {
  lsn: bigint;
  walEnd: bigint;
  time: Date;
  data: Buffer;
}

/** A replication stream of WalMessages; takes the positions that were processed. */
export interface CopyBoth extends Duplex {
  confirm(lsn: bigint | string): void;
}

/** The notifications of a channel. */
export interface Listener extends AsyncIterableIterator<Notification> {
  /** Resolves when the server has begun to notify. */
  readonly ready: Promise<void>;
  end(): Promise<void>;
}

export interface CursorOptions extends Pick<BatchOptions, 'format' | 'cache' | 'paramTypes' | 'decode'> {
  /** Rows a round trip, 1000 by default. */
  batchSize?: number;
  signal?: AbortSignal;
}

export interface TransactionOptions {
  isolation?: 'serializable' | 'repeatable read' | 'read committed' | 'read uncommitted';
  readOnly?: boolean;
  deferrable?: boolean;
}

/** The rows of a query, some at a time; `break` closes it. */
export interface Cursor<T = Record<string, ColumnValue>> extends AsyncIterableIterator<Row<T>> {
  return(value?: any): Promise<IteratorResult<Row<T>>>;
  /** The rows as a Node stream in object mode. */
  readable(options?: { highWaterMark?: number; signal?: AbortSignal }): Readable;
  /** The rows as a WHATWG stream. */
  readableStream(): ReadableStream<Row<T>>;
}

/** What can be asked of the server, on a connection or inside a transaction. */
export class Session extends EventEmitter {
  query<T = Record<string, ColumnValue>>(text: string, values?: Values, format?: Format, cache?: boolean): Promise<RowReader<T>>;
  query<S extends RowReader<any> | Writable | PacketReceiver>(
    text: string, values: Values | undefined, format: Format | undefined, cache: boolean | undefined, stream: S): Promise<S>;
  query<S extends RowReader<any> | Writable | PacketReceiver>(
    text: string, values: Values | undefined, options: QueryOptions & { stream: S }): Promise<S>;
  query<T = Record<string, ColumnValue>>(text: string, values: Values | undefined, options: QueryOptions): Promise<RowReader<T>>;

  simpleQuery(text: string, options?: Abortable): Promise<RowReader[]>;

  batch(queries: ReadonlyArray<string | readonly [text: string, values?: Values, options?: BatchOptions]>,
    options?: Abortable): Promise<RowReader[]>;

  transaction<R>(work: (tx: Session) => R | Promise<R>, options?: TransactionOptions): Promise<R>;

  cursor<T = Record<string, ColumnValue>>(text: string, values?: Values, options?: CursorOptions): Cursor<T>;

  queryTo(target: Writable | WritableStream, text: string, values?: Values, options?: QueryToOptions): Promise<StreamResult>;
  respond(request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse,
    text: string, values?: Values, options?: RespondOptions): Promise<StreamResult>;
  copyTo(text: string, options?: CopyStreamOptions): CopyTo;
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;
  copyBoth(text: string, options?: { statusInterval?: number; signal?: AbortSignal }): CopyBoth;
  listen(channel: string, options?: { signal?: AbortSignal }): Listener;

  startQuery(text: string, values?: Values, format?: Format, cache?: boolean): void;
  getResults<T = Record<string, ColumnValue>>(maxCount?: number): Promise<RowReader<T>>;
  getResults<S extends RowReader<any> | Writable | PacketReceiver>(maxCount: number, stream: S): Promise<S>;
  readonly inQuery: boolean;
  sync(stream?: RowReader): Promise<RowReader>;
  close(type: 'S' | 'P', name: string): Promise<void>;

  copyData(data: Uint8Array | string): boolean;
  copyDone(stream?: RowReader): Promise<RowReader>;
  copyFail(reason?: string | Uint8Array): Promise<RowReader>;
}

/** libpq's connection parameters, and ours; what is not known here goes to the server as a startup parameter. */
export interface Config {
  host?: string;
  hostaddr?: string;
  port?: number | string;
  user?: string;
  database?: string;
  dbname?: string;
  /** A function is called at each connection. */
  password?: string | (() => string | Promise<string>);
  passfile?: string;
  service?: string;
  application_name?: string;
  options?: string;
  /** Seconds, 0 for none. */
  connect_timeout?: number | string;
  sslmode?: 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';
  sslnegotiation?: 'postgres' | 'direct';
  sslrootcert?: string;
  sslcert?: string;
  sslkey?: string;
  sslpassword?: string;
  /** Options of tls.connect: encryption is required then. */
  ssl?: ConnectionOptions | boolean;
  require_auth?: string;
  channel_binding?: 'disable' | 'prefer' | 'require';
  target_session_attrs?: 'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby';
  load_balance_hosts?: 'disable' | 'random';
  min_protocol_version?: '3.0' | '3.2' | 'latest';
  max_protocol_version?: '3.0' | '3.2' | 'latest';
  /** The byte stream to use instead of a socket of our own. */
  socket?: Duplex | ((server: { host: string; port: number }) => Duplex | Promise<Duplex>);
  /**
   * Goes through a proxy: its URL, to which `address=host:port` is added, or a function that gives one, or gives a
   * WebSocket. sslmode=require demands wss:.
   */
  websocket?: string | URL | ((server: { host: string; port: number }) =>
    string | URL | WebSocketLike | Promise<string | URL | WebSocketLike>);
  /** Most prepared statements kept, 256 by default; 0 for none, behind transaction poolers. */
  statement_cache?: number;
  [parameter: string]: unknown;
}

/** What is used of a WebSocket: that of the platform, or of the package ws. */
export interface WebSocketLike {
  readonly readyState: number;
  readonly url?: string | null;
  readonly bufferedAmount?: number;
  binaryType?: string;
  send(data: Uint8Array): void;
  close(code?: number): void;
  addEventListener(type: any, listener: (event: any) => void): void;
}

export interface Notification {
  processId: number;
  channel: string;
  payload: string;
}

/** Fields of an ErrorResponse or NoticeResponse. */
export interface ServerFields {
  severity?: string;
  code?: string;
  message?: string;
  detail?: string;
  hint?: string;
  where?: string;
  internalQuery?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
  file?: string;
  routine?: string;
}

export interface ClientEvents {
  notification: [Notification];
  notice: [ServerFields & { position?: string; internalPosition?: string; line?: string }];
  parameter: [name: string, value: string];
  drain: [];
  error: [Error];
  end: [];
}

/** One connection to a PostgreSQL server. */
export class Client extends Session {
  static readonly STRING: 0;
  static readonly BINARY: 1;

  constructor(config?: Config | string);

  connect(): Promise<void>;
  connect(port: number, host?: string, ssl?: ConnectionOptions): Promise<void>;
  connect(socketPath: string): Promise<void>;
  cancel(): Promise<void>;
  end(): Promise<void>;
  destroy(error?: Error): void;
  ref(): void;
  unref(): void;

  readonly state: 'new' | 'connecting' | 'open' | 'ending' | 'closed';
  readonly serverParameters: Readonly<Record<string, string>>;
  readonly backendKey: Buffer | null;
  readonly processId: number | undefined;
  /** Requests that were made and are not over. */
  readonly pending: number;
  /** Bytes written that the system has not taken. */
  readonly bufferedBytes: number;
  /** Resolves when the connection is over: with the error, if there was one. */
  readonly closed: Promise<Error | undefined>;
  onNotice: ((message: Buffer) => void) | undefined;
  onNotification: ((message: Buffer) => void) | undefined;

  on<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  once<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  off<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  addListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  removeListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
}

/** An error that the server reported. */
export class PostgresError extends Error implements ServerFields {
  severity: string;
  /** SQLSTATE */
  code: string;
  detail?: string;
  hint?: string;
  /** In characters of the query text, from 1. */
  position?: number;
  internalPosition?: number;
  internalQuery?: string;
  where?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
  file?: string;
  line?: number;
  routine?: string;
  /** In a batch: which query. */
  index?: number;
}

/** The connection could not be made, broke, or is over. */
export class ConnectionError extends Error {
  code: string;
  /** Of a request that was lost: whether the server had got it, and may have carried it out. */
  sent?: boolean;
}

/** The signal of a request aborted; `cause` is its reason. */
export class AbortError extends Error {
  code: 'ABORT_ERR';
}

/** Something that cannot be done as it was asked for. */
export class UsageError extends Error {
  code: string;
}

/** Options of `query`, `queryTo` and `respond` that have an answer given from memory. Other methods do not take them. */
export interface CachedOptions {
  /** Where to keep the answer, and to look for it. Only what reads (SELECT, TABLE, VALUES, WITH) is kept. */
  response_cache?: ResponseCache;
  /** By which `invalidateTag` and `listen` find the answer. */
  tags?: string[];
  /** Seconds for which the answer is fresh; the cache's unless given. */
  max_age?: number;
  /** Seconds after `max_age` in which it is still given while one query refreshes it; the cache's unless given. */
  stale_while_revalidate?: number;
}

export interface ResponseCacheOptions {
  /** Most memory for all answers, in bytes; 67108864 (64 MiB) by default. */
  max_bytes?: number;
  /** A longer answer is not kept; an eighth of `max_bytes` by default. */
  max_answer_bytes?: number;
  /** Seconds; 60 by default. */
  max_age?: number;
  /** Seconds; 15 by default. */
  stale_while_revalidate?: number;
  /** A clock that never goes back, in milliseconds; `performance.now` by default. */
  now?: () => number;
}

export interface ResponseCacheCounters {
  hits: number;
  misses: number;
  stale: number;
  evictions: number;
  bytes: number;
  size: number;
}

/** Answers to queries as the bytes that the server sent, for one client or many. */
export class ResponseCache extends EventEmitter {
  constructor(options?: ResponseCacheOptions);
  readonly max_bytes: number;
  readonly max_answer_bytes: number;
  readonly max_age: number;
  readonly stale_while_revalidate: number;
  /** Fresh answers given from memory. */
  readonly hits: number;
  /** Answers that had to be asked for, or waited for while another asked. */
  readonly misses: number;
  /** Answers given after their `max_age`. */
  readonly stale: number;
  /** Answers that left for others to have room. */
  readonly evictions: number;
  /** Memory that the answers take: an upper estimate. */
  readonly bytes: number;
  /** Answers that are kept. */
  readonly size: number;
  /** Whether every connection that is to listen for invalidations does; else answers with tags are not kept. */
  readonly guarded: boolean;
  /** The key of a query's answer; undefined while the client is not connected. */
  keyOf(client: Client, text: string, values?: Values, options?: CachedOptions & { format?: 0 | 1; paramTypes?: number[] }): string | undefined;
  invalidate(key: string): void;
  invalidateTag(tag: string): void;
  clear(): void;
  /** Invalidates by NOTIFY: the payload is the tag. Resolves to what ends that. */
  listen(client: Client, channel: string): Promise<() => Promise<void>>;
  toJSON(): ResponseCacheCounters;
  on(event: 'error', listener: (error: Error, about: { key: string; tags: string[] } | { channel: string }) => void): this;
}

/** Makes COPY data of arrays of values. */
export class CopyWriter extends Transform {
  /** types: of the columns, by name or OID, for the binary format. */
  constructor(options?: { format?: 'text' | 'binary'; types?: ReadonlyArray<string | number> });
}

/** Decodes the messages of the plugin pgoutput. */
export class PgOutput {
  constructor();
  decode(data: Uint8Array): any;
}

/** The text of a position in the write-ahead log, such as 16/B374D848. */
export function formatLsn(lsn: bigint): string;
export function parseLsn(text: string): bigint;

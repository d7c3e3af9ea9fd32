/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Duplex, Readable, Writable } from 'node:stream';
import { ReadableStream, WritableStream } from 'node:stream/web';
import { ConnectionOptions } from 'node:tls';

/* Values and rows */

/** Text format (0) or binary format (1) of values. */
export type Format = 0 | 1;

/**
 * A parameter value. Buffers and Uint8Arrays are sent in binary format, everything else as text; a Date as PostgreSQL
 * reads it for timestamptz, in UTC (for a `date` column pass 'YYYY-MM-DD'); null and undefined are NULL. For an array
 * write `array(value)`, for json `JSON.stringify(value)`.
 */
export type Value = string | Uint8Array | number | bigint | boolean | Date | null | undefined;

/** An array, or an array of arrays of one length, of values. */
export type ArrayValue = ReadonlyArray<Value | ArrayValue>;

/**
 * The literal of a PostgreSQL array, to be passed as a value: `query('… = ANY($1)', [array([1, 2])])`.
 * https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
 * @param values of the array; Buffers and Uint8Arrays as bytea
 * @returns the text
 * @throws {TypeError} for an element of another kind, naming its place
 */
export function array(values: ArrayValue): string;

/** Nothing has this type: a compiler misses the property where an object or an array is passed as a value. */
interface PassJsonStringifyOrArray { readonly 'write JSON.stringify(value) for json, array(value) for an array': never }

/** Parameter values: a list, which is never written to, or a row of an earlier result. */
export type Values = readonly Value[] | PassJsonStringifyOrArray[] | Row<any>;

/** What a column is without `decode`: a string, or a Buffer in binary format. */
export type ColumnValue = string | Buffer | null;

/** Columns by name, where nothing else is said of a row. */
export type AnyColumns = Record<string, any>;

/** A column of a result, as RowDescription describes it. */
export interface Column {
  /** Not necessarily the only one of this name. */
  name: string;
  /** OID of the table, 0 where the column is none of a table. */
  tableOid: number;
  /** Number of the column in its table, from 1, or 0. */
  tableColumnIndex: number;
  /** OID of its type, as in pg_type. */
  typeOid: number;
  /** Size of the type in bytes, negative for variable sizes. */
  typeLen: number;
  /** As in pg_attribute.atttypmod. */
  typeModifier: number;
  /** Format of its values. */
  binary: Format;
}

/** A function that makes a JavaScript value of a column's string (text format) or Buffer (binary format). */
export type Decoder = (value: any, column: Column) => unknown;

/** Decoders of a type's text and binary values, as in `decoders` and `exact`. */
export type DecoderPair = readonly [
  text: (bytes: Uint8Array, start: number, end: number) => unknown,
  binary: (bytes: Uint8Array, start: number, end: number) => unknown
];

/**
 * Any of these but false makes `rows` plain objects of values. true: by `decoders`; a map: by its decoders, whose keys are
 * type OIDs; columns of other types stay strings, or Buffers in binary format. false: `rows` are structs of strings.
 */
export type Decode = boolean | Readonly<Record<number, Decoder | DecoderPair>>
  | ReadonlyMap<number, Decoder | DecoderPair>;

/**
 * What `decode: true` uses, by type OID. An int8 becomes a number if that is exact, else a string; a timestamptz a Date,
 * unless it is infinite; bytea a Buffer. `{ ...decoders, 1700: Number }` is a map of your own.
 */
export const decoders: Readonly<Record<number, DecoderPair>>;

/**
 * Decoders that lose nothing: of int8 to bigint, of timestamptz to a string with microseconds, and of arrays of both.
 * Use them as `{ ...decoders, ...exact }`.
 */
export const exact: Readonly<Record<number, DecoderPair>>;

/** OIDs of PostgreSQL's types by name, of arrays as `_text`: for `paramTypes: [oid.int8]` and `decode: { [oid.date]: … }`. */
export const oid: Readonly<Record<
  | 'bool' | 'bytea' | 'char' | 'name' | 'int8' | 'int2' | 'int2vector' | 'int4' | 'regproc' | 'text' | 'oid' | 'tid' | 'xid'
  | 'cid' | 'oidvector' | 'json' | 'xml' | '_xml' | 'pg_node_tree' | '_json' | '_xid8' | 'point' | 'lseg' | 'path' | 'box'
  | 'polygon' | 'line' | '_line' | 'cidr' | '_cidr' | 'float4' | 'float8' | 'unknown' | 'circle' | '_circle' | 'macaddr8'
  | '_macaddr8' | 'money' | '_money' | 'macaddr' | 'inet' | '_bool' | '_bytea' | '_char' | '_name' | '_int2' | '_int2vector'
  | '_int4' | '_regproc' | '_text' | '_tid' | '_xid' | '_cid' | '_oidvector' | '_bpchar' | '_varchar' | '_int8' | '_point'
  | '_lseg' | '_path' | '_box' | '_float4' | '_float8' | '_polygon' | '_oid' | 'aclitem' | '_aclitem' | '_macaddr' | '_inet'
  | 'bpchar' | 'varchar' | 'date' | 'time' | 'timestamp' | '_timestamp' | '_date' | '_time' | 'timestamptz' | '_timestamptz'
  | 'interval' | '_interval' | '_numeric' | '_cstring' | 'timetz' | '_timetz' | 'bit' | '_bit' | 'varbit' | '_varbit'
  | 'numeric' | 'refcursor' | '_refcursor' | 'regprocedure' | 'regoper' | 'regoperator' | 'regclass' | 'regtype'
  | '_regprocedure' | '_regoper' | '_regoperator' | '_regclass' | '_regtype' | 'record' | 'void' | '_record' | '_txid_snapshot'
  | 'uuid' | '_uuid' | 'txid_snapshot' | 'pg_lsn' | '_pg_lsn' | 'pg_ndistinct' | 'pg_dependencies' | 'tsvector' | 'tsquery'
  | 'gtsvector' | '_tsvector' | '_gtsvector' | '_tsquery' | 'regconfig' | '_regconfig' | 'regdictionary' | '_regdictionary'
  | 'jsonb' | '_jsonb' | 'int4range' | '_int4range' | 'numrange' | '_numrange' | 'tsrange' | '_tsrange' | 'tstzrange'
  | '_tstzrange' | 'daterange' | '_daterange' | 'int8range' | '_int8range' | 'jsonpath' | '_jsonpath' | 'regnamespace'
  | '_regnamespace' | 'regrole' | '_regrole' | 'regcollation' | '_regcollation' | 'int4multirange' | 'nummultirange'
  | 'tsmultirange' | 'tstzmultirange' | 'datemultirange' | 'int8multirange' | 'pg_brin_bloom_summary'
  | 'pg_brin_minmax_multi_summary' | 'pg_mcv_list' | 'pg_snapshot' | '_pg_snapshot' | 'xid8' | '_int4multirange'
  | '_nummultirange' | '_tsmultirange' | '_tstzmultirange' | '_datemultirange' | '_int8multirange', number>>;

/**
 * What every struct has, whatever its columns. Columns are no own properties of a struct: `{ ...row }` and
 * `Object.keys(row)` have none of them. Use `toObject()`, or `result.objects`.
 */
export interface RowMembers<T extends object = AnyColumns> {
  /** Columns by index from 0. */
  readonly [index: number]: any;
  /** The values in column order. @returns an iterator */
  [Symbol.iterator](): IterableIterator<any>;
  /** A plain object. @returns the columns by name; of several with one name the last */
  toObject(): T;
  /** A plain array. @returns the values in column order */
  toArray(): any[];
  /** What JSON.stringify sees. @returns the same as toObject() */
  toJSON(): T;
  /**
   * A column, also where it is named like a member.
   * @param column its name (of several the last) or its index from 0
   * @returns undefined where there is none
   */
  get<K extends keyof T>(column: K): T[K];
  get(column: string | number): any;
  /** The DataRow message, header and all: a view of the memory that the result is in. */
  readonly rowBuffer: Buffer;
  /** 0 text, 1 binary. */
  readonly dataFormat: Format;
  /** How many columns there are. */
  readonly columnCount: number;
  /** The descriptions of the columns. */
  readonly rowColumns: Column[];
  /** The RowDescription that the row is read by. */
  readonly rowParser: RowParser;
}

/** A struct whose columns' names are not known. */
export type AnyRow = Row<AnyColumns>;

/**
 * A struct over a row's bytes, which reads a column when you ask for it. T has the columns by name: `string | null` in text
 * format, `Buffer | null` in binary format, or what `decode` makes of them.
 */
export type Row<T extends object = AnyColumns> =
  RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/**
 * A RowDescription, and the classes of the rows that it describes: `new parser[Client.STRING](dataRow)`.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html#PROTOCOL-MESSAGE-FORMATS-ROWDESCRIPTION
 */
export class RowParser {
  /**
   * @param buf holding a RowDescription message; it is copied
   * @param start offset of the message's type byte, 0 unless given
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf: Buffer, start?: number);
  /** The descriptions of the columns. */
  readonly columns: Column[];
  /** The names of the columns, in their order. */
  readonly columnNames: string[];
  /** The message; of a prepared statement, the formats in it are all text. */
  readonly buffer: Buffer;
  /** Class of the rows in text format. */
  get 0(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /** Class of the rows in binary format. */
  get 1(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /**
   * The RowDescription message with the format of the rows, as a reader without earlier state needs it.
   * @param format 0 text, 1 binary
   * @returns the message
   */
  description(format: Format): Buffer;
}

/** What a query resolves to: the result, whose rows are made of the received bytes when they are read. */
export class RowReader<T extends object = AnyColumns> {
  /** @param options decode: what `rows` are and how columns become values; default: structs of strings and Buffers */
  constructor(options?: { decode?: Decode | undefined });
  /**
   * The rows. With `decode` plain objects, the same as `objects`; without it structs, the same as `structs`, whose columns
   * are no own properties. For COPY … TO STDOUT, Buffers: see CopyReader.
   */
  rows: T[];
  /** The rows as structs over the received bytes, which read a column when you ask for it. */
  readonly structs: Row<T>[];
  /** The rows as plain objects with own properties in column order; of columns with one name the last. */
  readonly objects: T[];
  /** The rows as plain arrays. */
  readonly arrays: any[][];
  /** What `rows` gives, one at a time: `for (const row of result)` makes no array. */
  [Symbol.iterator](): IterableIterator<T>;
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** SELECT, INSERT, … ; EMPTY for an empty query, SUSPENDED when getResults may go on. */
  cmd: string | undefined;
  /** The OID in an INSERT's tag. */
  oid: string | undefined;
  /** Format of the rows: 0 text, 1 binary. */
  binary: Format;
  /** The RowDescription of the rows; undefined where the command returns none. */
  rowParser: RowParser | undefined;
  /** Of COPY: 0 text, 1 binary. */
  format?: number;
  /** Of COPY: how many columns there are. */
  columnCount?: number;
  /** Of COPY: the format of each column, 0 text, 1 binary. */
  columnFormats?: number[];
  /** Takes one message. @param packet the message, header and all, as a Buffer of its own */
  write(packet: Buffer): void;
  /** What JSON.stringify sees. @returns a plain object */
  toJSON(): { cmd: string | undefined; oid: string | undefined; rowCount: number; rows: T[] };
}

/** What a COPY that was given to `query` resolves to: of COPY … TO STDOUT the data, a Buffer for each message. */
export interface CopyReader extends Omit<RowReader, 'rows' | 'structs' | 'objects' | 'arrays' | typeof Symbol.iterator> {
  /** The data. */
  rows: Buffer[];
  /** The data one at a time. */
  [Symbol.iterator](): IterableIterator<Buffer>;
}

/** An object that takes the messages of a result one by one. */
export interface PacketReceiver {
  /**
   * Takes one message.
   * @param packet header and all
   * @returns anything: it is not looked at
   */
  write(packet: Buffer): unknown;
  /** Set when the result begins. */
  rowParser?: RowParser | null;
  /** Set when the result begins. */
  binary?: Format;
}

/** What can take a result: a RowReader, a Node stream, or an object with `write(packet)`. */
export type Receiver = RowReader<any> | Writable | PacketReceiver;

/* Options */

/** Gives up exactly the request it is given to: it rejects at once, and the server is asked to cancel it if nothing was sent behind it. */
export interface Abortable {
  /** Rejects with an AbortError when it aborts. Default: none. */
  signal?: AbortSignal | undefined;
  /** Milliseconds, above 0, after which it rejects with a TimeoutError 57014. Default: none. */
  statement_timeout?: number | undefined;
}

/** What a pool may do when a connection is lost; on a client and in a transaction nothing is repeated. */
export interface Retry {
  /** true: it may be repeated though the server may have carried it out. Default false. */
  retry?: boolean | undefined;
}

/** How a request shares its connection, and whether it may be repeated. */
export interface Placement extends Retry {
  /** true: nothing is sent behind it, so that it can always be cancelled; of a pool it owns a connection. Default false. */
  alone?: boolean | undefined;
}

/** Options of any request. */
export interface RequestOptions extends Abortable, Placement {}

/** How a statement is sent, and in which format its result comes. */
export interface StatementOptions {
  /** Of the result, `Client.STRING` (default) or `Client.BINARY`. */
  format?: Format | undefined;
  /** false: the unnamed statement, for a text that is used once. Default true. */
  cache?: boolean | undefined;
  /** Type OIDs of the parameters, 0 for those that the server is to infer. Default: it infers all. */
  paramTypes?: readonly number[] | undefined;
}

/** Options of `simpleQuery`. */
export interface SimpleQueryOptions extends Abortable, Retry {
  /** What rows are and how columns become values. Default: as the config says, else structs of strings and Buffers. */
  decode?: Decode | undefined;
}

/** Options of one query of a batch. */
export interface BatchOptions<S extends Receiver = Receiver> extends StatementOptions {
  /** What rows are and how columns become values. Default: as the config says, else structs of strings and Buffers. */
  decode?: Decode | undefined;
  /** What takes the result. Default: a new RowReader. */
  stream?: S | undefined;
}

/** Options of `query`. */
export interface QueryOptions<S extends Receiver = Receiver> extends BatchOptions<S>, RequestOptions {
  /** Bytes up to which a result is taken however slow its target is, see `queryTo`. Default 1048576. */
  buffer?: number | undefined;
}

/** One query of a batch: its text alone, or with values and options. */
export type BatchQuery = string | readonly [text: string, values?: Values, options?: BatchOptions];

/** Options of `queryTo`. */
export interface QueryToOptions extends StatementOptions, RequestOptions {
  /**
   * 'protocol' (default): messages that need no earlier state to be parsed; 'values': the columns' bytes alone;
   * 'json': an array of objects; 'ndjson': an object a line.
   */
  as?: 'protocol' | 'values' | 'json' | 'ndjson' | undefined;
  /** With 'json' and 'ndjson': 'number' (default) where that is exact, else a string; 'string': always. */
  int8?: 'number' | 'string' | undefined;
  /** With 'json' and 'ndjson': 'string' (default), or 'number', where NaN and infinity are null. */
  numeric?: 'string' | 'number' | undefined;
  /** With 'json' and 'ndjson': 'hex' (default), as the server prints it: \\x00ff; or 'base64'. */
  bytea?: 'hex' | 'base64' | undefined;
  /** With 'values': written between two rows. Default: none. */
  separator?: string | Uint8Array | undefined;
  /** Whether to end the target; true by default. */
  end?: boolean | undefined;
  /** Milliseconds after which a target that takes nothing is destroyed; 60000 by default, 0 for never. */
  stall_timeout?: number | undefined;
  /**
   * Bytes up to which a result is taken however slow its target is; 1048576 by default. A longer one is read at the
   * target's pace, and its text is sent alone the next time.
   */
  buffer?: number | undefined;
}

/** What `queryTo` resolves to. */
export interface StreamResult {
  /** SELECT, INSERT, …: the command. */
  cmd: string | undefined;
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** Bytes written to the target. */
  bytes: number;
}

/** Options of `cursor`. */
export interface CursorOptions extends StatementOptions {
  /** Rows a round trip, 1000 by default. */
  batchSize?: number | undefined;
  /** What rows are and how columns become values. Default: as the config says, else structs of strings and Buffers. */
  decode?: Decode | undefined;
  /** Cancels the fetch that is under way, or the next one, with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Options of a transaction block; a savepoint has those of its block. */
export interface TransactionOptions extends Retry {
  /** Rejects at once with an AbortError: what is under way is given up, and ROLLBACK follows. Default: none. */
  signal?: AbortSignal | undefined;
  /** The same after so many milliseconds, above 0, with a TimeoutError 57014. Default: none. */
  statement_timeout?: number | undefined;
  /** Default: the server's default_transaction_isolation, as a rule 'read committed'. */
  isolation?: 'serializable' | 'repeatable read' | 'read committed' | 'read uncommitted' | undefined;
  /** Default: the server's default_transaction_read_only, as a rule false. */
  readOnly?: boolean | undefined;
  /** A serializable, read-only one waits until it cannot fail. Default: default_transaction_deferrable, mostly false. */
  deferrable?: boolean | undefined;
}

/** Options of `copyTo` and `copyFrom`. */
export interface CopyStreamOptions {
  /** Destroys the stream with an AbortError, which cancels the COPY. Default: none. */
  signal?: AbortSignal | undefined;
  /** Bytes; by default 65536 for copyTo, 262144 for copyFrom. */
  highWaterMark?: number | undefined;
}

/** Options of `copyTo`. */
export interface CopyToOptions extends CopyStreamOptions {
  /** true: nothing is sent behind it, so that it can always be cancelled. Default false. */
  alone?: boolean | undefined;
  /** Milliseconds after which a stream that nobody reads is destroyed; 60000 by default, 0 for never. */
  stall_timeout?: number | undefined;
  /** Bytes up to which a COPY is read at the connection's speed, whatever its reader does. Default 1 MiB. */
  buffer?: number | undefined;
}

/* Sessions */

/**
 * What can be asked of the server: the base of Client and Pool, and what the function of `transaction` is given. It is the
 * type of a parameter that takes "a pool or a transaction".
 */
export abstract class Session extends EventEmitter {
  protected constructor();

  /** How columns are decoded where a query says nothing: the option `decode` of the config. */
  readonly decode: Decode | undefined;

  /**
   * Sends one query in one write, without waiting for those before it. An error of one query is not that of another.
   * T is what a row's columns are. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
   * @param text SQL, with parameters as $1, $2, …
   * @param values of the parameters, `[]` by default
   * @param format of the columns, `Client.STRING` by default; or, in its place, `options`: all options by name
   * @param cache false: the unnamed statement, for a text that is used once
   * @param stream what takes the result
   * @returns resolves to the result, or to `stream` when it has taken the result. Promises settle in the order of the
   *   calls. Rejects with a PostgresError, a ConnectionError or an AbortError; for bad input, before anything is sent,
   *   with a TypeError or RangeError
   */
  query(text: `${'COPY' | 'copy'} ${string}`, values?: Values, format?: Format, cache?: boolean): Promise<CopyReader>;
  query<T extends object = AnyColumns>(
    text: string, values?: Values, format?: Format, cache?: boolean): Promise<RowReader<T>>;
  query<S extends Receiver>(
    text: string, values: Values | undefined, format: Format | undefined, cache: boolean | undefined,
    stream: S): Promise<S>;
  query<S extends Receiver>(
    text: string, values: Values | undefined, options: QueryOptions<S> & { stream: S, retry?: false | undefined }): Promise<S>;
  query<T extends object = AnyColumns>(
    text: string, values: Values | undefined, options: QueryOptions & { stream?: undefined }): Promise<RowReader<T>>;
  query(text: string, values: Values | undefined, options: QueryOptions): Promise<Receiver>;

  /**
   * Sends several statements as one text, without parameters. They are one transaction unless the text says BEGIN and
   * COMMIT. https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SIMPLE-QUERY
   * @param text SQL, statements separated by semicolons
   * @param options decode, signal, statement_timeout
   * @returns a result for each statement; rejects with the first error
   */
  simpleQuery(text: string, options?: SimpleQueryOptions): Promise<RowReader[]>;

  /**
   * Sends several queries that share one Sync: they succeed or fail as one, in one implicit transaction, and cost a
   * fraction of as many `query` calls. R is what the rows of each are: `batch<[User, Count]>([…, …])`.
   * @param queries texts, or `[text, values, options]`
   * @param options signal and statement_timeout for all of them
   * @returns the results; rejects with the first error, whose `index` tells the query
   */
  batch(queries: readonly BatchQuery[], options?: RequestOptions): Promise<RowReader[]>;
  batch<R extends readonly object[]>(queries: { readonly [I in keyof R]: BatchQuery }, options?: RequestOptions):
    Promise<{ -readonly [I in keyof R]: RowReader<R[I]> }>;

  /**
   * Runs a function in a transaction block (of a transaction: behind a savepoint). Commits when the function returns,
   * rolls back when it throws. Requests of others wait until it is over; the function asks `tx`, not the client.
   * @param work gets the session to ask, which is useless once the function has returned
   * @param options isolation, readOnly, deferrable
   * @returns what the function returned; rejects with what it threw, or with the error of COMMIT
   */
  transaction<R>(work: (tx: Session) => R | Promise<R>, options?: TransactionOptions): Promise<R>;

  /**
   * The rows of a query, fetched some at a time. Outside a transaction the connection is the cursor's until it is
   * exhausted or closed; inside one, several cursors and other queries may go on side by side.
   * @param text SQL
   * @param values of the parameters
   * @param options batchSize, format, cache, paramTypes, decode, signal
   * @returns an async iterable of rows; `break` closes it
   * @throws {TypeError|RangeError} for bad input
   */
  cursor<T extends object = AnyColumns>(text: string, values?: Values, options?: CursorOptions): Cursor<T>;

  /**
   * Runs a query and writes its result straight to a target, without looking at the rows. Nothing is written before
   * the first rows or the end of the result have come. A result of more than `buffer` bytes is read at the target's
   * pace, and its text is sent alone the next time.
   * A target that goes away cancels the query, or, where other requests were already sent behind it, has the result
   * read and dropped.
   * @param target an HTTP response, a file, any Writable, or a WHATWG WritableStream
   * @param text SQL
   * @param values of the parameters
   * @param options as, int8, numeric, bytea, separator, end, stall_timeout, buffer, and those of `query`
   * @returns resolves when the target has taken everything; rejects with the error of the query, with that of the
   *   target, or with an AbortError when the target was closed. If something had been written by then, the reader can
   *   tell: with 'protocol' an ErrorResponse ends the stream, else the target is destroyed
   */
  queryTo(target: Writable | WritableStream, text: string, values?: Values, options?: QueryToOptions):
    Promise<StreamResult>;

  /**
   * Copies a table, or the result of a query, out of the database: a stream of the bytes that COPY gives. To destroy it
   * cancels the COPY. https://www.postgresql.org/docs/current/sql-copy.html
   * @param text COPY … TO STDOUT
   * @param options signal, highWaterMark, stall_timeout, buffer, alone
   * @returns a Readable; an error of the query is its error
   * @throws {TypeError} for any other text
   */
  copyTo(text: string, options?: CopyToOptions): CopyTo;

  /**
   * Copies into a table: a stream that takes text, CSV or binary as COPY does; rows may be split anywhere. The
   * connection is its own until it is over. https://www.postgresql.org/docs/current/sql-copy.html
   * @param text COPY … FROM STDIN
   * @param options signal, highWaterMark
   * @returns a Writable; an error of the server is its error
   * @throws {TypeError} for any other text
   */
  copyFrom(text: string, options?: CopyStreamOptions): CopyFrom;

  /**
   * Listens to a channel until the loop over it is left. What comes while nobody takes it is kept.
   * @param channel its name
   * @param options signal: makes the loop throw its reason
   * @returns an async iterable of notifications
   * @throws {TypeError|RangeError|UsageError} for what is no name; inside a transaction (25001)
   */
  listen(channel: string, options?: { signal?: AbortSignal | undefined }): Listener;

  /**
   * Closes a named statement or portal on the server.
   * @param type 'S' for a statement, 'P' for a portal
   * @param name of the statement or portal
   * @returns resolves also where there is none of this name; rejects with a TypeError or a ConnectionError
   */
  close(type: 'S' | 'P', name: string): Promise<void>;
}

/** The events of a client, with their arguments. */
export interface ClientEvents {
  /** What NOTIFY sent on a channel that the connection listens to. */
  notification: [notification: Notification];
  /** A NoticeResponse. */
  notice: [fields: ServerFields];
  /** A setting that the server reports has changed. */
  parameter: [name: string, value: string];
  /** The system has taken what was written: copyData may go on. */
  drain: [];
  /** The connection was lost. Without a listener it does not end the program. */
  error: [error: Error];
  /** The connection, which had been open, is over, for whatever reason. */
  end: [];
}

/** One connection to a PostgreSQL server. */
export class Client extends Session {
  /** Text format of results: columns are strings. */
  static readonly STRING: 0;
  /** Binary format of results: columns are Buffers. */
  static readonly BINARY: 1;

  /**
   * @param config libpq's parameters as an object, a URL, or a list of `key=value`; the environment says the rest. One
   *   that cannot be makes connect() reject
   */
  constructor(config?: Config | string | URL);

  /**
   * Connects as the config says; queries may be sent at once. `connect(socketPath)` takes the path of a Unix socket.
   * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-START-UP
   * @param port in place of that of the config; or, alone, the socketPath
   * @param host in place of that of the config, 'localhost' by default
   * @param ssl true, or options of tls.connect
   * @returns resolves when the server takes queries; rejects with a ConnectionError, or with the server's
   *   PostgresError, or with a TypeError for a config that cannot be; afterwards connect() may be called again. Where
   *   queries have waited for it, and so are rejected, the promise need not be handled, too
   */
  connect(): Promise<void>;
  connect(port: number | string, host?: string, ssl?: ConnectionOptions | boolean): Promise<void>;
  connect(socketPath: string): Promise<void>;

  /**
   * Starts a query whose rows `getResults` fetches; the connection is its own until it is over.
   * @param text SQL
   * @param values of the parameters
   * @param format of the columns, `Client.STRING` by default
   * @param cache false: the unnamed statement
   * @throws {UsageError} when another one is open; for bad input a TypeError or RangeError
   */
  startQuery(text: string, values?: Values, format?: Format, cache?: boolean): void;

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param maxCount at most so many rows; 0, the default, for all that are left
   * @param stream what takes the result
   * @returns the result, whose `cmd` is SUSPENDED while there may be more; rejects with the error of the query or of
   *   the connection, and with a UsageError (34000) where no query is open
   */
  getResults<T extends object = AnyColumns>(maxCount?: number): Promise<RowReader<T>>;
  getResults<S extends Receiver>(maxCount: number | undefined, stream: S): Promise<S>;

  /** Whether a query started with `startQuery` may have more rows. */
  readonly inQuery: boolean;

  /**
   * Ends the query of `startQuery`; without one, resolves when all requests before it are over.
   * @param stream what to resolve to
   * @returns rejects with the error that ends the transaction of the query, such as that of a deferred constraint, or
   *   with a ConnectionError
   */
  sync(stream?: RowReader<any>): Promise<RowReader>;

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun. Rows may be split anywhere.
   * @param data bytes, or text
   * @returns false when a mebibyte and more waits to be taken: best to go on after the event 'drain'
   * @throws {UsageError} when no COPY is open
   */
  copyData(data: Uint8Array | string): boolean;

  /**
   * Ends the data of a COPY FROM STDIN.
   * @param stream what to resolve to
   * @returns `rowCount` tells the rows copied; rejects with the server's error
   */
  copyDone(stream?: RowReader<any>): Promise<RowReader>;

  /**
   * Makes a COPY FROM STDIN fail: nothing of it is stored.
   * @param reason for the server's log
   * @returns resolves when the server has confirmed it; rejects with the error for which the COPY had failed before,
   *   with a ConnectionError, or with a UsageError (55000) where none is open
   */
  copyFail(reason?: string | Uint8Array): Promise<RowReader>;

  /**
   * Asks the server, over a connection of its own, to cancel what it is running for this client, whatever that is. To
   * cancel a certain query and no other, give it a `signal`.
   * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-CANCELING-REQUESTS
   * @returns resolves when the server has taken the request, which may have come too late; rejects with a
   *   ConnectionError where the server cannot be reached, or the client is not connected (08003)
   */
  cancel(): Promise<void>;

  /**
   * Lets all that was asked before finish, then closes the connection. A COPY that copyData writes to fails, a query of
   * startQuery is ended; cursors, transactions and the streams of copyFrom go on to their end.
   * @returns resolves when the connection is closed, also when it is lost; rejects with a UsageError (25001) inside the
   *   function of a transaction
   */
  end(): Promise<void>;

  /** Closes the connection now; everything pending rejects. @param error the cause to reject with */
  destroy(error?: Error): void;
  /** The connection keeps the program running (the default). */
  ref(): void;
  /** The connection does not keep the program running, once it is there. */
  unref(): void;
  /** What JSON.stringify sees. @returns a plain object */
  toJSON(): { state: string; pending: number; processId: number | undefined };

  /** What the connection is doing; after 'closed', connect() begins anew. */
  readonly state: 'new' | 'connecting' | 'open' | 'ending' | 'closed';
  /** Outside a transaction block ('I'), in one ('T'), in one that has failed ('E'); undefined without a connection. */
  readonly transactionStatus: 'I' | 'T' | 'E' | undefined;
  /** As the server reports them: server_version, TimeZone, … */
  readonly serverParameters: Readonly<Record<string, string>>;
  /** Process id and secret, what a CancelRequest is made of. */
  readonly backendKey: Buffer | null;
  /** Of the server process. */
  readonly processId: number | undefined;
  /** Requests that were made and are not over. */
  readonly pending: number;
  /** Bytes written that the system has not taken. */
  readonly bufferedBytes: number;
  /** Resolves when the connection is over: with the error, if there was one. */
  readonly closed: Promise<Error | undefined>;
  /** Called with each NoticeResponse message. */
  onNotice: ((message: Buffer) => void) | undefined;
  /** Called with each NotificationResponse message. */
  onNotification: ((message: Buffer) => void) | undefined;

  on<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  once<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  off<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  addListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  prependListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  prependOnceListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
  removeListener<E extends keyof ClientEvents>(event: E, listener: (...args: ClientEvents[E]) => void): this;
}

/** The rows of a query, some at a time; `break` closes it. */
export interface Cursor<T extends object = AnyColumns> {
  [Symbol.asyncIterator](): this;
  /**
   * What `for await` calls.
   * @returns the next row; rejects once with the error of the query, of the connection or of the signal, after the rows
   *   that came before it
   */
  next(): Promise<IteratorResult<T, undefined>>;
  /**
   * Closes the portal; what `break` calls.
   * @param value to be given back
   * @returns rejects with a ConnectionError where the connection is lost meanwhile
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /**
   * The rows as a Node stream in object mode. To destroy it closes the cursor and, outside a transaction, cancels what is
   * being fetched; in one, that comes first.
   * @param options highWaterMark: rows to be read ahead, 16 by default; signal: destroys the stream;
   *   stall_timeout: milliseconds after which a stream that nobody reads is destroyed, 60000 by default, 0 for never
   * @returns the stream
   */
  readable(options?: {
    highWaterMark?: number | undefined; signal?: AbortSignal | undefined; stall_timeout?: number | undefined
  }): Readable;
  /** The rows as a WHATWG stream. To cancel it does what destroying `readable()` does. @returns the stream */
  readableStream(): ReadableStream<T>;
}

/**
 * The bytes of a COPY … TO STDOUT, beside a Readable's events and methods. An error of the query or the connection is
 * its 'error', and to destroy it cancels the COPY.
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
 * Takes the bytes of a COPY … FROM STDIN as Buffers, Uint8Arrays or strings, beside a Writable's events and methods. An
 * error of the query or the connection is its 'error', 'finish' says that the server has stored the rows (or will, with
 * the transaction), and to destroy it before makes the COPY fail.
 */
export interface CopyFrom extends Writable {
  /** Rows copied; set before the event 'finish'. */
  readonly rowCount: number | undefined;
  /** Bytes so far. */
  readonly bytes: number;
}

/** What NOTIFY sent. */
export interface Notification {
  /** Of the server process of the notifying session. */
  processId: number;
  /** The name of the channel. */
  channel: string;
  /** What the notifying session said, '' where it said nothing. */
  payload: string;
}

/** The notifications of a channel, until `break` or `end()`. */
export interface Listener {
  /** The name of the channel. */
  readonly channel: string;
  /** Resolves when the server has begun to notify; rejects with an error of LISTEN, or the reason of the signal. */
  readonly ready: Promise<unknown>;
  [Symbol.asyncIterator](): this;
  /**
   * What `for await` calls.
   * @returns the next notification; rejects once with the error that ended it: of LISTEN, of the connection, the reason
   *   of the signal, or what `end` was given
   */
  next(): Promise<IteratorResult<Notification, undefined>>;
  /**
   * Stops listening; what `break` calls.
   * @param value to be given back
   * @returns resolves when the server has stopped notifying; never rejects
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /**
   * Stops listening.
   * @param error what the loop is to throw
   * @returns resolves when the server has stopped notifying; never rejects
   */
  end(error?: unknown): Promise<void>;
}

/* Configuration */

/** As in a connection string; in an object undefined, null and '' count as not given. */
type Setting = string | number | bigint | boolean | null | undefined;
type Choice<T> = T | '' | null | undefined;

/** What a password is asked for. */
export interface PasswordRequest {
  /** The host that is being connected to. */
  host: string;
  /** Its port. */
  port: number;
  /** The user that connects. */
  user: string;
  /** What to. */
  database: string;
}

/** Where a connection is to go. */
export interface ServerAddress {
  /** Name or address. */
  host: string;
  /** Its port. */
  port: number;
}

/** The byte stream to use instead of a socket of our own. */
export type ByteStream = Duplex | ((server: ServerAddress) => Duplex | Promise<Duplex>);

/**
 * Run-time parameters that a session can set, by PostgreSQL's names. For one that is not here, write
 * `options: '-c name=value'`. https://www.postgresql.org/docs/current/runtime-config.html
 */
export type RuntimeParameter =
  | 'allow_in_place_tablespaces' | 'allow_system_table_mods' | 'array_nulls' | 'backend_flush_after' | 'backslash_quote'
  | 'backtrace_functions' | 'bytea_output' | 'check_function_bodies' | 'client_connection_check_interval' | 'client_min_messages'
  | 'commit_delay' | 'commit_siblings' | 'compute_query_id' | 'constraint_exclusion' | 'cpu_index_tuple_cost'
  | 'cpu_operator_cost' | 'cpu_tuple_cost' | 'createrole_self_grant' | 'cursor_tuple_fraction' | 'DateStyle' | 'datestyle'
  | 'deadlock_timeout' | 'debug_discard_caches' | 'debug_logical_replication_streaming' | 'debug_parallel_query'
  | 'debug_pretty_print' | 'debug_print_parse' | 'debug_print_plan' | 'debug_print_rewritten' | 'default_statistics_target'
  | 'default_table_access_method' | 'default_tablespace' | 'default_text_search_config' | 'default_toast_compression'
  | 'default_transaction_deferrable' | 'default_transaction_isolation' | 'default_transaction_read_only' | 'dynamic_library_path'
  | 'effective_cache_size' | 'effective_io_concurrency' | 'enable_async_append' | 'enable_bitmapscan'
  | 'enable_distinct_reordering' | 'enable_gathermerge' | 'enable_group_by_reordering' | 'enable_hashagg' | 'enable_hashjoin'
  | 'enable_incremental_sort' | 'enable_indexonlyscan' | 'enable_indexscan' | 'enable_material' | 'enable_memoize'
  | 'enable_mergejoin' | 'enable_nestloop' | 'enable_parallel_append' | 'enable_parallel_hash' | 'enable_partition_pruning'
  | 'enable_partitionwise_aggregate' | 'enable_partitionwise_join' | 'enable_presorted_aggregate' | 'enable_self_join_elimination'
  | 'enable_seqscan' | 'enable_sort' | 'enable_tidscan' | 'escape_string_warning' | 'event_triggers' | 'exit_on_error'
  | 'extension_control_path' | 'extra_float_digits' | 'file_copy_method' | 'force_parallel_mode' | 'from_collapse_limit' | 'geqo'
  | 'geqo_effort' | 'geqo_generations' | 'geqo_pool_size' | 'geqo_seed' | 'geqo_selection_bias' | 'geqo_threshold'
  | 'gin_fuzzy_search_limit' | 'gin_pending_list_limit' | 'hash_mem_multiplier' | 'icu_validation_level'
  | 'idle_in_transaction_session_timeout' | 'idle_session_timeout' | 'ignore_checksum_failure' | 'ignore_system_indexes'
  | 'intervalstyle' | 'IntervalStyle' | 'io_combine_limit' | 'jit' | 'jit_above_cost' | 'jit_debugging_support'
  | 'jit_dump_bitcode' | 'jit_expressions' | 'jit_inline_above_cost' | 'jit_optimize_above_cost' | 'jit_profiling_support'
  | 'jit_tuple_deforming' | 'join_collapse_limit' | 'lc_messages' | 'lc_monetary' | 'lc_numeric' | 'lc_time'
  | 'lo_compat_privileges' | 'local_preload_libraries' | 'lock_timeout' | 'log_connections' | 'log_disconnections'
  | 'log_duration' | 'log_error_verbosity' | 'log_executor_stats' | 'log_lock_failures' | 'log_lock_waits'
  | 'log_min_duration_sample' | 'log_min_duration_statement' | 'log_min_error_statement' | 'log_min_messages'
  | 'log_parameter_max_length' | 'log_parameter_max_length_on_error' | 'log_parser_stats' | 'log_planner_stats'
  | 'log_replication_commands' | 'log_statement' | 'log_statement_sample_rate' | 'log_statement_stats' | 'log_temp_files'
  | 'log_transaction_sample_rate' | 'logical_decoding_work_mem' | 'maintenance_io_concurrency' | 'maintenance_work_mem'
  | 'max_parallel_maintenance_workers' | 'max_parallel_workers' | 'max_parallel_workers_per_gather' | 'max_stack_depth'
  | 'md5_password_warnings' | 'min_parallel_index_scan_size' | 'min_parallel_table_scan_size' | 'parallel_leader_participation'
  | 'parallel_setup_cost' | 'parallel_tuple_cost' | 'password_encryption' | 'plan_cache_mode' | 'post_auth_delay'
  | 'quote_all_identifiers' | 'random_page_cost' | 'recursive_worktable_factor' | 'restrict_nonsystem_relation_kind' | 'role'
  | 'row_security' | 'scram_iterations' | 'search_path' | 'seq_page_cost' | 'session_authorization' | 'session_preload_libraries'
  | 'session_replication_role' | 'standard_conforming_strings' | 'statement_timeout' | 'stats_fetch_consistency'
  | 'synchronize_seqscans' | 'synchronous_commit' | 'tcp_keepalives_count' | 'tcp_keepalives_idle' | 'tcp_keepalives_interval'
  | 'temp_buffers' | 'temp_file_limit' | 'temp_tablespaces' | 'TimeZone' | 'timezone' | 'timezone_abbreviations' | 'trace_notify'
  | 'trace_sort' | 'track_activities' | 'track_cost_delay_timing' | 'track_counts' | 'track_functions' | 'track_io_timing'
  | 'track_wal_io_timing' | 'transaction_deferrable' | 'transaction_isolation' | 'transaction_read_only' | 'transaction_timeout'
  | 'transform_null_equals' | 'update_process_title' | 'vacuum_buffer_usage_limit' | 'vacuum_cost_delay' | 'vacuum_cost_limit'
  | 'vacuum_cost_page_dirty' | 'vacuum_cost_page_hit' | 'vacuum_cost_page_miss' | 'vacuum_failsafe_age' | 'vacuum_freeze_min_age'
  | 'vacuum_freeze_table_age' | 'vacuum_max_eager_freeze_failure_rate' | 'vacuum_multixact_failsafe_age'
  | 'vacuum_multixact_freeze_min_age' | 'vacuum_multixact_freeze_table_age' | 'vacuum_truncate' | 'wal_compression'
  | 'wal_consistency_checking' | 'wal_init_zero' | 'wal_recycle' | 'wal_sender_timeout' | 'wal_skip_threshold' | 'work_mem'
  | 'xmlbinary' | 'xmloption' | 'zero_damaged_pages';

/**
 * libpq's connection parameters and ours (lib/config/README.md), and run-time parameters of the server. Anything you omit is
 * taken from the service file, then the environment (PGHOST, PGUSER, …), then the default.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
export interface Config extends Partial<Record<RuntimeParameter, Setting>> {
  /** A `postgresql://` URL or a `key=value` string, beside what has no text, such as `decode`. Default: none. */
  connectionString?: string | URL | null | undefined;
  /** Name, address, or directory of a socket; several with commas. Default: this machine's, or 'localhost'. */
  host?: Choice<string>;
  /** Address to connect to instead of looking `host` up. Default: none. */
  hostaddr?: Choice<string>;
  /** 1 to 65535, one for all hosts or one for each, with commas; 5432 by default. */
  port?: Choice<number | string>;
  /** Default: the system's user. */
  user?: Choice<string>;
  /** Default: the name of the user. */
  database?: Choice<string>;
  /** The same as `database`. */
  dbname?: Choice<string>;
  /** A function is called at each connection. Default: that of the `passfile`. */
  password?: Choice<string | ((to: PasswordRequest) => string | Promise<string>)>;
  /** Password file, not used if others may read it; ~/.pgpass by default. */
  passfile?: Choice<string>;
  /** Section of a service file. Default: none. */
  service?: Choice<string>;
  /** Where it is looked up first; ~/.pg_service.conf by default. */
  servicefile?: Choice<string>;
  /** What pg_stat_activity shows. Default: `fallback_application_name`. */
  application_name?: Choice<string>;
  /** What counts without an application_name. Default: none. */
  fallback_application_name?: Choice<string>;
  /** Options for the server process, such as -c geqo=off. Default: none. */
  options?: Choice<string>;
  /** 'database': for logical replication; true: for physical. Default: an ordinary connection. */
  replication?: Choice<'database' | 'true' | 'false' | boolean>;
  /** UTF8, the default: no other is taken. */
  client_encoding?: Choice<string>;
  /** Seconds for each address; 0, the default, for no limit. */
  connect_timeout?: Choice<number | string>;
  /** Whether the system probes a silent connection; true by default. */
  keepalives?: Choice<boolean | number | string>;
  /** Seconds of silence before the first probe; 0, the default, for the system's. */
  keepalives_idle?: Choice<number | string>;
  /** Taken, and changes nothing: Node.js cannot set it. */
  keepalives_interval?: Choice<number | string>;
  /** Taken, and changes nothing: Node.js cannot set it. */
  keepalives_count?: Choice<number | string>;
  /** Taken, and changes nothing: Node.js cannot set it. */
  tcp_user_timeout?: Choice<number | string>;
  /** Default: 'prefer'; to localhost and loopback addresses 'disable'. */
  sslmode?: Choice<'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'>;
  /** 'direct': TLS, without asking the server first; 'postgres' by default. */
  sslnegotiation?: Choice<'postgres' | 'direct'>;
  /** File of the authorities, or 'system'; ~/.postgresql/root.crt by default. */
  sslrootcert?: Choice<string>;
  /** File of the client's certificate; ~/.postgresql/postgresql.crt by default. */
  sslcert?: Choice<string>;
  /** File of its key; ~/.postgresql/postgresql.key by default. */
  sslkey?: Choice<string>;
  /** Password of that key. Default: none. */
  sslpassword?: Choice<string>;
  /** 'disable': no client certificate is sent; 'allow' by default. */
  sslcertmode?: Choice<'allow' | 'disable'>;
  /** Whether the server is told the host's name; true by default. */
  sslsni?: Choice<boolean | number | string>;
  /** TLSv1.2 by default. */
  ssl_min_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  /** Default: the newest. */
  ssl_max_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  /** Options of tls.connect, or true: TLS, the certificate verified; false: none. Default: as `sslmode` says. */
  ssl?: ConnectionOptions | boolean | null | undefined;
  /** Methods that are allowed, or with ! those that are not, with commas. Default: any. */
  require_auth?: Choice<string>;
  /** Of SCRAM to TLS; 'prefer' by default. */
  channel_binding?: Choice<'disable' | 'prefer' | 'require'>;
  /** Which of the hosts will do; 'any' by default. */
  target_session_attrs?: Choice<
    'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'>;
  /** 'random': hosts and addresses are tried in random order; 'disable', the default: in theirs. */
  load_balance_hosts?: Choice<'disable' | 'random'>;
  /** '3.0' by default. */
  min_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  /** By default as `min_protocol_version`. PostgreSQL 18 and later know 3.2, which is 'latest'. */
  max_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  /** Taken, and changes nothing. */
  gssencmode?: Choice<'disable' | 'prefer'>;
  /** A byte stream in place of a socket, or better a function that gives one, also later. Default: a socket. */
  socket?: ByteStream | null | undefined;
  /** Most prepared statements kept, 256 by default; 0 for none, behind transaction poolers. */
  statement_cache?: Choice<number | string>;
  /** Most bytes of the results of one connection that wait for slow targets, 67108864 by default. */
  max_buffer_bytes?: Choice<number | string>;
  /** How columns become values, where a query does not say otherwise. Default: strings and Buffers. */
  /** What rows are and how columns become values, unless a query says otherwise. Default: structs of strings and Buffers. */
  decode?: Decode | null | undefined;
  /** Parameters of extensions, such as `'app.user'`. Default: the server's. */
  [parameter: `${string}.${string}`]: Setting;
}

/* Errors */

/** Fields of an ErrorResponse or NoticeResponse, as the server sends them, by the names of PostgresError. */
export interface ServerFields {
  severity?: string;
  code?: string;
  message?: string;
  detail?: string;
  hint?: string;
  position?: string;
  internalPosition?: string;
  internalQuery?: string;
  where?: string;
  schema?: string;
  table?: string;
  column?: string;
  dataType?: string;
  constraint?: string;
  file?: string;
  line?: string;
  routine?: string;
}

/**
 * An error that the server reported, every field by its name; absent fields are undefined.
 * https://www.postgresql.org/docs/current/protocol-error-fields.html
 */
export class PostgresError extends Error {
  /** @param fields as the server sends them */
  constructor(fields: ServerFields);
  /** The name of the class. */
  readonly name: 'PostgresError';
  /** ERROR, FATAL or PANIC, never translated. */
  severity: string;
  /** SQLSTATE */
  code: string;
  /** More about the problem. */
  detail?: string;
  /** What might help. */
  hint?: string;
  /** In characters of the query text, from 1. */
  position?: number;
  /** In characters of internalQuery, from 1. */
  internalPosition?: number;
  /** The text of a statement that the server made itself. */
  internalQuery?: string;
  /** The functions and statements in which it came up. */
  where?: string;
  /** Schema of what it is about. */
  schema?: string;
  /** Table that it is about. */
  table?: string;
  /** Column that it is about. */
  column?: string;
  /** Data type that it is about. */
  dataType?: string;
  /** Constraint that it is about. */
  constraint?: string;
  /** File of the server's source. */
  file?: string;
  /** Line of the server's source. */
  line?: number;
  /** Routine of the server's source. */
  routine?: string;
  /** In a batch: which query. */
  index?: number;
}

/** The connection could not be made, was refused by us, broke, or is over. */
export class ConnectionError extends Error {
  /** @param message what happened @param more its code, its cause, and whether the request had been sent */
  constructor(message: string, more?: { code?: string; cause?: unknown; sent?: boolean });
  /** The name of the class. */
  readonly name: 'ConnectionError';
  /** The system's (ECONNREFUSED, …), or an SQLSTATE: of class 08 or 28; 53300 where a pool has no free connection. */
  code: string;
  /** The error behind it. */
  cause?: unknown;
  /** Of a request that was lost: whether the server had got it, and may have carried it out. */
  sent?: boolean;
}

/** The signal of a request aborted. */
export class AbortError extends Error {
  /** @param message what was aborted @param cause the signal's reason */
  constructor(message: string, cause?: unknown);
  /** The name of the class. */
  readonly name: 'AbortError';
  /** Always 'ABORT_ERR', as of Node's. */
  code: 'ABORT_ERR';
  /** The reason of the signal. */
  cause?: unknown;
}

/**
 * A time limit of this library has passed: `statement_timeout` of a request (57014), `acquire_timeout` (53300 where all
 * connections are owned, 08001 where none could be made), `connect_timeout` (08001), `stall_timeout` (57014).
 */
export class TimeoutError extends Error {
  /** @param message which limit has passed @param more its code, its cause, and whether the request had been sent */
  constructor(message: string, more: { code: string; cause?: unknown; sent?: boolean });
  /** The name of the class. */
  readonly name: 'TimeoutError';
  /** The SQLSTATE that fits. */
  code: string;
  /** The error behind it. */
  cause?: unknown;
  /** Whether the request had been written to the server, which may have carried it out. */
  sent?: boolean;
}

/** Something that cannot be done as it was asked for. */
export class UsageError extends Error {
  /** @param message what, and what to do instead @param code the SQLSTATE that fits @param cause the reason, if any */
  constructor(message: string, code: string, cause?: Error);
  /** The name of the class. */
  readonly name: 'UsageError';
  /** The SQLSTATE that fits. */
  code: string;
}

/* Tracing */

/**
 * What subscribers of `tracingChannel('quickgres:query')` of node:diagnostics_channel are given, on each of its
 * channels: one object for all messages of a query. It has no parameter values and no rows.
 *
 * - `tracing:quickgres:query:start` and `…:end` around the call; `result` and `error` are undefined then, as a rule.
 * - `tracing:quickgres:query:error` when it has failed: `error` is set. Then, as without an error:
 * - `tracing:quickgres:query:asyncStart` and `…:asyncEnd` right before its promise settles:
 *   `result` or `error` is set.
 */
export interface TracedQuery {
  /** SQL; of a batch, the texts with `; ` between them. */
  readonly text: string;
  /** Queries in a batch; undefined for anything else. */
  readonly batchSize: number | undefined;
  /** Once it has succeeded. `cmd` of one command; `rowCount` of all. */
  readonly result: { cmd: string | undefined; rowCount: number } | undefined;
  /** Once it has failed. */
  readonly error: Error | undefined;
  /** Host name, address or path of the socket; undefined before there is a connection, as are the others. */
  readonly host: string | undefined;
  /** None for the path of a socket. */
  readonly port: number | undefined;
  /** The name of the database. */
  readonly database: string | undefined;
  /** The user that asks. */
  readonly user: string | undefined;
  /** Of the server process. */
  readonly processId: number | undefined;
}

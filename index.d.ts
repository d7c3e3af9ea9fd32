/// <reference types="node" />

import { EventEmitter } from 'node:events';
import { Duplex, Readable, Writable } from 'node:stream';
import { WritableStream } from 'node:stream/web';
import { ConnectionOptions } from 'node:tls';
import { NamedSql, Sql, UnnamedSql } from './lib/sql/index.js';

/* Values and rows */

/** Text (0) or binary (1) format of values. */
export type Format = 0 | 1;

/** A value that is neither a list nor an object. */
type Plain = string | Uint8Array | number | bigint | boolean | Date | null;

/** JSON of objects and lists. */
type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json | undefined }
  | { toJSON(): unknown }
  | JsonObject;

/**
 * An object of an interface, which is JSON; without the members by which Map, Set, Promise, Error and functions are
 * known.
 */
type JsonObject = object & {
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.toStringTag]?: never;
  readonly [Symbol.match]?: never;
  readonly then?: never;
  readonly apply?: never;
  readonly stack?: never;
};

/**
 * A list of values, or of such lists. For json it is JSON; otherwise an array of at most six dimensions, whose lists
 * have one length.
 */
export interface ArrayValue extends ReadonlyArray<Value> {}

/**
 * A parameter value; lib/core/requests/README.md has the rule of how each is sent. null is NULL; undefined is a
 * TypeError.
 */
export type Value =
  Plain | ArrayValue | { readonly [name: string]: Json | undefined } | { toJSON(): unknown } | JsonObject;

/**
 * The literal of a PostgreSQL array, as `query` makes it of a list.
 * @param values its elements; bytes become bytea
 * @returns the text
 * @throws {TypeError} for an unsupported element, naming its place
 */
export function array(values: ArrayValue): string;

/**
 * Parameter values: an array, which is never changed, or a row of an earlier result. Value[] adds nothing but that
 * compilers say which element is wrong.
 */
export type Values = Value[] | readonly Value[] | GivenRow;

/** A row of an earlier result. */
export interface GivenRow {
  /** See RowMembers. */
  readonly rowBuffer: Uint8Array;
}

/** A column with `decode: false`: a string, or a Buffer in binary format. */
export type ColumnValue = string | Buffer | null;

/** Columns by name, for rows without a type of their own. */
export type AnyColumns = Record<string, any>;

/** What a column can be: anything if it is decoded, else a string, in binary format a Buffer. */
type Decoded<D, Raw = string | null> = D extends false ? Raw : any;

/** A row of columns that can be a V. */
type Columns<T, V> = object & { readonly [K in keyof T]: V };

/** The compiler would try a signature with a literal in it before those for COPY. */
type TextFormat = 0;

/** Options of a query that decodes whatever its session does, of one that does as its session, and of any. */
type WithDecode = { decode: Exclude<Decode, false>; stream?: undefined };
type AsSession = { decode?: undefined; stream?: undefined };
type WithoutStream = { stream?: undefined };
/** Options O for rows of any type, which have to be decoded. */
type Decoding<D, O> = O & (D extends false ? WithDecode : AsSession | WithDecode);
type OptionalDecoding<D, O> = D extends false ? [options: Decoding<D, O>] : [options?: Decoding<D, O>];
type ValuesAndDecoding<D, O> = D extends false
  ? [values: Values | undefined, options: Decoding<D, O>]
  : [values?: Values, options?: Decoding<D, O>];

/** A column of a result, as RowDescription describes it. */
export interface Column {
  /** The name, which other columns may share. */
  name: string;
  /** OID of the table, or 0. */
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

/** Makes a value of a column's string (text format) or Buffer (binary format). */
export type Decoder = (value: any, column: Column) => unknown;

/** Decoders of a type's text and binary values, as in `decoders` and `exact`. */
export type DecoderPair = readonly [
  text: (bytes: Uint8Array, start: number, end: number) => unknown,
  binary: (bytes: Uint8Array, start: number, end: number) => unknown
];

/**
 * What columns become. true: values, by `decoders`, and by what the database tells of types that are not built in:
 * composite types are objects, arrays of all types arrays. A map by type, its OID or its name: what its decoders make;
 * columns of other types are strings, or Buffers in binary format. With arrays of text (`...decoders`), it has types
 * that are not built in as well. false: all are strings or Buffers.
 */
export type Decode =
  | boolean
  | Readonly<Record<number | string, Decoder | DecoderPair>>
  | ReadonlyMap<number | string, Decoder | DecoderPair>;

/**
 * What `decode: true` uses, by type OID. int8 becomes a number, or a string if that is not exact; timestamptz a Date
 * unless it is infinite; bytea a Buffer. Extend it with `{ ...decoders, 1700: Number }`.
 */
export const decoders: Readonly<Record<number, DecoderPair>>;

/**
 * Exact decoders: int8 to bigint, timestamptz to a string with microseconds, and their arrays. Use `{ ...decoders,
 * ...exact }`.
 */
export const exact: Readonly<Record<number, DecoderPair>>;

/**
 * OIDs of PostgreSQL's types by name, for `paramTypes: [oid.int8]` and `decode: { [oid.date]: … }`. Arrays have an
 * underscore: `oid._text`.
 */
export const oid: Readonly<
  Record<
    | 'pg_node_tree'
    | 'unknown'
    | '_cstring'
    | 'void'
    | 'pg_ndistinct'
    | 'pg_dependencies'
    | 'pg_brin_bloom_summary'
    | 'pg_brin_minmax_multi_summary'
    | 'pg_mcv_list'
    | `${'' | '_'}${
        | 'bool'
        | 'bytea'
        | 'char'
        | 'name'
        | 'int8'
        | 'int2'
        | 'int2vector'
        | 'int4'
        | 'regproc'
        | 'text'
        | 'oid'
        | 'tid'
        | 'xid'
        | 'cid'
        | 'oidvector'
        | 'json'
        | 'xml'
        | 'point'
        | 'lseg'
        | 'path'
        | 'box'
        | 'polygon'
        | 'line'
        | 'cidr'
        | 'float4'
        | 'float8'
        | 'circle'
        | 'macaddr8'
        | 'money'
        | 'macaddr'
        | 'inet'
        | 'aclitem'
        | 'bpchar'
        | 'varchar'
        | 'date'
        | 'time'
        | 'timestamp'
        | 'timestamptz'
        | 'interval'
        | 'timetz'
        | 'bit'
        | 'varbit'
        | 'numeric'
        | 'refcursor'
        | 'regprocedure'
        | 'regoper'
        | 'regoperator'
        | 'regclass'
        | 'regtype'
        | 'record'
        | 'uuid'
        | 'txid_snapshot'
        | 'pg_lsn'
        | 'tsvector'
        | 'tsquery'
        | 'gtsvector'
        | 'regconfig'
        | 'regdictionary'
        | 'jsonb'
        | 'int4range'
        | 'numrange'
        | 'tsrange'
        | 'tstzrange'
        | 'daterange'
        | 'int8range'
        | 'jsonpath'
        | 'regnamespace'
        | 'regrole'
        | 'regcollation'
        | 'int4multirange'
        | 'nummultirange'
        | 'tsmultirange'
        | 'tstzmultirange'
        | 'datemultirange'
        | 'int8multirange'
        | 'pg_snapshot'
        | 'xid8'}`,
    number
  >
>;

/**
 * The members of every struct. Columns are not own properties, so `{ ...row }` and `Object.keys(row)` do not contain
 * them: use `toObject()`, or `result.objects`.
 */
export interface RowMembers<T extends object = AnyColumns> {
  /** Columns by index from 0. */
  readonly [index: number]: any;
  /** The values in column order. @returns an iterator */
  [Symbol.iterator](): IterableIterator<any>;
  /** @returns a plain object; of several columns with one name, the last counts */
  toObject(): T;
  /** @returns the values in column order */
  toArray(): any[];
  /** @returns `toObject()`, for JSON.stringify */
  toJSON(): T;
  /**
   * Reads any column, even one that is named like a member.
   * @param column its name (of several, the last) or its index from 0
   * @returns undefined if there is no such column
   */
  get<K extends keyof T>(column: K): T[K];
  get(column: string | number): any;
  /** The whole DataRow message, as a view of the result's memory. */
  readonly rowBuffer: Buffer;
  /** 0 text, 1 binary. */
  readonly dataFormat: Format;
  /** The number of columns. */
  readonly columnCount: number;
  /** The descriptions of the columns. */
  readonly rowColumns: Column[];
  /** The RowDescription of the row. */
  readonly rowParser: RowParser;
}

/** A struct of unknown columns. */
export type AnyRow = Row<AnyColumns>;

/**
 * A struct over a row's bytes, which decodes a column when you read it. T has the columns by name: `string | null`, in
 * binary format `Buffer | null`, or what `decode` makes of them.
 */
export type Row<T extends object = AnyColumns> = RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/** A RowDescription and the classes of its rows: `new parser[Client.STRING](dataRow)`. */
export class RowParser {
  /**
   * @param buf has a RowDescription message; it is copied
   * @param start offset of the message, 0 by default
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf: Buffer, start?: number);
  /** The descriptions of the columns. */
  readonly columns: Column[];
  /** The names of the columns, in their order. */
  readonly columnNames: string[];
  /** The message. The description of a prepared statement says text for all columns. */
  readonly buffer: Buffer;
  /** Class of the rows in text format. */
  get 0(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /** Class of the rows in binary format. */
  get 1(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /**
   * The message with the format of the rows, for a reader that knows nothing else.
   * @param format 0 text, 1 binary
   * @returns the message
   */
  description(format: Format): Buffer;
}

/** Options of a result. */
export interface ColumnOptions {
  /** What columns become. Default: the config's `decode`. */
  decode?: Decode | undefined;
  /** 'camel': `user_id` is `userId`, as with the config's `names`. Default: the config's. */
  names?: 'camel' | undefined;
}

/** The result of a query. Rows are made of the received bytes when you read them. */
export class RowReader<T extends object = AnyColumns> {
  /** @param options what columns become, and their names, as in `query`. Default: those of the session */
  constructor(options?: ColumnOptions);
  /** The rows: `objects` in a pool, else `structs`. For COPY … TO STDOUT, Buffers: see CopyReader. */
  rows: T[];
  /** The rows as structs, which decode a column when you read it. */
  readonly structs: Row<T>[];
  /** The rows as plain objects; of several columns with one name, the last counts. */
  readonly objects: T[];
  /** The rows as plain arrays. */
  readonly arrays: any[][];
  /**
   * @returns the only row
   * @throws {UsageError} if there is none, or more than one
   */
  one(): T;
  /**
   * @returns the only row; undefined if there is none
   * @throws {UsageError} if there is more than one
   */
  maybeOne(): T | undefined;
  /** Gives what `rows` gives, one at a time: `for (const row of result)` makes no array. */
  [Symbol.iterator](): IterableIterator<T>;
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** The command: SELECT, INSERT, …; EMPTY for an empty query, SUSPENDED if getResults may continue. */
  cmd: string | undefined;
  /** The OID in an INSERT's tag. */
  oid: string | undefined;
  /** Format of the rows: 0 text, 1 binary. */
  binary: Format;
  /** The RowDescription; undefined if the command returns no rows. */
  rowParser: RowParser | undefined;
  /** COPY: 0 text, 1 binary. */
  format?: number;
  /** COPY: the number of columns. */
  columnCount?: number;
  /** COPY: the format of each column, 0 text, 1 binary. */
  columnFormats?: number[];
  /** Takes one message. @param packet the whole message, as a Buffer of its own */
  write(packet: Buffer): void;
  /** @returns a plain object, for JSON.stringify */
  toJSON(): { cmd: string | undefined; oid: string | undefined; rowCount: number; rows: T[] };
}

/** The result of a COPY that was given to `query`. */
export interface CopyReader extends Omit<
  RowReader,
  'rows' | 'structs' | 'objects' | 'arrays' | typeof Symbol.iterator
> {
  /** The data of COPY … TO STDOUT, a Buffer for each message. */
  rows: Buffer[];
  /** The data, one message at a time. */
  [Symbol.iterator](): IterableIterator<Buffer>;
}

/** An object that takes the messages of a result. */
export interface PacketReceiver {
  /**
   * Takes one message.
   * @param packet the whole message
   * @returns a value that is ignored
   */
  write(packet: Buffer): unknown;
  /** Set when the result begins. */
  rowParser?: RowParser | null;
  /** Set when the result begins. */
  binary?: Format;
}

/** Takes a result: a RowReader, a Node stream, or an object with `write(packet)`. */
export type Receiver = RowReader<any> | Writable | PacketReceiver;

/* Types from SQL */

// Each type parameter of `query` has a default, so that the compiler does not look for it in `const { rows } =`, which
// takes more than half the time of the call.

/**
 * The columns and parameters of the SQL in a program, by its text, or by the name in ``sql<'name'>`…` ``. `npx
 * quickgres types` asks a database for them, and declares them here. While it is empty, methods take any text.
 */
export interface Queries {}
/** The texts in Queries. */
export type Listed = keyof Queries;

/** A text that is not in Queries. */
export type OtherText<X extends string> = [Listed] extends [never]
  ? string
  : X & (X extends Listed ? NeedsItsValues : unknown);
declare const listed: unique symbol;
interface NeedsItsValues {
  readonly [listed]: true;
}

/** What is declared of a text. Of all ways to look it up, this costs the compiler least. */
type PartOf<X extends Listed, K extends string> = Queries[X][K & keyof Queries[X]];

/** More arguments than any call has: without Queries, the compiler passes over a signature with them. */
type None = [never, never, never, never, never, never, never];

/** The values of a text, which may be left out if it has none, and what follows them. */
export type Arguments<X, More extends readonly unknown[]> = [Listed] extends [never]
  ? None
  : X extends Listed
    ? Queries[X] extends { values: infer V extends readonly unknown[] }
      ? V extends []
        ? [values?: V, ...More]
        : [values: Readonly<V>, ...More]
      : [values?: Values, ...More]
    : [values?: Values, ...More];
/** The same where one signature is enough. */
export type TextArguments<X, More extends readonly unknown[]> = [Listed] extends [never]
  ? [values?: Values, ...More]
  : Arguments<X, More>;

type LastArguments<X> = [Listed] extends [never]
  ? [values: Values | undefined, options: QueryOptions]
  : Arguments<X, [options?: Format | QueryOptions, cache?: boolean]>;
type LastResult<X> = [Listed] extends [never]
  ? Receiver
  : X extends Listed
    ? RowReader<ListedRow<X, boolean>>
    : Receiver;

/** The row of a text in Queries, with or without `decode`; any where that is not known. */
export type ListedRow<X, D> = X extends Listed
  ? Queries[X] extends { row: infer R extends object }
    ? boolean extends D
      ? any
      : D extends true
        ? R
        : { [K in keyof R]: AsText<R[K]> }
    : any
  : any;
/** A column as a string, which is one of its labels if it is an enum. */
type AsText<V> = unknown extends V ? string | null : V extends null ? V : [V] extends [string] ? V : string;

/** Whether a session decodes. */
type Decodes<S> = S extends { readonly decode: infer D } ? (D extends false ? false : true) : boolean;
type InMode<B> = { decode?: B; names?: undefined; stream?: undefined; format?: TextFormat | undefined };
/** Whether options with `decode: B` decode in a session S. */
type ModeOf<B, S> = [B] extends [undefined] ? Decodes<S> : [B] extends [boolean] ? B : boolean;

/** A query of a batch, whose values fit if it is in Queries. */
type BatchArguments<E> = E extends Listed
  ? Arguments<E, []> extends [values: any]
    ? readonly [E, ...Arguments<E, []>]
    : E
  : E extends readonly [infer X extends Listed, ...any[]]
    ? readonly [X, ...Arguments<X, [options?: BatchOptions]>]
    : BatchQuery;
/** Queries whose rows have the types R, which are not inferred if some texts have types. */
type BatchOf<R, D> = [Listed] extends [never]
  ? { readonly [I in keyof R]: QueryOf<R[I], D> }
  : [R] extends [infer Q]
    ? { readonly [I in keyof Q]: QueryOf<Q[I], D> }
    : never;
/** A query of a batch whose row is a T, which has to be decoded if its columns are no strings. */
type QueryOf<T, D> =
  T extends Columns<T, ColumnValue>
    ? BatchQuery
    : D extends false
      ? DecodedQuery
      : | string
        | Sql
        | readonly [text: string, values?: Values, options?: BatchOptions & AsSession]
        | readonly [piece: Sql, options?: BatchOptions & AsSession]
        | DecodedQuery;
type DecodedQuery =
  | readonly [text: string, values: Values | undefined, options: BatchOptions & WithDecode]
  | readonly [piece: Sql, options: BatchOptions & WithDecode];
type BatchRow<E, D> = E extends Listed
  ? ListedRow<E, D>
  : E extends readonly [infer X extends Listed, any?]
    ? ListedRow<X, D>
    : AnyColumns;

/* Options */

/**
 * Ends one request and no other. The promise rejects at once. The query is cancelled if no other request was sent
 * behind it; otherwise its result is read and dropped.
 */
export interface Abortable {
  /** Rejects with an AbortError when it aborts. Default: none. */
  signal?: AbortSignal | undefined;
  /** Milliseconds, above 0, until it rejects with a TimeoutError (57014). Default: none. */
  statement_timeout?: number | undefined;
}

/** What a pool may do when it loses a connection. Clients and transactions repeat nothing. */
export interface Idempotent {
  /** Whether a query may be repeated although the server may have executed it. Default: false. */
  idempotent?: boolean | undefined;
}

/** How a request shares its connection. */
export interface Placement extends Idempotent {
  /**
   * Whether nothing is sent behind the request, so that it can always be cancelled; a pool gives it a connection of its
   * own. Default: false.
   */
  alone?: boolean | undefined;
}

/** Options of any request. */
export interface RequestOptions extends Abortable, Placement {}

/** How a statement is sent, and the format of its result. */
export interface StatementOptions {
  /** Format of the result. Default: `Client.STRING`. */
  format?: Format | undefined;
  /** Whether to prepare the statement and keep it; set false for a text that is used once. Default: true. */
  cache?: boolean | undefined;
  /** Type OIDs of the parameters; 0 lets the server infer a type. Default: it infers all. */
  paramTypes?: readonly number[] | undefined;
}

/** Options of `simpleQuery`. */
export interface SimpleQueryOptions extends ColumnOptions, Abortable, Idempotent {}

/** Options of one query of a batch. */
export interface BatchOptions extends StatementOptions, ColumnOptions {}

/** Options of `commit` of a transaction. */
export interface CommitOptions extends BatchOptions, Abortable {}

/** Options of `query`. */
export interface QueryOptions<S extends Receiver = Receiver> extends BatchOptions, RequestOptions {
  /** What takes the result, without `decode`. Default: a new RowReader. */
  stream?: S | undefined;
  /** Bytes up to which a slow target does not slow down the connection, see `queryTo`. Default: 1048576. */
  buffer?: number | undefined;
}

/** One query of a batch: its text, or text, values and options; or a piece of SQL, or that and options. */
export type BatchQuery =
  | string
  | Sql
  | readonly [text: string, values?: Values, options?: BatchOptions]
  | readonly [piece: Sql, options?: BatchOptions];

/** Options of `queryTo`. */
export interface QueryToOptions extends StatementOptions, RequestOptions {
  /**
   * 'protocol' (default): messages that a reader without earlier state can parse; 'values': the columns' bytes; 'json':
   * an array of objects; 'ndjson': an object a line.
   */
  as?: 'protocol' | 'values' | 'json' | 'ndjson' | undefined;
  /** In JSON: 'number' (default) where that is exact, else a string; 'string': always a string. */
  int8?: 'number' | 'string' | undefined;
  /** In JSON: 'string' (default), or 'number', in which NaN and infinity are null. */
  numeric?: 'string' | 'number' | undefined;
  /** In JSON: 'hex' (default), as the server prints it: \\x00ff; or 'base64'. */
  bytea?: 'hex' | 'base64' | undefined;
  /** With 'values': bytes between two rows. Default: none. */
  separator?: string | Uint8Array | undefined;
  /** Whether to end the target. Default: true. */
  end?: boolean | undefined;
  /** Milliseconds until a target that takes nothing is destroyed, 0 for never. Default: 60000. */
  stall_timeout?: number | undefined;
  /**
   * Bytes up to which a slow target does not slow down the connection. A longer result is read at the target's pace,
   * and its text is sent alone the next time. Default: 1048576.
   */
  buffer?: number | undefined;
}

/** The result of `queryTo`. */
export interface StreamResult {
  /** The command: SELECT, INSERT, …. */
  cmd: string | undefined;
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** Bytes written to the target. */
  bytes: number;
}

/** Options of `cursor`. */
export interface CursorOptions extends StatementOptions, ColumnOptions {
  /** Rows a round trip. Default: 1000. */
  batchSize?: number | undefined;
  /** Cancels the fetch under way, or the next one, with an AbortError. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Options of `describe`. */
export interface DescribeOptions extends Abortable, Idempotent {
  /** Type OIDs of the parameters; 0 lets the server infer a type. Default: it infers all. */
  paramTypes?: readonly number[] | undefined;
}

/** What the server knows of a statement that it has not run. */
export interface Description {
  /** The parameters $1, $2, …, each with the OID of its type. */
  params: { oid: number }[];
  /** The columns of the result; none for a command without rows. */
  columns: {
    /** The name, which other columns may share. */
    name: string;
    /** OID of its type, as in pg_type. */
    oid: number;
    /** The modifier of its type, as in pg_attribute.atttypmod; -1 if there is none. */
    modifier: number;
    /** OID of the table, or 0. */
    tableOid: number;
    /** Number of the column in its table, from 1, or 0. */
    column: number;
  }[];
}

/**
 * Options of `transaction`. `isolation`, `readOnly` and `deferrable` of a savepoint are a UsageError unless its
 * transaction has them.
 */
export interface TransactionOptions extends Idempotent {
  /**
   * How often the function is called again after a serialization failure (40001), a deadlock (40P01), or a prepared
   * statement whose columns have changed (0A000), each time in a new transaction and after a longer pause. Limits are
   * for all calls together. A savepoint is not repeated: it fails with its transaction. Default: 0.
   */
  retries?: number | undefined;
  /** Rejects at once with an AbortError and rolls back. Default: none. */
  signal?: AbortSignal | undefined;
  /** Milliseconds, above 0, until it rejects with a TimeoutError (57014) and rolls back. Default: none. */
  statement_timeout?: number | undefined;
  /** Default: the server's default_transaction_isolation, usually 'read committed'. */
  isolation?: 'serializable' | 'repeatable read' | 'read committed' | 'read uncommitted' | undefined;
  /** Default: the server's default_transaction_read_only, usually false. */
  readOnly?: boolean | undefined;
  /**
   * Whether a serializable read-only transaction waits until it cannot fail. Default: default_transaction_deferrable,
   * usually false.
   */
  deferrable?: boolean | undefined;
}

/** Options of `listen`. */
export interface ListenOptions {
  /**
   * Whether a pooler between client and server keeps the session, as PgBouncer does in session mode. Default: false.
   */
  session?: boolean | undefined;
  /**
   * Milliseconds after which a server that has said nothing is asked whether it is there, 0 for never. If it does not
   * answer for 3 s, the connection is lost: the loops of a client throw, those of a pool get `missed`. The shortest
   * time of a connection's loops counts. Default: 30000.
   */
  keepalive?: number | undefined;
  /** Makes the loop throw its reason. Default: none. */
  signal?: AbortSignal | undefined;
}

/** Options of `copyTo` and `copyFrom`. */
export interface CopyStreamOptions {
  /** Destroys the stream with an AbortError, which cancels the COPY. Default: none. */
  signal?: AbortSignal | undefined;
  /** Bytes that may wait in the stream. Default: 65536 for copyTo, 262144 for copyFrom. */
  highWaterMark?: number | undefined;
}

/** Options of `copyFrom`. */
export interface CopyFromOptions extends CopyStreamOptions {
  /**
   * Keys of objects, in the order of the COPY's columns: the stream takes objects, arrays and rows of a result, whose
   * values are those of `query`, in COPY's text format; `highWaterMark` counts rows, by default 1024. Default: none,
   * the stream takes bytes.
   */
  columns?: readonly string[] | undefined;
  /**
   * Milliseconds after which the COPY fails with a TimeoutError (57014) if its source brings nothing, 0 for never:
   * meanwhile it owns a connection. Time in which the stream makes its source wait does not count. Default: 60000.
   */
  stall_timeout?: number | undefined;
}

/** Options of `copyTo`. */
export interface CopyToOptions extends CopyStreamOptions {
  /** Whether nothing is sent behind the COPY, so that it can always be cancelled. Default: false. */
  alone?: boolean | undefined;
  /** Milliseconds until a stream that is not read is destroyed, 0 for never. Default: 60000. */
  stall_timeout?: number | undefined;
  /** Bytes up to which a slow reader does not slow down the connection. Default: 1048576. */
  buffer?: number | undefined;
}

/**
 * Settings by name, as for PostgreSQL's set_config(): `role`, `search_path`, `statement_timeout`, or names with a dot
 * of your own, for example `app.tenant`. client_encoding is refused.
 */
export interface Settings {
  /** A value, as set_config() takes it. */
  readonly [name: string]: string | number | boolean;
}

/** A URL object. */
export interface GivenUrl {
  /** The whole URL. */
  readonly href: string;
  /** Its query. */
  readonly searchParams: { getAll(name: string): string[] };
}

/* Sessions */

/**
 * The base of Client, Pool and transactions: the type of a parameter that takes any of them. D is whether it
 * decodes: if not, columns are strings or Buffers, a row's type T that says otherwise does not compile, and the
 * session is no `Session`. `Session<boolean>` takes both.
 */
export abstract class Session<out D extends boolean = true> extends EventEmitter {
  protected constructor();

  /** @returns a plain object, for JSON.stringify */
  toJSON(): object;

  /** How queries decode columns unless they say otherwise: the config's `decode`. */
  readonly decode: D extends false ? false : Exclude<Decode, false>;

  /**
   * Sends a query at once, without waiting for earlier ones. Each query fails by itself. T is the type of a row.
   * @param text SQL, with parameters as $1, $2, …
   * @param piece SQL with its values, of the tag `sql`, in place of text and values
   * @param values of the parameters, `[]` by default
   * @param format of the columns, `Client.STRING` by default; or `options`: all options by name
   * @param cache false for a text that is used once, which is then not prepared
   * @param more values and options of a text that `npx quickgres types` knows
   * @param stream takes the result
   * @returns resolves to the result, or to `stream` when the whole result was written to it (`queryTo` waits until it
   *   was taken). Promises settle in the order of the calls, but the first result with a type that is not built in waits
   *   for what the type is. Rejects with a PostgresError, ConnectionError, AbortError or TimeoutError; for bad input,
   *   before anything is sent, with a TypeError or RangeError
   */
  query<X extends Listed = never>(
    this: Session<true>,
    text: X,
    ...values: [Listed] extends [never] ? None : [values: PartOf<X, 'values'>]
  ): Promise<RowReader<PartOf<X, 'row'>>>;
  query<X extends Listed = never, S = unknown, const B extends boolean | undefined = undefined>(
    this: S,
    text: X,
    ...more: Arguments<X, [options?: TextFormat | (QueryOptions & InMode<B>), cache?: boolean]>
  ): Promise<RowReader<ListedRow<X, ModeOf<B, S>>>>;
  query<S extends Receiver>(
    piece: Sql,
    options: QueryOptions<S> & { stream: S; idempotent?: false | undefined }
  ): Promise<S>;
  query<T extends object = AnyColumns>(
    piece: UnnamedSql,
    ...more: OptionalDecoding<D, QueryOptions>
  ): Promise<RowReader<T>>;
  query<T extends Columns<T, ColumnValue> = AnyColumns>(
    piece: UnnamedSql,
    options?: QueryOptions & WithoutStream
  ): Promise<RowReader<T>>;
  query<X extends Listed = never, S = unknown, const B extends boolean | undefined = undefined>(
    this: S,
    piece: NamedSql<X>,
    options?: QueryOptions & InMode<B>
  ): Promise<RowReader<ListedRow<X, ModeOf<B, S>>>>;
  query(piece: Sql, options: QueryOptions): Promise<Receiver>;
  query(text: `${'COPY' | 'copy'} ${string}`, values?: Values, format?: Format, cache?: boolean): Promise<CopyReader>;
  query<T extends Columns<T, Decoded<D>> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values?: Values,
    format?: TextFormat,
    cache?: boolean
  ): Promise<RowReader<T>>;
  query<T extends Columns<T, Decoded<D, ColumnValue>> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values: Values | undefined,
    format: Format | undefined,
    cache?: boolean
  ): Promise<RowReader<T>>;
  query<S extends Receiver>(
    text: string,
    values: Values | undefined,
    format: Format | undefined,
    cache: boolean | undefined,
    stream: S
  ): Promise<S>;
  query<S extends Receiver>(
    text: string,
    values: Values | undefined,
    options: QueryOptions<S> & { stream: S; idempotent?: false | undefined }
  ): Promise<S>;
  query<T extends object = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values: Values | undefined,
    options: Decoding<D, QueryOptions>
  ): Promise<RowReader<T>>;
  query<T extends Columns<T, ColumnValue> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values: Values | undefined,
    options: QueryOptions & WithoutStream
  ): Promise<RowReader<T>>;
  query<X extends string>(text: X, ...more: LastArguments<X>): Promise<LastResult<X>>;

  /**
   * Sends a text of one or more statements, without parameters. They are one transaction, unless the text has BEGIN and
   * COMMIT.
   * @param text SQL, statements separated by semicolons
   * @param options decode, names, signal, statement_timeout
   * @returns a result for each statement; rejects with the first error
   */
  simpleQuery(text: string, options?: SimpleQueryOptions): Promise<RowReader[]>;

  /**
   * Sends queries that share one Sync: they are one implicit transaction, and cost less than separate queries. R has
   * the types of their rows: `batch<[User, Count]>([…, …])`.
   * @param queries texts, `[text, values, options]`, pieces of SQL, or `[piece, options]`
   * @param options signal and statement_timeout for all of them
   * @returns the results; rejects with the first error, whose `index` is that of the query
   */
  batch(
    queries: [Listed] extends [never] ? readonly BatchQuery[] : never,
    options?: RequestOptions
  ): Promise<RowReader[]>;
  batch<const B extends readonly BatchQuery[], S>(
    this: S,
    queries: B & { readonly [I in keyof B]: BatchArguments<B[I]> },
    ...more: [Listed] extends [never] ? None : [options?: RequestOptions]
  ): Promise<{ -readonly [I in keyof B]: RowReader<BatchRow<B[I], Decodes<S>>> }>;
  batch<R extends readonly object[] = never>(
    queries: BatchOf<R, D>,
    options?: RequestOptions
  ): Promise<{ -readonly [I in keyof R]: RowReader<R[I]> }>;

  /**
   * Runs a function in a transaction, or behind a savepoint if this is a transaction. Commits when the function
   * returns, and rolls back when it throws. The function must use `tx`, not the client.
   * @param work gets the session of the transaction, which ends with the function
   * @param options isolation, readOnly, deferrable, retries, signal, statement_timeout
   * @returns what the function returned; rejects with what it threw, or with the error of COMMIT
   */
  transaction<R>(work: (tx: Transaction<D>) => R | Promise<R>, options?: TransactionOptions): Promise<R>;

  /**
   * Makes a session whose requests carry settings: the server sets them right before each request, in the same flight
   * and transaction, with which they end. It is cheap enough to be made for each HTTP request. It has neither
   * `simpleQuery` nor `listen`.
   * @param settings by name; they are added to those that this session has. In a transaction they are put back behind
   *   each request, and there are no `cursor`, `copyTo` and `copyFrom`, except in its `transaction()`
   * @returns a session on the same client or pool. A request of it rejects with the server's error if a setting is
   *   invalid, and with a UsageError if its text may end or outlive the settings (0A000), or if a query has begun a
   *   block (25001)
   * @throws {TypeError} for wrong names and values, and for settings that the object inherits
   */
  with(settings: Settings): Session<D>;

  /**
   * Fetches the rows of a query in batches. Outside a transaction the cursor is a transaction of its own, which owns
   * the connection until the cursor ends; inside one, other cursors and queries may run beside it.
   * @param text SQL
   * @param values of the parameters
   * @param piece SQL with its values, in place of text and values
   * @param options batchSize, format, cache, paramTypes, decode, signal
   * @returns an async iterable of rows; `break` closes the cursor
   * @throws {TypeError|RangeError} for bad input
   */
  cursor<X extends Listed = never, S = unknown, const B extends boolean | undefined = undefined>(
    this: S,
    text: X,
    ...more: Arguments<X, [options?: CursorOptions & InMode<B>]>
  ): Cursor<ListedRow<X, ModeOf<B, S>>>;
  cursor<T extends object = AnyColumns>(piece: Sql, ...more: OptionalDecoding<D, CursorOptions>): Cursor<T>;
  cursor<T extends Columns<T, ColumnValue> = AnyColumns>(piece: Sql, options?: CursorOptions): Cursor<T>;
  cursor<T extends Columns<T, Decoded<D, ColumnValue>> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values?: Values,
    options?: CursorOptions & AsSession
  ): Cursor<T>;
  cursor<T extends object = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values: Values | undefined,
    options: CursorOptions & WithDecode
  ): Cursor<T>;
  cursor<T extends Columns<T, ColumnValue> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values: Values | undefined,
    options: CursorOptions
  ): Cursor<T>;
  cursor<X extends string>(
    text: X,
    ...more: TextArguments<X, [options?: CursorOptions]>
  ): Cursor<ListedRow<X, boolean>>;

  /**
   * Writes the result of a query to a target, without making rows. Nothing is written before the first rows or the end.
   * If the target closes, the query is cancelled; if other requests were sent behind it, the result is read and
   * dropped.
   * @param target an HTTP response, a file, any Writable, or a WHATWG WritableStream
   * @param text SQL
   * @param values of the parameters
   * @param piece SQL with its values, in place of text and values
   * @param options as, int8, numeric, bytea, separator, end, stall_timeout, buffer, and those of `query`
   * @returns resolves when the target has taken everything; rejects with the error of the query or the target, or
   *   with an AbortError if the target was closed. After the first byte, 'protocol' ends with an ErrorResponse; any
   *   other target is destroyed
   */
  queryTo(target: Writable | WritableStream, piece: Sql, options?: QueryToOptions): Promise<StreamResult>;
  queryTo<X extends string>(
    target: Writable | WritableStream,
    text: X,
    ...more: TextArguments<X, [options?: QueryToOptions]>
  ): Promise<StreamResult>;

  /**
   * Copies a table or the result of a query out of the database. Destroying the stream cancels the COPY.
   * @param text COPY … TO STDOUT
   * @param options signal, highWaterMark, stall_timeout, buffer, alone
   * @returns a Readable of COPY's bytes, which emits every error but that of wrong arguments
   * @throws {TypeError} for any other text
   */
  copyTo(text: string, options?: CopyToOptions): CopyTo;

  /**
   * Copies into a table: a stream that takes text, CSV or binary as COPY does, with rows split anywhere; or, with
   * `columns`, objects and arrays. It owns the connection until it is over.
   * @param text COPY … FROM STDIN
   * @param options columns, signal, highWaterMark, stall_timeout
   * @returns a Writable, which emits every error but that of wrong arguments
   * @throws {TypeError} for any other text
   */
  copyFrom(text: string, options?: CopyFromOptions): CopyFrom;

  /**
   * Asks the server about a statement, without running it: one round trip.
   * @param text SQL, or a piece of it
   * @param options paramTypes, signal, statement_timeout
   * @returns its parameters and columns; rejects with the server's error, for example for a column that does not exist
   */
  describe(text: string | Sql, options?: DescribeOptions): Promise<Description>;

  /**
   * Closes a named statement or portal on the server.
   * @param type 'S' for a statement, 'P' for a portal
   * @param name of the statement or portal
   * @returns resolves even if the name does not exist; rejects with a TypeError or a ConnectionError
   */
  close(type: 'S' | 'P', name: string): Promise<void>;
}

/** Only the session of a transaction has it. */
declare const block: unique symbol;

/** What the function of `transaction` gets: the type of a parameter that takes no client and no pool. */
export interface Transaction<out D extends boolean = true> extends Session<D> {
  /** Marks the type alone; no object has it. */
  readonly [block]: true;

  /**
   * Sends the last query of this transaction, and COMMIT right behind it, in one flight: a transaction of one query is
   * one round trip. In a savepoint it sends RELEASE. The types are those of `query`.
   * @param text SQL, with parameters as $1, $2, …; neither COPY nor a statement that begins or ends a transaction
   * @param piece SQL with its values, of the tag `sql`, in place of text and values
   * @param values of the parameters, `[]` by default
   * @param options format, cache, paramTypes, decode, names, signal, statement_timeout
   * @param more values and options of a text that `npx quickgres types` knows
   * @returns resolves to the result when it is committed. Rejects as `query` does, and with the error of the commit, for
   *   example of a deferred constraint: the transaction is rolled back, and rejects with the same error. Later calls on
   *   the transaction reject with a UsageError (25P01). After a wrong argument nothing was sent, and it goes on
   */
  commit<X extends Listed = never, S = unknown, const B extends boolean | undefined = undefined>(
    this: S,
    text: X,
    ...more: Arguments<X, [options?: CommitOptions & InMode<B>]>
  ): Promise<RowReader<ListedRow<X, ModeOf<B, S>>>>;
  commit<T extends object = AnyColumns>(
    piece: UnnamedSql,
    ...more: OptionalDecoding<D, CommitOptions>
  ): Promise<RowReader<T>>;
  commit<T extends Columns<T, ColumnValue> = AnyColumns>(
    piece: UnnamedSql,
    options?: CommitOptions
  ): Promise<RowReader<T>>;
  commit<X extends Listed = never, S = unknown, const B extends boolean | undefined = undefined>(
    this: S,
    piece: NamedSql<X>,
    options?: CommitOptions & InMode<B>
  ): Promise<RowReader<ListedRow<X, ModeOf<B, S>>>>;
  commit<T extends object = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    ...more: ValuesAndDecoding<D, CommitOptions>
  ): Promise<RowReader<T>>;
  commit<T extends Columns<T, ColumnValue> = AnyColumns, X extends string = string>(
    text: OtherText<X>,
    values?: Values,
    options?: CommitOptions
  ): Promise<RowReader<T>>;
}

/** The events of a client, with their arguments. */
export interface ClientEvents {
  /** A notification on a channel that the connection listens on. */
  notification: [notification: Notification];
  /** A NoticeResponse. */
  notice: [fields: ServerFields];
  /** The server has reported a changed setting. */
  parameter: [name: string, value: string];
  /** The socket has taken what was written: copyData may continue. */
  drain: [];
  /** The connection was lost. Without a listener, the event does nothing. */
  error: [error: Error];
  /** A connection that was open is over, for whatever reason. */
  end: [];
}

/** One connection to a PostgreSQL server. `Client<false>` is one whose config has `decode: false`. */
export class Client<out D extends boolean = true> extends Session<D> {
  /** Text format of results. */
  static readonly STRING: 0;
  /** Binary format of results. */
  static readonly BINARY: 1;

  /**
   * @param config libpq's parameters as an object, a URL, or `key=value` pairs. An invalid one makes connect() reject
   */
  constructor(config?: Config<D> | string | GivenUrl);

  /**
   * Connects. Queries may be sent at once.
   * @param port in place of the config's; or, alone, socketPath, the path of a Unix socket
   * @param host in place of the config's, 'localhost' by default
   * @param ssl true, or options of tls.connect
   * @returns resolves when the server takes queries; rejects with a ConnectionError, a TimeoutError, the server's
   *   PostgresError, or a TypeError for an invalid config. connect() may then be called again. If queries were already
   *   waiting, they reject as well, and you may ignore this promise
   */
  connect(): Promise<void>;
  connect(port: number | string, host?: string, ssl?: ConnectionOptions | boolean): Promise<void>;
  connect(socketPath: string): Promise<void>;

  /**
   * Listens on a channel until the loop over it ends. Notifications that arrive meanwhile are kept.
   * @param channel its name
   * @param options session, signal
   * @returns an async iterable of notifications. Behind a pooler its `ready` and the loop reject with a
   *   ConnectionError (0A000), unless `session` is true
   * @throws {TypeError|RangeError} for an invalid name
   */
  listen(channel: string, options?: ListenOptions): Listener;

  /**
   * Starts a query whose rows `getResults` fetches. It owns the connection until it is over.
   * @param text SQL
   * @param values of the parameters
   * @param format of the columns, `Client.STRING` by default
   * @param cache false for a text that is used once
   * @throws {UsageError} if another one is open; for bad input a TypeError or RangeError
   */
  startQuery(text: string, values?: Values, format?: Format, cache?: boolean): void;

  /**
   * Fetches the next rows of the query that `startQuery` has started.
   * @param maxCount the most rows to fetch; 0, the default, for all
   * @param stream takes the result
   * @returns the result, whose `cmd` is SUSPENDED while there may be more rows; rejects with the error of the query
   *   or the connection, or with a UsageError (34000) if no query is open
   */
  getResults<T extends Columns<T, Decoded<D, ColumnValue>> = AnyColumns>(maxCount?: number): Promise<RowReader<T>>;
  getResults<S extends Receiver>(maxCount: number | undefined, stream: S): Promise<S>;

  /** Whether a query of `startQuery` may have more rows. */
  readonly inQuery: boolean;

  /**
   * Ends the query of `startQuery`; without one, waits until all earlier requests are over.
   * @param stream to resolve to
   * @returns rejects with the error that ends the query's transaction, for example of a deferred constraint, or with a
   *   ConnectionError
   */
  sync(stream?: RowReader<any>): Promise<RowReader>;

  /**
   * Sends data of the COPY FROM STDIN that `query` has begun, with rows split anywhere.
   * @param data bytes, or text
   * @returns false if a mebibyte or more is waiting: continue after the event 'drain'
   * @throws {UsageError} if no COPY is open
   */
  copyData(data: Uint8Array | string): boolean;

  /**
   * Ends the data of a COPY FROM STDIN.
   * @param stream to resolve to
   * @returns a result whose `rowCount` is that of the copied rows; rejects with the server's error
   */
  copyDone(stream?: RowReader<any>): Promise<RowReader>;

  /**
   * Makes a COPY FROM STDIN fail, so that nothing is stored.
   * @param reason for the server's log
   * @returns resolves when the server has confirmed it; rejects with an earlier error of the COPY, a ConnectionError,
   *   or a UsageError (55000) if no COPY is open
   */
  copyFail(reason?: string | Uint8Array): Promise<RowReader>;

  /**
   * Asks the server to cancel whatever it is running for this client. It has no effect on a query that the server has
   * not begun. To cancel one query and no other, pass a `signal`. You may await it before the query: a promise that it
   * makes reject, or a COPY stream that it destroys, needs no handler.
   * @returns resolves when the server has taken the request, which may be too early or too late; rejects with a
   *   ConnectionError if the server cannot be reached or the client is not connected (08003)
   */
  cancel(): Promise<void>;

  /**
   * Waits for all requests, then closes the connection. An open COPY of copyData fails, and a query of startQuery ends;
   * cursors, transactions and streams of copyFrom continue to their end.
   * @returns resolves when the connection is closed or lost; rejects with a UsageError (25001) inside the function of a
   *   transaction
   */
  end(): Promise<void>;
  /** Ends the client, for `await using`. @returns as `end` */
  [Symbol.asyncDispose](): Promise<void>;

  /** Closes the connection now, and rejects all requests. @param error the cause */
  destroy(error?: Error): void;
  /** Lets the connection keep the program running, which is the default. */
  ref(): void;
  /** Lets the program end although the connection is open. */
  unref(): void;
  /** @returns a plain object, for JSON.stringify */
  toJSON(): { state: string; pending: number; processId: number | undefined };

  /** The state of the connection; after 'closed', connect() may be called again. */
  readonly state: 'new' | 'connecting' | 'open' | 'ending' | 'closed';
  /** 'I' outside a transaction block, 'T' in one, 'E' in a failed one; undefined without a connection. */
  readonly transactionStatus: 'I' | 'T' | 'E' | undefined;
  /** Settings that the server reports: server_version, TimeZone, … */
  readonly serverParameters: Readonly<Record<string, string>>;
  /** Process id and secret, of which a CancelRequest is made. */
  readonly backendKey: Buffer | null;
  /** The server process. */
  readonly processId: number | undefined;
  /** Requests that are not over. */
  readonly pending: number;
  /** Bytes written that the socket has not taken. */
  readonly bufferedBytes: number;
  /** Resolves when the connection is over, with the error if there was one. */
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

/** The rows of a query in batches; `break` closes the cursor. */
export interface Cursor<T extends object = AnyColumns> {
  [Symbol.asyncIterator](): this;
  /**
   * @returns the next row; after the last one before an error, rejects once with the error of the query, the
   *   connection or the signal
   */
  next(): Promise<IteratorResult<T, undefined>>;
  /**
   * Closes the cursor, as `break` does.
   * @param value to be given back
   * @returns rejects with a ConnectionError if the connection is lost meanwhile
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /** Closes the cursor, for `await using`. @returns as `return` */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The bytes of a COPY … TO STDOUT. It emits the error of the query or the connection; destroying it cancels the COPY.
 */
export interface CopyTo extends Readable {
  /** Rows copied, set before the event 'end'. */
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
 * Takes the bytes of a COPY … FROM STDIN as Buffers, Uint8Arrays or strings, or rows. It emits the error of the query
 * or the connection. 'finish' says that the server has stored the rows, or will with the transaction. Destroying it
 * earlier makes the COPY fail.
 */
export interface CopyFrom extends Writable {
  /** Rows copied, set before the event 'finish'. */
  readonly rowCount: number | undefined;
  /** Bytes so far. */
  readonly bytes: number;
}

/** A notification, as NOTIFY sent it. */
export interface Notification {
  /** The server process of the notifying session. */
  processId: number;
  /** The name of the channel. */
  channel: string;
  /** The payload, '' if there is none. */
  payload: string;
}

/** The notifications on a channel, until `break` or `end()`. */
export interface Listener {
  /** The name of the channel. */
  readonly channel: string;
  /** Resolves when the server has begun to notify; rejects with the error of LISTEN, or the signal's reason. */
  readonly ready: Promise<unknown>;
  [Symbol.asyncIterator](): this;
  /**
   * @returns the next notification; rejects once with the error that ended it: of LISTEN, of the connection, the
   *   signal's reason, or that given to `end`
   */
  next(): Promise<IteratorResult<Notification, undefined>>;
  /**
   * Stops listening, as `break` does.
   * @param value to be given back
   * @returns resolves when the server has stopped notifying; never rejects
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
  /**
   * Stops listening.
   * @param error for the loop to throw
   * @returns resolves when the server has stopped notifying; never rejects
   */
  end(error?: unknown): Promise<void>;
  /** Stops listening, for `await using`. @returns as `end` */
  [Symbol.asyncDispose](): Promise<void>;
}

/* Configuration */

/** The end of a name that is checked, but not completed, as those of Config are. */
type Uncompleted = '' & { toString(): string };

/** A parameter as in a connection string. undefined, null and '' count as not given. */
type Setting = string | number | bigint | boolean | null | undefined;
type Choice<T> = T | '' | null | undefined;

/** The connection that needs a password. */
export interface PasswordRequest {
  /** The host. */
  host: string;
  /** Its port. */
  port: number;
  /** The user. */
  user: string;
  /** The database. */
  database: string;
}

/** Who issues the tokens that a server takes. */
export interface TokenIssuer {
  /** The issuer's identifier, a URL: compare it with the one that you trust. */
  issuer: string;
  /** URL of its discovery document. */
  openid_configuration: string;
  /** The scope that a token needs, if the server names one. */
  scope?: string;
}

/** The connection that needs an OAuth token. */
export interface TokenRequest extends PasswordRequest {
  /**
   * Asks the server who issues its tokens, on a connection of its own within the same `connect_timeout`.
   * @returns rejects with a ConnectionError, or with the server's PostgresError, if the server does not say
   */
  discover(): Promise<TokenIssuer>;
}

/** The server to connect to. */
export interface ServerAddress {
  /** Name or address. */
  host: string;
  /** Its port. */
  port: number;
}

/** A byte stream to use in place of a socket, or a function that opens one. */
export type ByteStream = Duplex | ((server: ServerAddress) => Duplex | Promise<Duplex>);

/**
 * Run-time parameters that a session can set, by PostgreSQL's names. For any other, write `options: '-c name=value'`.
 * https://www.postgresql.org/docs/current/runtime-config.html
 */
export type RuntimeParameter =
  | 'allow_in_place_tablespaces'
  | 'allow_system_table_mods'
  | 'array_nulls'
  | 'backend_flush_after'
  | 'backslash_quote'
  | 'backtrace_functions'
  | 'bytea_output'
  | 'check_function_bodies'
  | 'client_connection_check_interval'
  | 'client_min_messages'
  | 'commit_delay'
  | 'commit_siblings'
  | 'compute_query_id'
  | 'constraint_exclusion'
  | 'cpu_index_tuple_cost'
  | 'cpu_operator_cost'
  | 'cpu_tuple_cost'
  | 'createrole_self_grant'
  | 'cursor_tuple_fraction'
  | 'DateStyle'
  | 'datestyle'
  | 'deadlock_timeout'
  | 'debug_discard_caches'
  | 'debug_logical_replication_streaming'
  | 'debug_parallel_query'
  | 'debug_pretty_print'
  | 'debug_print_parse'
  | 'debug_print_plan'
  | 'debug_print_rewritten'
  | 'default_statistics_target'
  | 'default_table_access_method'
  | 'default_tablespace'
  | 'default_text_search_config'
  | 'default_toast_compression'
  | 'default_transaction_deferrable'
  | 'default_transaction_isolation'
  | 'default_transaction_read_only'
  | 'dynamic_library_path'
  | 'effective_cache_size'
  | 'effective_io_concurrency'
  | 'enable_async_append'
  | 'enable_bitmapscan'
  | 'enable_distinct_reordering'
  | 'enable_gathermerge'
  | 'enable_group_by_reordering'
  | 'enable_hashagg'
  | 'enable_hashjoin'
  | 'enable_incremental_sort'
  | 'enable_indexonlyscan'
  | 'enable_indexscan'
  | 'enable_material'
  | 'enable_memoize'
  | 'enable_mergejoin'
  | 'enable_nestloop'
  | 'enable_parallel_append'
  | 'enable_parallel_hash'
  | 'enable_partition_pruning'
  | 'enable_partitionwise_aggregate'
  | 'enable_partitionwise_join'
  | 'enable_presorted_aggregate'
  | 'enable_self_join_elimination'
  | 'enable_seqscan'
  | 'enable_sort'
  | 'enable_tidscan'
  | 'escape_string_warning'
  | 'event_triggers'
  | 'exit_on_error'
  | 'extension_control_path'
  | 'extra_float_digits'
  | 'file_copy_method'
  | 'force_parallel_mode'
  | 'from_collapse_limit'
  | 'geqo'
  | 'geqo_effort'
  | 'geqo_generations'
  | 'geqo_pool_size'
  | 'geqo_seed'
  | 'geqo_selection_bias'
  | 'geqo_threshold'
  | 'gin_fuzzy_search_limit'
  | 'gin_pending_list_limit'
  | 'hash_mem_multiplier'
  | 'icu_validation_level'
  | 'idle_in_transaction_session_timeout'
  | 'idle_session_timeout'
  | 'ignore_checksum_failure'
  | 'ignore_system_indexes'
  | 'intervalstyle'
  | 'IntervalStyle'
  | 'io_combine_limit'
  | 'jit'
  | 'jit_above_cost'
  | 'jit_debugging_support'
  | 'jit_dump_bitcode'
  | 'jit_expressions'
  | 'jit_inline_above_cost'
  | 'jit_optimize_above_cost'
  | 'jit_profiling_support'
  | 'jit_tuple_deforming'
  | 'join_collapse_limit'
  | 'lc_messages'
  | 'lc_monetary'
  | 'lc_numeric'
  | 'lc_time'
  | 'lo_compat_privileges'
  | 'local_preload_libraries'
  | 'lock_timeout'
  | 'log_connections'
  | 'log_disconnections'
  | 'log_duration'
  | 'log_error_verbosity'
  | 'log_executor_stats'
  | 'log_lock_failures'
  | 'log_lock_waits'
  | 'log_min_duration_sample'
  | 'log_min_duration_statement'
  | 'log_min_error_statement'
  | 'log_min_messages'
  | 'log_parameter_max_length'
  | 'log_parameter_max_length_on_error'
  | 'log_parser_stats'
  | 'log_planner_stats'
  | 'log_replication_commands'
  | 'log_statement'
  | 'log_statement_sample_rate'
  | 'log_statement_stats'
  | 'log_temp_files'
  | 'log_transaction_sample_rate'
  | 'logical_decoding_work_mem'
  | 'maintenance_io_concurrency'
  | 'maintenance_work_mem'
  | 'max_parallel_maintenance_workers'
  | 'max_parallel_workers'
  | 'max_parallel_workers_per_gather'
  | 'max_stack_depth'
  | 'md5_password_warnings'
  | 'min_parallel_index_scan_size'
  | 'min_parallel_table_scan_size'
  | 'parallel_leader_participation'
  | 'parallel_setup_cost'
  | 'parallel_tuple_cost'
  | 'password_encryption'
  | 'plan_cache_mode'
  | 'post_auth_delay'
  | 'quote_all_identifiers'
  | 'random_page_cost'
  | 'recursive_worktable_factor'
  | 'restrict_nonsystem_relation_kind'
  | 'role'
  | 'row_security'
  | 'scram_iterations'
  | 'search_path'
  | 'seq_page_cost'
  | 'session_authorization'
  | 'session_preload_libraries'
  | 'session_replication_role'
  | 'standard_conforming_strings'
  | 'statement_timeout'
  | 'stats_fetch_consistency'
  | 'synchronize_seqscans'
  | 'synchronous_commit'
  | 'tcp_keepalives_count'
  | 'tcp_keepalives_idle'
  | 'tcp_keepalives_interval'
  | 'temp_buffers'
  | 'temp_file_limit'
  | 'temp_tablespaces'
  | 'TimeZone'
  | 'timezone'
  | 'timezone_abbreviations'
  | 'trace_notify'
  | 'trace_sort'
  | 'track_activities'
  | 'track_cost_delay_timing'
  | 'track_counts'
  | 'track_functions'
  | 'track_io_timing'
  | 'track_wal_io_timing'
  | 'transaction_deferrable'
  | 'transaction_isolation'
  | 'transaction_read_only'
  | 'transaction_timeout'
  | 'transform_null_equals'
  | 'update_process_title'
  | 'vacuum_buffer_usage_limit'
  | 'vacuum_cost_delay'
  | 'vacuum_cost_limit'
  | 'vacuum_cost_page_dirty'
  | 'vacuum_cost_page_hit'
  | 'vacuum_cost_page_miss'
  | 'vacuum_failsafe_age'
  | 'vacuum_freeze_min_age'
  | 'vacuum_freeze_table_age'
  | 'vacuum_max_eager_freeze_failure_rate'
  | 'vacuum_multixact_failsafe_age'
  | 'vacuum_multixact_freeze_min_age'
  | 'vacuum_multixact_freeze_table_age'
  | 'vacuum_truncate'
  | 'wal_compression'
  | 'wal_consistency_checking'
  | 'wal_init_zero'
  | 'wal_recycle'
  | 'wal_sender_timeout'
  | 'wal_skip_threshold'
  | 'work_mem'
  | 'xmlbinary'
  | 'xmloption'
  | 'zero_damaged_pages';

/**
 * libpq's connection parameters, those of this library (lib/core/config/README.md), and run-time parameters. Anything
 * you omit is taken from the environment (PGHOST, PGUSER, …), then the default.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
export interface Config<D extends boolean = true> {
  /** A `postgresql://` URL or a `key=value` string, beside options such as `decode`. Default: none. */
  connectionString?: string | URL | null | undefined;
  /**
   * Name, address, or directory of a Unix socket; several with commas. Default: this machine's socket, or
   * 'localhost'. Variable: PGHOST.
   */
  host?: Choice<string>;
  /** Address to connect to instead of resolving `host`. Default: none. Variable: PGHOSTADDR. */
  hostaddr?: Choice<string>;
  /** 1 to 65535, one for all hosts or one for each, with commas. Default: 5432. Variable: PGPORT. */
  port?: Choice<number | string>;
  /** Default: the system's user. Variable: PGUSER. */
  user?: Choice<string>;
  /** Default: the user's name. */
  database?: Choice<string>;
  /** The same as `database`. Variable: PGDATABASE. */
  dbname?: Choice<string>;
  /**
   * The password, or a function that is called for each connection. Default: that in the `passfile`. Variable:
   * PGPASSWORD.
   */
  password?: Choice<string | ((to: PasswordRequest) => string | Promise<string>)>;
  /**
   * The bearer token for a server that asks for OAuth (PostgreSQL 18), or a function that is called for each connection
   * that needs one. It goes to another host over TLS alone. Default: none.
   */
  oauth_token?: Choice<string | ((to: TokenRequest) => string | Promise<string>)>;
  /** Password file, ignored if other users may read it. Default: ~/.pgpass. Variable: PGPASSFILE. */
  passfile?: Choice<string>;
  /** The name in pg_stat_activity. Default: `fallback_application_name`. Variable: PGAPPNAME. */
  application_name?: Choice<string>;
  /** The name if there is no application_name. Default: none. */
  fallback_application_name?: Choice<string>;
  /** Options for the server process, for example -c geqo=off. Default: none. Variable: PGOPTIONS. */
  options?: Choice<string>;
  /** 'database' for logical replication. Default: an ordinary connection. */
  replication?: Choice<'database' | 'true' | 'false' | boolean>;
  /** Only UTF8, the default. */
  client_encoding?: Choice<string>;
  /**
   * Seconds for each address; 0: no limit, in a pool 2 for each of several hosts and 30 for the only one. Default: 0.
   * Variable: PGCONNECT_TIMEOUT.
   */
  connect_timeout?: Choice<number | string>;
  /** Whether the system probes a silent connection. Default: true. */
  keepalives?: Choice<boolean | number | string>;
  /** Seconds of silence before the first probe. Default: 0, the system's. */
  keepalives_idle?: Choice<number | string>;
  /** Ignored, since Node.js cannot set it. Default: none. */
  keepalives_interval?: Choice<number | string>;
  /** Ignored, since Node.js cannot set it. Default: none. */
  keepalives_count?: Choice<number | string>;
  /** Ignored, since Node.js cannot set it. Default: none. */
  tcp_user_timeout?: Choice<number | string>;
  /** Default: 'prefer'; 'disable' for localhost and loopback addresses. Variable: PGSSLMODE. */
  sslmode?: Choice<'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'>;
  /**
   * 'direct': TLS without asking the server first, with PostgreSQL 17 and `sslmode` require or more. Default:
   * 'postgres'. Variable: PGSSLNEGOTIATION.
   */
  sslnegotiation?: Choice<'postgres' | 'direct'>;
  /**
   * File of certificate authorities, or 'system', by which `sslmode` is verify-full. Default: ~/.postgresql/root.crt.
   * Variable: PGSSLROOTCERT.
   */
  sslrootcert?: Choice<string>;
  /** File of the client certificate. Default: ~/.postgresql/postgresql.crt. Variable: PGSSLCERT. */
  sslcert?: Choice<string>;
  /** File of the client's key. Default: ~/.postgresql/postgresql.key. Variable: PGSSLKEY. */
  sslkey?: Choice<string>;
  /** Password of that key. Default: none. */
  sslpassword?: Choice<string>;
  /** 'disable': send no client certificate. Default: 'allow'. Variable: PGSSLCERTMODE. */
  sslcertmode?: Choice<'allow' | 'disable'>;
  /** Whether to send the host's name (SNI). Default: true. Variable: PGSSLSNI. */
  sslsni?: Choice<boolean | number | string>;
  /** Default: TLSv1.2. Variable: PGSSLMINPROTOCOLVERSION. */
  ssl_min_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  /** Default: the newest. Variable: PGSSLMAXPROTOCOLVERSION. */
  ssl_max_protocol_version?: Choice<'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3'>;
  /**
   * Options of tls.connect; true: TLS with certificate verification, unless NODE_TLS_REJECT_UNAUTHORIZED is 0 as for
   * tls.connect; false: no TLS. Default: according to `sslmode`.
   */
  ssl?: ConnectionOptions | boolean | null | undefined;
  /**
   * Authentication methods that are allowed, or with ! forbidden: none, password, md5, scram-sha-256, oauth; several
   * with commas. Default: any. Variable: PGREQUIREAUTH.
   */
  require_auth?: Choice<string>;
  /** Channel binding of SCRAM to TLS. Default: 'prefer'. Variable: PGCHANNELBINDING. */
  channel_binding?: Choice<'disable' | 'prefer' | 'require'>;
  /** Which kind of server is accepted. Default: 'any'. Variable: PGTARGETSESSIONATTRS. */
  target_session_attrs?: Choice<'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'>;
  /** 'random': try hosts and addresses in random order. Default: 'disable'. Variable: PGLOADBALANCEHOSTS. */
  load_balance_hosts?: Choice<'disable' | 'random'>;
  /** Default: '3.0'. Variable: PGMINPROTOCOLVERSION. */
  min_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  /**
   * '3.2', which is 'latest', needs PostgreSQL 18. Default: as `min_protocol_version`. Variable:
   * PGMAXPROTOCOLVERSION.
   */
  max_protocol_version?: Choice<'3.0' | '3.2' | 'latest'>;
  /** Ignored. Default: none. Variable: PGGSSENCMODE. */
  gssencmode?: Choice<'disable' | 'prefer'>;
  /** A byte stream in place of a socket, or a function that opens one for each connection. Default: a socket. */
  socket?: ByteStream | null | undefined;
  /** The most prepared statements kept, of at most 512 kB of text together; 0 for transaction poolers. Default: 256. */
  statement_cache?: Choice<number | string>;
  /**
   * The most requests of a connection that were sent and not answered: 1 for no pipelining, 0 for no limit. Default: no
   * limit, but 1 behind a pooler that is not known to be safe: an old PgBouncer gives a client the answers of another
   * one that has left. 1 at `*.pooler.supabase.com:6543`, where `statement_cache` is 0 by default.
   */
  max_pipeline?: Choice<number | string>;
  /** The most bytes of a connection's results that may wait for slow targets. Default: 67108864. */
  max_buffer_bytes?: Choice<number | string>;
  /**
   * 'camel': `user_id` is `userId` in rows, JSON and streams, and `sql.values` and `sql.set` write it back. An underscore
   * stays at the beginning of a name, and before anything but a small letter. Default: names are as the server has them.
   */
  names?: 'camel' | null | undefined;
  /** What columns become, unless a query says otherwise. Default: true. */
  decode?: D | Exclude<Decode, boolean> | null | undefined;
  /** Run-time parameters, and those of extensions, for example `'app.user'`. Default: the server's. */
  [parameter: `${RuntimeParameter}${Uncompleted}` | `${string}.${string}`]: Setting;
}

/* Errors */

/** Fields of an ErrorResponse or NoticeResponse, as the server sends them. */
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
 * An error that the server reported. Absent fields are undefined.
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
  /** Details of the problem. */
  detail?: string;
  /** A suggestion, the server's or the library's. */
  hint?: string;
  /** In characters of the query text, from 1. */
  position?: number;
  /** In characters of internalQuery, from 1. */
  internalPosition?: number;
  /** The text of a statement that the server made. */
  internalQuery?: string;
  /** The functions and statements in which the error occurred; for COPY, the input line. */
  where?: string;
  /** The schema concerned. */
  schema?: string;
  /** The table concerned. */
  table?: string;
  /** The column concerned. */
  column?: string;
  /** The data type concerned. */
  dataType?: string;
  /** The constraint concerned. */
  constraint?: string;
  /** File in PostgreSQL's source. */
  file?: string;
  /** Line in PostgreSQL's source. */
  line?: number;
  /** Routine in PostgreSQL's source. */
  routine?: string;
  /** Where `position` is in the query text: line and column in characters, from 1. */
  at?: { line: number; column: number };
  /** The SQL of the request, without its values. It is not enumerable, so that no log prints it unasked. */
  query?: string | undefined;
  /** The index of the query in a batch. */
  index?: number;
}

/** What the errors of this library have. */
declare class OwnError extends Error {
  /** The underlying error, unless the message says what that says: logs would print it twice. */
  cause?: unknown;
  /** Whether a lost request had been sent, so that the server may have executed it; false if it surely has not. */
  sent?: boolean;
  /** The SQL of the request, without its values. It is not enumerable, so that no log prints it unasked. */
  query?: string | undefined;
}

/** The connection could not be made, was refused by the client, broke, or is over. */
export class ConnectionError extends OwnError {
  /** @param message what happened @param more its code, its cause, and whether the request was sent */
  constructor(message: string, more?: { code?: string; cause?: unknown; sent?: boolean });
  /** The name of the class. */
  readonly name: 'ConnectionError';
  /** The system's code (ECONNREFUSED, …), or an SQLSTATE of class 08 or 28; 53300 if a Live has no room. */
  code: string;
  /** The number of the system's error. */
  errno?: number | string;
  /** The system call that failed, for example 'connect'. */
  syscall?: string;
  /** The address, or the path of the Unix socket, of the system's error. */
  address?: string;
  /** The port of the system's error. */
  port?: number;
  /** The name that was looked up. */
  hostname?: string;
}

/** A request was ended by its signal; `cause` is the signal's reason. */
export class AbortError extends OwnError {
  /** @param message what was ended @param cause the signal's reason */
  constructor(message: string, cause?: unknown);
  /** The name of the class. */
  readonly name: 'AbortError';
  /** Always 'ABORT_ERR', as in Node.js. */
  code: 'ABORT_ERR';
}

/**
 * A time limit of this library has passed: `statement_timeout` or `stall_timeout` (57014), `acquire_timeout` (53300 if
 * all connections were in use, 08001 if none could be made), `connect_timeout` (08001).
 */
export class TimeoutError extends OwnError {
  /** @param message which limit has passed @param more its code, its cause, and whether the request was sent */
  constructor(message: string, more: { code: string; cause?: unknown; sent?: boolean });
  /** The name of the class. */
  readonly name: 'TimeoutError';
  /** The SQLSTATE that fits. */
  code: string;
}

/** The library was used incorrectly, for example `client.query` inside `client.transaction`. */
export class UsageError extends OwnError {
  /**
   * @param message what is wrong, and what to do @param code the SQLSTATE that fits @param cause the underlying error
   */
  constructor(message: string, code: string, cause?: Error);
  /** The name of the class. */
  readonly name: 'UsageError';
  /** The SQLSTATE that fits. */
  code: string;
}

/* Tracing */

/**
 * The object that `tracingChannel('quickgres:query')` of node:diagnostics_channel publishes, one for all events of a
 * query. It contains no parameter values and no rows. `start` and `end` surround the call, also in a pool. `error`
 * follows a failure, also without a connection. `asyncStart` and `asyncEnd` come right before the promise settles; then
 * `result` or `error` is set.
 *
 * ```ts
 * const channel = tracingChannel<unknown, TracedQuery>('quickgres:query');
 * channel.asyncEnd.subscribe(message => {
 *   const { text, duration } = message as TracedQuery;
 *   if (duration! > 200) console.log(text, duration);
 * });
 * ```
 */
export interface TracedQuery {
  /** SQL; the texts of a batch are joined by `; `. */
  readonly text: string;
  /** The number of queries in a batch; undefined for a single query. */
  readonly batchSize: number | undefined;
  /** Milliseconds from the call until it was sent; undefined until then. */
  readonly waited: number | undefined;
  /** Milliseconds until the first byte of the answer, from when it was sent; undefined until then. */
  readonly firstByte: number | undefined;
  /** Milliseconds from the call until it was over; undefined until then. */
  readonly duration: number | undefined;
  /** Set after success: `cmd` of a single command, `rowCount` of all. */
  readonly result: { cmd: string | undefined; rowCount: number } | undefined;
  /** Set after a failure. */
  readonly error: Error | undefined;
  /** Host name, address or socket path. This and the following fields are undefined before there is a connection. */
  readonly host: string | undefined;
  /** The port; undefined for a socket path. */
  readonly port: number | undefined;
  /** The database. */
  readonly database: string | undefined;
  /** The user. */
  readonly user: string | undefined;
  /** The server process. */
  readonly processId: number | undefined;
}

export {};

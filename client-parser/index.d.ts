// Types of client-parser. Needs the DOM's types, or Node's, for Response, ReadableStream and AbortSignal.

/** What a column is in a RowDescription. */
export interface Column {
  /** The column's name; not necessarily the only one of this name. */
  readonly name: string;
  /** OID of its table, or 0. */
  readonly tableOid: number;
  /** Number of the column in its table, from 1, or 0. */
  readonly tableColumnIndex: number;
  /** OID of its type, as in pg_type. */
  readonly typeOid: number;
  /** Bytes of a type of fixed size, or negative. */
  readonly typeLen: number;
  /** As in pg_attribute.atttypmod. */
  readonly typeModifier: number;
  /** Format of its values: 0 text, 1 binary. */
  readonly binary: 0 | 1;
}

/** What JSON.parse gives. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** What a column is without decoders: a string, or bytes where it is binary. */
export type Raw = string | Uint8Array | null;

/** What a column is after decoders of this module. */
export type Decoded = null | boolean | number | bigint | string | Uint8Array | Date | Json | Decoded[];

/** Decodes the bytes from `start` to `end`. */
export type Decoder<T = unknown> = (bytes: Uint8Array, start: number, end: number) => T;

/** Decoders of a type's values in text and in binary. */
export type DecoderPair<T = unknown> = readonly [text: Decoder<T>, binary: Decoder<T>];

/**
 * Decoders by type OID: a function of the value as it is without decoders and of its column, or a pair as in
 * `decoders`. Columns of other types stay as they are.
 */
export interface DecoderMap {
  /** The value is a string, or a Uint8Array where the column is binary; never null. */
  readonly [typeOid: number]: DecoderPair<any> | ((value: any, column: Column) => unknown);
}

/** true: the built-in decoders; false: none. */
export type Decode = boolean | DecoderMap | ReadonlyMap<number, DecoderMap[number]>;

/**
 * What every row has, whatever its columns. Columns are no own properties: `{ ...row }` has none of them. Take
 * `toObject()`, or the reader's `objects`.
 */
export interface RowMembers<T extends object> {
  /** @returns the columns as own properties; of several with one name the last counts */
  toObject(): T;
  /** @returns the columns in their order */
  toArray(): Array<T[keyof T]>;
  /** @returns what JSON.stringify sees: that of toObject() */
  toJSON(): T;
  /**
   * A column, also where it is named like a member.
   * @param name of several with one name the last counts
   * @param index from 0
   * @returns undefined where there is none
   */
  get<K extends keyof T>(name: K): T[K];
  get(index: number): T[keyof T] | undefined;
  get(name: string): T[keyof T] | undefined;
  [Symbol.iterator](): IterableIterator<T[keyof T]>;
  /** The DataRow message, a view of the memory it arrived in. */
  readonly rowBuffer: Uint8Array;
  /** The RowDescription that the row is read by. */
  readonly rowParser: RowParser;
  /** The descriptions of the columns. */
  readonly rowColumns: readonly Column[];
  /** How many columns there are. */
  readonly columnCount: number;
  /** 0 text (or both), 1 binary. */
  readonly dataFormat: 0 | 1;
  /** Columns by index from 0. */
  readonly [index: number]: T[keyof T];
}

/** A row of which the columns' names are not known. */
export type AnyRow = Row<Record<string, any>>;

/** A row: its members, and its columns by name, which are decoded when they are read. */
export type Row<T extends object = Record<string, any>> =
  RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/** A RowDescription and the classes of its rows. */
export class RowParser {
  /**
   * @param bytes which hold a RowDescription message
   * @param start offset of its first byte, 0 unless given
   * @throws {ProtocolError} if it is malformed
   */
  constructor(bytes: Uint8Array, start?: number);
  /** The descriptions of the columns. */
  readonly columns: readonly Column[];
  /** The names of the columns, in their order. */
  readonly columnNames: readonly string[];
  /** Class of the rows in the format of the description. */
  readonly 0: new <T extends object = Record<string, any>>(bytes: Uint8Array, offset?: number) => Row<T>;
  /** Class of the rows in binary format. */
  readonly 1: new <T extends object = Record<string, any>>(bytes: Uint8Array, offset?: number) => Row<T>;
}

/** Options of a reader. */
export interface ReaderOptions {
  /**
   * true: the built-in decoders; a map: these; false: columns are strings, or Uint8Arrays where binary.
   * Default: binary columns alone are decoded, by TypeParser.
   */
  decode?: Decode;
}

/** Takes messages and makes rows of them. */
export class RowReader<T extends object = Record<string, any>> {
  /** @param options decode; binary: 1 where columns are binary though their description does not say so */
  constructor(options?: ReaderOptions & { binary?: 0 | 1 | boolean });
  /**
   * The rows so far: with `decode` plain objects, made when you read them, else the same as `structs`. For a COPY, the
   * Uint8Array of each CopyData message. To set them forgets what came before.
   */
  rows: T[];
  /** The rows so far as structs, which read a column when you ask for it. */
  readonly structs: Row<T>[];
  /** The rows so far as plain objects, made at each reading: own properties, in the order of the columns. */
  readonly objects: T[];
  /** The rows so far as arrays of their values, made at each reading. */
  readonly arrays: Array<T[keyof T]>[];
  /** The command tag without its numbers; EMPTY, SUSPENDED or COPY. */
  cmd: string | undefined;
  /** The OID in an INSERT's tag. */
  oid: string | undefined;
  /** Rows that the command says to have returned or changed. */
  rowCount: number;
  /** 1 where columns are binary though their description does not say so. */
  binary: 0 | 1 | boolean;
  /** The RowDescription of the rows; undefined where the command returns none. */
  rowParser: RowParser | undefined;
  /** Whether the stream may end here. */
  complete: boolean;
  /** Of a COPY: 0 text, 1 binary. */
  format?: number;
  /** Of a COPY: how many columns there are. */
  columnCount?: number;
  /** Of a COPY: the format of each column, 0 text, 1 binary. */
  columnFormats?: number[];
  /**
   * Takes one whole message.
   * @param bytes of the message, header and all; they are kept, not copied
   * @throws {PostgresError} for an ErrorResponse
   * @throws {ProtocolError} if it is malformed
   */
  write(bytes: Uint8Array): void;
}

/** Parses results as they arrive. */
export class Client<T extends object = Record<string, any>> {
  /**
   * @param binary 1 where columns are binary though their RowDescription does not say so
   * @param options decode
   */
  constructor(binary?: 0 | 1 | boolean, options?: ReaderOptions);
  /** What takes the messages, and has the rows. */
  stream: RowReader<T>;
  /**
   * Takes the next bytes, cut anywhere; they are kept, not copied.
   * @param data the bytes
   * @throws {PostgresError} for an ErrorResponse; what came behind it is read by the next call
   * @throws {ProtocolError} if they are malformed
   */
  onData(data: ArrayBufferLike | ArrayBufferView): void;
  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} 08006 if the last result is not complete
   */
  end(): void;
}

/** Options of `rows`. */
export interface RowsOptions {
  /**
   * Rows are plain objects of values, decoded by: true: `decoders`; a map: these. Default: structs, whose columns are strings,
   * or Uint8Arrays if they are binary.
   */
  decode?: Decode;
  /** Stops reading and cancels the source. Default: none. */
  signal?: AbortSignal;
}

type Bytes = ArrayBufferLike | ArrayBufferView;

/** Where the bytes of a result can come from. */
export type Source =
  Response | ReadableStream<Uint8Array> | Blob | Bytes | Iterable<Bytes> | AsyncIterable<Bytes>;

/** An async iterable of rows, and what is known of their result so far. */
export interface Rows<R> {
  /** For `for await`, which takes rows that are there without a promise for each. */
  [Symbol.asyncIterator](): AsyncIterator<R, undefined>;
  /** What `for await` calls. @returns the next row; rejects as `rows` says */
  next(): Promise<IteratorResult<R, undefined>>;
  /** Descriptions of the columns; undefined before the first bytes are read. */
  readonly columns: readonly Column[] | undefined;
  /** The RowDescription of the rows; undefined before the first bytes are read. */
  readonly rowParser: RowParser | undefined;
  /** The command tag without its numbers; undefined before the end. */
  readonly cmd: string | undefined;
  /** Rows that the command says to have returned or changed; 0 before the end. */
  readonly rowCount: number;
  /** Bytes read so far. */
  readonly bytes: number;
  /** The rows as they come. @returns an iterator of arrays: of all rows that a chunk completes */
  batches(): AsyncGenerator<R[], void, void>;
  /**
   * Stops reading and cancels the source; what `break` calls.
   * @param value to be given back
   * @returns resolves when the source is cancelled; rejects with what that throws
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
}

/**
 * Reads rows from wherever the bytes come from, as they come. Where a Response or Blob says by its type that it is
 * newline-delimited JSON (application/x-ndjson), rows are plain objects. After the rows that came before, it throws a
 * PostgresError for an ErrorResponse, a ProtocolError for bytes that are malformed or end too early, a
 * ResponseError for a response that is not ok, the signal's reason, or what the source throws.
 *
 * T is what a row's columns are: `rows<{ id: number, name: string }>(response, { decode: true })`.
 * @param source of the bytes, or the promise of it
 * @param options decode, signal
 * @returns an async iterable of rows; `break` cancels the source
 */
export function rows<T extends object = Record<string, any>>(
  source: Source | PromiseLike<Source>, options: RowsOptions & { decode: Exclude<Decode, boolean> | true }): Rows<T>;
export function rows<T extends object = Record<string, any>>(
  source: Source | PromiseLike<Source>, options?: RowsOptions): Rows<Row<T>>;

/**
 * An ErrorResponse of the server, every field by its name; absent fields are undefined.
 * https://www.postgresql.org/docs/current/protocol-error-fields.html
 */
export class PostgresError extends Error {
  /** @param fields by name, as the server sends them */
  constructor(fields: Readonly<Record<string, string>>);
  /** The name of the class. */
  readonly name: 'PostgresError';
  /** ERROR, FATAL or PANIC, never translated. */
  readonly severity?: string;
  /** SQLSTATE. */
  readonly code?: string;
  /** More about the problem. */
  readonly detail?: string;
  /** What might help. */
  readonly hint?: string;
  /** In characters of the query, from 1. */
  readonly position?: number;
  /** In characters of internalQuery, from 1. */
  readonly internalPosition?: number;
  /** The text of a statement that the server made itself. */
  readonly internalQuery?: string;
  /** The functions and statements in which it came up. */
  readonly where?: string;
  /** Schema of what it is about. */
  readonly schema?: string;
  /** Table that it is about. */
  readonly table?: string;
  /** Column that it is about. */
  readonly column?: string;
  /** Data type that it is about. */
  readonly dataType?: string;
  /** Constraint that it is about. */
  readonly constraint?: string;
  /** File of the server's source. */
  readonly file?: string;
  /** Line of the server's source. */
  readonly line?: number;
  /** Routine of the server's source. */
  readonly routine?: string;
}

/** The bytes are malformed (08P01) or end too early (08006). */
export class ProtocolError extends Error {
  /** @param message what is wrong @param code 08P01 unless given */
  constructor(message: string, code?: '08P01' | '08006');
  /** The name of the class. */
  readonly name: 'ProtocolError';
  /** 08P01 malformed, 08006 ended too early. */
  readonly code: '08P01' | '08006';
}

/** The response's status says that it does not hold rows. */
export class ResponseError extends Error {
  /** @param response that is not ok */
  constructor(response: Response);
  /** The name of the class. */
  readonly name: 'ResponseError';
  /** The status of the response. */
  readonly status: number;
  /** Its body has not been read. */
  readonly response: Response;
}

/** Decoders of binary values by type OID, which a Client and a RowReader use without `decode`; yours may be added. */
export const TypeParser: {
  /**
   * A value in binary: boolean → bool, integer of 32 bits → int4, other number → float4, bigint → int8,
   * string → text, Uint8Array → bytea, other object → json.
   * @param value what to write
   * @returns null for null, undefined for what has no binary form
   */
  serialize(value: null): null;
  serialize(value: boolean | number | bigint | string | object): Uint8Array;
  serialize(value: unknown): Uint8Array | null | undefined;
  [typeOid: number]: Decoder<any>;
};

/** The built-in decoders by type OID. */
export const decoders: Readonly<Record<number, DecoderPair<any>>>;

/**
 * Decoders that lose nothing: of int8 to bigint, of timestamptz to a string with microseconds, and of arrays of both.
 * Use them as `{ ...decoders, ...exact }`.
 */
export const exact: Readonly<Record<number, DecoderPair<any>>>;

/**
 * Decoders of the arrays of a type: nested arrays, null for NULL; lower bounds are dropped.
 * @param element decoders of text and of binary values
 * @returns the same of the arrays
 */
export function arrayOf<T>(element: DecoderPair<T>): DecoderPair<Array<T | null>>;

/**
 * Decodes UTF-8.
 * @param bytes which hold the text
 * @param start offset of its first byte
 * @param end offset behind its last byte
 * @returns the text
 */
export function text(bytes: Uint8Array, start: number, end: number): string;

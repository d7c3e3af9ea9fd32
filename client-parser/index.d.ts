// Needs the DOM's or Node's types for Response, ReadableStream and AbortSignal.

/** A column of a RowDescription. */
export interface Column {
  /** The name, which other columns may share. */
  readonly name: string;
  /** OID of the table, or 0. */
  readonly tableOid: number;
  /** Number of the column in its table, from 1, or 0. */
  readonly tableColumnIndex: number;
  /** OID of the type, as in pg_type. */
  readonly typeOid: number;
  /** Size of the type in bytes, negative for variable sizes. */
  readonly typeLen: number;
  /** As in pg_attribute.atttypmod. */
  readonly typeModifier: number;
  /** 0 text, 1 binary. */
  readonly binary: 0 | 1;
}

/** The result of JSON.parse. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** A column without decoders: a string, or bytes in binary format. */
export type Raw = string | Uint8Array | null;

/** A column after this module's decoders. */
export type Decoded = null | boolean | number | bigint | string | Uint8Array | Date | Json | Decoded[];

/** Decodes the bytes from `start` to `end`. */
export type Decoder<T = unknown> = (bytes: Uint8Array, start: number, end: number) => T;

/** Decoders of a type's text and binary values. */
export type DecoderPair<T = unknown> = readonly [text: Decoder<T>, binary: Decoder<T>];

/**
 * Decoders by type OID: a function of the raw value and its column, or a pair as in `decoders`. Columns of other types
 * stay raw.
 */
export interface DecoderMap {
  /** The value is a string, or a Uint8Array in binary format; never null. */
  readonly [typeOid: number]: DecoderPair<any> | ((value: any, column: Column) => unknown);
}

/** true: the built-in decoders; false: none. */
export type Decode = boolean | DecoderMap | ReadonlyMap<number, DecoderMap[number]>;

/**
 * The members of every row. Columns are not own properties, so `{ ...row }` does not contain them: use `toObject()`, or
 * the reader's `objects`.
 */
export interface RowMembers<T extends object> {
  /** @returns a plain object; of several columns with one name, the last counts */
  toObject(): T;
  /** @returns the values in column order */
  toArray(): Array<T[keyof T]>;
  /** @returns `toObject()`, for JSON.stringify */
  toJSON(): T;
  /**
   * Reads any column, even one that is named like a member.
   * @param name of the column; of several, the last
   * @param index from 0
   * @returns undefined if there is no such column
   */
  get<K extends keyof T>(name: K): T[K];
  get(index: number): T[keyof T] | undefined;
  get(name: string): T[keyof T] | undefined;
  [Symbol.iterator](): IterableIterator<T[keyof T]>;
  /** The whole DataRow message, as a view. */
  readonly rowBuffer: Uint8Array;
  /** The RowDescription of the row. */
  readonly rowParser: RowParser;
  /** The descriptions of the columns. */
  readonly rowColumns: readonly Column[];
  /** The number of columns. */
  readonly columnCount: number;
  /** 0 text (or both), 1 binary. */
  readonly dataFormat: 0 | 1;
  /** Columns by index from 0. */
  readonly [index: number]: T[keyof T];
}

/** A row of unknown columns. */
export type AnyRow = Row<Record<string, any>>;

/** A row: its members, and its columns by name, which are decoded when you read them. */
export type Row<T extends object = Record<string, any>> = RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/** A RowDescription and the classes of its rows. */
export class RowParser {
  /**
   * @param bytes with a RowDescription message
   * @param start offset of the message, 0 by default
   * @throws {ProtocolError} if it is malformed
   */
  constructor(bytes: Uint8Array, start?: number);
  /** The descriptions of the columns. */
  readonly columns: readonly Column[];
  /** The names of the columns, in their order. */
  readonly columnNames: readonly string[];
  /** Class of rows in the description's format. */
  readonly 0: new <T extends object = Record<string, any>>(bytes: Uint8Array, offset?: number) => Row<T>;
  /** Class of rows in binary format. */
  readonly 1: new <T extends object = Record<string, any>>(bytes: Uint8Array, offset?: number) => Row<T>;
}

/** Options of a reader. */
export interface ReaderOptions {
  /**
   * true: the built-in decoders; a map: its decoders; false: strings, or Uint8Arrays in binary format. Default:
   * TypeParser decodes binary columns.
   */
  decode?: Decode | undefined;
}

/** Takes messages and makes rows. */
export class RowReader<T extends object = Record<string, any>> {
  /** @param options decode; binary: 1 for binary columns whose description does not say so */
  constructor(options?: ReaderOptions & { binary?: 0 | 1 | boolean | undefined });
  /**
   * The rows so far, as structs, which decode a column when you read it. For a COPY, the Uint8Array of each message.
   * Setting it forgets what came before.
   */
  rows: Row<T>[];
  /** The same as `rows`. */
  readonly structs: Row<T>[];
  /** The rows so far as plain objects, made at each reading. */
  readonly objects: T[];
  /** The rows so far as arrays of values, made at each reading. */
  readonly arrays: Array<T[keyof T]>[];
  /** The command tag without numbers; EMPTY, SUSPENDED or COPY. */
  cmd: string | undefined;
  /** The OID in an INSERT's tag. */
  oid: string | undefined;
  /** The number of rows in the command tag. */
  rowCount: number;
  /** 1 for binary columns whose description does not say so. */
  binary: 0 | 1 | boolean;
  /** The RowDescription; undefined if the command returns no rows. */
  rowParser: RowParser | undefined;
  /** Whether the stream may end here. */
  complete: boolean;
  /** COPY: 0 text, 1 binary. */
  format?: number;
  /** COPY: the number of columns. */
  columnCount?: number;
  /** COPY: the format of each column, 0 text, 1 binary. */
  columnFormats?: number[];
  /**
   * @param bytes of one whole message, which are kept, not copied
   * @throws {PostgresError} for an ErrorResponse
   * @throws {ProtocolError} if it is malformed
   */
  write(bytes: Uint8Array): void;
}

/** Parses results as they arrive. */
export class Client<T extends object = Record<string, any>> {
  /**
   * @param binary 1 for binary columns whose description does not say so
   * @param options decode
   */
  constructor(binary?: 0 | 1 | boolean, options?: ReaderOptions);
  /** Takes the messages, and has the rows. */
  stream: RowReader<T>;
  /**
   * Takes the next bytes, split anywhere.
   * @param data kept, not copied
   * @throws {PostgresError} for an ErrorResponse; the next call reads what follows it
   * @throws {ProtocolError} for malformed bytes
   */
  onData(data: ArrayBufferLike | ArrayBufferView): void;
  /**
   * Ends the input.
   * @throws {ProtocolError} 08006 if the last result is incomplete
   */
  end(): void;
}

/** Options of `rows`. */
export interface RowsOptions {
  /**
   * What columns become: true, by `decoders`; a map, by its decoders; false, strings, or Uint8Arrays in binary format.
   * Default: true.
   */
  decode?: Decode | undefined;
  /** Whether rows are structs, which decode a column when you read it. Default: false: plain objects. */
  structs?: boolean | undefined;
  /** Stops reading and cancels the source. Default: none. */
  signal?: AbortSignal | undefined;
}

type Bytes = ArrayBufferLike | ArrayBufferView;

/** A source of a result's bytes; a string, URL or Request is fetched, and asks for protocol bytes. */
export type Source =
  | string
  | URL
  | Request
  | Response
  | ReadableStream<Uint8Array>
  | Blob
  | Bytes
  | Iterable<Bytes>
  | AsyncIterable<Bytes>;

/** An async iterable of rows, with the result's state so far. */
export interface Rows<R> {
  /** For `for await`, which takes rows that are there without a promise for each. */
  [Symbol.asyncIterator](): AsyncIterator<R, undefined>;
  /** @returns the next row; rejects as `rows` says */
  next(): Promise<IteratorResult<R, undefined>>;
  /** The columns; undefined before the first bytes. */
  readonly columns: readonly Column[] | undefined;
  /** The RowDescription; undefined before the first bytes. */
  readonly rowParser: RowParser | undefined;
  /** The command tag without numbers; undefined before the end. */
  readonly cmd: string | undefined;
  /** The number of rows in the command tag; 0 before the end. */
  readonly rowCount: number;
  /** Bytes read so far. */
  readonly bytes: number;
  /** @returns an iterator of arrays of the rows that a chunk completes */
  batches(): AsyncGenerator<R[], void, void>;
  /**
   * Stops reading and cancels the source, as `break` does.
   * @param value to be given back
   * @returns resolves when the source is cancelled; rejects with an error of the cancelling
   */
  return(value?: any): Promise<IteratorReturnResult<any>>;
}

/**
 * Reads rows as they arrive. If the content type of a Response or Blob is application/x-ndjson, rows are plain objects.
 * After the rows that came before, it throws a PostgresError for an ErrorResponse, a ProtocolError for bytes that are
 * malformed or incomplete, a ResponseError, the signal's reason, or the source's error.
 *
 * T is the type of a row: `rows<{ id: number, name: string }>(response)`.
 * @param source of the bytes, or its promise; a string is a URL
 * @param options decode, structs, signal
 * @returns an async iterable of rows; `break` cancels the source
 */
export function rows<T extends object = Record<string, any>>(
  source: Source | PromiseLike<Source>,
  options: RowsOptions & { structs: true }
): Rows<Row<T>>;
export function rows<T extends object = Record<string, any>>(
  source: Source | PromiseLike<Source>,
  options?: RowsOptions
): Rows<T>;

/**
 * An ErrorResponse; absent fields are undefined.
 * https://www.postgresql.org/docs/current/protocol-error-fields.html
 */
export class PostgresError extends Error {
  /** @param fields by name */
  constructor(fields: Readonly<Record<string, string>>);
  /** The name of the class. */
  readonly name: 'PostgresError';
  /** ERROR, FATAL or PANIC, never translated. */
  readonly severity?: string;
  /** SQLSTATE. */
  readonly code?: string;
  /** Details of the problem. */
  readonly detail?: string;
  /** A suggestion. */
  readonly hint?: string;
  /** In characters of the query, from 1. */
  readonly position?: number;
  /** In characters of internalQuery, from 1. */
  readonly internalPosition?: number;
  /** The text of a statement that the server made. */
  readonly internalQuery?: string;
  /** The functions and statements in which the error occurred. */
  readonly where?: string;
  /** The schema concerned. */
  readonly schema?: string;
  /** The table concerned. */
  readonly table?: string;
  /** The column concerned. */
  readonly column?: string;
  /** The data type concerned. */
  readonly dataType?: string;
  /** The constraint concerned. */
  readonly constraint?: string;
  /** File in PostgreSQL's source. */
  readonly file?: string;
  /** Line in PostgreSQL's source. */
  readonly line?: number;
  /** Routine in PostgreSQL's source. */
  readonly routine?: string;
}

/** The bytes are malformed (08P01) or end too early (08006). */
export class ProtocolError extends Error {
  /** @param message what is wrong @param code 08P01 by default */
  constructor(message: string, code?: '08P01' | '08006');
  /** The name of the class. */
  readonly name: 'ProtocolError';
  /** 08P01 malformed, 08006 incomplete. */
  readonly code: '08P01' | '08006';
}

/** The response's status says that it has no rows. */
export class ResponseError extends Error {
  /** @param response with that status */
  constructor(response: Response);
  /** The name of the class. */
  readonly name: 'ResponseError';
  /** The response's status. */
  readonly status: number;
  /** The response, whose body has not been read. */
  readonly response: Response;
}

/** Decoders of binary values by type OID, for readers without `decode`. You may add your own. */
export const TypeParser: {
  /**
   * The binary format of a value: boolean → bool, integer of 32 bits → int4, other number → float4, bigint → int8,
   * string → text, Uint8Array → bytea, other object → json.
   * @param value to be sent
   * @returns null for null, undefined for other values
   */
  serialize(value: null): null;
  serialize(value: boolean | number | bigint | string | object): Uint8Array;
  serialize(value: unknown): Uint8Array | null | undefined;
  [typeOid: number]: Decoder<any>;
};

/** The built-in decoders by type OID. */
export const decoders: Readonly<Record<number, DecoderPair<any>>>;

/**
 * Exact decoders: int8 to bigint, timestamptz to a string with microseconds, and their arrays. Use `{ ...decoders,
 * ...exact }`.
 */
export const exact: Readonly<Record<number, DecoderPair<any>>>;

/**
 * @param element decoders of text and binary values
 * @returns decoders of arrays: nested arrays, null for NULL, without lower bounds
 */
export function arrayOf<T>(element: DecoderPair<T>): DecoderPair<Array<T | null>>;

/**
 * Decodes UTF-8.
 * @param bytes with the text
 * @param start offset of its first byte
 * @param end offset behind its last byte
 * @returns the text
 */
export function text(bytes: Uint8Array, start: number, end: number): string;

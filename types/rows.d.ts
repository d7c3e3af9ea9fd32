import { Readable, Writable } from 'node:stream';

/** Text format (0) or binary format (1) of values. */
export type Format = 0 | 1;

/** A parameter value. Buffers and Uint8Arrays are sent in binary format, everything else as text. */
export type Value = string | Uint8Array | number | bigint | boolean | null | undefined;

/** Parameter values: a list, or a row of an earlier result. */
export type Values = readonly Value[] | Row<any>;

/** A large value that is sent as it comes: `query` takes it, and nothing is sent behind it meanwhile. */
export interface StreamedValue {
  /** A Readable, or another iterable of bytes. */
  stream: Readable | AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  /** How many bytes it gives. */
  length: number;
  /** Of the value; binary (1) by default. */
  format?: Format | undefined;
}

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

/** Decoders of a type's text and binary values, as in `decoders` and `dates` of client-parser. */
export type DecoderPair = readonly [
  text: (bytes: Uint8Array, start: number, end: number) => unknown,
  binary: (bytes: Uint8Array, start: number, end: number) => unknown
];

/** true: the decoders of client-parser; a map: decoders by type OID. Columns of other types stay as they are. */
export type Decode = boolean | Readonly<Record<number, Decoder | DecoderPair>>
  | ReadonlyMap<number, Decoder | DecoderPair>;

/** What every row has, whatever its columns. */
export interface RowMembers<T extends object = AnyColumns> {
  /** Columns by index from 0. */
  readonly [index: number]: any;
  [Symbol.iterator](): IterableIterator<any>;
  /** @returns the columns by name; of several with one name the last */
  toObject(): T;
  /** @returns the values in column order */
  toArray(): any[];
  /** @returns what JSON.stringify sees: the same as toObject() */
  toJSON(): T;
  /**
   * A column, also where it is named like a member.
   * @param column its name (of several the last) or index from 0
   * @returns undefined where there is none
   */
  get<K extends keyof T>(column: K): T[K];
  get(column: string | number): any;
  /** The DataRow message, header and all: a view of the memory that the result is in. */
  readonly rowBuffer: Buffer;
  readonly dataFormat: Format;
  readonly columnCount: number;
  readonly rowColumns: Column[];
  readonly rowParser: RowParser;
}

/** A row of which the columns' names are not known. */
export type AnyRow = Row<AnyColumns>;

/**
 * One row: its columns are read from the received bytes when they are asked for. T is what they are by name:
 * `string | null` in text format, `Buffer | null` in binary format, or what `decode` makes of them.
 */
export type Row<T extends object = AnyColumns> =
  RowMembers<T> & Readonly<Omit<T, keyof RowMembers<T>>>;

/** A parsed RowDescription, with the classes of its rows. */
export class RowParser {
  /**
   * @param buf holding a RowDescription message; it is copied
   * @param start offset of the message's type byte, 0 unless given
   * @throws {ConnectionError} 08P01 if it is malformed
   */
  constructor(buf: Buffer, start?: number);
  readonly columns: Column[];
  readonly columnNames: string[];
  /** The message. */
  readonly buffer: Buffer;
  /** Class of the rows in text format. */
  get 0(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /** Class of the rows in binary format. */
  get 1(): new <T extends object = AnyColumns>(dataRow: Buffer, offset?: number) => Row<T>;
  /** The RowDescription message with the format of the rows, as a reader without earlier state needs it. */
  description(format: Format): Buffer;
}

/** The default receiver of a result, and what a query resolves to. */
export class RowReader<T extends object = AnyColumns> {
  constructor(options?: { decode?: Decode });
  /** The rows, whose columns are no own properties; for COPY … TO STDOUT, Buffers: see CopyReader. */
  rows: Row<T>[];
  /** The rows as plain objects, made at once: own properties, in the order of the columns. */
  readonly objects: T[];
  /** The rows as arrays of their values, made at once. */
  readonly arrays: Array<T[keyof T]>[];
  /** Rows returned or changed, as the server counted them. */
  rowCount: number;
  /** SELECT, INSERT, … ; EMPTY for an empty query, SUSPENDED when getResults may go on. */
  cmd: string | undefined;
  /** The OID in an INSERT's tag. */
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

/** What a COPY that was given to `query` resolves to: of COPY … TO STDOUT the data, a Buffer for each message. */
export interface CopyReader extends Omit<RowReader, 'rows'> {
  rows: Buffer[];
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

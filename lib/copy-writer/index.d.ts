/// <reference types="node" />

import { Transform } from 'node:stream';

/** Options of a CopyWriter. */
export interface CopyWriterOptions {
  /** Keys of rows that are objects, in the order of the COPY's columns. Default: rows are arrays. */
  columns?: readonly string[] | undefined;
  /** The COPY's format. Default: 'text'. */
  format?: 'text' | 'binary' | undefined;
  /**
   * Types of the columns for the binary format, by name or OID. Default: none; only strings, booleans and bytes can then be
   * sent.
   */
  types?: ReadonlyArray<string | number> | undefined;
}

/** Makes COPY data of rows: arrays of values, rows of a result, or objects. */
export class CopyWriter extends Transform {
  /**
   * @param options columns, format, types
   * @throws {TypeError} for wrong options, or a type that cannot be encoded
   */
  constructor(options?: CopyWriterOptions);
  /** Rows so far. */
  readonly rowCount: number;
}

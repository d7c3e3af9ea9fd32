/// <reference types="node" />

import { Transform } from 'node:stream';

/** Options of a CopyWriter. */
export interface CopyWriterOptions {
  /** The same as in the COPY; 'text' by default. */
  format?: 'text' | 'binary' | undefined;
  /** Types of the columns for the binary format, by name or OID. Default: none, then only strings, booleans and bytes. */
  types?: ReadonlyArray<string | number> | undefined;
}

/** Makes the bytes that COPY … FROM STDIN takes from rows: arrays of values, or rows of a result. */
export class CopyWriter extends Transform {
  /**
   * @param options format, types
   * @throws {TypeError} for wrong options, or a type that cannot be encoded
   */
  constructor(options?: CopyWriterOptions);
  /** Rows so far. */
  readonly rowCount: number;
}

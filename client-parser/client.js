import { FrameReader } from './reader.js';
import { RowReader } from './row-reader.js';
import { view } from './text.js';

/** Parses results as they arrive: `onData` takes the bytes, `stream.rows` has the rows. */
export class Client extends FrameReader {
  /**
   * @param {number} [binary=0] 1 for binary columns whose RowDescription does not say so
   * @param {object} [options] `{ decode }`, see RowReader
   */
  constructor(binary, options) { super(new RowReader({ ...options, binary })); }

  /**
   * Takes the next bytes, split anywhere.
   * @param {ArrayBuffer|ArrayBufferView} data kept, not copied: do not change it
   * @throws {PostgresError} for an ErrorResponse; the next call reads what follows it
   * @throws {ProtocolError} for malformed bytes
   */
  onData(data) { this.push(view(data)); }
}

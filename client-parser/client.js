import { FrameReader } from './reader.js';
import { RowReader } from './row-reader.js';
import { view } from './text.js';

/** Parses the bytes of results as they arrive: give them to `onData`, find the rows in `stream.rows`. */
export class Client extends FrameReader {
  /**
   * @param {number} [binary=0] 1 for columns that are binary though their RowDescription does not say so
   * @param {object} [options]
   * @param {boolean|object} [options.decode] as RowReader's
   */
  constructor(binary, options) { super(new RowReader({ ...options, binary })); }

  /**
   * Takes the next bytes, cut anywhere.
   * @param {ArrayBuffer|ArrayBufferView} data kept, not copied: do not write to it any more
   * @throws {PostgresError} for an ErrorResponse; what came behind it is read by the next call
   * @throws {ProtocolError} if the bytes are malformed
   */
  onData(data) { this.push(view(data)); }
}

import { view } from './text.js';
import { FrameReader } from './reader.js';
import { RowReader } from './row-reader.js';

/** Parses the bytes of results as they arrive: give them to `onData`, find the rows in `stream.rows`. */
export class Client {
  #reader;

  /**
   * @param {number} [binary=0] 1 for columns that are binary though their RowDescription does not say so
   * @param {object} [options]
   * @param {boolean|object} [options.decode] as RowReader's
   */
  constructor(binary, options) {
    this.#reader = new FrameReader(new RowReader({ ...options, binary }));
  }

  /** @type {RowReader} what takes the messages; another one may be set between two results */
  get stream() {
    return this.#reader.receiver;
  }

  set stream(stream) {
    this.#reader.receiver = stream;
  }

  /**
   * Takes the next bytes, cut anywhere.
   * @param {ArrayBuffer|ArrayBufferView} data kept, not copied: do not write to it any more
   * @throws {PostgresError} for an ErrorResponse; what came behind it is read by the next call
   * @throws {ProtocolError} if the bytes are malformed
   */
  onData(data) {
    this.#reader.push(view(data));
  }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} 08006 if the last result is not complete
   */
  end() {
    this.#reader.end();
  }
}

import { FrameReader } from './reader.js';
import { RowReader } from './row-reader.js';
import { view } from './text.js';

/** Parses results as they arrive: `onData` takes the bytes, `stream.rows` has the rows. */
export class Client extends FrameReader {
  /**
   * @param {number} [binary] 1 for binary columns whose RowDescription does not say so
   * @param {object} [options] `{ decode }`
   */
  constructor(binary, options) {
    super(new RowReader({ ...options, binary }));
  }

  onData(data) {
    this.push(view(data));
  }
}

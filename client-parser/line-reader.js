import { Client } from './client.js';
import { check } from './errors.js';
import { view } from './text.js';

/** A Client that takes newline-delimited JSON: a row is the object of a line. */
export class LineReader extends Client {
  #decoder = new TextDecoder();
  #parts = []; // of the line whose end has not come

  /**
   * Takes the next bytes, cut anywhere.
   * @throws {ProtocolError} for a line that is no JSON
   */
  onData(data) {
    this.#decoder.decode(view(data), { stream: true }).split('\n').forEach((part, i) => {
      if (i > 0) this.end();
      this.#parts.push(part);
    });
  }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} in the middle of a line
   */
  end() {
    const line = this.#parts.splice(0).join('');
    try {
      if (line.trim()) this.stream.rows.push(JSON.parse(line));
    } catch {
      check(0, 'a line that is no JSON');
    }
  }
}

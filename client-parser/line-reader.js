import { Client } from './client.js';
import { check } from './errors.js';

/** A Client that takes newline-delimited JSON: a row is the object of a line. */
export class LineReader extends Client {
  #decoder = new TextDecoder();
  #line = ''; // whose end has not come

  /**
   * Takes the next bytes, cut anywhere.
   * @throws {ProtocolError} for a line that is no JSON
   */
  onData(data) {
    this.#decoder.decode(data, { stream: true }).split('\n').forEach((part, i) => {
      if (i > 0) this.end();
      this.#line += part;
    });
  }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} in the middle of a line
   */
  end() {
    const line = this.#line;
    this.#line = '';
    try {
      if (line.trim()) this.stream.structs.push(JSON.parse(line));
    } catch {
      check(0, 'no JSON line');
    }
  }
}

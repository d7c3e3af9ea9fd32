import { ProtocolError } from './errors.js';
import { view } from './text.js';

/** What code written for rows calls; it is not a column. */
const toObject = { value() { return { ...this }; } };

/** Takes newline-delimited JSON as Client takes messages; a row is the object of a line. */
export class LineReader {
  #decoder = new TextDecoder();
  #parts = []; // of the line whose end has not come

  /** What a RowReader has: the rows so far, and how many there are. */
  stream = { rows: [], rowCount: 0 };

  /**
   * Takes the next bytes, cut anywhere.
   * @throws {ProtocolError} for a line that is no JSON object
   */
  onData(data) { this.#take(this.#decoder.decode(view(data), { stream: true })); }

  /**
   * Says that no more bytes come.
   * @throws {ProtocolError} 08006 in the middle of a line
   */
  end() { this.#take(`${this.#decoder.decode()}\n`, '08006'); }

  #take(text, code) {
    text.split('\n').forEach((part, i) => {
      if (i > 0) this.#line(this.#parts.splice(0).join(''), code);
      this.#parts.push(part);
    });
  }

  #line(line, code) {
    if (!line.trim()) return;
    try {
      const row = JSON.parse(line);
      if (!('toObject' in row)) Object.defineProperty(row, 'toObject', toObject);
      this.stream.rows.push(row);
      this.stream.rowCount++;
    } catch {
      throw new ProtocolError(`a line that is no JSON object`, code);
    }
  }
}

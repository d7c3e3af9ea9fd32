import { Client } from './client.js';
import { check } from './errors.js';

/** A Client for newline-delimited JSON: each line is a row. */
export class LineReader extends Client {
  #decoder = new TextDecoder();
  #line = ''; // an incomplete line

  onData(data) {
    this.#decoder
      .decode(data, { stream: true })
      .split('\n')
      .forEach((part, i) => {
        if (i > 0) this.end();
        this.#line += part;
      });
  }

  end() {
    const line = this.#line;
    this.#line = '';
    try {
      if (line.trim()) this.stream.rows.push(JSON.parse(line));
    } catch {
      check(0, 'no JSON line');
    }
  }
}

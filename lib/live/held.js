'use strict';

const { ConnectionError } = require('../..');

/** The bytes of rows that states keep and readers wait for, each piece once. */
class Held {
  #holders = new Map(); // by piece
  #max;
  bytes = 0;

  constructor(max = Infinity) {
    this.#max = max;
    /** What is refused, or dropped, above the limit. */
    this.error = new ConnectionError(`the live results have ${max} bytes (max_total_bytes)`, {
      code: '53300',
      sent: false
    });
  }

  get isFull() {
    return this.bytes >= this.#max;
  }

  hold(piece) {
    const holders = this.#holders.get(piece) ?? 0;
    if (holders === 0) this.bytes += piece.length;
    this.#holders.set(piece, holders + 1);
  }

  release(piece) {
    const holders = this.#holders.get(piece) - 1;
    if (holders > 0) return void this.#holders.set(piece, holders);
    this.#holders.delete(piece);
    this.bytes -= piece.length;
  }
}

module.exports = { Held };

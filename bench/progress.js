'use strict';

/** A line on standard error that says what is being measured, how far it is and how long it will take. */
class Progress {
  /** @param {number} total measurements */
  constructor(total) {
    this.total = total;
    this.done = 0;
    this.started = performance.now();
    this.terminal = process.stderr.isTTY;
  }

  /** Another measurement begins. */
  step(what) {
    if (this.done === 0) this.started = performance.now();
    const seconds = (performance.now() - this.started) / 1000;
    const left = this.done < 3 ? '' : `, ${minutes((seconds / this.done) * (this.total - this.done))} left`;
    this.done++;
    this.say(`[${this.done}/${this.total}${left}] ${what}`);
  }

  say(text) {
    if (this.terminal) process.stderr.write(`\r\x1b[K${text}`);
    else process.stderr.write(`${text}\n`);
  }

  /** Makes room for other output. */
  clear() {
    if (this.terminal) process.stderr.write('\r\x1b[K');
  }
}

function minutes(seconds) {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
}

module.exports = { Progress };

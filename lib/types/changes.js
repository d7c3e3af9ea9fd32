'use strict';

const fs = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

/** Milliseconds in which an editor writes all that it writes at once. */
const PAUSE = 50;

/** Tells of changes in folders, but not in those inside of them. */
class Changes {
  #hasChanged = false;
  #isClosed = false;
  #resolve = () => {};
  #watchers = new Map(); // by folder

  #tell() {
    this.#hasChanged = true;
    this.#resolve();
  }

  /** Watches these folders from now on, in place of others. What is in a new one has to be read again. */
  in(folders) {
    const wanted = new Set(this.#isClosed ? [] : folders);
    for (const [folder, watcher] of this.#watchers) if (!wanted.has(folder)) this.#forget(folder, watcher);
    for (const folder of wanted) {
      if (this.#watchers.has(folder)) continue;
      const watcher = fs.watch(folder, () => this.#tell());
      watcher.on('error', () => this.#forget(folder, watcher)); // it is gone
      this.#watchers.set(folder, watcher);
      this.#tell();
    }
  }

  #forget(folder, watcher) {
    watcher.close();
    this.#watchers.delete(folder);
    this.#tell();
  }

  /** @returns {Promise<void>} resolves when something has changed since it last did; never, once it is closed */
  async next() {
    while (!this.#hasChanged || this.#isClosed) await new Promise(resolve => (this.#resolve = resolve));
    await sleep(PAUSE);
    this.#hasChanged = false;
  }

  close() {
    this.#isClosed = true;
    this.in([]);
  }
}

module.exports = { Changes };

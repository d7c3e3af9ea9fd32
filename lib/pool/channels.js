'use strict';

const { EventEmitter } = require('node:events');
const { ConnectionError } = require('../..');

/** What a Listener takes for its client: channels on a connection that is replaced when it is lost. */
class Channels extends EventEmitter {
  #pool;
  #resolveClosed;
  #texts = new Set(); // LISTEN of each channel

  /** @param {Pool} pool of one connection, for this alone */
  constructor(pool) {
    super();
    this.#pool = pool;
    /** 'open' or 'closed' */
    this.state = 'open';
    /** @type {Promise<Error|undefined>} resolves when nobody hears anything any more */
    this.closed = new Promise(resolve => { this.#resolveClosed = resolve; });
    pool.on('connect', client => {
      client.on('notification', notification => this.emit('notification', notification));
      client.once('end', () => this.#again());
    });
  }

  /** @param {string} text LISTEN or UNLISTEN */
  async query(text) {
    if (text.startsWith('LISTEN')) this.#texts.add(text);
    else this.#texts.delete(text.replace('UN', ''));
    return this.#texts.size === 0 ? this.close() : this.#ask(text);
  }

  async #ask(text) {
    const over = this.closed.then(() => { throw new ConnectionError('nobody listens any more', { code: '08003' }); });
    const how = { reset: false, retry: true };
    return Promise.race([over, this.#pool.connection(client => client.simpleQuery(text), how)]);
  }

  /** Listens on the next connection, and tells that something may have been missed. */
  async #again() {
    while (this.state === 'open') {
      try {
        await this.#ask([...this.#texts].join('; '));
        for (const text of this.#texts) {
          const channel = text.slice('LISTEN "'.length, -1).replaceAll('""', '"');
          this.emit('notification', { processId: 0, channel, payload: '', missed: true });
        }
        return;
      } catch (error) {
        if (!(error instanceof ConnectionError)) this.close(error);
      }
    }
  }

  /** @param {Error} [error] that the loops are to throw */
  close(error) {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#resolveClosed(error);
    this.#pool.destroy();
  }
}

module.exports = { Channels };

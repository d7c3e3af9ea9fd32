'use strict';

const { ConnectionError } = require('../..');
const { Channels, quoted } = require('../query');

/** The connection of a pool on which all its loops over channels listen: when it was lost, there is another one. */
class Listening {
  #client; // that listens
  #connected; // `{ promise, resolve, reject }`: settled when the next connection listens, or there will be none
  #connections;

  /** @param {Connections} connections of one connection, for this alone */
  constructor(connections) {
    this.channels = new Channels((command, channel) => this.#say(command, channel));
    this.isOver = false;
    this.#connections = connections;
    this.#await();
    this.#run();
  }

  #await() {
    const connected = this.#connected = {};
    connected.promise = new Promise((resolve, reject) => Object.assign(connected, { resolve, reject }));
    connected.promise.catch(() => {}); // it may be that no loop waits
  }

  async #say(command, channel) {
    if (command === 'UNLISTEN' && this.channels.names.length === 0) return this.close();
    const text = `${command} ${quoted(channel)}`;
    if (command === 'UNLISTEN') return this.#client?.query(text, [], { cache: false });
    const asked = this.#client?.query(text, [], { cache: false }) ?? this.#connected.promise;
    return asked.catch(error => {
      if (this.isOver || !(error instanceof ConnectionError)) throw error;
      return this.#connected.promise; // the next connection listens to all channels
    });
  }

  async #run() {
    try {
      for (let hasMissed = false; !this.isOver; hasMissed = true) await this.#listen(hasMissed);
    } catch (error) {
      this.close(error);
    }
  }

  /** Listens on a connection until it is lost. */
  async #listen(hasMissed) {
    const { channels } = this;
    const connection = await this.#connections.wait('owned', false);
    const client = this.#client = connection.client;
    client.on('notification', channels.deliver);
    try {
      await client.simpleQuery(channels.names.map(name => `LISTEN ${quoted(name)}`).join('; '));
      this.#connections.release(connection);
      this.#connected.resolve();
      if (hasMissed) for (const channel of channels.names) channels.deliver({ processId: 0, channel, payload: '', missed: true });
      await client.closed;
    } catch (error) {
      if (!(error instanceof ConnectionError)) throw error;
    } finally {
      this.#client = undefined;
      if (!this.isOver) this.#await();
    }
  }

  /** @param {Error} [error] that the loops are to throw */
  close(error) {
    if (this.isOver) return;
    this.isOver = true;
    const refused = error ?? new ConnectionError('nobody listens any more', { code: '08003' });
    this.#connected.reject(refused);
    this.channels.end(error);
    this.#connections.destroy(undefined, refused);
  }
}

module.exports = { Listening };

'use strict';

const { BEGIN_STEPS, CHANNELS, END_STEPS, LEASE } = require('../core/internal');
const { Client, UsageError } = require('../..');
const { Steps } = require('../core/steps');

const OF_CLIENT = [
  'backendKey',
  'bufferedBytes',
  'closed',
  'onNotice',
  'onNotification',
  'pending',
  'processId',
  'serverParameters',
  'state',
  'transactionStatus'
];
const METHODS = ['destroy', 'ref', 'unref'];
const PROMISED = ['cancel', 'connect', 'end'];
const EVENTS = ['notice', 'notification', 'parameter', 'drain', 'error', 'end'];

const over = () =>
  new UsageError(
    'the function of connection() is over, and its client belongs to the pool: await everything inside the function',
    '25P01'
  );

/**
 * What the function of `connection` gets: the client of a connection, until the function is over. It is an instance of
 * Client by its prototypes alone, since the constructor of Client would make another connection's pipeline.
 */
class Loan extends Steps {
  #channels; // if it has listened
  #client;
  #handlers; // that the client had before
  #isOver = false;
  #listeners = EVENTS.map(event => [
    event,
    (...what) => {
      if (this.listenerCount(event) > 0) this.emit(event, ...what);
    }
  ]);

  constructor(client) {
    super();
    this.#client = client;
    this.#handlers = [client.onNotice, client.onNotification];
    this[BEGIN_STEPS](client[LEASE]);
    for (const listener of this.#listeners) client.on(...listener);
  }

  get #open() {
    if (this.#isOver) throw over();
    return this.#client;
  }

  get [CHANNELS]() {
    return (this.#channels = this.#open[CHANNELS]);
  }

  /** Later calls reject, and so does what has not been sent. What is left open ends with the connection. */
  revoke() {
    const client = this.#client;
    const { scopes } = client[LEASE].pipeline;
    this.#isOver = true;
    for (const listener of this.#listeners) client.off(...listener);
    [client.onNotice, client.onNotification] = this.#handlers;
    this[END_STEPS](over);
    this.#channels?.end(over());
    if (client.state === 'closed') return;
    scopes.replaceRoot(over);
    client[LEASE] = scopes.root;
    if (scopes.active !== scopes.root) client.destroy(over());
  }

  static {
    for (const name of OF_CLIENT) {
      Object.defineProperty(this.prototype, name, {
        get() {
          return this.#isOver ? undefined : this.#client[name]; // an error that shows the client must not fail
        },
        set(value) {
          this.#open[name] = value;
        }
      });
    }
    for (const name of METHODS)
      this.prototype[name] = function call(...given) {
        return this.#open[name](...given);
      };
    for (const name of PROMISED)
      this.prototype[name] = async function call(...given) {
        return this.#open[name](...given);
      };
    Object.setPrototypeOf(this.prototype, Client.prototype);
  }
}

module.exports = { Loan };

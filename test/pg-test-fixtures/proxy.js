'use strict';

// A TCP proxy with the network's faults: latency, fragments, little bandwidth, silence, and every way of
// breaking.

const net = require('node:net');
const { Channel } = require('./channel.js');
const { startHole } = require('./hole.js');

/** Directions, named for where the bytes go. */
const DIRECTIONS = ['toServer', 'toClient'];

/**
 * Options of net.connect for a target.
 * @param {number | string | {path?: string, host?: string, port?: number}} target port, path of a Unix
 *   socket, or either in an object; a server is one (by TCP)
 * @returns {net.NetConnectOpts}
 */
function addressOf(target) {
  if (typeof target === 'number') return { host: '127.0.0.1', port: target };
  if (typeof target === 'string') return { path: target };
  if (target.path) return { path: target.path };
  if (target.host?.startsWith('/')) return { path: `${target.host}/.s.PGSQL.${target.port ?? 5432}` };
  return { host: target.host ?? '127.0.0.1', port: target.port ?? 5432 };
}

/**
 * Breaks a socket off (RST), or closes it where that is unknown, as on a Unix socket.
 * @param {net.Socket} socket
 */
function resetSocket(socket) {
  if (socket.destroyed) return;
  try {
    socket.resetAndDestroy();
  } catch {
    socket.destroy();
  }
}

/** One client's connection through the proxy. */
class ProxyConnection {
  /**
   * @param {net.Socket} client
   * @param {net.Socket} server connecting
   * @param {{delay: number, record: boolean}} options
   */
  constructor(client, server, { delay, record }) {
    this.client = client;
    this.server = server;
    /**
     * Every flight so far, in order: where it went, and when its first byte was here, in milliseconds since
     * the connection was accepted. A flight is all that a side sends until it has got something from the
     * other side.
     * @type {{direction: 'toServer' | 'toClient', time: number}[]}
     */
    this.flights = [];
    const accepted = performance.now();
    // The client's kernel says "connected" at once. Over the delayed network it would have heard so one round
    // trip later, so whatever it sends before counts as sent then.
    const earliest = { toServer: accepted + 2 * delay, toClient: 0 };
    for (const direction of DIRECTIONS) {
      const [from, to] = direction === 'toServer' ? [client, server] : [server, client];
      const onFlight = () => this.flights.push({ direction, time: performance.now() - accepted });
      this[direction] = new Channel({
        from,
        to,
        delay,
        record,
        onFlight,
        earliest: earliest[direction],
        reset: resetSocket
      });
    }
    this.toServer.opposite = this.toClient;
    this.toClient.opposite = this.toServer;
    /** Resolves when both sides are closed. */
    const closed = socket => new Promise(resolve => socket.once('close', () => resolve()));
    this.closed = Promise.all([closed(client), closed(server)]).then(() => {});
  }

  /** What has come in so far: `{ flights: { toServer, toClient }, bytes: { toServer, toClient } }`. */
  get stats() {
    const flights = direction => this.flights.filter(flight => flight.direction === direction).length;
    return {
      flights: { toServer: flights('toServer'), toClient: flights('toClient') },
      bytes: { toServer: this.toServer.bytes, toClient: this.toClient.bytes }
    };
  }

  /** Bytes that have come in, when the proxy records: `{ toServer: Buffer, toClient: Buffer }`. */
  get recorded() {
    return { toServer: this.toServer.recorded, toClient: this.toClient.recorded };
  }

  /** Ends both sides in good order (FIN); what is under way is lost. */
  cut() {
    for (const direction of DIRECTIONS) this[direction].abandon();
    this.client.end();
    this.server.end();
  }

  /** Breaks both sides off (RST). */
  reset() {
    for (const direction of DIRECTIONS) this[direction].abandon();
    resetSocket(this.client);
    resetSocket(this.server);
  }

  /**
   * From now on nothing passes, no end either, and nothing says so.
   * @param {'toServer' | 'toClient'} [direction] both unless given
   */
  stall(direction) {
    this.#channels(direction).forEach(channel => channel.stall());
  }

  /**
   * Ends the silence; what was held up passes.
   * @param {'toServer' | 'toClient'} [direction] both unless given
   */
  resume(direction) {
    this.#channels(direction).forEach(channel => channel.resume());
  }

  /**
   * Puts bytes into the stream, behind those that have been delivered already, without delay.
   * @param {Uint8Array} bytes
   * @param {'toServer' | 'toClient'} [direction] to the client unless given
   */
  inject(bytes, direction = 'toClient') {
    this[direction].inject(bytes);
  }

  /**
   * Cuts the stream to pieces, each delivered by itself.
   * @param {number | ((left: number) => number) | {seed: number, min?: number, max?: number} | null} sizes
   *   bytes a piece; or a function that gives the next piece's, told how many wait; or random ones (1 to 64
   *   unless given), the same for the same seed; null ends it
   * @param {'toServer' | 'toClient'} [direction] both unless given
   */
  fragment(sizes, direction) {
    this.#channels(direction).forEach(channel => channel.fragment(sizes));
  }

  /**
   * Limits the bandwidth.
   * @param {number | null} bytesPerSecond null ends it
   * @param {'toServer' | 'toClient'} [direction] both unless given
   */
  throttle(bytesPerSecond, direction) {
    this.#channels(direction).forEach(channel => channel.throttle(bytesPerSecond));
  }

  /**
   * Does something at an exact place of the stream: when so many bytes have been delivered, and none behind
   * them.
   * @param {'toServer' | 'toClient'} direction
   * @param {number} bytes since the connection's beginning, without those of `inject`
   * @param {'cut' | 'reset' | 'stall' | ((connection: ProxyConnection) => void)} action
   */
  after(direction, bytes, action) {
    this[direction].after(bytes, () => (typeof action === 'string' ? this[action]() : action(this)));
  }

  /** The channels of a direction, both when none is given. */
  #channels(direction) {
    return (direction ? [direction] : DIRECTIONS).map(name => this[name]);
  }
}

/** The proxy. Its methods hold for the open connections; those that say so, for those to come as well. */
class Proxy {
  #server;
  #waiting = [];
  #standing = new Map();
  #hole;

  /** @param {object} options as startProxy's */
  constructor({ target, delay = 0, record = false, port, onConnection }) {
    this.target = target;
    /** Milliseconds that everything takes in each direction; a change is for connections to come. */
    this.delay = delay;
    /** Whether bytes are kept for `recorded`; a change is for connections to come. */
    this.record = record;
    this.onConnection = onConnection;
    this.host = '127.0.0.1';
    this.port = port;
    /**
     * Every connection since the start, also those that are over.
     * @type {ProxyConnection[]}
     */
    this.connections = [];
  }

  /**
   * Takes connections; after `refuse()` again, on the same port.
   * @returns {Promise<void>}
   */
  async accept() {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true });
    server.on('connection', client => this.#connection(client));
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port ?? 0, this.host, resolve);
    });
    this.port = server.address().port;
    this.#server = server.unref();
  }

  /** Takes no more connections: the port refuses them. Open ones go on. */
  refuse() {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Passes a new client's connection on. */
  #connection(client) {
    const server = net.connect({ ...addressOf(this.target), allowHalfOpen: true, noDelay: true });
    const connection = new ProxyConnection(client.unref(), server.unref(), this);
    this.connections.push(connection);
    for (const [method, ...args] of this.#standing.values()) connection[method](...args);
    this.onConnection?.(connection);
    for (const resolve of this.#waiting.splice(0)) resolve(connection);
  }

  /**
   * The next connection that comes.
   * @returns {Promise<ProxyConnection>}
   */
  next() {
    return new Promise(resolve => this.#waiting.push(resolve));
  }

  /**
   * The connections that are open.
   * @returns {ProxyConnection[]}
   */
  get open() {
    return this.connections.filter(({ client, server }) => !client.destroyed || !server.destroyed);
  }

  /** Sums of the connections' `stats`. */
  get stats() {
    const sum = { flights: { toServer: 0, toClient: 0 }, bytes: { toServer: 0, toClient: 0 } };
    for (const { stats } of this.connections) {
      for (const name of DIRECTIONS) {
        sum.flights[name] += stats.flights[name];
        sum.bytes[name] += stats.bytes[name];
      }
    }
    return sum;
  }

  /** {@link ProxyConnection#cut} of all. */
  cut() {
    for (const connection of this.open) connection.cut();
  }

  /** {@link ProxyConnection#reset} of all. */
  reset() {
    for (const connection of this.open) connection.reset();
  }

  /** {@link ProxyConnection#inject} into all. */
  inject(bytes, direction) {
    for (const connection of this.open) connection.inject(bytes, direction);
  }

  /** {@link ProxyConnection#stall} of all, and of those to come. */
  stall(direction) {
    this.#stand('stall', direction);
  }

  /** {@link ProxyConnection#resume} of all, and of those to come. */
  resume(direction) {
    for (const name of direction ? [direction] : DIRECTIONS) this.#standing.delete(`stall ${name}`);
    for (const connection of this.open) connection.resume(direction);
  }

  /**
   * Vanishes as a host does without power: open connections are silent for ever, and nothing answers a SYN.
   * @returns {Promise<void>}
   */
  async vanish() {
    for (const connection of this.open) connection.stall();
    this.refuse();
    this.#hole = await startHole(this);
  }

  /**
   * Is there again, on the same port; the connections from before are reset.
   * @returns {Promise<void>}
   */
  async appear() {
    this.reset();
    await this.#hole.stop();
    await this.accept();
  }

  /** {@link ProxyConnection#fragment} of all, and of those to come. */
  fragment(sizes, direction) {
    this.#stand('fragment', direction, sizes);
  }

  /** {@link ProxyConnection#throttle} of all, and of those to come. */
  throttle(bytesPerSecond, direction) {
    this.#stand('throttle', direction, bytesPerSecond);
  }

  /** Calls a method of all connections, those to come included. */
  #stand(method, direction, ...args) {
    for (const name of direction ? [direction] : DIRECTIONS) {
      this.#standing.set(`${method} ${name}`, [method, ...args, name]);
      for (const connection of this.open) connection[method](...args, name);
    }
  }

  /**
   * Ends the proxy and its connections.
   * @returns {Promise<void>}
   */
  async stop() {
    const closed = this.#server && new Promise(resolve => this.#server.once('close', resolve));
    this.refuse();
    for (const { client, server } of this.connections) {
      client.destroy();
      server.destroy();
    }
    await this.#hole?.stop();
    await closed;
  }
}

/**
 * Starts a proxy on a free port of 127.0.0.1.
 *
 * With a delay, what comes in leaves that much later, in order. The delayed network's TCP handshake is
 * accounted for: a new client hears at once that it is connected, but what it sends in the first two delays
 * counts as sent at their end, and arrives at the server after three. So the time from connecting to an
 * answer, divided by the delay, is twice the number of round trips, TCP's own included. `stats` and `flights`
 * count data only: TCP's round trip is one more.
 * @param {object} options
 * @param {number | string | {path?: string, host?: string, port?: number}} options.target a server; or a port
 *   of 127.0.0.1, the path of a Unix socket, or either in an object
 * @param {number} [options.delay] milliseconds one way
 * @param {boolean} [options.record] keep all bytes that pass, for `connection.recorded`
 * @param {number} [options.port] to listen on; any free one unless given
 * @param {(connection: ProxyConnection) => void} [options.onConnection] called with a new connection before
 *   its first byte
 * @returns {Promise<Proxy>}
 */
async function startProxy(options) {
  const proxy = new Proxy(options);
  await proxy.accept();
  return proxy;
}

module.exports = { startProxy };

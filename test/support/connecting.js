'use strict';

// What the tests of connecting share: sessions without a client, and servers that do not keep to the rules.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const tls = require('node:tls');
const { resolve } = require('../../lib/core/config');
const { connect } = require('../../lib/core/connection');

/** Nothing of the environment of whoever runs the tests counts, and no file in its home directory. */
const ENVIRONMENT = { HOME: '/nonexistent' };

/** @returns {Buffer} a message of either side; type '' for the client's first ones */
function message(type, ...parts) {
  const body = Buffer.concat(parts.map(part => (typeof part === 'number' ? int32(part) : Buffer.from(part))));
  return Buffer.concat([Buffer.from(type), int32(body.length + 4), body]);
}

/** @returns {Buffer} */
function int32(value) {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(value >>> 0);
  return buffer;
}

const query = text => message('Q', `${text}\0`);
const TERMINATE = message('X');

/** A session as connect() gives it, with just enough of a client to see that it works. */
class TestSession {
  constructor(session, notices) {
    Object.assign(this, session);
    this.session = session;
    this.notices = notices;
    this.encrypted = this.socket.stream instanceof tls.TLSSocket;
    this.values = [];
    this.errors = [];
    this.closed = new Promise(done => {
      this.socket.handOver({ chunk: (chunk, length) => this.reader.push(chunk, length), closed: done });
    });
    this.#collect();
  }

  #collect() {
    this.ready = new Promise(done => {
      this.reader.handler = {
        message: (type, buf, start, end, count) => {
          const kind = String.fromCharCode(type);
          if (kind === 'D') {
            for (let i = 0, at = start; i < count; i++) {
              const next = at + 1 + buf.readInt32BE(at + 1);
              this.values.push(buf.toString('utf8', at + 11, next));
              at = next;
            }
          }
          if (kind === 'E') this.errors.push(buf.toString('latin1', start + 5, end));
          if (kind === 'Z') done();
        }
      };
    });
  }

  /** Runs a query with one column, and gives its values. */
  async ask(text) {
    this.values = [];
    this.#collect();
    this.socket.stream.write(query(text));
    await this.ready;
    return this.values;
  }

  /** Says good-bye and waits for the end. */
  async end() {
    this.socket.stream.write(TERMINATE);
    this.socket.end();
    await this.closed;
  }
}

/**
 * Connects without a client.
 * @param {object|string} config
 * @param {{earlyRequests?: Buffer, signal?: AbortSignal}} [options] earlyRequests: what waits to be sent
 * @returns {Promise<TestSession>} with `taken`, how often they were asked for
 */
async function open(config, { earlyRequests, signal } = {}) {
  let session;
  let taken = 0;
  const notices = [];
  await connect(
    resolve(config, undefined, ENVIRONMENT),
    {
      earlyRequests() {
        taken++;
        return earlyRequests ?? null;
      },
      ready(given) {
        session = new TestSession(given, notices);
      },
      notice(fields) {
        notices.push(fields);
      }
    },
    signal
  );
  session.taken = taken;
  return session;
}

/** Connects and gives the error of it. */
async function failure(config, options) {
  const session = await open(config, options).catch(error => error);
  if (session instanceof Error) return session;
  await session.end();
  throw new assert.AssertionError({ message: 'connecting did not fail' });
}

/** Messages of a server that are the same in many scripts. */
const SAY = {
  ok: message('R', 0),
  cleartext: message('R', 3),
  md5: message('R', 5, 'salt'),
  sasl: (...mechanisms) => message('R', 10, ...mechanisms.map(name => `${name}\0`), '\0'),
  saslContinue: text => message('R', 11, text),
  saslFinal: text => message('R', 12, text),
  ready: message('Z', 'I'),
  key: message('K', 4711, 1234),
  parameter: (name, value) => message('S', `${name}\0${value}\0`),
  error: (code, text) => message('E', `SFATAL\0VFATAL\0C${code}\0M${text}\0\0`),
  negotiate: (version, ...options) => message('v', version, options.length, ...options.map(name => `${name}\0`))
};

/** What ends a script when the client has closed the connection. */
const OVER = new Error('the client has closed the connection');

/** What a script of a fake server has in its hands: one connection, read message by message. */
class Conversation {
  #data = Buffer.alloc(0);
  #wake = () => {};

  constructor(socket) {
    this.received = '';
    this.#listen(socket);
    this.closed = new Promise(done => {
      socket.on('close', done);
    });
  }

  #listen(socket) {
    this.socket = socket;
    socket.on('error', () => {});
    socket.on('data', chunk => {
      this.received += chunk.toString('latin1');
      this.#data = Buffer.concat([this.#data, chunk]);
      this.#wake();
    });
    socket.on('close', () => this.#wake((this.over = true)));
  }

  async #bytes(count) {
    while (this.#data.length < count) {
      if (this.over) throw OVER;
      await new Promise(wake => {
        this.#wake = wake;
      });
    }
    const bytes = this.#data.subarray(0, count);
    this.#data = this.#data.subarray(count);
    return bytes;
  }

  /** Bytes that were received and not read. */
  get rest() {
    return this.#data;
  }

  /** Reads a StartupMessage, SSLRequest or CancelRequest: all of it behind the length. */
  async first() {
    return this.#bytes((await this.#bytes(4)).readUInt32BE() - 4);
  }

  /** Reads a message: `{ type, body }`. */
  async read() {
    const type = String.fromCharCode((await this.#bytes(1))[0]);
    return { type, body: await this.first() };
  }

  say(...messages) {
    this.socket.write(Buffer.concat(messages.map(part => Buffer.from(part))));
  }

  /** Reads the SSLRequest, answers yes and goes on in TLS. */
  async startTls(certificate) {
    await this.first();
    this.socket.removeAllListeners('data');
    this.socket.write('S');
    await this.secure(certificate);
  }

  async secure({ cert, key }, options = {}) {
    this.socket.removeAllListeners('data');
    this.received = '';
    const socket = new tls.TLSSocket(this.socket, {
      isServer: true,
      secureContext: tls.createSecureContext({ cert, key }),
      ...options
    });
    this.#listen(socket);
    await Promise.race([
      once(socket, 'secure').catch(() => {
        throw OVER; // the client has refused
      }),
      this.closed.then(() => {
        throw OVER;
      })
    ]);
  }
}

/** A server that does what a test wants of it. */
class FakeServer {
  /** @param {function(Conversation, number): Promise} script for each connection, with its number from 0 */
  constructor(script) {
    this.script = script;
    this.conversations = [];
    this.running = [];
    this.server = net.createServer(socket => {
      const conversation = new Conversation(socket);
      this.conversations.push(conversation);
      this.running.push(this.#run(conversation, this.conversations.length - 1));
    });
  }

  async #run(conversation, number) {
    try {
      await this.script(conversation, number);
    } catch (error) {
      if (error !== OVER) throw error; // fails the test
    }
  }

  async listen(where = { port: 0, host: '127.0.0.1' }) {
    this.server.listen(where);
    await once(this.server, 'listening');
    this.port = this.server.address().port;
    this.config = {
      host: '127.0.0.1',
      port: this.port,
      user: 'someone',
      database: 'd',
      connect_timeout: 20
    };
    return this;
  }

  /** Everything that clients have sent, as it was on the wire inside TLS. */
  get received() {
    return this.conversations.map(({ received }) => received).join('\n');
  }

  /** Waits until the clients have closed every connection, which is theirs to do, and scripts are over. */
  async closed() {
    await Promise.all(this.conversations.map(conversation => conversation.closed));
    await Promise.all(this.running);
  }

  stop() {
    for (const { socket } of this.conversations) socket.destroy();
    this.server.close();
  }
}

/** Runs something against a fake server, and makes sure that the clients leave no connection open. */
async function withFake(script, use) {
  const fake = await new FakeServer(script).listen();
  try {
    const result = await use(fake);
    await fake.closed();
    return result;
  } finally {
    fake.stop();
  }
}

module.exports = { open, failure, message, query, SAY, FakeServer, withFake, ENVIRONMENT };

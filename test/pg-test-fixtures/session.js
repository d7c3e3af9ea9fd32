'use strict';

// Just enough of the protocol to administrate a server without any client library: one connection over a Unix
// socket, a cleartext password, simple queries. It expects a well-behaved server.

const net = require('node:net');

/** An administrator's connection. */
class Session {
  #socket;
  #data = Buffer.alloc(0);
  #waiting;
  #closed;

  /** @param {net.Socket} socket connected */
  constructor(socket) {
    this.#socket = socket;
    socket.on('data', chunk => {
      this.#data = this.#data.length ? Buffer.concat([this.#data, chunk]) : chunk;
      this.#waiting?.();
    });
    socket.on('error', error => {
      this.#closed ??= error;
    });
    socket.on('close', () => {
      this.#closed ??= new Error('the server closed the connection');
      this.#waiting?.();
    });
  }

  /** Waits for a message and gives it. */
  async #message() {
    for (;;) {
      const data = this.#data;
      if (data.length >= 5) {
        const end = 1 + data.readUInt32BE(1);
        if (data.length >= end) {
          this.#data = data.subarray(end);
          return { type: String.fromCharCode(data[0]), body: data.subarray(5, end) };
        }
      }
      if (this.#closed) throw this.#closed;
      await new Promise(resolve => {
        this.#waiting = resolve;
      });
    }
  }

  /**
   * Sends a message.
   * @param {string} type one character, or '' for the StartupMessage, which has none
   * @param {Buffer | string} body
   */
  #send(type, body) {
    body = Buffer.from(body);
    const head = Buffer.alloc(type.length + 4);
    head.write(type, 'latin1');
    head.writeUInt32BE(body.length + 4, type.length);
    this.#socket.write(Buffer.concat([head, body]));
  }

  /**
   * Reads up to ReadyForQuery.
   * @param {string} [password] given when asked for
   * @returns {Promise<object[]>} rows of the last result that has any columns
   */
  async #untilReady(password) {
    let columns = [];
    let rows = [];
    let error;
    for (;;) {
      const { type, body } = await this.#message();
      if (type === 'R' && body.readUInt32BE(0) === 3) this.#send('p', `${password}\0`);
      if (type === 'T') {
        columns = fieldNames(body);
        rows = [];
      }
      if (type === 'D') rows.push(rowObject(columns, body));
      if (type === 'E') {
        const fields = errorFields(body);
        error ??= Object.assign(new Error(`${fields.S}: ${fields.M}`), { code: fields.C, detail: fields.D });
        if (fields.V === 'FATAL' || fields.V === 'PANIC') throw error;
      }
      if (type === 'Z') {
        if (error) throw error;
        return rows;
      }
    }
  }

  /**
   * Opens a session.
   * @param {{path: string, user: string, password?: string, database: string}} options
   * @returns {Promise<Session>}
   */
  static async open({ path, user, password = '', database }) {
    const socket = net.connect({ path });
    await new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.once('connect', () => resolve(socket.off('error', reject)));
    });
    const session = new Session(socket);
    try {
      session.#send(
        '',
        Buffer.concat([
          Buffer.from([0, 3, 0, 0]),
          Buffer.from(`user\0${user}\0database\0${database}\0application_name\0pg-test-fixtures\0\0`)
        ])
      );
      await session.#untilReady(password);
      return session;
    } catch (error) {
      session.close();
      throw error;
    }
  }

  /**
   * Runs statements.
   * @param {string} text one or more, separated by semicolons
   * @returns {Promise<object[]>} rows of the last one that has any; every value is a string or null
   * @throws {Error} the server's, with its SQLSTATE as `code`
   */
  query(text) {
    this.#send('Q', `${text}\0`);
    return this.#untilReady();
  }

  /** Closes the connection. */
  close() {
    this.#socket.end(Buffer.from([0x58, 0, 0, 0, 4]));
    this.#socket.destroySoon();
  }
}

/** Column names of a RowDescription. */
function fieldNames(body) {
  const names = [];
  let at = 2;
  for (let i = body.readUInt16BE(0); i > 0; i--) {
    const end = body.indexOf(0, at);
    names.push(body.toString('utf8', at, end));
    at = end + 19;
  }
  return names;
}

/** Row of a DataRow. */
function rowObject(names, body) {
  const row = {};
  let at = 2;
  for (const name of names) {
    const length = body.readInt32BE(at);
    row[name] = length < 0 ? null : body.toString('utf8', at + 4, at + 4 + length);
    at += 4 + Math.max(length, 0);
  }
  return row;
}

/** Fields of an ErrorResponse. */
function errorFields(body) {
  const fields = {};
  for (const field of body.toString().split('\0')) if (field) fields[field[0]] = field.slice(1);
  return fields;
}

module.exports = { Session };

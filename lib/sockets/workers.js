'use strict';

const { Duplex } = require('node:stream');
const { ConnectionError } = require('../core/protocol');

const SSL_REQUEST = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);
const YES = 'S'.charCodeAt(0);
const NO = 'N'.charCodeAt(0);

/** Bytes read at a time; workerd's default is 4096. */
const CHUNK = 65536;

const failed = (message, cause) => new ConnectionError(message, { code: '08001', cause });

/** A stream over a socket of cloudflare:sockets. */
class WorkersStream extends Duplex {
  #heard = false;
  #reader;
  #socket;
  #writer;

  /**
   * @param {object} socket connected
   * @param {boolean} encrypted whether it does TLS
   */
  constructor(socket, encrypted) {
    super();
    this.encrypted = encrypted;
    this.#socket = socket;
    this.#reader = socket.readable.getReader({ mode: 'byob' });
    this.#writer = socket.writable.getWriter();
    // Reads and writes report the error.
    for (const { closed } of [socket, this.#reader, this.#writer]) closed.catch(() => {});
  }

  /** workerd reports a failed TLS handshake as an internal error of the first read or write. */
  #explained(cause) {
    return this.encrypted && !this.#heard
      ? failed('TLS handshake: is the certificate for this host, and signed by a public authority?', cause)
      : cause;
  }

  _read() {
    this.#reader
      .read(new Uint8Array(CHUNK))
      .then(({ value, done }) => {
        this.#heard = true;
        this.push(done ? null : value);
      })
      .catch(error => this.destroy(this.#explained(error)));
  }

  _write(chunk, encoding, callback) {
    this.#writer.write(chunk).then(
      () => callback(),
      error => callback(this.#explained(error))
    );
  }

  _writev(chunks, callback) {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), undefined, callback);
  }

  _final(callback) {
    this.#writer.close().then(
      () => callback(),
      () => callback()
    );
  }

  _destroy(error, callback) {
    this.#socket.close().catch(() => {});
    callback(error);
  }
}

/**
 * Asks the server for TLS. The answer must be one byte: more would be read as if it had come through TLS.
 * @returns {Promise<boolean>} whether the server offers TLS
 */
async function requestTls(socket) {
  const writer = socket.writable.getWriter();
  const reader = socket.readable.getReader({ mode: 'byob' });
  await writer.write(SSL_REQUEST);
  const { value } = await reader.read(new Uint8Array(2));
  writer.releaseLock();
  reader.releaseLock();
  if (value?.length === 1 && (value[0] === YES || value[0] === NO)) return value[0] === YES;
  throw new ConnectionError('the server answered SSLRequest neither with S nor with N', { code: '08P01' });
}

/**
 * Opens a connection, with TLS according to sslmode: see index.d.ts.
 * @param {function(): Promise<{connect: function}>} load imports cloudflare:sockets
 * @returns {Promise<WorkersStream>}
 */
async function openSocket({ host, port, sslmode, sslrootcert, sslcert }, load) {
  if (/^[/@]/.test(host)) throw failed('Workers have no Unix sockets: name a host');
  if ((sslrootcert && sslrootcert !== 'system') || sslcert) {
    throw failed('Workers verify certificates by public authorities and show none: leave out sslrootcert and sslcert');
  }
  const { connect } = await load();
  const encrypts = sslmode !== 'disable';
  let socket = connect(
    { hostname: host, port },
    { secureTransport: encrypts ? 'starttls' : 'off', allowHalfOpen: false }
  );
  socket.closed.catch(() => {}); // `opened` reports the error
  try {
    await socket.opened;
    if (!encrypts) return new WorkersStream(socket, false);
    const encrypted = await requestTls(socket);
    if (!encrypted && sslmode !== 'prefer') {
      throw failed(`the server does not support TLS, but sslmode=${sslmode} requires it`);
    }
    if (encrypted) {
      socket = socket.startTls(); // workerd verifies the certificate for the host that it connected to
      socket.closed.catch(() => {});
      await socket.opened;
    }
    return new WorkersStream(socket, encrypted);
  } catch (error) {
    socket.close().catch(() => {});
    throw error instanceof ConnectionError ? error : failed(error.message, error);
  }
}

module.exports = { openSocket };

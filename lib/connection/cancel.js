'use strict';

const { Buffer } = require('#platform');
const { Attempt, failed } = require('./attempt');
const { dial } = require('./dial');

const CANCEL_REQUEST = 80877102;

/** How long it may take where connect_timeout says nothing, in seconds: queries wait until it is over. */
const LIMIT = 10;

/**
 * Asks a server to cancel what a session is doing. The request goes over a connection of its own, to the
 * session's very address, and is protected like the session's own.
 *
 * @param {object} config resolved
 * @param {object} target where the session is connected
 * @param {boolean} encrypted whether the session is
 * @param {Buffer|null} backendKey body of BackendKeyData: process id and secret
 * @param {AbortSignal} [signal] gives up
 * @returns {Promise<void>} resolves when the server has closed the connection: it has passed the request on
 *   then. Whether anything was cancelled it does not say
 * @throws {ConnectionError} when it could not be sent, or after connect_timeout, 10 s unless that is set
 */
async function sendCancel(config, target, encrypted, backendKey, signal) {
  const where = `cancel request to ${target.where}`;
  if (backendKey === null) throw failed(`${where}: the server gave no key for it`);
  const attempt = new Attempt(where, { seconds: config.connect_timeout || LIMIT, signal });
  try {
    if (config.socket && typeof config.socket !== 'function') {
      throw failed('it needs a second connection, so socket must be a function');
    }
    await dial(config, target, attempt, encrypted ? 'must' : 'no');
    attempt.doing = 'waiting for the server to take it';
    const { transport } = attempt;
    const message = Buffer.alloc(8 + backendKey.length);
    message.writeUInt32BE(message.length, 0);
    message.writeUInt32BE(CANCEL_REQUEST, 4);
    backendKey.copy(message, 8);
    await attempt.wait(resolve => {
      // A server may close without reading TLS's last words, which is a reset for us.
      transport.onclose = error => {
        if (!error || error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve();
        else attempt.fail(error);
      };
      transport.onchunk = () => {};
      transport.write(message);
    });
  } catch (error) {
    throw attempt.fail(error);
  } finally {
    attempt.release();
    attempt.transport?.destroy();
  }
}

module.exports = { sendCancel };

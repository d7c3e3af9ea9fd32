'use strict';

const { Attempt, failed } = require('./attempt');
const { dial } = require('./dial');
const { frame } = require('../protocol');

const CANCEL_REQUEST = 80877102;

/** How long it may take where connect_timeout says nothing, in seconds: queries wait until it is over. */
const LIMIT = 10;

/** How long a request may be on its way to the server after its connection was reset, in milliseconds. */
const ON_ITS_WAY = 1000;

/**
 * Asks a server to cancel what a session is doing. The request goes over a connection of its own, to the
 * session's very address, and is protected like the session's own.
 *
 * A request names a session, not a query, so nothing else may be asked of the session while it can still arrive.
 * That is over when the server has closed the connection, which it does once it has passed the request on. A reset
 * tells nothing of that: what is on the way (a proxy, a pooler) may deliver the request later than it resets, so one
 * second is waited then. Something that takes longer than that, or closes the connection in good order before it has
 * passed the request on, can make the request hit a later query: no client can know.
 *
 * @param {object} config resolved
 * @param {object} target where the session is connected
 * @param {boolean} encrypted whether the session is
 * @param {Buffer|null} backendKey body of BackendKeyData: process id and secret
 * @param {AbortSignal} [signal] gives up
 * @returns {Promise<void>} resolves when the request is over. Whether anything was cancelled the server does not say
 * @throws {ConnectionError} when it could not be sent, or after connect_timeout, 10 s unless that is set
 */
async function sendCancel(config, target, encrypted, backendKey, signal) {
  const where = `cancel request to ${target.where}`;
  if (backendKey === null) throw failed(`${where}: the server gave no key for it`);
  if (config.socket && typeof config.socket !== 'function') {
    throw failed(`${where}: it needs a second connection, so socket must be a function`);
  }
  const attempt = new Attempt(where, { seconds: config.connect_timeout || LIMIT, signal });
  try {
    await dial(config, target, attempt, encrypted ? 'must' : 'no');
    attempt.doing = 'waiting for the server to take it';
    attempt.socket.write(frame(null, CANCEL_REQUEST, backendKey));
    const error = await attempt.wait(resolve => attempt.socket.handOver({ chunk() {}, closed: resolve }));
    if (error && !['ECONNRESET', 'EPIPE'].includes(error.code)) throw error;
    if (error) await attempt.wait(resolve => setTimeout(resolve, ON_ITS_WAY));
    attempt.release();
    attempt.socket.destroy();
  } catch (error) {
    throw attempt.fail(error);
  }
}

module.exports = { sendCancel };

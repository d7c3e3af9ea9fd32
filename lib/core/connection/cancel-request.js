'use strict';

const { Attempt, failed } = require('./attempt');
const { dial } = require('./dial');
const { frame } = require('../protocol');

const CANCEL_REQUEST = 80877102;

/** Seconds that a cancel request may take without connect_timeout: queries wait until it is over. */
const LIMIT = 10;

/** Milliseconds for which a request may still be under way after its connection was reset. */
const ON_ITS_WAY = 1000;

/**
 * Asks a server to cancel what a session is doing, over a connection to the same address with the same protection.
 *
 * A request names a session, not a query, so nothing else may be sent to the session while the request can still
 * arrive. The server closes the connection after it has passed the request on. A proxy or pooler may reset it earlier,
 * so a reset is followed by a wait of one second. If the way takes even longer, or closes early in good order, the
 * request may hit a later query: no client can know.
 * @param {string} sslmode that gives the same protection
 * @returns {Promise<void>} resolves when the request is over; the server does not say whether anything was cancelled
 * @throws {ConnectionError} if it could not be sent, or after connect_timeout (10 s by default)
 */
async function sendCancel(config, server, sslmode, backendKey, signal) {
  const where = `cancel request to ${server.where}`;
  if (backendKey === null) throw failed(`${where}: the server sent no BackendKeyData`);
  if (config.socket && typeof config.socket !== 'function') {
    throw failed(`${where}: it needs a second connection, so socket must be a function`);
  }
  const attempt = new Attempt(where, { seconds: config.connect_timeout || LIMIT, signal });
  try {
    await dial(config, server, attempt, sslmode);
    attempt.doing = 'waiting for the server to take it';
    attempt.socket.stream.write(frame(null, CANCEL_REQUEST, backendKey));
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

'use strict';

const { setMaxListeners } = require('#platform').events;
const { AbortError } = require('../protocol');

/**
 * Waits until a response is the one that is being sent. One to a request that was pipelined (HTTP/1.1) has no socket
 * before those in front of it have ended, takes little meanwhile, and is not told when the reader leaves: nothing
 * else may wait for it.
 * @param {ServerResponse} response
 * @param {AbortSignal} [signal]
 * @returns {Promise|undefined} rejects with an AbortError when the reader leaves or the signal aborts; undefined where there is
 *   nothing to wait for
 */
function turn(response, signal) {
  const connection = response.req?.socket;
  if (response.socket !== null || response.writableEnded || connection === undefined) return undefined;
  return new Promise((resolve, reject) => {
    const listeners = [[response, 'socket'], [response, 'close'], [connection, 'close']];
    const settle = () => {
      for (const [emitter, event] of listeners) emitter.removeListener(event, settle);
      signal?.removeEventListener('abort', settle);
      if (signal?.aborted) reject(new AbortError('the query was aborted', signal.reason));
      else if (response.socket === null) reject(new AbortError('the target was closed before it had taken the result'));
      else resolve();
    };
    if (connection.destroyed || signal?.aborted) return settle();
    setMaxListeners(0, connection); // any number of responses may wait behind each other
    for (const [emitter, event] of listeners) emitter.on(event, settle);
    signal?.addEventListener('abort', settle);
  });
}

module.exports = { turn };

'use strict';

/*
 * In Cloudflare's workerd, what a request has begun ends with it: sockets, timers, and callbacks of promises, also if
 * another request would settle them. The object of one request throws in another.
 */

const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';

/**
 * @returns {function(): (Error|undefined)} the error of workerd in another request than the one that has called this;
 *   none in any other runtime
 */
function sameRequest() {
  if (!isWorkerd) return () => undefined;
  const { signal } = new AbortController();
  return () => {
    try {
      void signal.aborted;
      return undefined;
    } catch (error) {
      return error;
    }
  };
}

module.exports = { isWorkerd, sameRequest };

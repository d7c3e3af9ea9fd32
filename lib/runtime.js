'use strict';

const { process } = require('#platform');

// Where other runtimes' modules of Node's names do not do what Node's do.

/** Cloudflare's Workers: `onread` reads once and takes its memory away, names have no addresses to be asked for. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';

/** Deno (2.9): TLS on a socket that was made with `onread` never ends its handshake. */
const isDeno = process.versions?.deno !== undefined;

module.exports = { isWorkerd, isDeno };

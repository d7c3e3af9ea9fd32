'use strict';

/** Cloudflare's Workers: `onread` reads once and takes its memory away, names have no addresses to be asked for. */
const isWorkerd = globalThis.navigator?.userAgent === 'Cloudflare-Workers';

/** Deno (2.9): TLS on a socket that was made with `onread` never ends its handshake. */
const isDeno = process.versions?.deno !== undefined;

/*
 * All of Node.js that lib/ uses, loaded when it is asked for. Where a bundler builds for browsers, package.json's
 * "imports" puts browser/platform.js in its stead.
 */
module.exports = {
  Buffer,
  process,
  setImmediate,
  clearImmediate,
  isWorkerd,
  isDeno,
  get async_hooks() { return require('node:async_hooks'); },
  get crypto() { return require('node:crypto'); },
  get diagnostics_channel() {
    try {
      return require('node:diagnostics_channel');
    } catch {
      return {}; // an edge
    }
  },
  get dns() { return require('node:dns'); },
  get events() { return require('node:events'); },
  get fs() { return require('node:fs'); },
  get http() { return require('node:http'); },
  get net() { return require('node:net'); },
  get os() { return require('node:os'); },
  get path() { return require('node:path'); },
  get stream() { return require('node:stream'); },
  get tls() { return require('node:tls'); },
  get util() { return require('node:util'); },
  get zlib() { return require('node:zlib'); }
};

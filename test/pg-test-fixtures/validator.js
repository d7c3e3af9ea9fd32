'use strict';

// A PostgreSQL 18 that authenticates by OAuth tokens needs a library that checks them.

const fs = require('node:fs');
const path = require('node:path');
const { makeDirectory, run } = require('./guardian.js');
const { need } = require('./have.js');

let built; // promise of the library

async function build() {
  const library = path.join(makeDirectory('validator'), 'validator.so');
  const more = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : [];
  const source = path.join(__dirname, 'validator.c');
  await run(need('cc'), ['-shared', '-fPIC', ...more, '-o', library, source], { env: process.env });
  fs.chmodSync(library, 0o755);
  return library;
}

/**
 * Options of `startServer` by which all connections over TCP are authenticated by a token: `for.USER` for each user.
 * @param {object} [options]
 * @param {string} [options.issuer] of the tokens
 * @param {string} [options.scope]
 * @returns {Promise<{external: false, hba: string[], settings: object}>}
 * @throws {Error} when there is no C compiler: see `have('cc')` and `skipUnless`
 */
async function byToken({ issuer = 'https://id.example/realm', scope = 'openid database' } = {}) {
  const library = await (built ??= build());
  const method = `oauth issuer="${issuer}" scope="${scope}"`;
  return {
    external: false,
    hba: [`host all all all ${method}`, 'local all all trust'],
    settings: { oauth_validator_libraries: library.replace(/\.so$/, '') }
  };
}

module.exports = { byToken };

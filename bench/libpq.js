'use strict';

// The C client: compiled where a compiler and libpq's headers are.

const { execFileSync } = require('node:child_process');
const path = require('node:path');

const quiet = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] };
const ask = what => execFileSync('pg_config', [`--${what}`], quiet).trim();

/** A value of a connection string. */
const quote = value => `'${String(value).replace(/[\\']/g, '\\$&')}'`;

/** libpq's connection string. */
function conninfo({ directory, host, port, user, password = '', database, tls }) {
  const sslmode = tls ? 'require' : 'disable';
  const parameters = { host: directory || host, port, user, password, dbname: database, sslmode };
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${quote(value)}`)
    .join(' ');
}

/**
 * Compiles libpq.c.
 * @param {string} directory where to
 * @returns {{command: string[], args: function(object): string[], version: string} | {missing: string}}
 */
function compileLibpq(directory) {
  const program = path.join(directory, 'libpq');
  let version;
  try {
    version = ask('version').replace('PostgreSQL ', '').split(' ')[0];
  } catch {
    return { missing: 'pg_config is not installed' };
  }
  const libraries = ask('libdir');
  const flags = [`-I${ask('includedir')}`, `-L${libraries}`, `-Wl,-rpath,${libraries}`];
  try {
    execFileSync('cc', ['-O2', '-o', program, path.join(__dirname, 'libpq.c'), ...flags, '-lpq'], quiet);
  } catch (error) {
    const missing = error.code === 'ENOENT' ? 'no C compiler' : 'libpq.c cannot be compiled: no headers?';
    return { missing };
  }
  return {
    command: [program],
    version,
    args: ({ workload, target, warmup, seconds, rows, pending }) =>
      [workload, conninfo(target), warmup, seconds, rows, pending].map(String)
  };
}

module.exports = { compileLibpq };

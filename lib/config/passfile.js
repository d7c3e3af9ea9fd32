'use strict';

const { process, fs } = require('#platform');
const { defaultHost } = require('./hosts.js');

const warned = new Set();

/**
 * Looks up a password in a password file (~/.pgpass), as libpq does: lines of
 * `host:port:database:user:password`, where `*` matches anything and a backslash escapes a colon or a
 * backslash; the first line that matches counts. The default socket directory goes by the name `localhost`.
 *
 * A file that others may read is not used; a warning says so, once per file.
 *
 * @param {string} passfile the file; where there is none, no password is found
 * @param {object} server what the password is for
 * @param {string} [server.host] the host as in the config
 * @param {string} [server.hostaddr] its address, which counts where there is no host
 * @param {number} server.port the port
 * @param {string} server.database the database
 * @param {string} server.user the user
 * @returns {string|undefined} the password, undefined when no line matches
 * @see https://www.postgresql.org/docs/current/libpq-pgpass.html
 */
function lookup(passfile, { hostaddr, host = hostaddr, port, database, user }) {
  const wanted = [host === defaultHost() ? 'localhost' : host, String(port), database, user];
  for (const line of readLines(passfile)) {
    if (line.startsWith('#')) continue;
    const fields = Array.from(`:${line}`.matchAll(/:((?:\\[^]|[^:])*)/g), match => match[1]);
    if (fields.length < 5) continue;
    const matches = wanted.every((value, i) => fields[i] === '*' || unescape(fields[i]) === value);
    if (matches) return unescape(fields[4]);
  }
  return undefined;
}

/**
 * @param {string} passfile the file
 * @returns {string[]} its lines; none when it is not there or must not be used
 */
function readLines(passfile) {
  try {
    const stat = fs.statSync(passfile, { throwIfNoEntry: false }); // to throw costs ten times the call
    if (stat === undefined) return [];
    if (!stat.isFile()) return warn(passfile, 'is not a plain file');
    // Windows protects the directory instead.
    if (process.platform !== 'win32' && (stat.mode & 0o077) !== 0) {
      return warn(passfile, 'has group or world access; permissions should be u=rw (0600) or less');
    }
    return fs.readFileSync(passfile, 'utf8').split(/\r*\n|\r+$/);
  } catch {
    return [];
  }
}

/**
 * @param {string} passfile the file
 * @param {string} problem why it is not used
 * @returns {string[]} no lines
 */
function warn(passfile, problem) {
  if (!warned.has(passfile)) {
    warned.add(passfile);
    process.emitWarning(`password file "${passfile}" is not used: it ${problem}`);
  }
  return [];
}

/** @param {string} field a field of a line @returns {string} it without the escaping backslashes */
function unescape(field) {
  return field.replace(/\\([^])/g, '$1');
}

module.exports = { lookup };

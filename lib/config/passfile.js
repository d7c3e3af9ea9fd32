'use strict';

const { process, fs } = require('#platform');
const { defaultHost } = require('./hosts');

/** Files that a warning was given for. */
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
function lookupPassword(passfile, { hostaddr, host = hostaddr, port, database, user }) {
  const wanted = [host === defaultHost() ? 'localhost' : host, String(port), database, user];
  for (let line of read(passfile).split('\n')) {
    while (line.endsWith('\r')) line = line.slice(0, -1);
    if (line.startsWith('#')) continue;
    const fields = Array.from(`:${line}`.matchAll(/:((?:\\[^]|[^:])*)/g), match => match[1]);
    if (fields.length < 5) continue;
    if (wanted.every((value, i) => fields[i] === '*' || unescape(fields[i]) === value)) return unescape(fields[4]);
  }
  return undefined;
}

/** @returns {string} the text of the file; '' when it is not there or must not be used */
function read(passfile) {
  try {
    const stat = fs.statSync(passfile, { throwIfNoEntry: false }); // to throw costs ten times the call
    if (stat === undefined) return '';
    const problem = !stat.isFile() ? 'is not a plain file'
      // Windows protects the directory instead.
      : process.platform !== 'win32' && (stat.mode & 0o077) !== 0
        ? 'has group or world access; permissions should be u=rw (0600) or less' : undefined;
    if (problem === undefined) return fs.readFileSync(passfile, 'utf8');
    if (!warned.has(passfile)) process.emitWarning(`password file "${passfile}" is not used: it ${problem}`);
    warned.add(passfile);
  } catch {
    // A file that cannot be read is none, as in libpq.
  }
  return '';
}

const unescape = field => field.replace(/\\([^])/g, '$1');

module.exports = { lookupPassword };

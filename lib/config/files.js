'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { defaultHost } = require('./hosts');
const { check, isOption } = require('./options');

/** The files that libpq reads: where they are in the home directory, the password file, and the service files. */

/**
 * Where the usual packages of libpq look for the system's pg_service.conf: the directory is a setting
 * of its build, which a program cannot ask for.
 */
const SYSTEM_DIRECTORIES = ['/etc/postgresql-common', '/etc/sysconfig/pgsql', '/usr/local/pgsql/etc'];

/**
 * The path of one of the files that libpq looks for in the user's home directory.
 *
 * @param {Object<string, string>} env the environment: HOME comes before what the system knows
 * @param {string} name the file, from the home directory on
 * @param {string} [windowsName] from the directory "postgresql" of the application data on, on Windows
 * @returns {string} its path
 */
function homeFile(env, name, windowsName = name) {
  if (process.platform === 'win32') return path.join(env.APPDATA ?? '', 'postgresql', windowsName);
  return path.join(env.HOME || os.homedir(), name);
}

/**
 * Looks up a password in a password file (~/.pgpass), as libpq does: lines of
 * `host:port:database:user:password`, where `*` matches anything and a backslash escapes a colon or a
 * backslash; the first line that matches counts. The default socket directory goes by the name `localhost`.
 *
 * A file that others may read is not used; a warning says so.
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
  for (const line of readPassfile(passfile).split(/\r?\n/)) {
    const fields = Array.from(`:${line}`.matchAll(/:((?:\\[^]|[^:])*)/g), match => match[1]);
    if (fields.length < 5) continue;
    if (wanted.every((value, i) => fields[i] === '*' || unescape(fields[i]) === value)) return unescape(fields[4]);
  }
  return undefined;
}

/** @returns {string} the text of the file; '' when it is not there or must not be used */
function readPassfile(passfile) {
  try {
    const stat = fs.statSync(passfile, { throwIfNoEntry: false }); // to throw costs ten times the call
    if (!stat?.isFile()) return '';
    // Windows protects the directory instead.
    if (process.platform === 'win32' || (stat.mode & 0o077) === 0) return fs.readFileSync(passfile, 'utf8');
    process.emitWarning(`password file "${passfile}" is not used: it has group or world access; ` +
      'permissions should be u=rw (0600) or less');
  } catch {
    // A file that cannot be read is none, as in libpq.
  }
  return '';
}

const unescape = field => field.replace(/\\([^])/g, '$1');

/**
 * Reads the settings of a service from the connection service files: the user's
 * (`file`, else PGSERVICEFILE, else ~/.pg_service.conf), then the system's (PGSYSCONFDIR).
 *
 * @param {string} service the name of the service
 * @param {string|undefined} file the option `servicefile`
 * @param {Object<string, string>} env the environment
 * @returns {Map<string, string>} its settings; where one is given twice, the first
 * @throws {TypeError} when no file defines the service, a named file does not exist, or a line is malformed
 * @see https://www.postgresql.org/docs/current/libpq-pgservice.html
 */
function readService(service, file, env) {
  const named = file || env.PGSERVICEFILE;
  const directories = env.PGSYSCONFDIR ? [env.PGSYSCONFDIR] : SYSTEM_DIRECTORIES;
  const system = directories.map(directory => path.join(directory, 'pg_service.conf'));
  for (const name of [named || homeFile(env, '.pg_service.conf'), ...system]) {
    if (name !== named && !fs.existsSync(name)) continue;
    const settings = parseService(readServiceFile(name), service, name);
    if (settings) return settings;
  }
  throw new TypeError(`service "${service}" is in no service file: add a section [${service}] to ` +
    '~/.pg_service.conf, or name the file that has it by PGSERVICEFILE');
}

/** @returns {string} the text of a service file that must be there */
function readServiceFile(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch ({ code }) {
    throw new TypeError(`service file "${file}" could not be read: ${code}`);
  }
}

/**
 * Finds a section `[service]` in the text of a service file. Lines hold `name=value`, with no blanks
 * around the equals sign; those of other sections are not looked at.
 *
 * @param {string} text the file's text
 * @param {string} service the name of the section
 * @param {string} file the file's name, for errors
 * @returns {Map<string, string>|undefined} the section's settings, undefined when it is not there
 * @throws {TypeError} when a line of the section is malformed; it names the line, not what is in it
 */
function parseService(text, service, file) {
  let settings;
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith('[')) {
      if (settings) break;
      if (line.startsWith(`[${service}]`)) settings = new Map();
    } else if (settings) {
      const [name] = line.split('=', 1);
      const place = `service file "${file}", line ${index + 1}`;
      check(name !== line && isOption(name) && !name.startsWith('service'),
        `${place}: write option=value, with an option that exists and names no other service`);
      if (!settings.has(name)) settings.set(name, line.slice(name.length + 1));
    }
  }
  return settings;
}

module.exports = { homeFile, lookupPassword, readService, parseService };

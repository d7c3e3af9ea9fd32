'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { defaultHost } = require('./hosts');
const { late } = require('../late');
const { check, isOption } = require('./options');

const later = late({ os: () => require('node:os') });

/** The files that libpq reads: in the home directory, the password file, the service files. */

/** Where packages of libpq have the system's pg_service.conf; the directory is compiled in, so a program cannot ask for it. */
const SYSTEM_DIRECTORIES = ['/etc/postgresql-common', '/etc/sysconfig/pgsql', '/usr/local/pgsql/etc'];

/**
 * @returns {string} the path of one of libpq's files in the home directory (HOME precedes the system's), on Windows in the
 *   application data's directory "postgresql"
 */
function homeFile(env, name, windowsName = name) {
  if (process.platform === 'win32') return path.join(env.APPDATA ?? '', 'postgresql', windowsName);
  return `${env.HOME || later.os.homedir()}/${name}`;
}

/**
 * Looks up a password in a password file: lines of `host:port:database:user:password`, where `*` matches anything and a
 * backslash escapes. The first matching line counts. The default socket directory has the name `localhost`. A file that other
 * users may read is ignored with a warning.
 * @see https://www.postgresql.org/docs/current/libpq-pgpass.html
 */
function lookupPassword(passfile, { hostaddr, host = hostaddr, port, database, user }) {
  const text = readPassfile(passfile);
  if (text === '') return undefined;
  const wanted = [host === defaultHost() ? 'localhost' : host, String(port), database, user];
  for (const line of text.split(/\r?\n/)) {
    const fields = Array.from(`:${line}`.matchAll(/:((?:\\[^]|[^:])*)/g), match => match[1]);
    if (fields.length < 5) continue;
    if (wanted.every((value, i) => fields[i] === '*' || unescape(fields[i]) === value)) return unescape(fields[4]);
  }
  return undefined;
}

/** @returns {string} the text; '' if there is no file or it must not be used */
function readPassfile(passfile) {
  try {
    const stat = fs.statSync(passfile, { throwIfNoEntry: false }); // an exception costs ten times the call
    if (!stat?.isFile()) return '';
    // Windows protects the directory instead.
    if (process.platform === 'win32' || (stat.mode & 0o077) === 0) return fs.readFileSync(passfile, 'utf8');
    process.emitWarning(`password file "${passfile}" is not used: it has group or world access; ` +
      'permissions should be u=rw (0600) or less');
  } catch {
    // libpq ignores a file that cannot be read.
  }
  return '';
}

const unescape = field => field.replace(/\\([^])/g, '$1');

/**
 * Reads the settings of a service from the user's service file (`file`, else PGSERVICEFILE, else ~/.pg_service.conf), then the
 * system's (PGSYSCONFDIR).
 * @returns {Map<string, string>} the settings; the first of equal names counts
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

function readServiceFile(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch ({ code }) {
    throw new TypeError(`service file "${file}" could not be read: ${code}`);
  }
}

/**
 * Finds the section `[service]`, whose lines are `name=value` without blanks around the equals sign.
 * @returns {Map<string, string>|undefined} the section's settings
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

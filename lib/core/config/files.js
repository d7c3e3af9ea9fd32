'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { defaultHost } = require('./hosts');
const { late } = require('../late');

const later = late({ os: () => require('node:os') });

/** The files that libpq reads in the home directory. */

/**
 * @returns {string} the path of one of libpq's files in the home directory (HOME precedes the system's), on Windows
 *   in the application data's directory "postgresql"
 */
function homeFile(env, name, windowsName = name) {
  if (process.platform === 'win32') return path.join(env.APPDATA ?? '', 'postgresql', windowsName);
  return `${env.HOME || later.os.homedir()}/${name}`;
}

/**
 * Looks up a password in a password file: lines of `host:port:database:user:password`, where `*` matches anything and a
 * backslash escapes. The first matching line counts. The default socket directory has the name `localhost`. A file that
 * other users may read is ignored with a warning.
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
    process.emitWarning(
      `password file "${passfile}" is not used: it has group or world access; ` +
        'permissions should be u=rw (0600) or less'
    );
  } catch {
    // libpq ignores a file that cannot be read.
  }
  return '';
}

const unescape = field => field.replace(/\\([^])/g, '$1');

module.exports = { homeFile, lookupPassword };

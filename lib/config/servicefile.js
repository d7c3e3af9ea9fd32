'use strict';

const { fs, path } = require('#platform');
const { homeFile } = require('./home');
const { check, isOption } = require('./options');

/**
 * Where the usual packages of libpq look for the system's pg_service.conf: the directory is a setting
 * of its build, which a program cannot ask for.
 */
const SYSTEM_DIRECTORIES = ['/etc/postgresql-common', '/etc/sysconfig/pgsql', '/usr/local/pgsql/etc'];

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
    const settings = parseService(read(name), service, name);
    if (settings) return settings;
  }
  throw new TypeError(`definition of service "${service}" not found`);
}

function read(file) {
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
      check(name !== 'service' && name !== 'servicefile', `${place}: nested service`);
      check(name !== line && isOption(name), `${place}: not a known option and "="`);
      if (!settings.has(name)) settings.set(name, line.slice(name.length + 1));
    }
  }
  return settings;
}

module.exports = { readService, parseService };

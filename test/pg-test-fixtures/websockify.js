'use strict';

// A WebSocket proxy in front of a server: Debian's websockify.

const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { makeDirectory, spawnGuarded } = require('./guardian.js');
const { need } = require('./have.js');
const { canConnect, freePort } = require('./ports.js');

/** Milliseconds that starting may take. */
const LIMIT = 20000;

/** A running websockify. */
class Websockify {
  #child;
  #exited;

  constructor(child, port, directory) {
    this.#child = child;
    this.#exited = once(child, 'exit');
    this.host = '127.0.0.1';
    this.port = port;
    this.logFile = path.join(directory, 'log');
  }

  /** Where a client connects to, without TLS. */
  get url() {
    return `ws://${this.host}:${this.port}/`;
  }

  /** What it has logged. */
  log() {
    return fs.readFileSync(this.logFile, 'utf8');
  }

  /** Ends it and its connections at once. */
  async stop() {
    this.#child.ref();
    try {
      process.kill(-this.#child.pid, 'SIGKILL'); // it has a process for each connection
    } catch {}
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#exited;
  }
}

/**
 * Starts a WebSocket proxy.
 * @param {object} options
 * @param {{host: string, port: number}} options.target a server, or a proxy in front of it
 * @param {{certFile: string, keyFile: string}} [options.tls] files of a certificate, for wss:
 * @returns {Promise<Websockify>}
 * @throws {Error} when it isn't installed: see `have('websockify')` and `skipUnless`
 */
async function startWebsockify({ target, tls }) {
  const port = await freePort();
  const directory = makeDirectory('websockify');
  const log = fs.openSync(path.join(directory, 'log'), 'a');
  const args = [
    ...(tls ? ['--ssl-only', `--cert=${tls.certFile}`, `--key=${tls.keyFile}`] : []),
    `127.0.0.1:${port}`,
    `${target.host}:${target.port}`
  ];
  const child = spawnGuarded(need('websockify'), args, { stdio: ['ignore', log, log] });
  fs.closeSync(log);
  const proxy = new Websockify(child, port, directory);
  for (const until = Date.now() + LIMIT; !(await canConnect(port)); await sleep(20)) {
    if (child.exitCode === null && Date.now() < until) continue;
    await proxy.stop();
    throw new Error(`websockify does not start:\n${proxy.log()}`);
  }
  return proxy;
}

module.exports = { startWebsockify };

'use strict';

// An nginx in front of an HTTP server, with what its proxy does by default.

const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { makeDirectory, spawnGuarded } = require('./guardian.js');
const { need } = require('./have.js');
const { canConnect, freePort } = require('./ports.js');

/** Milliseconds that starting may take. */
const LIMIT = 20000;

/** A running nginx. */
class Nginx {
  #child;
  #exited;

  constructor(child, port, directory) {
    this.#child = child;
    this.#exited = once(child, 'exit');
    this.host = '127.0.0.1';
    this.port = port;
    this.logFile = path.join(directory, 'log');
  }

  /** What it has logged. */
  log() {
    return fs.readFileSync(this.logFile, 'utf8');
  }

  /** Ends it and its connections at once. */
  async stop() {
    this.#child.ref();
    this.#child.kill('SIGTERM');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.#exited;
  }
}

/**
 * Starts nginx.
 * @param {object} options
 * @param {string} options.target of `proxy_pass`, for example http://127.0.0.1:8080
 * @param {string} [options.settings] directives beside it
 * @returns {Promise<Nginx>}
 * @throws {Error} when it isn't installed: see `have('nginx')` and `skipUnless`
 */
async function startNginx({ target, settings = '' }) {
  const port = await freePort();
  const directory = makeDirectory('nginx');
  const log = fs.openSync(path.join(directory, 'log'), 'a');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map(name => `${name}_temp_path ${directory}/${name};`)
    .join(' ');
  fs.writeFileSync(
    path.join(directory, 'conf'),
    `daemon off; master_process off; pid ${directory}/pid; error_log stderr;
    events {}
    http { access_log off; ${temporary} server { listen 127.0.0.1:${port}; location / { proxy_pass ${target}; ${settings} } } }`
  );
  const child = spawnGuarded(need('nginx'), ['-p', directory, '-e', 'stderr', '-c', path.join(directory, 'conf')], {
    stdio: ['ignore', log, log]
  });
  fs.closeSync(log);
  const nginx = new Nginx(child, port, directory);
  for (const until = Date.now() + LIMIT; !(await canConnect(port)); await sleep(20)) {
    if (child.exitCode === null && Date.now() < until) continue;
    await nginx.stop();
    throw new Error(`nginx does not start:\n${nginx.log()}`);
  }
  return nginx;
}

module.exports = { startNginx };

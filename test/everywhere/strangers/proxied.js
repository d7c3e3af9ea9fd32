'use strict';

// What stands between a client and a server: programs of the operating system, started on free ports.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { spawnGuarded } = require('../../pg-test-fixtures/guardian');
const { need } = require('../../pg-test-fixtures/have');
const { serverIds } = require('../../pg-test-fixtures/user');

/** Whether something listens on a port. */
async function listens(port) {
  const socket = net.connect(port, '127.0.0.1');
  const isOpen = await once(socket, 'connect').then(
    () => true,
    () => false
  );
  socket.destroy();
  return isOpen;
}

/**
 * Starts a program as the user of the servers, and waits until it listens.
 * @param {string} program as `have` names it
 * @param {string[]} args
 * @param {object} options
 * @param {number} options.port that it listens on
 * @param {string} options.directory for its files, of that user
 * @returns {Promise<function(): Promise>} ends it
 */
async function startBetween(program, args, { port, directory }) {
  const file = path.join(directory, 'log');
  const log = fs.openSync(file, 'a');
  const child = spawnGuarded(need(program), args, { stdio: ['ignore', log, log], cwd: directory, ...serverIds() });
  fs.closeSync(log);
  for (let i = 0; !(await listens(port)); i++) {
    if (i === 200) throw new Error(`${program} does not start:\n${fs.readFileSync(file, 'utf8')}`);
    await sleep(50);
  }
  return async () => {
    child.ref();
    child.kill('SIGINT');
    await once(child, 'exit');
  };
}

module.exports = { startBetween };

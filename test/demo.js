'use strict';

// Starts the demo for its tests.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { createInterface } = require('node:readline');

const SERVER = path.join(__dirname, '../client-parser/demo/server.js');

/** Starts the demo, and waits until it prints a line, and listens. */
async function run(env, lines = [], until = 'ready') {
  const { DATABASE_URL, ...inherited } = process.env;
  const started = spawn(process.execPath, [SERVER], {
    env: { ...inherited, PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'ignore']
  });
  let url;
  for await (const line of createInterface(started.stdout)) {
    lines.push(line);
    url = /^listening on (http:\S+)$/.exec(line)?.[1] ?? url;
    if (!line.startsWith(until)) continue;
    started.stdout.resume();
    return { process: started, url };
  }
  throw new Error(lines.join('\n'));
}

module.exports = { run };

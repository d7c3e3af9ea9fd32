'use strict';

// Starts the demo for its tests.

const { spawn } = require('node:child_process');
const path = require('node:path');
const { createInterface } = require('node:readline');

const SERVER = path.join(__dirname, '../client-parser/demo/server.js');

/** Starts the demo, and waits until it listens. */
async function run(env, lines = []) {
  const { DATABASE_URL, ...inherited } = process.env;
  const started = spawn(process.execPath, [SERVER], {
    env: { ...inherited, PORT: '0', ...env }, stdio: ['ignore', 'pipe', 'ignore']
  });
  for await (const line of createInterface(started.stdout)) {
    lines.push(line);
    const [, url] = /^listening on (http:\S+)$/.exec(line) ?? [];
    if (!url) continue;
    started.stdout.resume();
    return { process: started, url };
  }
  throw new Error(lines.join('\n'));
}

module.exports = { run };

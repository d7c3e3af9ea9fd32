'use strict';

// Starts the demo for its tests.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { createInterface } = require('node:readline');

const SERVER = path.join(__dirname, '../../client-parser/demo/server.js');

/** Starts the demo, and waits until it prints a line, and listens. */
async function run(env, lines = [], until = 'ready') {
  const { DATABASE_URL, ...inherited } = process.env;
  const started = spawn(process.execPath, [SERVER], {
    env: { ...inherited, PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'ignore']
  });
  let url;
  for await (const line of createInterface(started.stdout)) {
    lines.push(line);
    url = /^listening on (https?:\S+)$/.exec(line)?.[1] ?? url;
    if (!line.startsWith(until)) continue;
    started.stdout.resume();
    return { process: started, url };
  }
  throw new Error(lines.join('\n'));
}

/** Starts a demo with a directory of its own for its files, which `end` removes. */
async function begin(lines, env) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'demo-'));
  fs.chmodSync(directory, 0o755);
  return { directory, ...(await run({ TMPDIR: directory, ...env }, lines)) };
}

async function end({ directory, process: server }) {
  if (server.exitCode === null && server.signalCode === null) {
    server.kill('SIGTERM');
    await once(server, 'exit');
  }
  fs.rmSync(directory, { recursive: true, force: true });
}

module.exports = { begin, end, run };

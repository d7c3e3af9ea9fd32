'use strict';

// node test/everywhere/poolers.js: the table of lib/core/connection/README.md, made by running the application of 24 parts. PGBOUNCER_PATH
// and PGPOOL_PATH name other programs than those of PATH.

const { spawnSync } = require('node:child_process');
const { have } = require('pg-test-fixtures');
const { PARTS, POSTGRES, attempt, told } = require('../support/application');
const { PGBOUNCER, STAND_INS } = require('../support/poolers');
const { PGLITE } = require('./strangers/pglite');
const { PGPOOL } = require('./strangers/pgpool');

function versionOf(program) {
  const { stdout, stderr } = spawnSync(have(program), ['--version'], { encoding: 'utf8' });
  return /\d+(?:\.\d+)+/.exec(stdout + stderr)[0];
}

/** Runs parts of the application. @returns {Promise<Map<string, Error>>} those that failed */
async function run(parts, { start, breaks = [], options, ...server }) {
  const failed = new Map();
  let started = await start();
  for (const part of parts) {
    const error = await attempt(part, { ...POSTGRES, ...server, config: { ...started.config, ...options } });
    if (error === undefined) continue;
    failed.set(part, error);
    if (!breaks.includes(part) && error.message !== 'no answer') continue;
    await Promise.race([
      started.stop(),
      new Promise(resolve => {
        setTimeout(resolve, 10000);
      })
    ]);
    started = await start();
  }
  await Promise.race([
    started.stop(),
    new Promise(resolve => {
      setTimeout(resolve, 10000);
    })
  ]);
  return failed;
}

/** @returns {Promise<string>} a row of the table */
async function rowOf({ name, needs, options, listen, size, ...server }) {
  const asItIs = await run(Object.keys(PARTS), server);
  const given = [
    options && Object.keys(options).map(key => `\`${key}: ${options[key]}\``),
    listen && '`session: true` of `listen`',
    size && `pools of size ${size}`
  ]
    .flat()
    .filter(Boolean);
  const left = given.length > 0 ? await run([...asItIs.keys()], { ...server, options, listen, size }) : asItIs;
  for (const [part, error] of left) console.error(`${name}: ${part}: ${told(error)}`);
  const gained = [...asItIs.keys()].filter(part => !left.has(part));
  const label = needs === undefined ? name : name.replace(/^\S+/, program => `${program} ${versionOf(needs)}`);
  return `| ${label} | ${Object.keys(PARTS).length - asItIs.size} | ${gained.length > 0 ? `${given.join(', ')}: ${gained.join(', ')}` : ''} | ${[...left.keys()].join(', ')} |`;
}

async function main() {
  console.log(`Run on ${new Date().toISOString().slice(0, 10)}:\n`);
  console.log('| | of 24 parts work as it is | with an option | does not work |\n|---|--:|---|---|');
  for (const server of [...Object.values(PGBOUNCER), PGPOOL, PGLITE, ...STAND_INS]) {
    if (server.needs === undefined || have(server.needs)) console.log(await rowOf(server));
  }
  process.exit(); // the shared server ends with it
}

main();

'use strict';

// Applications that use pg, with quickgres/pg in its place: `node test/ecosystem/applications/run.js [names]`, once
// `npm ci` has run in test/ecosystem. Each prints the same with both, on servers with SCRAM-SHA-256; the exit code is 1 if one does not.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');
const { startServer } = require('pg-test-fixtures');

const NAMES = ['fastify', 'pg-listen', 'pg-promise', 'rate-limiter-flexible', 'umzug'];

async function outputOf(name, args) {
  const server = await startServer({ external: false, auth: 'scram-sha-256' });
  try {
    const env = { ...process.env, DATABASE_URL: server.url, NO_COLOR: '1' };
    const { stdout } = await promisify(execFile)(process.execPath, [...args, `${name}.js`], {
      cwd: __dirname,
      env,
      timeout: 60000
    });
    return stdout;
  } catch (error) {
    return `${error.stdout}\n${error.message}`;
  } finally {
    await server.stop();
  }
}

async function main(names) {
  for (const name of names) {
    const theirs = await outputOf(name, []);
    const ours = await outputOf(name, ['--import', path.join(__dirname, '../../../lib/pg/register.js')]);
    console.log(
      `${name}: ${theirs === ours ? `the same, ${theirs.split('\n').length} lines` : `differs:\n${theirs}\n${ours}`}`
    );
    if (theirs !== ours) process.exitCode = 1;
  }
}

main(process.argv.length > 2 ? process.argv.slice(2) : NAMES);

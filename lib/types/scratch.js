'use strict';

// Connects, and makes a database for the time of a function.

const { randomBytes } = require('node:crypto');
const { Client } = require('../..');
const { parseConninfo } = require('../core/config');

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
/** Statements that are sent before the answer to the first of them. */
const AHEAD = 100;
/** Seconds for connecting, and for dropping a database. */
const LIMIT = 30;

/** A signal has come. */
class Stopped extends Error {}

/**
 * A connection string with other options in place of its own. No text of it is edited, since a database, for example,
 * has more than one place in a URL.
 * @param {string} string a URL or libpq's `key=value`
 * @param {Object<string, string|number>} options by libpq's names
 */
function changed(string, options) {
  const all = [...parseConninfo(string), ...Object.entries(options)]; // the last one of a name counts
  return all.map(([name, value]) => `${name}='${String(value).replace(/['\\]/g, '\\$&')}'`).join(' ');
}

/**
 * @param {string} url
 * @param {string} [database] the one to be in: a pooler may lead everywhere to one of its own
 * @returns {Promise<Client>} connected
 */
async function connect(url, database) {
  const client = new Client(changed(url, { fallback_application_name: 'quickgres types' }));
  try {
    await client.connect();
    if (database === undefined) return client;
    const text = 'SELECT pg_catalog.current_database() AS name';
    const { name } = (await client.query(text, [], { cache: false })).one();
    if (name !== database)
      throw new Error(
        `connecting to the database ${database} led to ${name}: is there a pooler? Connect to the server`
      );
    return client;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** The server takes no text of several statements by Parse, so what it divides otherwise is an error. */
const ALONE = { cache: false, decode: false };

/** Runs the statements of a file in a session of their own. */
async function runScript(url, database, { file, statements }) {
  const client = await connect(url, database);
  try {
    await client.simpleQuery('SET standard_conforming_strings = on'); // as the file was divided
    for (let from = 0; from < statements.length; from += AHEAD) {
      const some = statements.slice(from, from + AHEAD);
      const answers = await Promise.allSettled(some.map(({ text }) => client.query(text, [], ALONE)));
      const failed = answers.findIndex(({ status }) => status === 'rejected');
      if (failed < 0) continue;
      const { reason: error } = answers[failed];
      const line = some[failed].line + (error.at?.line ?? 1) - 1;
      throw new Error(`${file}:${line} - ${error.message}${error.hint ? `\n  ${error.hint}` : ''}`, { cause: error });
    }
    if (client.transactionStatus === 'T') throw new Error(`${file}:${statements.at(-1).line} - COMMIT is missing`);
  } finally {
    client.destroy();
  }
}

/** Drops a database, over a new connection: a server may have ended an idle one. Says so if it is left. */
async function drop(url, database) {
  try {
    const client = await connect(url);
    try {
      const text = `DROP DATABASE IF EXISTS ${database} WITH (FORCE)`;
      await client.query(text, [], { statement_timeout: LIMIT * 1000 });
    } finally {
      client.destroy();
    }
  } catch (error) {
    console.error(`the database ${database} is left, drop it: ${error.message}`); // not in place of an error before it
    process.exitCode = 1;
  }
}

/**
 * Calls a function with a new database in which scripts have run. The database goes with it, also if a signal stops
 * this process; another one does not stop the end.
 * @template T
 * @param {string} url
 * @param {Array<{file: string, statements: Statement[]}>} scripts
 * @param {function(string, string): Promise<T>} work with a connection string and the name of the database
 * @returns {Promise<T>}
 */
async function withDatabase(url, scripts, work) {
  const database = `quickgres_types_${randomBytes(8).toString('hex')}`;
  // Of several servers it is always the first one that answers.
  const server = changed(url, { load_balance_hosts: 'disable' });
  const own = changed(server, { dbname: database });
  let stop;
  const stopped = new Promise((resolve, reject) => {
    stop = signal => reject(new Stopped(`stopped by ${signal}`));
  });
  const unlessStopped = promise => Promise.race([stopped, promise]);
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    const client = await unlessStopped(connect(server));
    try {
      // It is not left alone, or it might be made after it was dropped.
      await client.query(`CREATE DATABASE ${database} TEMPLATE template0`);
      client.destroy();
      for (const script of scripts) await unlessStopped(runScript(own, database, script));
      return await unlessStopped(work(own, database));
    } finally {
      client.destroy();
      await drop(server, database);
    }
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

module.exports = { connect, Stopped, withDatabase };

'use strict';

// Runs a scenario with node-postgres or with quickgres/pg in its place, and prints what it tells, a line of JSON each:
// `node run.js pg|quickgres SCENARIO CONFIG`, the config of a database of its own as JSON.

const [, , implementation, scenario, text] = process.argv;
const config = JSON.parse(text);

// From here on what loads pg, here or in a package, gets quickgres/pg.
if (implementation === 'quickgres') require('../../../lib/pg/register');

const pg = require('pg');

/** Ends all other connections to the database, as a restart of the server does. */
async function kill() {
  const client = new pg.Client(config);
  await client.connect();
  await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()`);
  await client.end();
}

/** What is told of an error that both have. */
const errorOf = ({ name, code, constraint, table, message }) => ({ name, code, constraint, table, message });

/** Tries until it succeeds: a pool may not know yet that its connections are lost. */
async function persist(work) {
  for (let left = 50; ; left--) {
    try {
      return await work();
    } catch (error) {
      if (left === 0) throw error;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
}

const tell = (...what) => console.log(JSON.stringify(what));

require(`./${scenario}`)({ pg, config, kill, tell, errorOf, persist }).then(
  () => tell('over'),
  error => {
    console.error(error);
    process.exitCode = 1;
  }
);

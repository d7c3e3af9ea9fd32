'use strict';

// Counts the functions and files that one warm query with one column read goes through, by V8's precise coverage:
//
//     node path.js                  of this library and of its installed peers, with a list of functions for ours
//     node path.js --all            with a list for each
//     node path.js --against DIR    with another checkout of this library
//     node path.js quickgres        of some clients only
//
// Only the client's own files count, neither Node's nor what the query's caller does. The exit code is 1 when ours are
// over the limits.

const fs = require('node:fs');
const { Session } = require('node:inspector/promises');
const path = require('node:path');
const { fileURLToPath, pathToFileURL } = require('node:url');
const { parseArgs } = require('node:util');
const { startServer } = require('pg-test-fixtures');

const LIMITS = { functions: 47, files: 10 };
const TEXT = 'SELECT id, name FROM users LIMIT 1';
const MODULES = path.join(__dirname, 'node_modules');
const real = folder => (fs.existsSync(folder) ? fs.realpathSync(folder) : folder);

/** How each client connects, asks and is closed; `folders` are where its files are. */
const quickgres = root => ({
  folders: [path.join(root, 'lib'), path.join(root, 'client-parser')],
  async open(config) {
    const { Client } = require(root);
    const client = new Client(config);
    await client.connect();
    return {
      query: () => client.query(TEXT).then(result => result.rows[0].name),
      end: () => client.end()
    };
  }
});

const CLIENTS = {
  quickgres: quickgres(path.join(__dirname, '..')),
  postgres: {
    folders: [path.join(MODULES, 'postgres')],
    async open({ host, port, user, password, database }) {
      const sql = require('postgres')({ host, port, user, password, database, max: 1 });
      return { query: () => sql.unsafe(TEXT, [], { prepare: true }).then(([row]) => row.name), end: () => sql.end() };
    }
  },
  pg: {
    folders: ['pg', 'pg-protocol', 'pg-types'].map(name => path.join(MODULES, name)),
    async open({ host, port, user, password, database }) {
      const { Client } = require('pg');
      const client = new Client({ host, port, user, password, database });
      await client.connect();
      return {
        query: () => client.query({ name: 'one', text: TEXT }).then(({ rows }) => rows[0].name),
        end: () => client.end()
      };
    }
  }
};

/**
 * What one warm query of a client goes through.
 * @param {object} client one of CLIENTS
 * @param {object} config of the server
 * @returns {Promise<Map<string, Array<{name: string, count: number}>>>} functions by file, in the order of their places
 */
async function pathOf({ folders, open }, config) {
  const { query, end } = await open(config);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  for (let i = 0; i < 2000; i++) await query();
  // `detailed: false`: a function counts as a whole. Counting begins with the functions that run from here on.
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (let i = 0; i < 100; i++) await query();
  await new Promise(resolve => setTimeout(resolve, 50)); // timers of a client are none of the query's
  await session.post('Profiler.takePreciseCoverage');
  await query();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  session.disconnect();
  await end();
  const urls = folders.map(folder => `${pathToFileURL(real(folder)).href}/`);
  const found = new Map();
  for (const { url, functions } of result) {
    const href = url.startsWith('file:') ? url : path.isAbsolute(url) ? pathToFileURL(url).href : url;
    if (!urls.some(each => href.startsWith(each))) continue;
    const called = functions
      .map(({ functionName: name, ranges: [{ startOffset: at, count }] }) => ({ name, at, count }))
      .filter(({ count }) => count > 0)
      .sort((a, b) => a.at - b.at);
    if (called.length > 0)
      found.set(
        fileURLToPath(href),
        called.map(({ name, count }) => ({ name, count }))
      );
  }
  return found;
}

const functionsIn = found => [...found.values()].reduce((sum, list) => sum + list.length, 0);

/** What is over the limits. @returns {string[]} */
function over(found) {
  const sizes = { functions: functionsIn(found), files: found.size };
  return Object.keys(LIMITS)
    .filter(name => sizes[name] > LIMITS[name])
    .map(name => `${sizes[name]} ${name}, ${LIMITS[name]} are the limit`);
}

function list(found, root) {
  for (const [file, functions] of found) {
    const names = functions.map(({ name, count }) => `${name || '(anonymous)'}${count > 1 ? ` ×${count}` : ''}`);
    console.log(`  ${path.relative(root, file)} (${functions.length}): ${names.join(', ')}`);
  }
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { all: { type: 'boolean' }, against: { type: 'string' } },
    allowPositionals: true
  });
  const clients = { ...CLIENTS };
  for (const name in clients) if (positionals.length > 0 && !positionals.includes(name)) delete clients[name];
  if (values.against) clients[values.against] = quickgres(path.resolve(values.against));
  const server = await startServer({ external: false, sample: 10 });
  try {
    for (const [name, client] of Object.entries(clients)) {
      let found;
      try {
        found = await pathOf(client, server.config);
      } catch (error) {
        if (error.code !== 'MODULE_NOT_FOUND') throw error;
        console.log(`${name}: not installed`);
        continue;
      }
      console.log(`${name}: ${functionsIn(found)} functions in ${found.size} files`);
      const ours = name === 'quickgres';
      const root = ours ? path.join(__dirname, '..') : name === values.against ? path.resolve(name) : real(MODULES);
      if (ours || values.all || name === values.against) list(found, root);
      for (const each of ours ? over(found) : []) {
        console.error(`quickgres: ${each}`);
        process.exitCode = 1;
      }
    }
  } finally {
    await server.stop();
  }
}

if (require.main === module) main();
module.exports = { over };

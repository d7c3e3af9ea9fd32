#!/usr/bin/env node
'use strict';

// npx quickgres types: types of the SQL in a program, from a database, which is asked about each text and runs none.

const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Client, ConnectionError } = require('../..');
const { literalsOf } = require('./literals');
const { Typing } = require('./typing');
const { parseConninfo } = require('../core/config');

const NAME = 'quickgres types';

const USAGE = `npx quickgres types [options] [files and folders]
  --out FILE     the file to write (default: queries.d.ts)
  --check        writes nothing, and fails if the file is out of date
  --strict       checks values as well
  --schema FILE  asks a new database, in which it has run this file; may be repeated
  --list         names each call whose text is not known
It reads the files of JavaScript and TypeScript in the folders, by default in the current one, but for node_modules.
The database is that of DATABASE_URL, or of PGHOST, PGUSER and the others.`;
const OPTIONS = {
  out: { type: 'string', default: 'queries.d.ts' },
  check: { type: 'boolean' },
  strict: { type: 'boolean' },
  schema: { type: 'string', multiple: true },
  list: { type: 'boolean' },
  help: { type: 'boolean' }
};
const SETTINGS = ['columns', 'types', 'names'];
const SOURCE = /(?<!\.d)\.[cm]?[jt]sx?$/;

/** Commands of psql in the files of pg_dump. */
const OF_PSQL = /^\\(?:un)?restrict .*$/gm;

/** Connections that ask. */
const CONNECTIONS = 4;

function filesIn(name) {
  if (!fs.statSync(name).isDirectory()) return [name];
  return fs
    .readdirSync(name, { withFileTypes: true })
    .filter(each => (each.isDirectory() ? !/^\.|^node_modules$/.test(each.name) : SOURCE.test(each.name)))
    .map(each => path.join(name, each.name))
    .filter(each => fs.existsSync(each)) // an editor's lock is a link to nothing
    .flatMap(filesIn);
}

/** @returns {string} file:line:column of a literal, or of what is some characters behind its quote */
function placeOf({ file, token: { line, column, parts } }, offset) {
  if (offset === undefined) return `${file}:${line}:${column}`;
  const before = parts[0].slice(0, offset).split('\n');
  return `${file}:${line + before.length - 1}:${before.length > 1 ? before.at(-1).length + 1 : column + 1 + offset}`;
}

/** What is wrong with a text, with the place in its source that the server names. */
function complaint(literal, error) {
  const {
    text,
    token: { parts }
  } = literal;
  const isExact = error.position !== undefined && parts.length === 1 && parts[0].replace(/\r\n/g, '\n') === text;
  const offset = isExact ? [...text].slice(0, error.position - 1).join('').length : undefined;
  const where = error.at && !isExact ? ` (line ${error.at.line}, column ${error.at.column} of the text)` : '';
  return `${placeOf(literal, offset)} - ${error.message}${where}${error.hint ? `\n  ${error.hint}` : ''}`;
}

/**
 * A connection string with other options in place of its own. No text of it is edited, since a database, for example,
 * has more than one place in a URL.
 * @param {string} string a URL or libpq's `key=value`
 * @param {Object<string, string>} options by libpq's names
 */
function changed(string, options) {
  const all = [...parseConninfo(string), ...Object.entries(options)]; // the last one of a name counts
  return all.map(([name, value]) => `${name}='${value.replace(/['\\]/g, '\\$&')}'`).join(' ');
}

/**
 * @param {string} url
 * @param {string} [database] the one to be in: a pooler may lead everywhere to one of its own
 * @returns {Promise<Client>} connected
 */
async function connect(url, database) {
  const client = new Client(changed(url, { ...(database && { dbname: database }), fallback_application_name: NAME }));
  try {
    await client.connect();
    if (database === undefined) return client;
    const { name } = (await client.query('SELECT pg_catalog.current_database() AS name')).one();
    if (name === database) return client;
    throw new Error(`connecting to the database ${database} led to ${name}: is there a pooler? Connect to the server`);
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Runs the SQL of a file in a session of its own. */
async function runScript(url, database, { file, text }) {
  const client = await connect(url, database);
  try {
    await client.simpleQuery(text.replace(OF_PSQL, ''));
  } catch (error) {
    throw new Error(`${file}:${error.at?.line ?? 1} - ${error.message}`, { cause: error });
  } finally {
    await client.end();
  }
}

/** Calls a function with a new database in which the scripts have run, and which ends with it. */
async function withDatabase(url, scripts, work) {
  const database = `quickgres_types_${randomBytes(8).toString('hex')}`;
  const stopped = new Promise((resolve, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  stopped.catch(() => {}); // when nothing of it is left to stop
  const one = changed(url, { load_balance_hosts: 'disable' }); // of several servers
  const admin = await connect(one);
  try {
    await admin.query(`CREATE DATABASE ${database} TEMPLATE template0`);
    for (const script of scripts) await Promise.race([runScript(one, database, script), stopped]);
    return await Promise.race([work(one, database), stopped]);
  } finally {
    await admin.query(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
    await admin.end();
  }
}

/** @returns {Promise<{lines: Map<string, string>, errors: string[]}>} the declaration of each text, by its name */
async function ask(url, database, texts, settings, isStrict) {
  const clients = [];
  const lines = new Map();
  try {
    for (let i = 0; i < CONNECTIONS; i++) clients.push(await connect(url, database));
    const typing = new Typing(clients, settings);
    await typing.load();
    const asked = new Map(texts.map(({ text }) => [text, typing.of(text)]));
    const answers = new Map(
      await Promise.all(Array.from(asked, async ([text, promise]) => [text, await promise.catch(error => ({ error }))]))
    );
    const errors = texts
      .map(literal => {
        const { error, values, row } = answers.get(literal.text);
        if (error instanceof ConnectionError) throw error;
        if (error) return complaint(literal, error);
        if (values.length + row.length === 0) return undefined; // for example COPY, whose result has a type of its own
        const name = literal.name ?? literal.text;
        const columns = row.length > 0 ? `{ ${row.join('; ')} }` : '{}';
        const taken = isStrict ? `[${values.join(', ')}]` : 'Values';
        const line = `    ${JSON.stringify(name)}: { values: ${taken}; row: ${columns} };`;
        if (!lines.has(name)) lines.set(name, line);
        if (lines.get(name) === line) return undefined;
        return `${placeOf(literal)} - sql<${JSON.stringify(name)}> has another text elsewhere`;
      })
      .filter(Boolean);
    const { unsure } = typing;
    if (unsure) console.error(`warning: all columns count as nullable: ${unsure.message}`);
    return { lines, errors: [...new Set(errors)] };
  } finally {
    await Promise.all(clients.map(client => client.end()));
  }
}

/** @returns {string[]} what is wrong with the file */
function compare(out, content, lines, texts, isStrict) {
  const old = fs.existsSync(out) ? fs.readFileSync(out, 'utf8').replace(/\r\n/g, '\n') : '';
  if (old === content) return [];
  if (old.includes(isStrict ? ': { values: Values;' : ': { values: ['))
    return [`${out} was made ${isStrict ? 'without' : 'with'} --strict: check it in the same way`];
  const known = new Set(old.split('\n'));
  const missing = texts.filter(({ name, text }) => lines.has(name ?? text) && !known.has(lines.get(name ?? text)));
  return [
    ...missing.map(each => `${placeOf(each)} - ${out} does not have the types of this text`),
    `${out} is out of date: run npx quickgres types`
  ];
}

/** @returns {{columns?: Object<string, string>, types?: Object<string, string>, names?: 'camel'}} */
function settingsIn(file) {
  let settings = {};
  try {
    ({ quickgres: settings = {} } = JSON.parse(fs.readFileSync(file, 'utf8')));
  } catch (error) {
    if (error.code !== 'ENOENT') throw new Error(`${file}: ${error.message}`, { cause: error });
  }
  const unknown = Object.keys(settings).find(name => !SETTINGS.includes(name));
  if (unknown === undefined) return settings;
  throw new Error(`${file}: quickgres has an unknown setting ${unknown}; there are ${SETTINGS.join(', ')}`);
}

/** @returns {Promise<boolean>} whether all is well */
async function types({ check, out, schema, list, strict }, names) {
  const files = names.flatMap(filesIn);
  const { texts, others } = literalsOf(new Map(files.map(file => [file, fs.readFileSync(file, 'utf8')])));
  const url = process.env.DATABASE_URL ?? '';
  const settings = settingsIn('package.json');
  const scripts = schema?.map(file => ({ file, text: fs.readFileSync(file, 'utf8') }));
  const work = (to, database) => ask(to, database, texts, settings, strict);
  const { lines, errors } = await (scripts ? withDatabase(url, scripts, work) : work(url));
  const declared = [...lines.values()].sort().join('\n');
  const content = `// Made by: npx quickgres types
import type { Value, Values } from 'quickgres';

declare module 'quickgres' {
  interface Queries {
${declared}
  }
}
`;
  if (check) errors.push(...compare(out, content, lines, texts, strict));
  else fs.writeFileSync(out, content);
  for (const each of errors) console.error(each);
  const counts = new Map();
  for (const { why } of others) counts.set(why, (counts.get(why) ?? 0) + 1);
  const unknown = Array.from(counts, ([why, count]) => `${count} ${why}`).join(', ');
  console.log(`${lines.size} texts in ${files.length} files have types${unknown && `; calls without: ${unknown}`}`);
  if (list) for (const each of others) console.log(`${placeOf(each)} - ${each.method}: ${each.why}`);
  return errors.length === 0;
}

async function main([command, ...args]) {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
  if (command !== 'types' || values.help) console.log(USAGE);
  else if (!(await types(values, positionals.length > 0 ? positionals : ['.']))) process.exitCode = 1;
}

if (require.main === module) {
  main(process.argv.slice(2)).catch(error => {
    console.error(error.message);
    if (error instanceof ConnectionError && !process.env.DATABASE_URL) console.error('DATABASE_URL is not set');
    process.exitCode = 1;
  });
}

module.exports = { main };

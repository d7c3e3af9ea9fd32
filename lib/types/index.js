#!/usr/bin/env node
'use strict';

// npx quickgres types: types of the SQL in a program, from a database, which is asked about each text and runs none.

const fs = require('node:fs');
const path = require('node:path');
const { isDeepStrictEqual, parseArgs } = require('node:util');
const { ConnectionError } = require('../..');
const { Changes } = require('./changes');
const { literalsOf } = require('./literals');
const { connect, Stopped, withDatabase } = require('./scratch');
const { readText, walk } = require('./sources');
const { statementsOf } = require('./statements');
const { Typing } = require('./typing');

const USAGE = `npx quickgres types [options] [files and folders]
  --out FILE     the file to write (default: queries.d.ts)
  --check        writes nothing, and fails if the file is out of date
  --strict       checks values as well
  --schema FILE  asks a new database, in which it has run this file; may be repeated
  --list         names each call whose text is not known
  --watch        writes the file again at each change of a source or a file of the schema
It reads the files of JavaScript and TypeScript in the folders, by default in the current one, but for node_modules.
The database is that of DATABASE_URL, or of PGHOST, PGUSER and the others.`;
const OPTIONS = {
  out: { type: 'string', default: 'queries.d.ts' },
  check: { type: 'boolean' },
  strict: { type: 'boolean' },
  schema: { type: 'string', multiple: true },
  list: { type: 'boolean' },
  watch: { type: 'boolean' },
  help: { type: 'boolean' }
};
const SETTINGS = ['columns', 'types', 'names'];

/** Connections that ask. */
const CONNECTIONS = 4;

/** @returns {string} file:line:column of a literal, or of what is some characters behind its quote */
function placeOf({ file, text, token: { line, column } }, offset) {
  if (offset === undefined) return `${file}:${line}:${column}`;
  const before = text.slice(0, offset).split('\n');
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

/** @returns {Promise<{lines: Map<string, string>, errors: string[]}>} the declaration of each text, by its name */
async function ask(url, database, texts, settings, isStrict) {
  const clients = [];
  const lines = new Map();
  const open = async () => clients.push(await connect(url, database));
  try {
    await open();
    const typing = new Typing(clients, settings);
    await typing.load();
    for (let i = 1; i < CONNECTIONS; i++) await open(); // just before they are needed: a server may end idle ones
    const different = [...new Set(texts.map(({ text }) => text))];
    const found = await Promise.all(different.map(text => typing.of(text).catch(error => ({ error }))));
    const answers = new Map(different.map((text, index) => [text, found[index]]));
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
    ({ quickgres: settings = {} } = JSON.parse(readText(file)));
  } catch (error) {
    if (error.code !== 'ENOENT') throw new Error(`${file}: ${error.message}`, { cause: error });
  }
  const isMap = value => typeof value === 'object' && value !== null && !Array.isArray(value);
  const check = (isSo, what) => {
    if (!isSo) throw new Error(`${file}: quickgres ${what}`);
  };
  check(isMap(settings), 'must be an object');
  const unknown = Object.keys(settings).find(name => !SETTINGS.includes(name));
  check(unknown === undefined, `has an unknown setting ${unknown}; there are ${SETTINGS.join(', ')}`);
  const { columns = {}, types = {}, names = 'camel' } = settings;
  for (const [name, map] of Object.entries({ columns, types }))
    check(
      isMap(map) && Object.values(map).every(type => typeof type === 'string'),
      `${name} must have types as strings`
    );
  check(names === 'camel', 'names must be "camel"');
  return settings;
}

/** @returns {Statement[]} of a file of SQL. @throws {Error} for one that must not be run */
function scriptIn(file) {
  const statements = statementsOf(readText(file));
  const bad = statements.find(({ wrong }) => wrong !== undefined);
  if (bad) throw new Error(`${file}:${bad.line} - ${bad.wrong}`);
  return { file, statements };
}

/** @returns {object} all that decides about the types, beside the database */
function read({ schema }, names) {
  const { files, folders } = walk(names);
  return {
    folders,
    scripts: schema?.map(scriptIn),
    settings: settingsIn('package.json'),
    sources: new Map(files.map(file => [file, readText(file)]))
  };
}

/** @returns {Promise<boolean>} whether all is well */
async function update({ check, out, list, strict }, { settings, sources }, url, database) {
  const { texts, others } = literalsOf(sources);
  const { lines, errors } = await ask(url, database, texts, settings, strict);
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
  else if (!fs.existsSync(out) || fs.readFileSync(out, 'utf8') !== content) fs.writeFileSync(out, content);
  for (const each of errors) console.error(each);
  const counts = new Map();
  for (const { why } of others) counts.set(why, (counts.get(why) ?? 0) + 1);
  const unknown = Array.from(counts, ([why, count]) => `${count} ${why}`).join(', ');
  console.log(`${lines.size} texts in ${sources.size} files have types${unknown && `; calls without: ${unknown}`}`);
  if (list) for (const each of others) console.log(`${placeOf(each)} - ${each.method}: ${each.why}`);
  return errors.length === 0;
}

/** Calls a function with the database to ask. */
const inDatabase = ({ scripts }, work) => {
  const url = process.env.DATABASE_URL ?? '';
  return scripts ? withDatabase(url, scripts, work) : work(url);
};

/** Updates the types at each change, until a signal comes. The database stays until a file of the schema changes. */
async function follow(options, names) {
  const changes = new Changes();
  const readNow = () => {
    const now = read(options, names);
    changes.in(['.', ...now.folders, ...[...names, ...(options.schema ?? [])].map(name => path.dirname(name))]);
    return now;
  };
  const complain = error => {
    if (error instanceof Stopped) throw error;
    console.error(error.message);
  };
  const after = async last => {
    for (;;) {
      await changes.next();
      try {
        const now = readNow();
        if (!isDeepStrictEqual({ ...now, folders: last.folders }, last)) return now;
      } catch (error) {
        complain(error);
      }
    }
  };
  let program = readNow();
  try {
    for (;;) {
      const { scripts } = program;
      const work = async (url, database) => {
        do {
          await update(options, program, url, database).catch(complain);
          program = await after(program);
        } while (isDeepStrictEqual(program.scripts, scripts));
      };
      try {
        await inDatabase(program, work);
      } catch (error) {
        complain(error);
        program = await after(program);
      }
    }
  } finally {
    changes.close();
  }
}

/** @returns {Promise<boolean>} whether all is well */
async function types(options, names) {
  const folder = path.dirname(options.out);
  if (!fs.existsSync(folder)) throw new Error(`--out ${options.out}: there is no folder ${folder}`);
  if (options.watch && options.check) throw new Error('--check writes nothing, so it does not go with --watch');
  if (options.watch) return follow(options, names);
  const program = read(options, names);
  return inDatabase(program, (url, database) => update(options, program, url, database));
}

/** Never rejects: it says what is wrong, and sets the exit code. */
async function main([command, ...args]) {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS });
    if (command !== 'types' || values.help) console.log(USAGE);
    else if (!(await types(values, positionals.length > 0 ? positionals : ['.']))) process.exitCode = 1;
  } catch (error) {
    console.error(error.message);
    if (error instanceof ConnectionError && !process.env.DATABASE_URL) console.error('DATABASE_URL is not set');
    process.exitCode = 1;
  }
}

if (require.main === module) main(process.argv.slice(2));

module.exports = { main };

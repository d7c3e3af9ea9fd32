'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');

const { OPTIONS } = require('../../lib/core/config');

const root = path.join(__dirname, '../..');
const read = name => fs.readFileSync(path.join(root, name), 'utf8');

/** The declarations of all entry points. */
const FILES = Object.entries(require('../../package.json').exports)
  .filter(([name]) => !/\*|json$/.test(name))
  .map(([, target]) => path.posix.normalize((target.require ?? target).types));

const COMMENT = /\/\*\*(?:[^*]|\*(?!\/))*\*\//.source;

/** What needs no words of ours: an EventEmitter's, an iterator's, and the fields of a server's message. */
const KNOWN = /^(?:on|once|off|addListener|prependListener|prependOnceListener|removeListener|\[Symbol\.\w+\])$/;
const FIELDS = /^ServerFields$/;

/**
 * The exports of a declaration file.
 * @param {string} text
 * @returns {Array<{title: string, kind: string, comment: string, texts: string[]}>} types, and members as `Type.member`;
 *   what is overloaded once, with all its texts
 */
function declarations(text) {
  const found = new Map();
  const pattern = new RegExp(
    `(?:(${COMMENT})\\n)?^export (?:declare )?(class|interface|type|function|const) (\\w+)`,
    'gm'
  );
  for (const match of text.matchAll(pattern)) {
    const [all, comment = '', kind, name] = match;
    const rest = text.slice(match.index + all.lastIndexOf('export '));
    const ending = /\{\}$/.test(rest.split('\n')[0]) ? /$/m : /^(?:class|interface)$/.test(kind) ? /^\}/m : /;$/m;
    const body = rest.slice(0, rest.search(ending) + 1).trimEnd();
    const add = (title, entry) => {
      const known = found.get(title);
      if (known === undefined) found.set(title, entry);
      else known.texts.push(...entry.texts);
      if (known?.comment === '') known.comment = entry.comment;
    };
    if (found.has(name) && /\{\}$/.test(body)) continue; // export interface Client extends Session {}
    add(name, { title: name, kind, comment, texts: kind === 'function' ? [body] : [] });
    if (!/^(?:class|interface)$/.test(kind)) continue;
    const member = new RegExp(
      `(?:^  (${COMMENT})\\n)?^  ((?:static |readonly |get )*(\\[[\\w. :]+\\]|\\w+)[^]*?;)$`,
      'gm'
    );
    for (const [, said = '', declared, own] of body.slice(body.search(/\{$/m)).matchAll(member)) {
      add(`${name}.${own}`, { title: `${name}.${own}`, kind: 'member', comment: said, texts: [declared] });
    }
  }
  return [...found.values()];
}

/** The names of the parameters of a declaration, and what it returns, types without what is in brackets. */
function signature(declaration) {
  let rest = declaration.replace(/^[^(]*/, '').replace(/=>/g, '');
  for (let shorter; (shorter = rest.replace(/(\([^]*?)[([{<][^()[\]{}<>]*[)\]}>]/, '$1')) !== rest;) rest = shorter;
  const [, parameters, type] = /^\(([^)]*)\)(?::\s*([^;]*))?/.exec(rest);
  return {
    type,
    names: parameters
      .split(',')
      .map(part => /\w+/.exec(part)?.[0])
      .filter(Boolean)
  };
}

const isCallable = text => /^(?:export (?:declare )?function |static )?\w+(?:<[^(]*>)?\(/.test(text);

/** Members of a type, by its title. */
const isMemberOf = (title, types) => title.includes('.') && types.test(title.split('.')[0]);

/** What is missing in the comments of declarations: `{ silent, calls, options }`, the latter two counts. */
function examine(text) {
  const silent = [];
  const counts = { calls: 0, options: 0 };
  for (const { title, comment, texts } of declarations(text)) {
    const member = title.split('.').slice(1).join('.');
    if (KNOWN.test(member) || isMemberOf(title, FIELDS)) continue;
    if (comment === '') silent.push(title);
    const calls = texts.filter(isCallable);
    if (calls.length > 0) counts.calls++;
    for (const { type, names } of calls.map(signature)) {
      for (const name of names) {
        if (!new RegExp(`\\b${name}\\b`).test(comment)) silent.push(`${title}: parameter ${name}`);
      }
      if (type && !/^(?:void|this|unknown)$/.test(type) && !comment.includes('@returns'))
        silent.push(`${title}: returns`);
      if (/^Promise/.test(type) && !/reject|throw/i.test(comment)) silent.push(`${title}: how it fails`);
    }
    if (isMemberOf(title, /Options$|^(?:Abortable|ClientConfig|PoolConfig|ReadOnly|Idempotent)$/)) {
      counts.options++;
      if (!/default/i.test(comment)) silent.push(`${title}: what holds without it`);
    }
  }
  return { silent: [...new Set(silent)], ...counts };
}

describe('The declarations, which are the reference,', () => {
  for (const file of FILES) {
    it(`say in ${file} what everything is, takes, returns, and how it fails`, () => {
      const { silent } = examine(read(file));
      assert.deepEqual(silent, []);
    });
  }

  it('have something to say it of', () => {
    const counts = FILES.map(file => examine(read(file)));
    const sum = name => counts.reduce((total, each) => total + each[name], 0);
    assert.ok(sum('calls') > 60, `${sum('calls')} calls`);
    assert.ok(sum('options') > 30, `${sum('options')} options`);
  });

  it('name the variable of every parameter of a connection', () => {
    const config = new Map(declarations(read('index.d.ts')).map(({ title, comment }) => [title, comment]));
    const wrong = Object.entries(OPTIONS).filter(
      ([name, [, variable]]) =>
        variable !== undefined && config.has(`Config.${name}`) && !config.get(`Config.${name}`).includes(variable)
    );
    assert.deepEqual(wrong, []);
  });

  it('leave out only parameters of which the guide says that they have no effect or are refused', () => {
    const declared = new Set(declarations(read('index.d.ts')).map(({ title }) => title));
    const guide = read('lib/core/config/README.md');
    const silent = Object.keys(OPTIONS)
      .filter(name => !declared.has(`Config.${name}`))
      .filter(name => !guide.includes(`\`${name.replace(/^oauth_\w+/, 'oauth_…').replace(/file$/, '')}`));
    assert.deepEqual(silent, []);
  });
});

describe('The check of the declarations', () => {
  it('finds what says nothing of itself, a parameter, a result, a failure or a default', () => {
    const { silent } = examine(`
export interface Silent {
  /** A name. */
  name: string;
  size: number;
}

/** Options. */
export interface CallOptions {
  /** Milliseconds. */
  late?: number;
  /** Bytes, 10 by default. */
  much?: number;
}

/** A class. */
export class Thing {
  /** Calls. @param first the first */
  call(first: string, second?: { a: number, b: () => void }): Promise<void>;
  /** Calls. @param first the first @returns what is; rejects */
  other(first: string): Promise<void>;
  on(event: string): this;
}

/** Makes one. */
export function make(size: number): Thing;
`);
    assert.deepEqual(silent, [
      'Silent',
      'Silent.size',
      'CallOptions.late: what holds without it',
      'Thing.call: parameter second',
      'Thing.call: returns',
      'Thing.call: how it fails',
      'make: parameter size',
      'make: returns'
    ]);
  });
});

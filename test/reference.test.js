'use strict';

const assert = require('node:assert/strict');
const { EventEmitter } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const quickgres = require('..');
const { reference } = require('./reference');

const root = path.join(__dirname, '..');

/** Public by their names, and still nobody's business but of the other rooms. */
const INTERNAL = {
  ResponseCache: ['age', 'settings', 'take'], RowParser: ['decoding', 'forFormat'],
  RowReader: ['decode', 'message', 'receive', 'receiveData', 'start'], PgOutput: ['relation', 'xid']
};

/** Own and inherited public names of what a class makes, up to what Node.js has. */
function membersOf(type) {
  const names = [];
  for (let at = type.prototype; ![Object, Error, EventEmitter].some(({ prototype }) => prototype === at) &&
    at.constructor.name !== 'Transform'; at = Object.getPrototypeOf(at)) names.push(...Object.getOwnPropertyNames(at));
  return names.filter(name => name !== 'constructor' && !name.startsWith('_') && !INTERNAL[type.name]?.includes(name));
}

describe('REFERENCE.md', () => {
  const text = reference();
  const [own, browser] = text.split('\n## client-parser\n');

  /** What is said of a name beside its declaration; undefined where it has no entry. */
  function told(part, name, level) {
    const [, rest] = part.split(`\n${level} ${name}\n`);
    if (rest === undefined) return undefined;
    return rest.split(/\n#{2,4} /)[0];
  }

  it('is what the script makes', () => {
    assert.equal(fs.readFileSync(path.join(root, 'REFERENCE.md'), 'utf8'), text, 'npm run reference makes it again');
  });

  it('has all that a program can import, and its members', async () => {
    for (const [part, module] of [[own, quickgres], [browser, await import('../client-parser/index.js')]]) {
      for (const [name, value] of Object.entries(module)) {
        assert.ok(told(part, name, '###') !== undefined, `${name} is missing`);
        if (typeof value !== 'function' || !/^class/.test(value)) continue;
        for (const member of membersOf(value)) {
          const owner = name === 'Client' && part === own && told(part, `Session.${member}`, '####') ? 'Session' : name;
          assert.ok(told(part, `${owner}.${member}`, '####') !== undefined, `${name}.${member} is missing`);
        }
      }
    }
    for (const name of Object.keys(new quickgres.Client()).filter(key => /^[a-z]/.test(key))) {
      assert.ok(told(own, `Client.${name}`, '####') !== undefined || name === 'domain', `Client.${name} is missing`);
    }
  });

  it('has every name of the declarations', () => {
    const read = name => fs.readFileSync(path.join(root, name), 'utf8');
    const types = fs.readdirSync(path.join(root, 'types')).map(name => read(`types/${name}`)).join('\n');
    for (const [part, declared] of [[own, read('index.d.ts') + types], [browser, read('client-parser/index.d.ts')]]) {
      const names = [...declared.matchAll(/^export (?:declare )?(?:class|interface|type|function|const) (\w+)/gm)];
      assert.ok(names.length > 15);
      for (const [, name] of names) assert.ok(told(part, name, '###') !== undefined, `${name} is missing`);
    }
  });

  it('says of every member what it is', () => {
    const entries = text.split(/\n(?=#### )/).slice(1).map(each => each.split(/\n#{2,3} /)[0]);
    assert.ok(entries.length > 150);
    const silent = entries.filter(each => each.replace(/^#### .*\n\n```ts\n[^]*?\n```/, '').trim() === '');
    assert.deepEqual(silent.map(each => each.split('\n')[0]), []);
  });

  /** Of each name its title, its declaration, and what is said beside that. */
  const entries = text.split(/\n(?=###+ )/).slice(1).map(each => {
    const [, title, before, code = '', after = ''] = /^#+ (.*)\n([^]*?)(?:```ts\n([^]*?)\n```([^]*?))?(?:\n## .*\s*)?$/.exec(each);
    return { title, code, prose: before + after };
  });

  /** The names of the parameters of a declaration, and what it returns, types without what is in brackets. */
  function signature(declaration) {
    let rest = declaration.replace(/^[^(]*/, '').replace(/=>/g, '');
    for (let shorter; (shorter = rest.replace(/(\([^]*?)[([{<][^()[\]{}<>]*[)\]}>]/, '$1')) !== rest;) rest = shorter;
    const [, parameters, type] = /^\(([^)]*)\)(?:: ?([^;]*))?/.exec(rest);
    return { type, names: parameters.split(',').map(part => /\w+/.exec(part)?.[0]).filter(Boolean) };
  }

  it('says of whatever can be called what its parameters are, what it returns, and how it fails', () => {
    const silent = [];
    let count = 0;
    for (const { title, code, prose } of entries) {
      if (!/^(?:export (?:declare )?function |static )?\w+(?:<[^(]*>)?\(/.test(code)) continue;
      count++;
      for (const { type, names } of code.split(/;\n(?=\S)/).map(signature)) {
        for (const name of names) if (!new RegExp(`\\b${name}\\b`).test(prose)) silent.push(`${title}: parameter ${name}`);
        if (type && !/^(?:void|this|unknown)$/.test(type) && !prose.includes('*returns*')) silent.push(`${title}: what it returns`);
        if (/^Promise/.test(type) && !/reject|throw/.test(prose)) silent.push(`${title}: how it fails`);
      }
    }
    assert.ok(count > 60, `${count}`);
    assert.deepEqual(silent, []);
  });

  it('says of every option what holds without it', () => {
    const silent = [];
    let count = 0;
    for (const { title, code, prose } of entries) {
      if (!/Options$|^Abortable$|^Config$/.test(title)) continue;
      for (const [, comment = '', name] of code.matchAll(/^ {2}(?:(\/\*\*(?:[^*]|\*(?!\/))*\*\/)\n {2})?(\w+)\?: /gm)) {
        count++;
        if (!(title === 'Config' ? prose.includes(`\`${name}\``) : /default/i.test(comment))) silent.push(`${title}.${name}`);
      }
    }
    assert.ok(count > 70, `${count}`);
    assert.deepEqual(silent, []);
  });
});

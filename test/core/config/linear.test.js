'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { lookupPassword, resolve } = require('../../../lib/core/config');
const { parse } = require('../../../lib/core/config/conninfo');
const { checkParameterName } = require('../../../lib/core/config/names');
const { OPTIONS } = require('../../../lib/core/config/options');

/** Characters of each text. */
const SIZE = 2e5;

/** What a quadratic pattern takes minutes for must be over in so much time of the processor, in ms. */
const LIMIT = 3000;

const many = text => text.repeat(SIZE / text.length);

/** Does it, whether it throws or not, and sees to the time it takes. */
function quickly(work) {
  const begun = process.cpuUsage();
  try {
    work();
  } catch (error) {
    assert.ok(error instanceof TypeError, error.stack);
  }
  const time = process.cpuUsage(begun).user / 1000;
  assert.ok(time < LIMIT, `it took ${time} ms`);
}

describe('A long text made against', () => {
  const urls = {
    'the blanks around a part of a URL': `h/x${many(' ')}x`,
    'the blanks at the start of a part of a URL': `h/${many(' ')}`,
    'the blanks around a port': `h:${many('%C2%A0')}x`,
    'the digits of a port': `h:${many('1')}x`,
    'the user name of a URL': many('u'),
    'the password of a URL': `u:${many(':')}`,
    'the brackets of a URL': many('['),
    'the closing brackets of a URL': `[${many(']')}`,
    'the hosts of a URL': many(','),
    'the colons of a host': many('h:'),
    'the slashes of a URL': many('/'),
    'the parameters of a URL': `h/?${many('user=x&')}`,
    'the equals signs of a URL': `h/?user=${many('=')}`,
    'the name of a parameter of a URL': `h/?${many('a')}-=`,
    'the escapes of a URL': `h/${many('%41')}%4`,
    'the question marks of a URL': many('?')
  };
  for (const [what, rest] of Object.entries(urls)) it(what, () => quickly(() => parse(`postgresql://${rest}`)));

  const pairs = {
    'the blanks of a list of pairs': many(' '),
    'the blanks before the equals sign of a pair': `user${many(' ')}x`,
    'the blanks behind the equals sign of a pair': `user=${many(' ')}=`,
    'the blanks between pairs': many('user=x      '),
    'the name of a pair': many('a'),
    'the value of a pair': `user=${many('a')}`,
    'the escapes of a pair': `user=${many('\\a')}`,
    'the backslashes of a pair': `user=${many('\\')}`,
    'the quotes of a pair': `user='${many('a')}`,
    'the escaped quotes of a pair': `user='${many("\\'")}`,
    'the pairs of a list': many('user=x ')
  };
  for (const [what, text] of Object.entries(pairs)) it(what, () => quickly(() => parse(text)));

  for (const [name, text] of [
    ['keepalives_idle', `${many(' ')}x`],
    ['keepalives_idle', `${many('1')}x`],
    ['keepalives_idle', `1${many(' ')}x`],
    ['connect_timeout', `${many('1')}x`],
    ['connect_timeout', `1.${many('1')}x`],
    ['connect_timeout', `${many(' ')}x`],
    ['connect_timeout', `1${many(' ')}x`],
    ['client_encoding', many('-')],
    ['client_encoding', many('a-')],
    ['require_auth', many('!')],
    ['require_auth', many('!md5,')],
    ['require_auth', many(',')]
  ]) {
    const parser = OPTIONS[name][0];
    it(`the option ${name}: ${text.slice(0, 4)}…${text.slice(-1)}`, () => quickly(() => parser(text, name)));
  }

  for (const config of [
    { [many('a')]: 1 },
    { [`${many('a')} `]: 1 },
    { [many('aA')]: 1 },
    { [many('_')]: 1 },
    { host: many('%') },
    { host: `${many('@')}` },
    { host: many('/') },
    { host: many(',') },
    { port: many(' ') },
    { hostaddr: many(':') },
    { database: many('postgres') }
  ]) {
    const [[name, value]] = Object.entries(config);
    const what = `the config { ${name.slice(0, 20)}: ${String(value).slice(0, 4)} }`;
    it(what, () => quickly(() => resolve(config, {}, {})));
  }

  it('the names of a config object', () => {
    for (const name of [`passwor${many('d')}`, `${many('p')}assword`]) quickly(() => checkParameterName(name));
  });

  it('a password file', () => {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
    const file = path.join(directory, 'pgpass');
    try {
      for (const text of [
        many('\r'),
        `${many('\r')}x`,
        many('\r\n'),
        many(':'),
        many('\\'),
        many('\\:'),
        many('a'),
        many('*:*:*:*\n')
      ]) {
        fs.writeFileSync(file, text, { mode: 0o600 });
        quickly(() => lookupPassword(file, { host: 'h', port: 1, database: 'd', user: 'u' }));
      }
    } finally {
      fs.rmSync(directory, { recursive: true });
    }
  });
});

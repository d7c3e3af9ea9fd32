'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { lookupPassword } = require('../../../lib/core/config/files');
const { defaultHost } = require('../../../lib/core/config/hosts');

describe('a password file', () => {
  let directory;
  let file;
  const write = (text, mode = 0o600) => {
    fs.writeFileSync(file, text, { mode });
    fs.chmodSync(file, mode);
  };
  const find = server => lookupPassword(file, { host: 'h', port: 5432, database: 'd', user: 'u', ...server });

  before(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
  });

  beforeEach(() => {
    file = path.join(directory, String(Math.random()));
  });

  after(() => fs.rmSync(directory, { recursive: true }));

  it('gives the password of the first line that matches', () => {
    write('h:5432:d:other:1\nh:5432:d:u:2\nh:5432:d:u:3\n');
    assert.equal(find(), '2');
    assert.equal(find({ user: 'other' }), '1');
    for (const other of [{ host: 'H' }, { port: 5433 }, { database: 'D' }, { user: '' }, { host: 'h:5432' }]) {
      assert.equal(find(other), undefined);
    }
  });

  it('matches anything where a field is a star, and nothing but a star where it is escaped', () => {
    write('*:5433:*:*:a\nh:*:d:u:b\nh\\*:5432:d:u:c\n\\*:5432:d:u:d\n');
    assert.equal(find({ host: 'x', port: 5433, database: '', user: 'y' }), 'a');
    assert.equal(find({ port: 1 }), 'b');
    assert.equal(find({ host: 'h*' }), 'c');
    assert.equal(find({ host: '*' }), 'd');
    assert.equal(find({ host: 'hx' }), undefined);
  });

  it('has colons and backslashes escaped in every field', () => {
    write('\\:\\:1:5432:a\\\\b:c\\:d:p\\:w\\\\x\\y\n');
    assert.equal(find({ host: '::1', database: 'a\\b', user: 'c:d' }), 'p:w\\xy');
  });

  it('ends the password at an unescaped colon, and keeps a backslash at the very end', () => {
    write('h:5432:d:u:abc:def\nh:5433:d:u:x\\\n');
    assert.equal(find(), 'abc');
    assert.equal(find({ port: 5433 }), 'x\\');
  });

  it('has comments, short lines and empty lines passed over', () => {
    write('#h:5432:d:u:1\n\n:\nh:5432:d:u\n*\n # h:5432:d:u:2\nh:5432:d:u:3');
    assert.equal(find(), '3');
  });

  it('may have Windows line ends, blanks and other alphabets in a password', () => {
    write('h:5432:d:u: pässwörd \r\nh:5433:d:u:x\r\n');
    assert.equal(find(), ' pässwörd ');
    assert.equal(find({ port: 5433 }), 'x');
  });

  it('may have an empty password, which ends the search', () => {
    write('h:5432:d:u:\nh:5432:d:u:x\n');
    assert.equal(find(), '');
  });

  it('calls the default socket directory localhost, and other directories what they are', function () {
    write('localhost:5432:d:u:1\n/else:5432:d:u:2\n');
    assert.equal(find({ host: defaultHost() }), '1');
    assert.equal(find({ host: 'localhost' }), '1');
    assert.equal(find({ host: '/else' }), '2');
    assert.equal(find({ host: '/other' }), undefined);
  });

  it('goes by the address only where there is no host', () => {
    write('10.0.0.1:5432:d:u:1\nh:5432:d:u:2\n');
    assert.equal(find({ host: undefined, hostaddr: '10.0.0.1' }), '1');
    assert.equal(find({ hostaddr: '10.0.0.1' }), '2');
  });

  it('that is not there gives none', () => {
    assert.equal(find(), undefined);
  });

  /** Calls a function with process.emitWarning replaced, and gives the messages. */
  function warnings(call) {
    const messages = [];
    const { emitWarning } = process;
    process.emitWarning = message => messages.push(message);
    try {
      call();
    } finally {
      process.emitWarning = emitWarning;
    }
    return messages;
  }

  it('that others may read is not used, which a warning says', function () {
    if (process.platform === 'win32') this.skip();
    for (const mode of [0o640, 0o604, 0o620, 0o601]) {
      file = path.join(directory, mode.toString(8));
      write('h:5432:d:u:secret\n', mode);
      const messages = warnings(() => assert.equal(find(), undefined));
      assert.equal(messages.length, 1);
      assert.match(messages[0], /has group or world access; permissions should be u=rw \(0600\)/);
      assert.ok(messages[0].includes(file));
    }
  });

  it('that cannot be read gives none', () => {
    file = path.join(directory, 'directory');
    fs.mkdirSync(file, 0o700);
    assert.equal(find(), undefined);
  });

  it('that is no plain file is not read, which might never end', function () {
    if (process.platform === 'win32') this.skip();
    file = '/dev/null'; // which others may read, too
    assert.deepEqual(
      warnings(() => assert.equal(find(), undefined)),
      []
    );
  });
});

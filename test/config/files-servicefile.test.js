'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readService, parseService } = require('../../lib/config/files');

const parse = (text, service) => {
  const settings = parseService(text, service, 'x.conf');
  return settings && Object.fromEntries(settings);
};

describe('a service', () => {
  const text = [
    '# [commented]',
    'before=any section',
    '[one]',
    'host=a',
    '',
    '  # indented',
    '\tport=1  ',
    'host=b',
    'password=x=y ',
    '[two]',
    'user=',
    '[one]',
    'dbname=late',
    '[bad]',
    'host'
  ].join('\r\n');

  it('is the settings of its section, the first of a name', () => {
    assert.deepEqual(parse(text, 'one'), { host: 'a', port: '1', password: 'x=y' });
    assert.deepEqual(parse(text, 'two'), { user: '' });
  });

  it('is none where no section has its name', () => {
    assert.equal(parse(text, 'commented'), undefined);
    assert.equal(parse(text, 'on'), undefined);
    assert.equal(parse('', ''), undefined);
  });

  it('has known options only, with an equals sign right after, and names the line that is wrong', () => {
    const wrong = [
      ['[x]\nhost=a\n\nhost b', /"x.conf", line 4/],
      ['[x]\nhost = a', /line 2/],
      ['[x]\nhots=a', /line 2/],
      ['[x]\n=a', /line 2/],
      ['[x]\nservice=y', /line 2: nested service/],
      ['[x]\nservicefile=y', /line 2: nested/]
    ];
    for (const [lines, message] of wrong) assert.throws(() => parse(lines, 'x'), message);
    assert.throws(
      () => parse('[x]\npasswort=hunter2', 'x'),
      error => !error.stack.includes('hunter2')
    );
  });
});

describe('service files', () => {
  let directory;
  let env;
  const write = (name, text) => {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    fs.writeFileSync(path.join(directory, name), text);
    return path.join(directory, name);
  };
  const read = (service, file) => Object.fromEntries(readService(service, file, env));

  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-'));
    env = {
      HOME: path.join(directory, 'home'),
      APPDATA: path.join(directory, 'home'),
      PGSYSCONFDIR: directory
    };
  });

  afterEach(() => fs.rmSync(directory, { recursive: true }));

  it('are the named one before that of PGSERVICEFILE before that of the user', function () {
    if (process.platform !== 'win32') write('home/.pg_service.conf', '[x]\nhost=user');
    else write('home/postgresql/.pg_service.conf', '[x]\nhost=user');
    assert.deepEqual(read('x'), { host: 'user' });
    env.PGSERVICEFILE = write('variable', '[x]\nhost=variable');
    assert.deepEqual(read('x'), { host: 'variable' });
    assert.deepEqual(read('x', write('named', '[x]\nhost=named')), { host: 'named' });
  });

  it("are the system's where the user's does not define the service", () => {
    write('pg_service.conf', '[x]\nhost=system');
    assert.deepEqual(read('x'), { host: 'system' });
    env.PGSERVICEFILE = write('variable', '[y]\nhost=variable');
    assert.deepEqual(read('x'), { host: 'system' });
  });

  it('that are named must be there', () => {
    write('pg_service.conf', '[x]\nhost=system');
    env.PGSERVICEFILE = path.join(directory, 'nothing');
    assert.throws(() => read('x'), /service file ".*nothing" could not be read: ENOENT/);
    assert.throws(() => read('x', directory), /EISDIR/);
  });

  it('must define the service', () => {
    assert.throws(() => read('x'), /definition of service "x" not found/);
    delete env.PGSYSCONFDIR;
    assert.throws(() => read('no such service anywhere'), /not found/);
  });
});

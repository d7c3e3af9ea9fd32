'use strict';

const assert = require('node:assert/strict');
const { parse } = require('../../../lib/core/config/conninfo');

const read = text => Object.fromEntries(parse(text));

/** What fails to parse, what its error says, and what it must not show. */
function refuses(text, message, secret) {
  assert.throws(
    () => read(text),
    error => {
      assert.ok(error instanceof TypeError);
      assert.match(error.message, message);
      if (secret) assert.ok(!error.stack.includes(secret), error.stack);
      return true;
    }
  );
}

describe('a connection URL', () => {
  const urls = {
    'postgresql://': {},
    'postgres://': {},
    'postgresql:///': {},
    'postgresql://localhost': { host: 'localhost' },
    'postgres://localhost': { host: 'localhost' },
    'postgresql://localhost:5433': { host: 'localhost', port: '5433' },
    'postgresql://localhost:/db': { host: 'localhost', dbname: 'db' },
    'postgresql://:5433': { port: '5433' },
    'postgresql://localhost/mydb': { host: 'localhost', dbname: 'mydb' },
    'postgresql://localhost/mydb?': { host: 'localhost', dbname: 'mydb' },
    'postgresql:///mydb': { dbname: 'mydb' },
    'postgresql:///a/b': { dbname: 'a/b' },
    'postgresql://user@localhost': { user: 'user', host: 'localhost' },
    'postgresql://user@': { user: 'user' },
    'postgresql://@host': { host: 'host' },
    'postgresql://:secret@host': { password: 'secret', host: 'host' },
    'postgresql://user:@host': { user: 'user', host: 'host' },
    'postgresql://user:pass@host/db': { user: 'user', password: 'pass', host: 'host', dbname: 'db' },
    'postgresql://user:a:b:c@host': { user: 'user', password: 'a:b:c', host: 'host' },
    'postgresql://user:what?@host': { user: 'user', password: 'what?', host: 'host' },
    'postgresql://user:p%40ss%2Fw%3Ard%25@host': { user: 'user', password: 'p@ss/w:rd%', host: 'host' },
    'postgresql://us%65r:%C3%A4@host': { user: 'user', password: 'ä', host: 'host' },
    'postgresql://other@localhost/otherdb?connect_timeout=10&application_name=myapp': {
      user: 'other',
      host: 'localhost',
      dbname: 'otherdb',
      connect_timeout: '10',
      application_name: 'myapp'
    },
    'postgresql:///mydb?host=localhost&port=5433': { dbname: 'mydb', host: 'localhost', port: '5433' },
    'postgresql://one:1/db?host=two&port=2': { host: 'two', port: '2', dbname: 'db' },
    'postgresql://localhost/?user=me&password=secret&dbname=x': {
      host: 'localhost',
      user: 'me',
      password: 'secret',
      dbname: 'x'
    },
    'postgresql://host1:123,host2:456/somedb?target_session_attrs=any': {
      host: 'host1,host2',
      port: '123,456',
      dbname: 'somedb',
      target_session_attrs: 'any'
    },
    'postgresql://host1,host2:2,host3': { host: 'host1,host2,host3', port: ',2,' },
    'postgresql://host1,host2': { host: 'host1,host2', port: ',' },
    'postgresql://[2001:db8::1234]/database': { host: '2001:db8::1234', dbname: 'database' },
    'postgresql://[::1]:5433/?sslmode=disable': { host: '::1', port: '5433', sslmode: 'disable' },
    'postgresql://[::1],[::2]:2?user=x': { host: '::1,::2', port: ',2', user: 'x' },
    'postgresql://%2Fvar%2Flib%2Fpostgresql/dbname': { host: '/var/lib/postgresql', dbname: 'dbname' },
    'postgresql:///dbname?host=/var/lib/postgresql': { dbname: 'dbname', host: '/var/lib/postgresql' },
    'postgresql://%40abstract/db': { host: '@abstract', dbname: 'db' },
    'postgresql://a%2Cb/db': { host: 'a,b', dbname: 'db' },
    'postgresql://localhost?ssl=true': { host: 'localhost', sslmode: 'require' },
    'postgresql://localhost?requiressl=1': { host: 'localhost', sslmode: 'require' },
    'postgresql://localhost?requiressl=0': { host: 'localhost', sslmode: 'prefer' },
    'postgresql://localhost?options=-c%20geqo%3Doff': { host: 'localhost', options: '-c geqo=off' },
    'postgresql://localhost?application_name=a+b': { host: 'localhost', application_name: 'a+b' },
    'postgresql://localhost?user=&user=last': { host: 'localhost', user: 'last' },
    'postgresql://localhost?user=': { host: 'localhost', user: '' },
    'postgresql://localhost?user=x&': { host: 'localhost', user: 'x' },
    'postgresql://localhost?%75ser=x': { host: 'localhost', user: 'x' },
    'postgresql://localhost/db#x': { host: 'localhost', dbname: 'db#x' },
    'postgresql:// localhost /db': { host: 'localhost', dbname: 'db' },
    'postgresql://localhost?statement_cache=0': { host: 'localhost', statement_cache: '0' }
  };
  for (const [url, expected] of Object.entries(urls)) {
    it(`reads ${url}`, () => {
      assert.deepEqual(read(url), expected);
    });
  }

  it('names an unknown query parameter', () => {
    refuses('postgresql://localhost/db?sslmod=require', /unknown query parameter "sslmod"/);
    refuses(
      'postgresql://localhost/db?search_path=x',
      /unknown query parameter "search_path"; a server setting belongs in the config's object$/
    );
    refuses('postgresql://u@::1:5432/db', /a port that is not a number .* an IPv6 address in "\[" and "\]"$/);
    refuses('postgresql://localhost:1/db?sslmod=require', /unknown query parameter "sslmod"/);
    refuses('postgresql://localhost/db?database=x', /unknown query parameter "database"/);
    refuses('postgresql://localhost:1/db?user=a@b&x=1', /unknown query parameter/);
  });

  it('says what to write in place of a parameter that providers add for other clients', () => {
    for (const [parameter, hint] of [
      ['supa=base-pooler.x', ''],
      ['workaround=supabase-pooler.vercel', ''],
      ['uselibpqcompat=true', ''],
      ['pgbouncer=true', ', and set statement_cache to 0'],
      ['schema=shop', ", and set search_path in the config's object"],
      ['connection_limit=5', ', and write new Pool(config, { size })'],
      ['pool_timeout=10', ', and write new Pool(config, { acquire_timeout })'],
      ['sslaccept=strict', ', and set sslmode'],
      ['ssl=no-verify', ', and set sslmode'],
      ['ssl=false', ', and set sslmode'],
      ['statement_cache_size=0', ', and set statement_cache']
    ])
      refuses(
        `postgresql://u:p@host/db?sslmode=require&${parameter}`,
        new RegExp(`unknown query parameter "${parameter.split('=')[0]}": remove it${hint.replace(/[(){}]/g, '\\$&')}$`)
      );
    refuses('postgresql://host/db?password=a&supa=b', /unknown query parameter$/);
  });

  it('has ports that are numbers, and does not show what may be a part of a password', () => {
    for (const port of ['0', '65536', 'hunter2', '1.5', '%30']) {
      refuses(`postgresql://user:${port}/x@host/db`, /^connection URL has /, 'hunter2');
      refuses(
        `postgresql://host,host:${port}/db`,
        /a port that is not a number from 1 to 65535; write %2F for a "\/" in the password/,
        'hunter2'
      );
    }
    assert.equal(parse('postgresql://a:%31,b,c:+2/db').get('port'), '1,,+2');
  });

  it('has exactly one equals sign in a query parameter', () => {
    refuses('postgresql://localhost?user', /no "=" in the query parameter "user"/);
    refuses('postgresql://localhost?options=-c%20a=b', /more than one "=" in the query parameter "options"/);
    refuses('postgresql://localhost?user=a&&port=1', /no "="/);
    refuses('postgresql://localhost?&user=a', /no "="/);
  });

  it('has its percent signs before two hexadecimal digits, which give UTF-8', () => {
    refuses('postgresql://localhost/%', /invalid percent-encoding in the database name/);
    refuses('postgresql://localhost/%4', /invalid percent-encoding/);
    refuses('postgresql://localhost/%zz', /invalid percent-encoding/);
    refuses('postgresql://localhost?user=%ff', /invalid percent-encoding in the query parameter "user"/);
  });

  it('has no blanks inside', () => {
    refuses('postgresql://localhost/my db', /a blank in the database name/);
    refuses('postgresql://local host/', /a blank in the host/);
    refuses('postgresql://localhost/?user=a%20b&options=-c geqo=off', /more than one "="/);
  });

  it('has an IPv6 address in complete brackets', () => {
    refuses('postgresql://[::1', /malformed host/);
    refuses('postgresql://[]', /malformed host/);
    refuses('postgresql://[::1]x', /malformed host/);
  });

  it('never shows a password in its errors, wherever a malformed URL has put it', () => {
    refuses('postgresql://user:12/x?hunter2=y@host/db', /unknown query parameter$/, 'hunter2');
    refuses('postgresql://user:12/x?hunter2@host/db', /no "=" in the query parameter$/, 'hunter2');
    refuses('postgresql://host/db?user=me&password=a&hunter2', /no "=" in the query parameter$/, 'hunter2');
    refuses('postgresql://host/db?sslpassword=a&hunter2=b', /unknown query parameter$/, 'hunter2');
    refuses('postgresql://host/db?sslpassword=a&user=b&hunter2=c', /unknown query parameter$/, 'hunter2');
    refuses('postgresql://user:a@hunter2@host/db', /write %40/, 'hunter2');
    refuses('postgresql://user:hunter2%@host/db', /invalid percent-encoding in the password/, 'hunter2');
    refuses('postgresql://user:hunter2 x@host/db', /a blank in the password/, 'hunter2');
    refuses('postgresql://host/?password=hunter2=', /more than one "=" in .* "password"/, 'hunter2');
    refuses(
      'http://user:hunter2@host/db?a=b',
      /unknown option, at the start \(a URL begins with postgresql:\/\/\)$/,
      'hunter2'
    );
    refuses('user:hunter2@host/db', /no "="/, 'hunter2');
  });

  it('of a million brackets is read in no time', () => {
    refuses(`postgresql://${'['.repeat(1e6)}`, /malformed host/);
  });
});

describe('a key=value connection string', () => {
  const strings = {
    '': {},
    ' \t\n': {},
    'host=localhost port=5432 dbname=mydb connect_timeout=10': {
      host: 'localhost',
      port: '5432',
      dbname: 'mydb',
      connect_timeout: '10'
    },
    'host = localhost   port\t=\n5432': { host: 'localhost', port: '5432' },
    "password='two words'": { password: 'two words' },
    "password=''": { password: '' },
    'password=': { password: '' },
    'password= user=x': { password: 'user=x' },
    "password='it\\'s'": { password: "it's" },
    "password='back\\\\slash'": { password: 'back\\slash' },
    "password=it\\'s": { password: "it's" },
    'password=two\\ words': { password: 'two words' },
    'password=back\\\\slash': { password: 'back\\slash' },
    'password=end\\': { password: 'end' },
    'password=\\n': { password: 'n' },
    "password=mid'quote'": { password: "mid'quote'" },
    "user='a'port=1": { user: 'a', port: '1' },
    "user='a=b' dbname=c=d": { user: 'a=b', dbname: 'c=d' },
    'user=a user=b': { user: 'b' },
    'dbname=postgresql://host/x': { dbname: 'postgresql://host/x' },
    'host=a,b port=1,2': { host: 'a,b', port: '1,2' },
    'host=%2Ftmp': { host: '%2Ftmp' },
    'user=größe password=\u00a0': { user: 'größe', password: '\u00a0' },
    "options='-c geqo=off'": { options: '-c geqo=off' },
    'requiressl=1': { sslmode: 'require' },
    'service=x servicefile=/y': { service: 'x', servicefile: '/y' }
  };
  for (const [string, expected] of Object.entries(strings)) {
    it(`reads ${JSON.stringify(string)}`, () => {
      assert.deepEqual(read(string), expected);
    });
  }

  it('names an unknown option', () => {
    refuses('host=x sslmod=require', /unknown option, "sslmod"/);
    refuses('database=x', /unknown option, "database"/);
    refuses('ssl=true', /unknown option, "ssl"/);
    refuses('constructor=x', /unknown option, "constructor"/);
    refuses('=x', /unknown option, at the start/);
  });

  it('has an equals sign after every name and a closing quote for every opening one', () => {
    refuses('mydb', /no "=".* "mydb"/);
    refuses('host=x port', /no "=".* "port"/);
    refuses("user='x", /no closing quote, "user"/);
    refuses("user='x\\'", /no closing quote, "user"/);
  });

  it('never shows a password in its errors', () => {
    refuses('password=correct horse', /no "=".* after "password"/, 'horse');
    refuses('user=x password=correct qz=rse', /unknown option, after "password"/, 'qz');
    refuses("password='hunter2", /no closing quote, "password"/, 'hunter2');
    refuses('sslpassword=correct horse=1', /after "sslpassword"/, 'horse');
  });
});

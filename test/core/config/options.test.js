'use strict';

const assert = require('node:assert/strict');
const { OPTIONS, isOption } = require('../../../lib/core/config/options');

const parse = (name, value) => OPTIONS[name][0](value, name);

/** The default of an option, parsed. */
const byDefault = name => OPTIONS[name][2] && parse(name, OPTIONS[name][2]);

describe('options', () => {
  const choices = {
    sslmode: ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
    sslnegotiation: ['postgres', 'direct'],
    channel_binding: ['disable', 'prefer', 'require'],
    target_session_attrs: ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
    load_balance_hosts: ['disable', 'random'],
    sslcertmode: ['disable', 'allow'],
    gssencmode: ['disable', 'prefer']
  };
  for (const [name, words] of Object.entries(choices)) {
    it(`take ${words.join(', ')} for ${name} and nothing else`, () => {
      for (const word of words) assert.equal(parse(name, word), word);
      for (const word of ['', 'on', words[0].toUpperCase(), `${words[0]} `, 'constructor']) {
        assert.throws(
          () => parse(name, word),
          error => {
            return error instanceof TypeError && error.message.startsWith(name) && error.message.includes(`"${word}"`);
          }
        );
      }
    });
  }

  it('refuse what is not supported and somebody relies on', () => {
    for (const [name, words] of [
      ['gssencmode', 'disable, prefer'],
      ['sslcertmode', 'disable, allow']
    ]) {
      assert.throws(() => parse(name, 'require'), {
        name: 'TypeError',
        message: `${name} must be one of ${words}, not "require"`
      });
    }
    for (const name of ['requirepeer', 'sslcrl', 'sslcrldir', 'sslkeylogfile', 'scram_client_key', 'oauth_issuer']) {
      assert.throws(() => parse(name, 'x'), { name: 'TypeError', message: `${name} is not supported` });
      assert.equal(parse(name, ''), undefined);
    }
  });

  it('include every option of libpq 18', () => {
    const names = `service user password passfile channel_binding connect_timeout dbname host hostaddr port
      client_encoding options application_name fallback_application_name keepalives keepalives_idle
      keepalives_interval keepalives_count tcp_user_timeout sslmode sslnegotiation sslcompression sslcert
      sslkey sslcertmode sslpassword sslrootcert sslcrl sslcrldir sslsni requirepeer require_auth
      min_protocol_version max_protocol_version ssl_min_protocol_version ssl_max_protocol_version gssencmode
      krbsrvname gsslib gssdelegation replication target_session_attrs load_balance_hosts scram_client_key
      scram_server_key oauth_issuer oauth_client_id oauth_client_secret oauth_scope sslkeylogfile`.split(/\s+/);
    for (const name of names) assert.ok(isOption(name), name);
    for (const name of ['database', 'ssl', 'socket', 'toString', '__proto__']) assert.ok(!isOption(name), name);
  });

  it('read integers as C does', () => {
    for (const [value, expected] of [
      ['5', 5],
      [' +5 ', 5],
      ['007', 7],
      ['0', 0],
      ['-3', 0],
      ['2147483647', 2147483647]
    ]) {
      assert.equal(parse('keepalives_idle', value), expected);
    }
    for (const value of ['', ' ', '1.5', '0x10', '1e3', '5s', '2147483648', 'NaN', 'Infinity']) {
      assert.throws(() => parse('tcp_user_timeout', value), /^TypeError: tcp_user_timeout must be an integer, not "/);
    }
  });

  it('read connect_timeout in seconds with a fraction, 0 and less as none', () => {
    const times = { 10: 10, ' 2 ': 2, 0.5: 0.5, '.5': 0.5, '1.': 1, 0: 0, '-1': 0, '-0.5': 0 };
    for (const value in times) assert.equal(parse('connect_timeout', value), times[value]);
    for (const value of ['', '.', 'soon', '10s', '1e3', '99999999999', 'Infinity']) {
      assert.throws(() => parse('connect_timeout', value), /connect_timeout must be a number of seconds/);
    }
    assert.equal(byDefault('connect_timeout'), 0);
  });

  it('keep connect_timeout within what a timer of Node.js can do', () => {
    assert.ok(parse('connect_timeout', '2147483647') * 1000 < 2 ** 31);
  });

  it('turn keepalives off for 0 only', () => {
    assert.equal(parse('keepalives', '0'), false);
    assert.equal(parse('keepalives', '1'), true);
    assert.equal(parse('keepalives', '-1'), true);
    assert.equal(byDefault('keepalives'), true);
  });

  it('read statement_cache as a count, 256 by default', () => {
    assert.equal(byDefault('statement_cache'), 256);
    assert.equal(parse('statement_cache', '0'), 0);
    for (const value of ['-1', '1.5', 'all', '']) assert.throws(() => parse('statement_cache', value), TypeError);
  });

  it('read max_pipeline as a count, and leave the default to the connection', () => {
    assert.equal(byDefault('max_pipeline'), undefined);
    assert.equal(parse('max_pipeline', '1'), 1);
    for (const value of ['-1', '1.5', 'all', '']) assert.throws(() => parse('max_pipeline', value), TypeError);
  });

  it('read TLS versions in any case, an empty one as no bound, TLSv1.2 as the least by default', () => {
    assert.equal(parse('ssl_min_protocol_version', 'tlsv1.3'), 'TLSv1.3');
    assert.equal(parse('ssl_max_protocol_version', 'TLSv1'), 'TLSv1');
    assert.equal(parse('ssl_min_protocol_version', ''), undefined);
    assert.equal(byDefault('ssl_min_protocol_version'), 'TLSv1.2');
    assert.throws(() => parse('ssl_max_protocol_version', 'SSLv3'), /one of TLSv1, .* not "SSLv3"/);
  });

  it('read protocol versions 3.0, 3.2 and latest, the first by default', () => {
    assert.equal(parse('min_protocol_version', '3.0'), 196608);
    assert.equal(parse('min_protocol_version', '3.2'), 196610);
    assert.equal(parse('max_protocol_version', 'latest'), 196610);
    assert.equal(byDefault('min_protocol_version'), 196608);
    assert.equal(byDefault('max_protocol_version'), 196608);
    for (const value of ['3.1', '3', '2.0', '', 'toString']) {
      assert.throws(() => parse('max_protocol_version', value), /3\.0, 3\.2 or latest/);
    }
  });

  it('take UTF-8 under its names as client_encoding, and say why no other', () => {
    for (const value of ['UTF8', 'utf-8', 'Unicode', 'auto', '']) parse('client_encoding', value);
    assert.throws(
      () => parse('client_encoding', 'LATIN1'),
      /must be UTF8, as values are decoded from that, not "LATIN1"/
    );
    assert.throws(() => parse('client_encoding', 'SQL_ASCII'), TypeError);
  });
});

describe('require_auth', () => {
  const all = ['none', 'password', 'md5', 'scram-sha-256', 'oauth'];
  const lists = [
    ['', all, [], null],
    ['scram-sha-256', ['scram-sha-256'], ['scram-sha-256'], 'scram-sha-256'],
    ['none', ['none'], ['none'], 'none'],
    ['password,md5', ['password', 'md5'], ['password', 'md5'], null],
    ['oauth', ['oauth'], ['oauth'], 'oauth'],
    ['scram-sha-256,gss', ['scram-sha-256'], ['scram-sha-256'], null],
    ['scram-sha-256,oauth', ['scram-sha-256', 'oauth'], ['scram-sha-256', 'oauth'], null],
    ['!password', ['none', 'md5', 'scram-sha-256', 'oauth'], [], null],
    ['!none,!password,!md5,!oauth', ['scram-sha-256'], [], null],
    ['!gss,!sspi', all, [], null]
  ];
  for (const [value, allowed, named, single] of lists) {
    it(`"${value}" allows ${allowed.join(', ')}`, () => {
      const parsed = parse('require_auth', value);
      assert.deepEqual([...parsed.allowed], allowed);
      assert.deepEqual([...parsed.named], named);
      assert.equal(parsed.single, single);
    });
  }

  it('names the method that is unknown, repeated, or of the other kind', () => {
    for (const [value, message] of [
      ['scram', /not "scram"/],
      ['md5,', /require_auth must be a list of/],
      ['!!md5', /not "!!md5"/],
      ['MD5', /not "MD5"/],
      [' md5', /not " md5"/],
      ['md5,md5', /"md5" more than once/],
      ['!gss,!gss', /"gss" more than once/],
      ['md5,!none', /must not mix.*"md5,!none"/],
      ['!none,md5', /must not mix/]
    ])
      assert.throws(() => parse('require_auth', value), message);
  });

  it('is refused when it leaves no method that we have', () => {
    assert.throws(() => parse('require_auth', 'gss'), /allows no method that is supported: "gss"/);
    assert.throws(() => parse('require_auth', '!none,!password,!md5,!scram-sha-256,!oauth'), /allows no method/);
  });
});

'use strict';

const assert = require('node:assert/strict');
const { startServer } = require('pg-test-fixtures');
const { resolve } = require('../../../lib/core/config');
const { OPTIONS } = require('../../../lib/core/config/options');

/** The parameters for the server that a config of one key gives, beside the encoding. */
const parametersOf = name => {
  const {
    parameters: { client_encoding, ...rest }
  } = resolve({ [name]: '1' }, undefined, {});
  return rest;
};

const refused = (name, message) =>
  assert.throws(() => resolve({ [name]: '1' }, undefined, {}), { name: 'TypeError', message });

describe('A key of a config object', () => {
  it('that is one slip away from an option is refused with the name of that', () => {
    for (const [name, option] of [
      ['pasword', 'password'],
      ['passwordd', 'password'],
      ['passwird', 'password'],
      ['hots', 'host'],
      ['hsot', 'host'],
      ['usr', 'user'],
      ['databse', 'database'],
      ['dbnam', 'dbname'],
      ['decod', 'decode'],
      ['ssll', 'ssl'],
      ['conect_timeout', 'connect_timeout'],
      ['applicaton_name', 'application_name'],
      ['ssl_mode', 'sslmode'],
      ['statementCache', 'statement_cache'],
      ['applicationName', 'application_name'],
      ['Host', 'host'],
      ['PASSWORD', 'password'],
      ['connectTimeout', 'connect_timeout']
    ])
      refused(name, `${name} is not an option: did you mean ${option}?`);
  });

  it('that other clients have is refused with what it is called here', () => {
    const ofPool = name => `pass it as the second argument, new Pool(config, { ${name} }) of quickgres/pool`;
    for (const [name, here] of [
      ['username', 'use user'],
      ['pass', 'use password'],
      ['hostname', 'use host'],
      ['db', 'use database'],
      ['url', 'use connectionString'],
      ['URI', 'use connectionString'],
      ['connectionstring', 'use connectionString'],
      ['connectionTimeoutMillis', 'use connect_timeout, in seconds'],
      ['userName', 'use user'],
      ['passwd', 'use password'],
      ['types', 'use decode'],
      ['tls', 'use ssl'],
      ['stream', 'use socket'],
      ['query_timeout', 'use statement_timeout, for the server'],
      ['idleTimeoutMillis', ofPool('idle_timeout')],
      ['max', ofPool('size')],
      ['maxLifetimeSeconds', ofPool('max_lifetime')],
      ...['acquire_timeout', 'idle_timeout', 'max_lifetime', 'size'].map(name => [name, ofPool(name)]),
      ['schema', 'use search_path'],
      ['onnotice', "use client.on('notice', …)"],
      ['prepare', 'use statement_cache, 0 for none'],
      ['websocket', 'use socket, with what quickgres/sockets gives']
    ])
      refused(name, `${name} is not an option: ${here}`);
  });

  it('with capital letters can be neither an option nor a parameter', () => {
    for (const [name, like] of [
      ['searchPath', 'search_path'],
      ['SEARCH_PATH', 'search_path'],
      ['statementTimeout', 'statement_timeout'],
      ['StatementTimeout', 'statement_timeout']
    ])
      refused(name, `${name} is neither an option nor a parameter for the server: those are like ${like}`);
  });

  it('that looks like a secret is not sent to the server, and its value is in no error', () => {
    const names =
      'token secret access_token refresh_token oauth_client_secret oauth_access_token bearer jwt id_token client_secret ' +
      'pwd pw pin otp passphrase passcode pgpassword db_password user_password ssl_passphrase api_key apikey private_key ' +
      'key cert ca pfx credentials auth authorization signature sasl';
    for (const name of names.split(' ')) {
      for (const each of [name, name.toUpperCase(), name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())]) {
        const read = () => resolve({ [each]: 'hunter2' }, undefined, {});
        assert.throws(
          read,
          ({ message, constructor }) => constructor === TypeError && !message.includes('hunter2'),
          each
        );
      }
    }
  });

  it('that is no name at all is refused', () => {
    for (const name of [' ', 'a b', '1st', 'a\0b', '-x', '_pq_.x', 'a=b']) {
      refused(name, `${JSON.stringify(name)} cannot be the name of a parameter for the server`);
    }
  });

  it('with a dot, or one of the three with capitals, goes to the server', () => {
    for (const name of [
      'request.jwt.claims',
      'my.setting',
      'My.Setting',
      'pasword.x',
      'DateStyle',
      'IntervalStyle',
      'TimeZone'
    ]) {
      assert.deepEqual(parametersOf(name), { [name]: '1' });
    }
  });

  it('is never one that the server would take', async () => {
    const server = await startServer();
    try {
      // What a session may set, with the two that are not in the list.
      const rows = await server.sql(
        "SELECT name FROM pg_settings WHERE context NOT IN ('sighup', 'postmaster', 'internal')"
      );
      const names = [...rows.map(({ name }) => name), 'role', 'session_authorization'];
      assert.ok(names.length > 150);
      for (const name of names.filter(each => !Object.hasOwn(OPTIONS, each))) {
        assert.deepEqual(parametersOf(name), { [name]: '1' });
      }
    } finally {
      await server.stop();
    }
  });
});

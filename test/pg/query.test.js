'use strict';

const assert = require('node:assert/strict');
const { ConnectionError, PostgresError, TimeoutError } = require('../..');
const { DatabaseError, Query, errorOf } = require('../../lib/pg/query');

describe('A query of quickgres/pg', () => {
  it('is text, values and callback, in a config or beside it, which is left as it is', () => {
    const callback = () => {};
    const asked = (...args) => {
      const { text, values, callback } = new Query(...args);
      return [text, values, callback];
    };
    assert.deepEqual(asked('a', [1], callback), ['a', [1], callback]);
    assert.deepEqual(asked('a', callback), ['a', undefined, callback]);
    const config = Object.freeze({ text: 'a', values: [1], name: 'n', rowMode: 'array', callback });
    assert.deepEqual(asked(config), ['a', [1], callback]);
    assert.deepEqual(asked(config, [2]), ['a', [2], callback]);
    const { name, rowMode } = new Query(config);
    assert.deepEqual([name, rowMode], ['n', 'array']);
    class Tagged {
      get text() {
        return 'tagged';
      }
    }
    assert.equal(new Query(new Tagged()).text, 'tagged');
    class Rows {
      get rowMode() {
        return 'array';
      }
    }
    assert.equal(new Query(new Rows()).rowMode, 'array');
    assert.equal(typeof new Query({ text: 'a', finish: 5 }).finish, 'function');
  });

  it('finishes by its callback or by events, not by both', () => {
    const called = [];
    const query = new Query('a', (...outcome) => called.push(outcome));
    const error = new Error('no');
    query.finish(error);
    assert.deepEqual(called, [[error]]);
    const other = new Query({ text: 'a' });
    other.on('error', each => called.push(each));
    other.finish(error);
    assert.equal(called[1], error);
  });
});

describe('An error of quickgres/pg', () => {
  it('is made of a message, its length and a name, as in pg', () => {
    const { name, message, length } = new DatabaseError('m', 7, 'notice');
    assert.deepEqual([name, message, length], ['notice', 'm', 7]);
  });

  it('of the server is a DatabaseError, whose numbers are strings, also where the connection was lost by it', () => {
    const reason = new PostgresError({ message: 'm', code: '57P01', severity: 'FATAL', position: '5', line: '6' });
    for (const error of [reason, new ConnectionError('lost', { cause: reason, sent: true })]) {
      const { name, message, code, severity, position, line } = errorOf(error);
      assert.deepEqual([name, message, code, severity, position, line], ['error', 'm', '57P01', 'FATAL', '5', '6']);
      assert.ok(errorOf(error) instanceof DatabaseError);
    }
    assert.deepEqual(Object.keys(errorOf(reason)).sort(), [
      'code',
      'column',
      'constraint',
      'dataType',
      'detail',
      'file',
      'hint',
      'internalPosition',
      'internalQuery',
      'length',
      'line',
      'name',
      'position',
      'routine',
      'schema',
      'severity',
      'table',
      'where'
    ]);
    assert.equal(errorOf(reason).internalQuery, undefined);
    const { name, message } = new DatabaseError('m');
    assert.deepEqual([name, message], ['error', 'm']);
    // E, the length, S and V with ERROR, C 22012, M ü, and the last zero: pg counts what follows the type.
    assert.equal(new DatabaseError({ severity: 'ERROR', code: '22012', message: 'ü' }).length, 4 + 7 + 7 + 7 + 4 + 1);
  });

  it('of a connection or a time limit has the message of node-postgres, and a cause that says more', () => {
    const told = (message, code) => errorOf(new ConnectionError(message, { code }));
    assert.equal(told('x', '08006').message, 'Connection terminated unexpectedly');
    assert.equal(told('x', '08006').code, 'ECONNRESET');
    assert.equal(told('x', '08003').message, 'Connection terminated');
    const late = errorOf(
      new TimeoutError('no connection was free for 5 ms (acquire_timeout): of 1, 1 are open', { code: '53300' })
    );
    assert.equal(late.message, 'timeout exceeded when trying to connect');
    assert.equal(late.cause.message, 'no connection was free for 5 ms (acquire_timeout): of 1, 1 are open');
    assert.equal(told('not connected: x', '08003').message, 'not connected: call connect() first');
    assert.equal(told('x', 'ECONNRESET').message, 'x');
    assert.equal(told('x', 'ECONNRESET').cause, undefined);
    assert.equal(errorOf(new TimeoutError('x', { code: '57014' })).message, 'Query read timeout');
    const other = new TypeError('x');
    assert.equal(errorOf(other), other);
  });

  it('of connecting has what the system said', () => {
    const cause = Object.assign(new Error('connect'), {
      errno: -111,
      code: 'ECONNREFUSED',
      syscall: 'connect',
      address: '::1',
      port: 1
    });
    const refused = () => new ConnectionError('x: connect', { code: 'ECONNREFUSED', cause });
    const { errno, syscall, address, port } = errorOf(refused());
    assert.deepEqual([errno, syscall, address, port], [-111, 'connect', '::1', 1]);
    assert.deepEqual(
      errorOf(new AggregateError([refused(), refused()], 'x')).errors.map(({ port, address }) => [port, address]),
      [
        [1, '::1'],
        [1, '::1']
      ]
    );
  });

  it('is translated in a time that is linear in its message', () => {
    const message = `port must be a number ${'"'.repeat(1e5)}x`;
    const begun = process.cpuUsage().user;
    errorOf(new Error(message));
    assert.ok(process.cpuUsage().user - begun < 2e6); // quadratic, it takes 10 s
  });
});

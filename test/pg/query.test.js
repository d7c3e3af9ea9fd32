'use strict';

const assert = require('node:assert/strict');
const { ConnectionError, PostgresError, UsageError } = require('../..');
const { DatabaseError, Query, errorOf, queryOf } = require('../../lib/pg/query');

describe('A query of quickgres/pg', () => {
  it('is text, values and callback, in a config or beside it, which is left as it is', () => {
    const callback = () => {};
    assert.deepEqual(queryOf('a', [1], callback), { text: 'a', values: [1], callback });
    assert.deepEqual(queryOf('a', callback), { text: 'a', values: undefined, callback });
    const config = Object.freeze({ text: 'a', values: [1], name: 'n', rowMode: 'array' });
    const { text, values, name, rowMode } = queryOf(config);
    assert.deepEqual({ text, values, name, rowMode }, config);
    assert.deepEqual(queryOf(config, [2]).values, [2]);
    class Tagged { get text() { return 'tagged'; } }
    assert.equal(queryOf(new Tagged()).text, 'tagged');
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
  it('of the server is a DatabaseError, whose numbers are strings, also where the connection was lost by it', () => {
    const reason = new PostgresError({ message: 'm', code: '57P01', severity: 'FATAL', position: '5', line: '6' });
    for (const error of [reason, new ConnectionError('lost', { cause: reason, sent: true })]) {
      const { name, message, code, severity, position, line } = errorOf(error);
      assert.deepEqual([name, message, code, severity, position, line], ['error', 'm', '57P01', 'FATAL', '5', '6']);
      assert.ok(errorOf(error) instanceof DatabaseError);
    }
    const { name, length } = new DatabaseError('m', 5, 'notice');
    assert.deepEqual([name, length], ['notice', 5]);
  });

  it('of a connection or a time limit has the message of node-postgres', () => {
    const told = (code, sent) => errorOf(new ConnectionError('x', { code, sent })).message;
    assert.equal(told('08006', true), 'Connection terminated unexpectedly');
    assert.equal(told('08003', false), 'Connection terminated');
    assert.equal(told('53300', false), 'timeout exceeded when trying to connect');
    assert.equal(told('ECONNRESET', true), 'x');
    assert.equal(errorOf(new ConnectionError('x', { code: '53300', sent: false })).cause, undefined);
    assert.equal(errorOf(new UsageError('x', '57014')).message, 'Query read timeout');
    const other = new TypeError('x');
    assert.equal(errorOf(other), other);
  });
});

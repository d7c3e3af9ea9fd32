'use strict';

const assert = require('node:assert/strict');
const { PostgresError } = require('../../lib/protocol');
const { callerOf, lossError, lossErrors, showCaller } = require('../../lib/query/failure');

describe('showCaller', () => {
  it('gives an error the stack of a call, and keeps its name and message', () => {
    function ask() { return callerOf(ask); }
    const error = showCaller(new PostgresError({ message: 'two\nlines of $&' }), ask());
    assert.match(error.stack, /^PostgresError: two\nlines of \$&\n +at .*failure\.test\.js/);
    assert.ok(!error.stack.includes('at ask '));
  });

  it('leaves an error as it is where no call is known', () => {
    const error = new Error('no');
    const { stack } = error;
    assert.equal(showCaller(error, undefined).stack, stack);
  });
});

describe('The errors of a loss', () => {
  it('are one for each of the first thousand requests, and one for all others', () => {
    const errors = lossErrors('the connection was lost', '08006', undefined);
    const first = Array.from({ length: 1000 }, () => errors.next().value);
    assert.equal(new Set(first).size, 1000);
    const [one, other] = [errors.next().value, errors.next().value];
    assert.equal(one, other);
    assert.ok(!first.includes(one));
    assert.deepEqual([one.code, one.sent, lossError('x', '08003', undefined, false).sent], ['08006', true, false]);
  });
});

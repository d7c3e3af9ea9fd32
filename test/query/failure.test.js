'use strict';

const assert = require('node:assert/strict');
const { PostgresError } = require('../../lib/protocol');
const { callerOf, showCaller } = require('../../lib/query/failure');

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

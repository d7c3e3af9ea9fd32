'use strict';

const assert = require('node:assert/strict');
const { State, backend, nameOf, nextState, unexpected } = require('../../../lib/core/protocol');

describe('The answer to a request', () => {
  it('takes a row only in a result, and the end only behind one', () => {
    assert.equal(nextState(State.Rows, backend.DataRow, 0, 11), State.Rows);
    for (const state of [
      'Waiting',
      'ClosingFirst',
      'Parsing',
      'Binding',
      'Command',
      'CopyIn',
      'CopyOut',
      'Closing',
      'Simple',
      'Done',
      'Failed',
      'Over'
    ]) {
      assert.throws(() => nextState(State[state], backend.DataRow, 0, 11), {
        code: '08P01',
        message: `protocol violation: unexpected DataRow (state ${state})`
      });
    }
    for (const state of ['Parsing', 'Rows', 'CopyIn', 'CopyOut']) {
      assert.throws(() => nextState(State[state], backend.ReadyForQuery, 0, 6), { code: '08P01' });
    }
  });

  it('takes no message without a name', () => {
    for (const state of Object.values(State)) {
      for (const code of [0, 0x3f, 0x57 + 128, 255])
        assert.throws(() => nextState(state, code, 0, 5), { code: '08P01' });
    }
  });

  it('takes a message that has no body only with none', () => {
    for (const [state, name] of [
      ['Parsing', 'ParseComplete'],
      ['Binding', 'BindComplete'],
      ['Closing', 'CloseComplete'],
      ['Describing', 'NoData'],
      ['Command', 'EmptyQueryResponse'],
      ['PortalRows', 'PortalSuspended'],
      ['CopyOut', 'CopyDone']
    ]) {
      assert.equal(nextState(State[state], backend[name], 7, 12) > 0, true);
      assert.throws(() => nextState(State[state], backend[name], 7, 13), {
        code: '08P01',
        message: `protocol violation: ${name} of a wrong length`
      });
    }
    assert.equal(nextState(State.Command, backend.CommandComplete, 0, 20), State.Done);
  });

  it('is told of by names, and by numbers where a message has none', () => {
    assert.deepEqual(
      [nameOf(0x5a), nameOf(0x31), nameOf(0), nameOf(255)],
      ['ReadyForQuery', 'ParseComplete', 'a message of type 0x00', 'a message of type 0xff']
    );
    assert.equal(unexpected(State.Rows, 0x5a).message, 'protocol violation: unexpected ReadyForQuery (state Rows)');
  });
});

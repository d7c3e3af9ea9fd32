'use strict';

const assert = require('node:assert/strict');
const { State, backend, nameOf, nextState, unexpected } = require('../../lib/protocol');

/** Every message that may come in a state, `name>state after it`, in the order of the codes. */
const allowed = state => Object.keys(backend).flatMap(name => {
  try {
    const next = nextState(State[state], backend[name], 0, 5);
    return [`${name}>${Object.keys(State).find(each => State[each] === next)}`];
  } catch (error) {
    assert.equal(error.code, '08P01');
    assert.equal(error.message, `protocol violation: unexpected ${name} (state ${state})`);
    return [];
  }
}).join(' ');

const COMMAND = 'CommandComplete>Done CopyInResponse>CopyIn CopyOutResponse>CopyOut EmptyQueryResponse>Done';
const SIMPLE = 'CommandComplete>SimpleNext CopyInResponse>CopyIn CopyOutResponse>SimpleCopyOut EmptyQueryResponse>SimpleNext';

/** What may come, by state. The table of the implementation and this one were written apart. */
const EXPECTED = {
  Waiting: '',
  Parsing: 'ParseComplete>Parsed',
  Parsed: 'BindComplete>BoundEarly ParameterDescription>Describing',
  Describing: 'NoData>Binding RowDescription>Binding',
  BoundEarly: 'ParameterDescription>DescribingBound',
  DescribingBound: 'NoData>Command RowDescription>Rows',
  Binding: 'BindComplete>Rows',
  Rows: 'CommandComplete>Done DataRow>Rows',
  PortalRows: 'CommandComplete>Done DataRow>PortalRows PortalSuspended>Suspended',
  Command: COMMAND,
  PortalCommand: COMMAND,
  CopyOut: 'CopyData>CopyOut CopyDone>CopyDone',
  CopyIn: 'CommandComplete>Done',
  CopyDone: 'CommandComplete>Done',
  Closing: 'CloseComplete>Done',
  Suspended: 'ReadyForQuery>Over',
  Simple: `${SIMPLE} RowDescription>SimpleRows`,
  SimpleRows: 'CommandComplete>SimpleNext DataRow>SimpleRows',
  SimpleCopyOut: 'CopyData>SimpleCopyOut CopyDone>SimpleCopyDone',
  SimpleCopyDone: 'CommandComplete>SimpleNext',
  SimpleNext: `${SIMPLE} ReadyForQuery>Over RowDescription>SimpleRows`,
  Done: 'ReadyForQuery>Over',
  Failed: 'ReadyForQuery>Over',
  Over: ''
};

describe('The answer to a request', () => {
  it('takes in each state these messages and no other', () => {
    assert.deepEqual(Object.keys(EXPECTED), Object.keys(State));
    for (const state in EXPECTED) assert.equal(allowed(state), EXPECTED[state], state);
  });

  it('takes no message without a name', () => {
    for (const state of Object.values(State)) {
      for (const code of [0, 0x3f, 0x57 + 128, 255]) assert.throws(() => nextState(state, code, 0, 5), { code: '08P01' });
    }
  });

  it('takes a message that has no body only with none', () => {
    for (const [state, name] of [['Parsing', 'ParseComplete'], ['Binding', 'BindComplete'], ['Closing', 'CloseComplete'],
      ['Describing', 'NoData'], ['Command', 'EmptyQueryResponse'], ['PortalRows', 'PortalSuspended'], ['CopyOut', 'CopyDone']]) {
      assert.equal(nextState(State[state], backend[name], 7, 12) > 0, true);
      assert.throws(() => nextState(State[state], backend[name], 7, 13),
        { code: '08P01', message: `protocol violation: ${name} of a wrong length` });
    }
    assert.equal(nextState(State.Command, backend.CommandComplete, 0, 20), State.Done);
  });

  it('is told of by names, and by numbers where a message has none', () => {
    assert.deepEqual([nameOf(0x5a), nameOf(0x31), nameOf(0), nameOf(255)],
      ['ReadyForQuery', 'ParseComplete', 'a message of type 0x00', 'a message of type 0xff']);
    assert.equal(unexpected(State.Rows, 0x5a).message, 'protocol violation: unexpected ReadyForQuery (state Rows)');
  });
});

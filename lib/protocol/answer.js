'use strict';

const { backend } = require('./codes');
const { protocolError } = require('./errors');

/*
 * Which message of an answer may come next: one table for all kinds of requests. What may come at any time
 * (ErrorResponse, NoticeResponse, NotificationResponse, ParameterStatus) is not in it.
 * https://www.postgresql.org/docs/current/protocol-flow.html
 */

/** What the answer to a request has come to. */
const State = {
  Waiting: 0, // nothing was sent
  // Of a query: before ParseComplete, ParameterDescription, RowDescription or NoData, BindComplete. BoundEarly and
  // DescribingBound are for servers that send BindComplete before the description.
  Parsing: 1, Parsed: 2, Describing: 3, BoundEarly: 4, DescribingBound: 5, Binding: 6,
  // What follows the description: with columns or without; of a portal an Execute may have a limit.
  Rows: 7, PortalRows: 8, Command: 9, PortalCommand: 10,
  CopyOut: 11, CopyIn: 12, CopyDone: 13,
  Closing: 14, // before CloseComplete
  Suspended: 15, // a portal has given its rows; no ReadyForQuery follows unless Sync was sent
  // The simple query protocol: before the first result, in one, after one.
  Simple: 16, SimpleRows: 17, SimpleCopyOut: 18, SimpleCopyDone: 19, SimpleNext: 20,
  Done: 21, // only ReadyForQuery is missing
  Failed: 22, // after an ErrorResponse the server says nothing but ReadyForQuery
  Over: 23
};

/** State of the answer and code of the message, as `state << 8 | code`, to the next state; 0 where it cannot come. */
const NEXT = new Uint8Array(32 << 8);

const after = (states, transitions) => {
  for (const state of states) {
    for (const name in transitions) NEXT[State[state] << 8 | backend[name]] = State[transitions[name]];
  }
};

after(['Parsing'], { ParseComplete: 'Parsed' });
after(['Parsed'], { ParameterDescription: 'Describing', BindComplete: 'BoundEarly' });
after(['Describing'], { RowDescription: 'Binding', NoData: 'Binding' });
after(['BoundEarly'], { ParameterDescription: 'DescribingBound' });
after(['DescribingBound'], { RowDescription: 'Rows', NoData: 'Command' });
after(['Binding'], { BindComplete: 'Rows' }); // or Command: the description tells
after(['Rows', 'PortalRows'], { CommandComplete: 'Done' });
after(['Rows'], { DataRow: 'Rows' });
after(['PortalRows'], { DataRow: 'PortalRows', PortalSuspended: 'Suspended' });
after(['Command', 'PortalCommand'], {
  CommandComplete: 'Done', EmptyQueryResponse: 'Done', CopyOutResponse: 'CopyOut', CopyInResponse: 'CopyIn'
});
after(['CopyOut'], { CopyData: 'CopyOut', CopyDone: 'CopyDone' });
after(['CopyIn', 'CopyDone'], { CommandComplete: 'Done' });
after(['Closing'], { CloseComplete: 'Done' });
after(['Simple', 'SimpleNext'], {
  RowDescription: 'SimpleRows', CommandComplete: 'SimpleNext', EmptyQueryResponse: 'SimpleNext',
  CopyOutResponse: 'SimpleCopyOut', CopyInResponse: 'CopyIn'
});
after(['SimpleRows'], { DataRow: 'SimpleRows', CommandComplete: 'SimpleNext' });
after(['SimpleCopyOut'], { CopyData: 'SimpleCopyOut', CopyDone: 'SimpleCopyDone' });
after(['SimpleCopyDone'], { CommandComplete: 'SimpleNext' });
after(['Done', 'Failed', 'SimpleNext', 'Suspended'], { ReadyForQuery: 'Over' });

/** Messages that are nothing but their type and length. */
const BARE = new Uint8Array(256);
for (const name of [
  'ParseComplete', 'BindComplete', 'CloseComplete', 'NoData', 'EmptyQueryResponse', 'PortalSuspended', 'CopyDone'
]) BARE[backend[name]] = 1;

const nameOf = code => Object.keys(backend).find(name => backend[name] === code) ||
  `a message of type 0x${code.toString(16).padStart(2, '0')}`;

/** @returns {ConnectionError} for a message that cannot come in this state */
function unexpected(state, code) {
  const where = Object.keys(State).find(name => State[name] === state);
  return protocolError(`unexpected ${nameOf(code)} (state ${where})`);
}

/**
 * @param {number} state that the answer has come to
 * @param {number} code of the message in buf[start … end)
 * @returns {number} the state after it
 * @throws {ConnectionError} 08P01 where the message cannot come now, or has a body and should have none
 */
function nextState(state, code, start, end) {
  const next = NEXT[state << 8 | code];
  if (next === 0) throw unexpected(state, code);
  if (BARE[code] === 1 && end - start !== 5) throw protocolError(`${nameOf(code)} of a wrong length`);
  return next;
}

module.exports = { BARE, NEXT, State, nextState, nameOf, unexpected };

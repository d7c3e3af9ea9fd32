'use strict';

const { backend } = require('./codes');
const { protocolError } = require('./errors');

/*
 * Which message of an answer may come next, in one table for all kinds of requests. ErrorResponse, NoticeResponse,
 * NotificationResponse and ParameterStatus may come at any time, so they are not in it.
 * https://www.postgresql.org/docs/current/protocol-flow.html
 */

const Simple = {
  RowDescription: 'SimpleRows',
  CommandComplete: 'SimpleNext',
  EmptyQueryResponse: 'SimpleNext',
  CopyOutResponse: 'SimpleCopyOut',
  CopyInResponse: 'SimpleTag'
};

const Last = { ReadyForQuery: 'Over' };

/** The states of an answer: each message that may come in a state, and the state that follows. */
const STATES = {
  Waiting: {}, // nothing was sent
  // Queries. Servers that send BindComplete before the description go through BoundEarly and DescribingBound.
  // Statements are closed in front of the Parse.
  ClosingFirst: { CloseComplete: 'ClosingFirst', ParseComplete: 'Parsed' },
  Parsing: { ParseComplete: 'Parsed' },
  Parsed: { ParameterDescription: 'Describing', BindComplete: 'BoundEarly' },
  Describing: { RowDescription: 'Binding', NoData: 'Binding' },
  BoundEarly: { ParameterDescription: 'DescribingBound' },
  DescribingBound: { RowDescription: 'Rows', NoData: 'Command' },
  Binding: { BindComplete: 'Rows' }, // or Command, depending on the description
  // After the description, with columns and without. Only the Execute of a portal may have a row limit.
  Rows: { DataRow: 'Rows', CommandComplete: 'Done' },
  PortalRows: { DataRow: 'PortalRows', CommandComplete: 'Done', PortalSuspended: 'Suspended' },
  Command: { CommandComplete: 'Done', EmptyQueryResponse: 'Done', CopyOutResponse: 'CopyOut' },
  CopyOut: { CopyData: 'CopyOut', CopyDone: 'CopyDone' },
  CopyDone: { CommandComplete: 'Done' },
  Closing: { CloseComplete: 'Done' },
  Suspended: Last, // Sync or another Execute of the portal follows
  // COPY by copyTo and FROM STDIN, see lib/core/requests/copy.js.
  CopyOutSent: { ParseComplete: 'CopyOutSent', BindComplete: 'CopyOutSent', CopyOutResponse: 'CopyOut' },
  CopyInSent: { ParseComplete: 'CopyInSent', BindComplete: 'CopyInSent', CopyInResponse: 'CopyIn' },
  CopyIn: { CommandComplete: 'Done' },
  // The simple query protocol: before, in and after a result.
  Simple,
  // A rule (DO ALSO SELECT) adds rows with a description of their own.
  SimpleRows: { RowDescription: 'SimpleRows', DataRow: 'SimpleRows', CommandComplete: 'SimpleNext' },
  SimpleCopyOut: { CopyData: 'SimpleCopyOut', CopyDone: 'SimpleTag' },
  SimpleTag: { CommandComplete: 'SimpleNext' }, // of a COPY
  SimpleNext: { ...Simple, ...Last },
  Done: Last,
  Failed: Last, // after an ErrorResponse the server says nothing else
  Over: {}
};

/** The states by number. */
const State = Object.fromEntries(Object.keys(STATES).map((name, index) => [name, index]));

/** State of the answer and code of the message, as `state << 8 | code`, to the next state; 0 where it cannot come. */
const NEXT = new Uint8Array(32 << 8);
for (const state of Object.keys(STATES)) {
  for (const name of Object.keys(STATES[state])) NEXT[(State[state] << 8) | backend[name]] = State[STATES[state][name]];
}

/** Messages that have no body. */
const BARE = new Uint8Array(256);
for (const name of [
  'ParseComplete',
  'BindComplete',
  'CloseComplete',
  'NoData',
  'EmptyQueryResponse',
  'PortalSuspended',
  'CopyDone'
])
  BARE[backend[name]] = 1;

const nameOf = code =>
  Object.keys(backend).find(name => backend[name] === code) ||
  `a message of type 0x${code.toString(16).padStart(2, '0')}`;

function unexpected(state, code) {
  const where = Object.keys(State).find(name => State[name] === state);
  return protocolError(`unexpected ${nameOf(code)} (state ${where})`);
}

/**
 * @returns {number} the state after the message in buf[start … end)
 * @throws {ConnectionError} 08P01 if the message cannot come now, or has a body and should have none
 */
function nextState(state, code, start, end) {
  const next = NEXT[(state << 8) | code];
  if (next === 0) throw unexpected(state, code);
  if (BARE[code] === 1 && end - start !== 5) throw protocolError(`${nameOf(code)} of a wrong length`);
  return next;
}

module.exports = { BARE, NEXT, State, nextState, nameOf, unexpected };
